"""Decoders that take images: figures of random configurations and outputs of saved models are those of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees
from tests.oracle.test_huggingface_moe import ACTIVATIONS, SEQUENCE, Fields, common, gemma3, llama4

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402

#: The token that stands for a feature of an image.
IMAGE = 7


@st.composite
def clip(draw: st.DrawFn, *kinds: str) -> Fields:
    """Return fields of an image encoder of CLIP or SigLIP."""
    heads = draw(st.integers(1, 3))
    fields = {
        "model_type": draw(st.sampled_from(kinds)),
        "hidden_size": heads * 2 * draw(st.integers(1, 4)),
        "num_attention_heads": heads,
        "num_hidden_layers": draw(st.integers(1, 4)),
        "intermediate_size": draw(st.integers(1, 20)),
        "image_size": 12,
        "patch_size": draw(st.sampled_from([4, 5, 6])),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
    }
    return fields | ({"vision_use_head": draw(st.booleans())} if fields["model_type"][0] == "s" else {})


@st.composite
def llava(draw: st.DrawFn) -> tuple[Fields, int]:
    """Return fields of LLaVA, and the number of features of an image."""
    kind = draw(st.sampled_from(["llama", "mistral", "qwen2"]))
    text = common(draw) | {"model_type": kind}
    if kind == "llama":
        text |= {"attention_bias": draw(st.booleans()), "mlp_bias": draw(st.booleans())}
    if kind == "mistral":
        text |= {"sliding_window": draw(st.none() | st.integers(1, 9))}
    vision = draw(clip("clip_vision_model", "siglip_vision_model"))
    strategy, layers = draw(st.sampled_from(["default", "full"])), vision["num_hidden_layers"]
    fields = {
        "text_config": text,
        "vision_config": vision,
        "image_token_index": IMAGE,
        "projector_hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "multimodal_projector_bias": draw(st.booleans()),
        "vision_feature_select_strategy": strategy,
        "vision_feature_layer": draw(st.integers(-layers - 1, layers).filter(bool)),
    }
    features = (12 // vision["patch_size"]) ** 2
    return fields, features + (vision["model_type"][0] == "c") - (strategy == "default")


def texts(batch: int, length: int, features: int) -> Any:
    """Return token ids with the features of one image for each text, at its start."""
    ids = torch.zeros((batch, length + features), dtype=torch.int64)
    ids[:, :features] = IMAGE
    return ids


@pytest.mark.parametrize("architecture", ["LlavaForConditionalGeneration", "LlavaModel"])
@draws
@given(llava(), st.integers(1, 2), st.integers(0, 4))
def test_llava(architecture: str, drawn: tuple[Fields, int], batch: int, length: int) -> None:
    fields, features = drawn
    inputs = {"input_ids": texts(batch, length, features), "pixel_values": torch.zeros(batch, 3, 12, 12)}
    dims = {"batch": batch, "images": batch, "length": length + features}
    assert_agrees(architecture, fields, inputs, dims, "cpu")


@st.composite
def gemma3_images(draw: st.DrawFn) -> tuple[Fields, int]:
    """Return fields of Gemma 3 with images, and the number of features of an image."""
    vision, side = draw(clip("siglip_vision_model")), draw(st.integers(1, 2))
    patches = 12 // vision["patch_size"]
    fields = {
        "text_config": draw(gemma3()) | {"pad_token_id": 0},
        "vision_config": vision,
        "image_token_index": IMAGE,
        "mm_tokens_per_image": side**2,
        "tie_word_embeddings": draw(st.booleans()),
        "num_labels": draw(st.integers(2, 4)),
    }
    kernel = patches // side
    return fields, (patches // kernel) ** 2


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model", SEQUENCE])
@draws
@given(gemma3_images(), st.integers(1, 2), st.integers(0, 4))
def test_gemma3(end: str, drawn: tuple[Fields, int], batch: int, length: int) -> None:
    fields, features = drawn
    inputs = {"input_ids": texts(batch, length, features), "pixel_values": torch.zeros(batch, 3, 12, 12)}
    dims = {"batch": batch, "images": batch, "length": length + features}
    assert_agrees(f"Gemma3{end}", fields, inputs, dims, "cpu")


@st.composite
def qwen2_vl(draw: st.DrawFn) -> tuple[Fields, tuple[int, int]]:
    """Return fields of Qwen2-VL, and the rows and columns of patches of an image."""
    text = common(draw)
    pairs = text["hidden_size"] // text["num_attention_heads"] // 2
    sections = [pairs // 3, pairs // 3, pairs - 2 * (pairs // 3)]
    if pairs < 3:
        text["hidden_size"], sections = text["hidden_size"] // pairs * 3, [1, 1, 1]
    text |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": sections}}
    heads, merge = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    vision = {
        "depth": draw(st.integers(1, 3)),
        "embed_dim": heads * 4 * draw(st.integers(1, 3)),
        "hidden_size": text["hidden_size"],
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "mlp_ratio": draw(st.integers(1, 3)),
        "num_heads": heads,
        "in_channels": draw(st.integers(1, 3)),
        "patch_size": draw(st.integers(1, 3)),
        "spatial_merge_size": merge,
        "temporal_patch_size": draw(st.integers(1, 2)),
    }
    fields = {"text_config": text, "vision_config": vision, "image_token_id": IMAGE}
    return fields, (merge * draw(st.integers(1, 2)), merge * draw(st.integers(1, 2)))


def patches_of(fields: Fields, batch: int, grid: tuple[int, int]) -> dict[str, Any]:
    """Return the patches of one image for each text, and the number of their rows and columns."""
    vision = fields["vision_config"]
    size = vision["in_channels"] * vision["temporal_patch_size"] * vision["patch_size"] ** 2
    patches = torch.randn(batch * grid[0] * grid[1], size)
    return {"pixel_values": patches, "image_grid_thw": torch.tensor([[1, *grid]] * batch)}


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(qwen2_vl(), st.integers(1, 2), st.integers(1, 4))
def test_qwen2_vl(end: str, drawn: tuple[Fields, tuple[int, int]], batch: int, length: int) -> None:
    fields, grid = drawn
    vision = fields["vision_config"]
    features = grid[0] * grid[1] // vision["spatial_merge_size"] ** 2
    ids = texts(batch, length, features)
    inputs = patches_of(fields, batch, grid) | {"input_ids": ids, "mm_token_type_ids": (ids == IMAGE).int()}
    dims = {"batch": batch, "images": batch, "length": length + features}
    dims |= {"height": grid[0] * vision["patch_size"], "width": grid[1] * vision["patch_size"]}
    assert_agrees(f"Qwen2VL{end}", fields, inputs, dims, "cpu")


@st.composite
def llama4_images(draw: st.DrawFn) -> tuple[Fields, int]:
    """Return fields of Llama 4, and the number of features of an image."""
    heads, channels, adapter = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 9))
    hidden = heads * 4 * draw(st.integers(1, 3))
    patch, ratio = draw(st.sampled_from([(3, 0.5), (6, 0.5), (6, 1.0)]))
    vision = {
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_channels": channels,
        "intermediate_size": int(hidden / ratio**2),
        "image_size": 12,
        "patch_size": patch,
        "pixel_shuffle_ratio": ratio,
        "projector_input_dim": adapter,
        "projector_output_dim": adapter,
        "vision_output_dim": adapter,
    }
    fields = {"text_config": draw(llama4()), "vision_config": vision, "image_token_index": IMAGE}
    return fields, int(12 // patch * ratio) ** 2


@draws
@given(llama4_images(), st.integers(1, 2), st.integers(0, 4))
def test_llama4(drawn: tuple[Fields, int], batch: int, length: int) -> None:
    fields, features = drawn
    images = torch.zeros(batch, fields["vision_config"]["num_channels"], 12, 12)
    inputs = {"input_ids": texts(batch, length, features), "pixel_values": images}
    dims = {"batch": batch, "images": batch, "length": length + features}
    assert_agrees("Llama4ForConditionalGeneration", fields, inputs, dims, "cpu")


BLIPS = ["ForConditionalGeneration", "Model", "ForImageTextRetrieval", "ForQuestionAnswering"]


@st.composite
def blip(draw: st.DrawFn, same: bool) -> Fields:
    """Return fields of BLIP, with as many features of images as of texts if they are to be the same."""
    vision = draw(clip("blip_vision_model")) | {"dropout": 0.0, "num_channels": 3, "initializer_factor": 1.0}
    heads = vision["num_attention_heads"] if same else draw(st.integers(1, 3))
    text = {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": vision["hidden_size"] if same else heads * 2 * draw(st.integers(1, 4)),
        "num_attention_heads": heads,
        "num_hidden_layers": draw(st.integers(1, 4)),
        "intermediate_size": draw(st.integers(1, 20)),
        "max_position_embeddings": draw(st.integers(4, 9)),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "tie_word_embeddings": draw(st.booleans()),
        "pad_token_id": 0,
    }
    return {
        "text_config": text,
        "vision_config": vision,
        "projection_dim": draw(st.integers(1, 9)),
        "image_text_hidden_size": draw(st.integers(1, 9)),
        "tie_word_embeddings": draw(st.booleans()),
    }


@pytest.mark.parametrize("end", BLIPS)
@draws
@given(st.data(), st.integers(1, 2), st.integers(1, 4), st.integers(1, 4))
def test_blip(end: str, data: st.DataObject, batch: int, length: int, answer: int) -> None:
    fields = data.draw(blip(same=end == "ForQuestionAnswering"))
    inputs = {"input_ids": texts(batch, length, 0), "pixel_values": torch.zeros(batch, 3, 12, 12)}
    if end == "ForQuestionAnswering":
        inputs["decoder_input_ids"] = texts(batch, answer, 0)
    assert_agrees(f"Blip{end}", fields, inputs, {"batch": batch, "length": length, "answer": answer}, "cpu")


TEXT = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 0}
TEXT |= {"intermediate_size": 20, "num_key_value_heads": 2}
VISION = {"hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION |= {"image_size": 12, "patch_size": 6}
CLIP, SIGLIP = VISION | {"model_type": "clip_vision_model"}, VISION | {"model_type": "siglip_vision_model"}
LLAVA: Fields = {"image_token_index": IMAGE, "vision_feature_select_strategy": "full"}
CASES: list[tuple[str, Fields, int]] = [
    (
        "LlavaForConditionalGeneration",
        LLAVA | {"text_config": TEXT | {"model_type": "qwen2"}, "vision_config": SIGLIP, "vision_feature_layer": -1},
        4,
    ),
    (
        "LlavaModel",
        LLAVA | {"text_config": TEXT | {"model_type": "mistral", "sliding_window": 3}, "vision_config": CLIP},
        5,
    ),
    (
        "Gemma3ForConditionalGeneration",
        {"image_token_index": 50, "mm_tokens_per_image": 4, "vision_config": SIGLIP | {"patch_size": 3}}
        | {"text_config": TEXT | {"head_dim": 8, "sliding_window": 4, "sliding_window_pattern": 2}},
        4,
    ),
    (
        "Gemma3ForSequenceClassification",
        {"image_token_index": IMAGE, "mm_tokens_per_image": 4, "vision_config": SIGLIP}
        | {"text_config": TEXT | {"head_dim": 8}, "num_labels": 3},
        4,
    ),
    (
        "Llama4ForConditionalGeneration",
        {
            "text_config": TEXT
            | {"head_dim": 8, "num_local_experts": 3, "attention_chunk_size": 4, "no_rope_layers": [1, 0]}
            | {"intermediate_size_mlp": 16, "moe_layers": [1], "floor_scale": 3},
            "vision_config": VISION
            | {"hidden_size": 16, "intermediate_size": 64, "patch_size": 3}
            | {"projector_input_dim": 10, "projector_output_dim": 10, "vision_output_dim": 10},
            "image_token_index": IMAGE,
        },
        4,
    ),
]


@pytest.mark.parametrize(("architecture", "fields", "features"), CASES, ids=[name for name, *_ in CASES])
def test_outputs_are_those_of_transformers(architecture: str, fields: Fields, features: int, tmp_path: Path) -> None:
    """The features of the second image stand in two places of the second text."""
    model_class = getattr(transformers, architecture)
    model = randomise(model_class(model_class.config_class(**fields)))
    model.save_pretrained(tmp_path)
    rng = np.random.default_rng(1)
    ids = rng.integers(8, 50, (2, 12))
    ids[0, 3 : 3 + features] = ids[1, 6 : 5 + features] = ids[1, 1] = fields["image_token_index"]
    images = rng.normal(size=(2, 3, 12, 12)).astype(np.float32)
    with torch.no_grad():
        expected = model(input_ids=torch.from_numpy(ids), pixel_values=torch.from_numpy(images))
    network = netcalc.load(tmp_path, set={"batch": 2, "images": 2, "length": 12})
    for name, array in network.run({"input_ids": ids, "pixel_values": images}, weights=tmp_path).outputs.items():
        assert_close(array, expected[name].numpy(), name)


def test_images_of_several_columns(tmp_path: Path) -> None:
    """Three images in two texts, whose positions in time, height and width go on behind each image."""
    text = TEXT | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 1]}}
    vision = {"depth": 2, "embed_dim": 16, "hidden_size": 24, "num_heads": 2, "in_channels": 3}
    vision |= {"patch_size": 3, "temporal_patch_size": 2}
    fields: Fields = {"text_config": text, "vision_config": vision, "image_token_id": IMAGE}
    model = randomise(transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig(**fields)))
    model.save_pretrained(tmp_path)
    ids = torch.from_numpy(np.random.default_rng(1).integers(8, 50, (2, 20)))
    ids[0, 2:8] = ids[1, 3:9] = ids[1, 11:17] = IMAGE
    inputs = patches_of(fields, 3, (4, 6))
    with torch.no_grad():
        expected = model(input_ids=ids, mm_token_type_ids=(ids == IMAGE).int(), **inputs)
    sizes = {"batch": 2, "images": 3, "length": 20, "height": 12, "width": 18}
    # files of transformers 4 have the fields of the text beside those of the images
    config = json.loads((tmp_path / "config.json").read_text())
    old = config | config.pop("text_config") | {"model_type": "qwen2_vl"}
    old["vision_config"] |= {"model_type": "qwen2_vl"}
    old["rope_scaling"] = {"type": "mrope", "mrope_section": old.pop("rope_parameters")["mrope_section"]}
    old["rope_theta"] = 1e4
    for saved in (None, old):
        if saved:
            (tmp_path / "config.json").write_text(json.dumps(saved))
        network = netcalc.load(tmp_path, set=sizes)
        arrays = {"input_ids": ids.numpy(), "pixel_values": inputs["pixel_values"].numpy()}
        assert_close(network.run(arrays, weights=tmp_path).outputs["logits"], expected["logits"].numpy())


def test_answers_to_questions_of_several_lengths(tmp_path: Path) -> None:
    """BLIP's class returns no logits: they are those of its decoder, which sees the padding of the question too."""
    text = {name: size for name, size in TEXT.items() if name != "num_key_value_heads"}
    text |= {"max_position_embeddings": 9, "bos_token_id": 1, "sep_token_id": 2}
    fields: Fields = {"text_config": text, "vision_config": VISION | {"hidden_size": 24}}
    model = randomise(transformers.BlipForQuestionAnswering(transformers.BlipConfig(**fields)))
    model.save_pretrained(tmp_path)
    rng = np.random.default_rng(1)
    inputs: dict[str, np.ndarray] = {
        "input_ids": rng.integers(1, 50, (2, 7)),
        "attention_mask": np.array([[1] * 7, [1] * 4 + [0] * 3]),
        "decoder_input_ids": rng.integers(1, 50, (2, 3)),
        "decoder_attention_mask": np.array([[1, 1, 0], [1, 1, 1]]),
        "pixel_values": rng.normal(size=(2, 3, 12, 12)).astype(np.float32),
    }
    kept: list[Any] = []
    model.text_decoder.register_forward_hook(lambda *arguments: kept.append(arguments[-1].logits))
    with torch.no_grad():
        expected = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    outputs = netcalc.load(tmp_path, set={"batch": 2, "length": 7, "answer": 3}).run(inputs, weights=tmp_path).outputs
    assert_close(outputs["logits"], kept[0].numpy())
    assert_close(outputs["image_embeds"], expected["image_embeds"].numpy())
