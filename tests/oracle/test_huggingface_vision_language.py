"""More decoders that take images: figures and outputs of configurations are those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees
from tests.oracle.test_huggingface_moe import ACTIVATIONS, Fields, common, deepseek_v3, gemma, gemma2
from tests.oracle.test_huggingface_multimodal import IMAGE, VISION, texts

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402


@st.composite
def text(draw: st.DrawFn, *kinds: str) -> Fields:
    """Return fields of a decoder of one of several types."""
    kind = draw(st.sampled_from(kinds))
    fields = common(draw) | {"model_type": kind}
    if kind == "qwen3":
        fields |= {"attention_bias": draw(st.booleans()), "head_dim": 2 * draw(st.integers(1, 4))}
    if kind == "llama":
        fields |= {"attention_bias": draw(st.booleans()), "mlp_bias": draw(st.booleans())}
    if kind in ("mistral", "ministral3"):
        fields |= {"sliding_window": draw(st.none() | st.integers(1, 9))}
    if kind == "ministral3":
        fields |= {"head_dim": 2 * draw(st.integers(1, 4)), "pad_token_id": draw(st.none() | st.integers(0, 7))}
    return fields


def tower(draw: st.DrawFn) -> Fields:
    """Return fields of an image encoder like that of SigLIP."""
    heads = draw(st.integers(1, 3))
    return {
        "hidden_size": heads * 2 * draw(st.integers(1, 4)),
        "num_attention_heads": heads,
        "num_hidden_layers": draw(st.integers(1, 4)),
        "num_channels": draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(1, 20)),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
    }


@st.composite
def smolvlm(draw: st.DrawFn) -> tuple[Fields, int]:
    """Return fields of SmolVLM or Idefics3, and the number of features of an image."""
    vision, merge, side = tower(draw), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    patch = draw(st.integers(1, 3))
    vision |= {"image_size": patch * merge * side, "patch_size": patch}
    fields = {"text_config": draw(text("llama", "mistral", "qwen2")), "vision_config": vision, "scale_factor": merge}
    return fields | {"image_token_id": IMAGE, "tie_word_embeddings": draw(st.booleans())}, side**2


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(st.sampled_from(["SmolVLM", "Idefics3"]), smolvlm(), st.integers(1, 2), st.integers(1, 2), st.integers(0, 4))
def test_smolvlm(end: str, name: str, drawn: tuple[Fields, int], batch: int, images: int, length: int) -> None:
    """All images are given, which are not zero."""
    fields, features = drawn
    vision = fields["vision_config"]
    size = vision["image_size"]
    pixels = torch.ones(batch, images, vision["num_channels"], size, size)
    inputs = {"input_ids": texts(batch, length, images * features), "pixel_values": pixels}
    dims = {"batch": batch, "images": images, "length": length + images * features}
    assert_agrees(f"{name}{end}", fields, inputs, dims, "cpu")


@st.composite
def paligemma(draw: st.DrawFn) -> tuple[Fields, int]:
    """Return fields of PaliGemma or PaliGemma 2, and the number of features of an image."""
    kind = draw(st.sampled_from(["gemma", "gemma2"]))
    words = draw(gemma() if kind == "gemma" else gemma2()) | {"model_type": kind, "pad_token_id": 0}
    vision, patch, side = tower(draw), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    vision |= {"model_type": "siglip_vision_model", "image_size": patch * side, "patch_size": patch}
    vision["vision_use_head"] = draw(st.booleans())
    fields = {"text_config": words, "vision_config": vision, "projection_dim": words["hidden_size"]}
    fields |= {"image_token_index": IMAGE, "tie_word_embeddings": draw(st.booleans())}
    return fields, side**2


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(paligemma(), st.integers(1, 2), st.integers(0, 4))
def test_paligemma(end: str, drawn: tuple[Fields, int], batch: int, length: int) -> None:
    fields, features = drawn
    vision = fields["vision_config"]
    pixels = torch.ones(batch, vision["num_channels"], vision["image_size"], vision["image_size"])
    inputs = {"input_ids": texts(batch, length, features), "pixel_values": pixels}
    dims = {"batch": batch, "images": batch, "length": length + features}
    assert_agrees(f"PaliGemma{end}", fields, inputs, dims, "cpu")


@st.composite
def mistral3(draw: st.DrawFn) -> tuple[Fields, tuple[int, int]]:
    """Return fields of Mistral 3 with images, and the rows and columns of features of an image."""
    vision = tower(draw) | {"patch_size": draw(st.integers(1, 3))}
    vision["hidden_size"] = vision["num_attention_heads"] * 4 * draw(st.integers(1, 3))
    layers = vision["num_hidden_layers"]
    fields = {
        "text_config": draw(text("mistral", "ministral3")),
        "vision_config": vision,
        "image_token_index": IMAGE,
        "spatial_merge_size": draw(st.integers(1, 3)),
        "projector_hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "multimodal_projector_bias": draw(st.booleans()),
        "vision_feature_layer": draw(st.integers(-layers - 1, layers).filter(bool)),
        "tie_word_embeddings": draw(st.booleans()),
    }
    return fields, (draw(st.integers(1, 2)), draw(st.integers(2, 3)))


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(mistral3(), st.integers(1, 2), st.integers(0, 4))
def test_mistral3(end: str, drawn: tuple[Fields, tuple[int, int]], batch: int, length: int) -> None:
    """All images are one sequence, in which each sees itself; the class takes none of a single feature."""
    fields, (rows, columns) = drawn
    vision = fields["vision_config"]
    side = vision["patch_size"] * fields["spatial_merge_size"]
    pixels = torch.ones(batch, vision["num_channels"], rows * side, columns * side)
    inputs = {"input_ids": texts(batch, length, rows * columns), "pixel_values": pixels}
    inputs["image_sizes"] = torch.tensor([[rows * side, columns * side]] * batch)
    dims = {"batch": batch, "images": batch, "length": length + rows * columns}
    assert_agrees(f"Mistral3{end}", fields, inputs, dims | {"height": rows * side, "width": columns * side}, "cpu")


@st.composite
def internvl(draw: st.DrawFn) -> tuple[Fields, int]:
    """Return fields of InternVL, and the number of features of an image."""
    vision, patch = tower(draw), draw(st.integers(1, 3))
    merge, side, layers = draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 2)), vision["num_hidden_layers"]
    vision |= {"image_size": patch * merge * side, "patch_size": patch}
    vision |= {"norm_type": draw(st.sampled_from(["layer_norm", "rms_norm"]))}
    flags = ("attention_bias", "use_qk_norm", "use_mask_token", "use_absolute_position_embeddings", "use_mean_pooling")
    vision |= {name: draw(st.booleans()) for name in flags}
    fields = {
        "text_config": draw(text("qwen2", "qwen3", "llama")),
        "vision_config": vision,
        "image_token_id": IMAGE,
        "downsample_ratio": 1 / merge,
        "projector_hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "vision_feature_layer": draw(st.integers(-layers - 1, layers).filter(bool)),
        "tie_word_embeddings": draw(st.booleans()),
    }
    return fields, side**2


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(internvl(), st.integers(1, 2), st.integers(0, 4))
def test_internvl(end: str, drawn: tuple[Fields, int], batch: int, length: int) -> None:
    fields, features = drawn
    vision = fields["vision_config"]
    pixels = torch.ones(batch, vision["num_channels"], vision["image_size"], vision["image_size"])
    inputs = {"input_ids": texts(batch, length, features), "pixel_values": pixels}
    dims = {"batch": batch, "images": batch, "length": length + features}
    assert_agrees(f"InternVL{end}", fields, inputs, dims, "cpu")


@st.composite
def mllama(draw: st.DrawFn) -> Fields:
    """Return fields of Llama 3.2 Vision."""
    words, vision = common(draw), tower(draw)
    del words["tie_word_embeddings"]
    places = st.integers(0, words["num_hidden_layers"] - 1)
    words |= {"cross_attention_layers": draw(st.lists(places, max_size=3)), "pad_token_id": draw(st.none() | places)}
    vision["attention_heads"] = vision.pop("num_attention_heads")
    depths = st.sets(st.integers(0, vision["num_hidden_layers"] - 1), min_size=1)
    kept, patch = sorted(draw(depths)), draw(st.integers(1, 3))
    vision |= {"num_global_layers": draw(st.integers(0, 2)), "max_num_tiles": draw(st.integers(1, 3))}
    vision |= {"patch_size": patch, "image_size": patch * draw(st.integers(1, 3)), "intermediate_layers_indices": kept}
    vision |= {"vision_output_dim": vision["hidden_size"] * (len(kept) + 1)}
    vision |= {"supported_aspect_ratios": [[1, n + 1] for n in range(draw(st.integers(0, 3)))]}
    return {"text_config": words, "vision_config": vision}


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(mllama(), st.integers(1, 2), st.integers(1, 2), st.integers(1, 4))
def test_mllama(end: str, fields: Fields, batch: int, images: int, length: int) -> None:
    """Pairs of empty tiles are a product too."""
    vision = fields["vision_config"]
    tiles, size = vision["max_num_tiles"], vision["image_size"]
    inputs = {"input_ids": torch.zeros((batch, length), dtype=torch.int64)}
    inputs["pixel_values"] = torch.ones(batch, images, tiles, vision["num_channels"], size, size)
    inputs["aspect_ratio_ids"] = torch.zeros((batch, images), dtype=torch.int64)
    inputs["aspect_ratio_mask"] = torch.ones((batch, images, tiles), dtype=torch.int64)
    assert_agrees(f"Mllama{end}", fields, inputs, {"batch": batch, "images": images, "length": length}, "cpu")


@st.composite
def kimi_k25(draw: st.DrawFn) -> tuple[Fields, tuple[int, int]]:
    """Return fields of Kimi-K2.5, and rows and columns of the patches of an image."""
    vision, side = tower(draw), draw(st.integers(1, 5))
    del vision["num_channels"]
    vision["hidden_size"] = vision["num_attention_heads"] * 4 * draw(st.integers(1, 3))
    merge = [draw(st.integers(1, 3)), draw(st.integers(1, 3))]
    vision |= {"patch_size": draw(st.integers(1, 3)), "merge_kernel_size": merge}
    vision |= {"pos_emb_height": side, "pos_emb_width": side, "pos_emb_time": draw(st.integers(1, 4))}
    fields = {
        "text_config": draw(deepseek_v3()) | {"model_type": "deepseek_v3"},
        "vision_config": vision,
        "projection_hidden_size": vision["hidden_size"],
        "image_token_id": IMAGE,
        "tie_word_embeddings": draw(st.booleans()),
    }
    return fields, (merge[0] * draw(st.integers(1, 3)), merge[1] * draw(st.integers(1, 3)))


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(kimi_k25(), st.integers(1, 2), st.integers(0, 4))
def test_kimi_k25(end: str, drawn: tuple[Fields, tuple[int, int]], batch: int, length: int) -> None:
    fields, (rows, columns) = drawn
    vision = fields["vision_config"]
    patch, merge = vision["patch_size"], vision["merge_kernel_size"]
    ids = texts(batch, length, rows * columns // (merge[0] * merge[1]))
    inputs = {"input_ids": ids, "pixel_values": torch.randn(batch * rows * columns, 3, patch, patch)}
    inputs["image_grid_thw"] = torch.tensor([[1, rows, columns]] * batch)
    dims = {"batch": batch, "images": batch, "length": ids.shape[1], "height": rows * patch, "width": columns * patch}
    assert_agrees(f"Kimi_K25{end}", fields, inputs, dims, "cpu")


TEXT: Fields = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2}
TEXT |= {"intermediate_size": 20, "num_key_value_heads": 2, "pad_token_id": 0}


def assert_outputs(
    name: str, fields: Fields, ids: Any, images: tuple[int, ...], folder: Path, **arguments: Any
) -> None:
    """Assert that a saved model gives the same logits from its folder, for drawn images of a shape."""
    kind = getattr(transformers, f"{name}ForConditionalGeneration")
    model = randomise(kind(kind.config_class(**fields)))
    model.save_pretrained(folder)
    pixels = np.random.default_rng(1).normal(size=images).astype(np.float32)
    with torch.no_grad():
        expected = model(input_ids=torch.from_numpy(ids), pixel_values=torch.from_numpy(pixels), **arguments)
    sizes = {"batch": len(ids), "images": images[-4], "length": ids.shape[1], "height": images[-2], "width": images[-1]}
    network = netcalc.load(folder, set=sizes)
    outputs = network.run({"input_ids": ids, "pixel_values": pixels}, weights=folder).outputs
    assert_close(outputs["logits"], expected["logits"].numpy())


@pytest.mark.parametrize("side", [4, 6])
def test_several_images_of_another_size(side: int, tmp_path: Path) -> None:
    """Two images for each text, with as many patches as have positions, and with more."""
    fields: Fields = {"text_config": TEXT | {"model_type": "llama"}, "vision_config": VISION | {"patch_size": 3}}
    fields |= {"image_token_id": IMAGE, "scale_factor": 2}
    ids, features = np.random.default_rng(1).integers(8, 50, (2, 24)), side**2 // 4
    ids[0, 1 : 1 + 2 * features] = ids[1, 2 : 2 + features] = ids[1, 12 : 12 + features] = IMAGE
    assert_outputs("Idefics3", fields, ids, (2, 2, 3, 3 * side, 3 * side), tmp_path)


def test_queries_that_grow_behind_images(tmp_path: Path) -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 100.0, "llama_4_scaling_beta": 0.3}
    scaling |= {"original_max_position_embeddings": 3}
    text = TEXT | {"model_type": "ministral3", "head_dim": 8, "sliding_window": 9, "rope_parameters": scaling}
    vision = VISION | {"model_type": "pixtral", "patch_size": 3, "hidden_size": 16}
    fields: Fields = {"text_config": text, "vision_config": vision, "image_token_index": IMAGE}
    ids = np.random.default_rng(1).integers(8, 50, (2, 11))
    ids[0, 1:5] = ids[1, 6:10] = IMAGE
    assert_outputs("Mistral3", fields, ids, (2, 3, 12, 12), tmp_path, image_sizes=torch.tensor([[12, 12]] * 2))


@pytest.mark.parametrize(
    ("side", "vision", "others"),
    [
        (4, {"norm_type": "rms_norm", "use_qk_norm": True, "use_mean_pooling": False}, {}),
        (6, {"attention_bias": True, "use_mean_pooling": False}, {"vision_feature_layer": 2}),
        (2, {"use_absolute_position_embeddings": False, "layer_norm_eps": 0.1}, {"vision_feature_layer": 1}),
    ],
)
def test_encoders_of_internvl(side: int, vision: Fields, others: Fields, tmp_path: Path) -> None:
    """Norms, positions that are resized, and features of an earlier layer or before the last norm."""
    fields: Fields = {"text_config": TEXT | {"model_type": "qwen3", "head_dim": 8}, "image_token_id": IMAGE} | others
    fields["vision_config"] = VISION | {"patch_size": 3} | vision
    ids, features = np.random.default_rng(1).integers(8, 50, (2, 14)), side**2 // 4
    ids[0, 1 : 1 + features] = ids[1, 2 : 2 + features] = IMAGE
    assert_outputs("InternVL", fields, ids, (2, 3, 3 * side, 3 * side), tmp_path)


def test_steps_behind_images(tmp_path: Path) -> None:
    """The layers that attend to images keep their keys and values; some tokens see one of two images, or none."""
    vision: Fields = {"hidden_size": 24, "num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 2}
    vision |= {"intermediate_size": 20, "image_size": 9, "patch_size": 3, "max_num_tiles": 2, "vision_output_dim": 48}
    vision |= {"supported_aspect_ratios": [[1, 1], [1, 2]], "intermediate_layers_indices": [1]}
    text = TEXT | {"num_hidden_layers": 3, "cross_attention_layers": [1]}
    fields: Fields = {"text_config": text, "vision_config": vision, "attn_implementation": "eager"}
    model = randomise(transformers.MllamaForConditionalGeneration(transformers.MllamaConfig(**fields)))
    model.save_pretrained(tmp_path)
    rng = np.random.default_rng(1)
    ids, shown = rng.integers(3, 58, (2, 8)), rng.integers(0, 2, (2, 8, 2, 2))
    shown[0, 1] = shown[1, 6] = 0
    images = {"pixel_values": rng.normal(size=(2, 2, 2, 3, 9, 9)).astype(np.float32)}
    images |= {"aspect_ratio_ids": np.array([[1, 2], [2, 0]])}
    images |= {"aspect_ratio_mask": np.array([[[1, 0], [1, 1]], [[1, 1], [1, 0]]])}
    network = netcalc.load(tmp_path, set={"batch": 2, "images": 2, "length": 8, "image_mask": True})
    cache, caches = None, {}
    for first, end in ((0, 5), (5, 6), (6, 8)):
        inputs = images if first == 0 else {}
        inputs = inputs | {"input_ids": ids[:, first:end], "cross_attention_mask": shown[:, :end]}
        with torch.no_grad():
            tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
            expected = model(**tensors, past_key_values=cache, use_cache=True)
        cache = expected.past_key_values
        step = network.at_step(first, end - first)
        outputs = step.run(inputs | caches, weights=tmp_path).outputs
        assert_close(outputs["logits"], expected["logits"].numpy())
        kept = {name.replace("present.", "past_key_values."): array for name, array in outputs.items()}
        caches |= {name: array for name, array in kept.items() if name != "logits"}
    assert caches["past_key_values.1.cross_key"].shape == cache.layers[1].keys.shape == (2, 2, 40, 6)


@pytest.mark.parametrize("frames", [1, 3])
def test_outputs_of_kimi_k25(frames: int, tmp_path: Path) -> None:
    """Images of 2 by 3 features, on learned positions of another size; those of a video are the mean of its frames."""
    latent = {"kv_lora_rank": 8, "q_lora_rank": 12, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 6}
    experts = {"n_routed_experts": 4, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2}
    experts |= {"moe_intermediate_size": 12, "first_k_dense_replace": 1}
    text = TEXT | latent | experts | {"model_type": "deepseek_v3", "num_key_value_heads": 4}
    vision = {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 20}
    vision |= {"patch_size": 3, "pos_emb_height": 5, "pos_emb_width": 5}
    fields = {"text_config": text, "vision_config": vision, "projection_hidden_size": 16, "image_token_id": IMAGE}
    fields |= {"video_token_id": 60, "tie_word_embeddings": False}
    kind = transformers.Kimi_K25ForConditionalGeneration
    model = randomise(kind(kind.config_class(**fields)))
    model.save_pretrained(tmp_path)
    token = IMAGE if frames == 1 else 60
    ids = torch.tensor([[8, *[token] * 6, 20, 21], [30, 31, *[token] * 6, 33]])
    pixels = torch.from_numpy(np.random.default_rng(1).normal(size=(2 * frames * 24, 3, 3, 3)).astype(np.float32))
    with torch.no_grad():
        # the model itself takes no videos of several frames: it divides their features by another number
        encoded = model.model.vision_tower(pixels, grid_thw=torch.tensor([[frames, 4, 6]] * 2))
        encoded.pooler_output = [model.model.mm_projector(encoded.pooler_output).squeeze(1)]
        expected = model(input_ids=ids, mm_encoder_outputs={"image" if frames == 1 else "video": encoded}).logits
    sizes = {"batch": 2, "images": 2, "frames": frames, "length": 9, "height": 12, "width": 18}
    network = netcalc.load(tmp_path, set=sizes)
    inputs = {"input_ids": ids.numpy(), "pixel_values": pixels.numpy()}
    assert_close(network.run(inputs, weights=tmp_path).outputs["logits"], expected.numpy())
