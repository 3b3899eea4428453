"""Random configurations of Gemma 3n and 4, with images and sounds too: figures are those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from tests.oracle.harness import DRAWS, draws
from tests.oracle.huggingface import assert_agrees, decoder_test
from tests.oracle.test_huggingface_moe import ACTIVATIONS, Fields, common, layer_types
from tests.oracle.test_huggingface_multimodal import IMAGE, texts

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import randomise  # noqa: E402

ROPE = st.sampled_from(
    [
        {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 500.0},
        {"rope_type": "proportional", "rope_theta": 500.0, "factor": 2.0},
        {"rope_type": "default", "rope_theta": 500.0},
        {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0},
    ]
)


def shared_layers(draw: st.DrawFn, types: list[str]) -> int:
    """Return a number of last layers each of which has an earlier layer of its type that is not among them."""
    return draw(st.sampled_from([n for n in range(len(types)) if set(types) == set(types[: len(types) - n])]))


@st.composite
def gemma4(draw: st.DrawFn) -> Fields:
    fields = common(draw, activation="hidden_activation", divided=False)
    layers, heads = fields["num_hidden_layers"], fields["num_attention_heads"]
    types = layer_types(draw, layers)
    stated = [*(types or ["sliding_attention"] * 5)[: layers - 1], "full_attention"]
    bidirectional = draw(st.sampled_from([None, "vision", "all"]))
    merged = draw(st.booleans())
    experts = draw(st.integers(1, 4))
    mixture = {"num_experts": experts, "top_k_experts": draw(st.integers(1, experts))}
    mixture |= {"enable_moe_block": True, "moe_intermediate_size": draw(st.integers(1, 20))}
    rope, shared = draw(st.none() | ROPE), shared_layers(draw, stated)
    return (
        fields
        | {
            "head_dim": 2 * draw(st.integers(1, 4)),
            "global_head_dim": 2 * draw(st.integers(1, 4)),
            "attention_k_eq_v": merged,
            "num_global_key_value_heads": draw(st.sampled_from([None, 1, heads])) if merged else None,
            "attention_bias": draw(st.booleans()),
            "sliding_window": draw(st.integers(1, 9)),
            "layer_types": types,
            "num_kv_shared_layers": shared,
            "use_double_wide_mlp": draw(st.booleans()),
            "vocab_size_per_layer_input": draw(st.integers(8, 40)),
            # transformers slices the inputs of layers, which there have to be, where layers share keys and values
            "hidden_size_per_layer_input": draw(st.integers(1 if shared else 0, 4)),
            "final_logit_softcapping": draw(st.none() | st.just(5.0)),
            "use_bidirectional_attention": bidirectional,
            "rope_parameters": rope
            and {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}},
        }
        | (mixture if draw(st.booleans()) else {})
    )


@st.composite
def gemma3n(draw: st.DrawFn) -> Fields:
    fields = common(draw, activation="hidden_activation")
    layers, streams = fields["num_hidden_layers"], draw(st.integers(1, 4))
    types = layer_types(draw, layers)
    stated = types or [*["sliding_attention"] * 4, "full_attention"][:layers]
    sizes = st.integers(1, 20)
    shares = st.lists(st.sampled_from([0.0, 0.5, 0.95]), min_size=layers, max_size=layers)
    rope = draw(st.none() | ROPE)
    return fields | {
        "intermediate_size": draw(sizes | st.lists(sizes, min_size=layers, max_size=layers)),
        "head_dim": 2 * draw(st.integers(1, 4)),
        "attention_bias": draw(st.booleans()),
        "sliding_window": draw(st.integers(1, 9)),
        "layer_types": types,
        "num_kv_shared_layers": shared_layers(draw, stated),
        "vocab_size_per_layer_input": draw(st.integers(8, 40)),
        "hidden_size_per_layer_input": draw(st.integers(1, 4)),
        "final_logit_softcapping": draw(st.sampled_from([5.0, 30.0])),
        "altup_num_inputs": streams,
        "altup_active_idx": draw(st.integers(0, streams - 1)),
        "altup_correct_scale": draw(st.booleans()),
        "laurel_rank": draw(st.integers(1, 5)),
        "activation_sparsity_pattern": draw(st.none() | shares),
        "rope_parameters": rope
        and {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}},
    }


#: Base of the names of architectures, the ends of the names, and fields.
CASES = [
    ("Gemma4", ["ForCausalLM", "TextModel"], gemma4()),
    ("Gemma3n", ["ForCausalLM", "TextModel"], gemma3n()),
]


test_figures_of_random_configurations = decoder_test(CASES)


@st.composite
def gemma4_images(draw: st.DrawFn) -> tuple[Fields, tuple[int, int]]:
    """Return fields of Gemma 4 with images, and the rows and columns of patches of an image."""
    kv_heads, pool = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    grid = (pool * draw(st.integers(1, 3)), pool * draw(st.integers(1, 3)))
    vision = {
        "hidden_size": draw(st.integers(1, 20)),
        "intermediate_size": draw(st.integers(1, 20)),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": kv_heads * draw(st.integers(1, 2)),
        "num_key_value_heads": kv_heads,
        "head_dim": 4 * draw(st.integers(1, 3)),
        "hidden_activation": draw(st.sampled_from(ACTIVATIONS)),
        "patch_size": draw(st.integers(1, 3)),
        "pooling_kernel_size": pool,
        "position_embedding_size": draw(st.integers(max(grid), 20)),
        "use_clipped_linears": draw(st.booleans()),
        "standardize": draw(st.booleans()),
    }
    text = draw(gemma4()) | {"pad_token_id": draw(st.integers(0, 5))}
    fields = {"text_config": text, "vision_config": vision, "image_token_id": IMAGE}
    return fields | {"tie_word_embeddings": draw(st.booleans())}, grid


def patches_of(fields: Fields, images: int, grid: tuple[int, int]) -> dict[str, Any]:
    """Return the patches of images, row by row, and their places."""
    places = torch.tensor([[x, y] for y in range(grid[0]) for x in range(grid[1])])
    size = 3 * fields["vision_config"]["patch_size"] ** 2
    return {
        "pixel_values": torch.rand(images, len(places), size),
        "image_position_ids": places.expand(images, -1, -1),
    }


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(gemma4_images(), st.integers(1, 2), st.integers(1, 4))
def test_gemma4_with_images(end: str, drawn: tuple[Fields, tuple[int, int]], batch: int, length: int) -> None:
    fields, grid = drawn
    vision = fields["vision_config"]
    features = grid[0] * grid[1] // vision["pooling_kernel_size"] ** 2
    inputs = patches_of(fields, batch, grid) | {"input_ids": texts(batch, length, features)}
    dims = {"batch": batch, "images": batch, "length": length + features}
    dims |= {"height": grid[0] * vision["patch_size"], "width": grid[1] * vision["patch_size"]}
    assert_agrees(f"Gemma4{end}", fields, inputs, dims, "cpu")


#: Stands for a feature of a sound.
SOUND = 8
#: Models of many layers take longer.
few = settings(draws, max_examples=max(1, DRAWS // 5))


@st.composite
def gemma4_sounds(draw: st.DrawFn) -> tuple[Fields, tuple[int, int]]:
    """Return fields of Gemma 4 with images and sounds, and the rows and columns of patches of an image."""
    fields, grid = draw(gemma4_images())
    heads = draw(st.integers(1, 3))
    audio = {
        "hidden_size": 2 * heads * draw(st.integers(1, 3)),
        "num_hidden_layers": draw(st.integers(0, 2)),
        "num_attention_heads": heads,
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "subsampling_conv_channels": [4 * draw(st.integers(1, 3)), draw(st.integers(1, 4))],
        "conv_kernel_size": draw(st.integers(1, 5)),
        "attention_chunk_size": draw(st.integers(1, 5)),
        "attention_context_left": draw(st.integers(1, 5)),
        "attention_context_right": draw(st.integers(0, 3)),
        "use_clipped_linears": draw(st.booleans()),
        "output_proj_dims": draw(st.integers(1, 9)),
    }
    return fields | {"audio_config": audio, "audio_token_id": SOUND}, grid


def spectra_of(fields: Fields, sounds: int, frames: int) -> dict[str, Any]:
    """Return spectra of sounds without padding."""
    mels = fields["audio_config"]["subsampling_conv_channels"][0]
    return {
        "input_features": torch.randn(sounds, frames, mels),
        "input_features_mask": torch.ones(sounds, frames, dtype=torch.bool),
    }


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(gemma4_sounds(), st.integers(1, 2), st.integers(1, 4), st.integers(1, 40))
def test_gemma4_with_sounds(
    end: str, drawn: tuple[Fields, tuple[int, int]], batch: int, length: int, frames: int
) -> None:
    fields, grid = drawn
    vision = fields["vision_config"]
    images, heard = grid[0] * grid[1] // vision["pooling_kernel_size"] ** 2, (frames + 3) // 4
    tokens = torch.cat([texts(batch, length, images), torch.full((batch, heard), SOUND)], dim=1)
    inputs = patches_of(fields, batch, grid) | spectra_of(fields, batch, frames) | {"input_ids": tokens}
    dims = {"batch": batch, "images": batch, "sounds": batch, "length": length + images + heard, "frames": frames}
    dims |= {"height": grid[0] * vision["patch_size"], "width": grid[1] * vision["patch_size"]}
    assert_agrees(f"Gemma4{end}", fields, inputs, dims, "cpu")


@pytest.mark.parametrize("context", [(4, 3, 0), (3, 5, 2), (12, 13, 0), (2, 1, 1)])
def test_gemma4_hears_as_transformers(tmp_path: Path, context: tuple[int, int, int]) -> None:
    """Two sounds of 27 spectra, whose 7 features end within a chunk; the text between theirs has an image instead."""
    text: Fields = {"vocab_size": 50, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2, "head_dim": 6}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "global_head_dim": 8, "pad_token_id": 3}
    text |= {"hidden_size_per_layer_input": 5, "vocab_size_per_layer_input": 50}
    vision = {"hidden_size": 16, "intermediate_size": 10, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision |= {"num_key_value_heads": 2, "head_dim": 8, "patch_size": 2, "pooling_kernel_size": 2}
    audio: Fields = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "output_proj_dims": 10}
    audio |= {"subsampling_conv_channels": [8, 3], "gradient_clipping": 1.5, "attention_logit_cap": 2.0}
    audio |= dict(
        zip(("attention_chunk_size", "attention_context_left", "attention_context_right"), context, strict=True)
    )
    fields: Fields = {"text_config": text, "vision_config": vision, "audio_config": audio}
    config = transformers.Gemma4Config(**fields, image_token_id=IMAGE, audio_token_id=SOUND)
    model = randomise(transformers.Gemma4ForConditionalGeneration(config))  # which hears in single precision alone
    for name, buffer in model.named_buffers():
        if name.endswith(("put_min", "put_max")):
            buffer.fill_(-0.9 if name.endswith("min") else 0.8)
    model.save_pretrained(tmp_path)
    tokens = torch.from_numpy(np.random.default_rng(1).integers(10, 50, (3, 12)))
    tokens[0, 2:9] = tokens[2, 4:11] = SOUND
    tokens[1, 5] = IMAGE
    inputs = patches_of(fields, 1, (2, 2)) | spectra_of(fields, 2, 27)
    with torch.no_grad():
        expected = model(input_ids=tokens, **inputs)
    dims = {"batch": 3, "images": 1, "sounds": 2, "length": 12, "frames": 27, "height": 4, "width": 4}
    network = netcalc.load(tmp_path, dtype="float32", set=dims)
    arrays = {name: inputs[name].numpy() for name in ("pixel_values", "input_features")} | {"input_ids": tokens.numpy()}
    found = network.run(arrays, weights=tmp_path).outputs
    for name in ("logits", "image_hidden_states", "audio_hidden_states"):
        np.testing.assert_allclose(found[name], expected[name].numpy(), rtol=0, atol=2e-4)


@st.composite
def gemma3n_whole(draw: st.DrawFn) -> Fields:
    """Return fields of Gemma 3n with images and sounds, whose tokens have the ids from 40 to 59."""
    heads, vocab = draw(st.integers(1, 3)), {"vocab_size": 10}
    text = draw(gemma3n()) | {
        "vocab_size": 60,
        "vocab_size_per_layer_input": 40,
        "pad_token_id": draw(st.integers(0, 5)),
    }
    audio = {
        "input_feat_size": draw(st.integers(1, 9)),
        "hidden_size": 2 * heads * draw(st.integers(1, 3)),
        "conf_attention_chunk_size": draw(st.integers(1, 5)),
        "conf_attention_context_left": draw(st.integers(0, 5)),
        "conf_attention_context_right": draw(st.integers(0, 3)),
        "conf_num_attention_heads": heads,
        "conf_num_hidden_layers": draw(st.integers(0, 2)),
        "conf_conv_kernel_size": draw(st.integers(1, 5)),
        "conf_reduction_factor": draw(st.integers(1, 4)),
        "sscp_conv_channel_size": [draw(st.integers(1, 4)), draw(st.integers(1, 4))],
        "sscp_conv_kernel_size": [[draw(st.integers(1, 3)), draw(st.integers(1, 3))] for _ in range(2)],
        "sscp_conv_stride_size": [[draw(st.integers(1, 3)), draw(st.integers(1, 3))] for _ in range(2)],
    }
    return {
        "text_config": text,
        "vision_config": vocab | {"vocab_offset": 40, "model_args": {"channel_multiplier": 0.05}},
        "audio_config": vocab | audio | {"vocab_offset": 50},
        "image_token_id": 41,
        "audio_token_id": 51,
        "audio_soft_tokens_per_image": 9,
        "tie_word_embeddings": draw(st.booleans()),
    }


def whole_text(length: int, images: int, sounds: int) -> Any:
    """Return ids of a text with 256 features of each image and 9 of each sound behind them."""
    return torch.tensor([[7] * length + [41] * 256 * images + [51] * 9 * sounds])


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@few
@given(gemma3n_whole(), st.integers(1, 2), st.integers(1, 2), st.integers(1, 9), st.sampled_from([17, 32, 48]))
def test_gemma3n_with_images_and_sounds(
    end: str, fields: Fields, images: int, sounds: int, frames: int, side: int
) -> None:
    tokens = whole_text(3, images, sounds)
    inputs = {"input_ids": tokens, "pixel_values": torch.zeros(images, 3, side, side)}
    inputs |= {"input_features": torch.zeros(sounds, frames, fields["audio_config"]["input_feat_size"])}
    inputs |= {"input_features_mask": torch.ones(sounds, frames, dtype=torch.bool)}
    dims = {"batch": 1, "length": tokens.shape[1], "images": images, "height": side, "width": side}
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert_agrees(f"Gemma3n{end}", fields, inputs, dims | {"sounds": sounds, "frames": frames}, "cpu")


@pytest.mark.parametrize("side", [256, 208])
def test_gemma3n_sees_and_hears_as_transformers(tmp_path: Path, side: int) -> None:
    """A sound of 4 features and 2 of padding, and images whose places are pooled, or interpolated, to 256 features."""
    text: Fields = {"vocab_size": 60, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 4, "head_dim": 6}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "num_kv_shared_layers": 2, "altup_num_inputs": 3}
    text |= {"layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 5, "laurel_rank": 4}
    text |= {"hidden_size_per_layer_input": 5, "vocab_size_per_layer_input": 40}
    text |= {"activation_sparsity_pattern": [0.5, 0.0, 0.0, 0.0]}
    audio: Fields = {
        "input_feat_size": 7,
        "hidden_size": 12,
        "conf_num_attention_heads": 2,
        "sscp_conv_channel_size": [4, 3],
    }
    audio |= {"conf_attention_chunk_size": 4, "conf_attention_context_left": 3, "conf_attention_context_right": 2}
    audio |= {"conf_attention_logit_cap": 2.0, "conf_num_hidden_layers": 2, "conf_reduction_factor": 2}
    config = transformers.Gemma3nConfig(
        text_config=text,
        vision_config={"vocab_size": 10, "vocab_offset": 40, "model_args": {"channel_multiplier": 0.05}},
        audio_config=audio | {"vocab_size": 10, "vocab_offset": 50, "gradient_clipping": 1.5},
        image_token_id=41,
        audio_token_id=51,
        audio_soft_tokens_per_image=6,
    )
    model = randomise(transformers.Gemma3nForConditionalGeneration(config))
    model.save_pretrained(tmp_path)
    tokens = torch.from_numpy(np.random.default_rng(1).integers(4, 40, (2, 270)))
    tokens[:, 4:260], tokens[1, 261:267] = 41, 51
    tokens[0, 1], tokens[0, 2], tokens[0, 262] = 47, 50, 59  # embeddings beside the encoders
    inputs = {"pixel_values": torch.randn(2, 3, side, side), "input_features": torch.randn(1, 29, 7)}
    with torch.no_grad():
        expected = model(input_ids=tokens, **inputs, input_features_mask=torch.ones(1, 29, dtype=torch.bool))
    dims = {"batch": 2, "length": 270, "images": 2, "height": side, "width": side, "sounds": 1, "frames": 29}
    network = netcalc.load(tmp_path, dtype="float32", set=dims)
    arrays = {name: value.numpy() for name, value in inputs.items()} | {"input_ids": tokens.numpy()}
    found = network.run(arrays, weights=tmp_path).outputs
    for name in ("logits", "image_hidden_states", "audio_hidden_states"):
        np.testing.assert_allclose(found[name], expected[name].numpy(), rtol=0, atol=2e-4)


def test_gemma4_with_limits_and_embeddings_for_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three images of 4 by 6 patches in two texts, which have the embedding of padding for the layers."""
    # the network amplifies the rounding of norms in float32
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    rotary: Fields = {
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 100.0}
    }
    rotary["sliding_attention"] = {"rope_type": "default", "rope_theta": 10.0}
    text: Fields = {"vocab_size": 50, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 4, "head_dim": 6}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "global_head_dim": 8, "num_kv_shared_layers": 2}
    text |= {"layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 5, "pad_token_id": 3}
    text |= {"hidden_size_per_layer_input": 5, "vocab_size_per_layer_input": 50, "rope_parameters": rotary}
    vision = {"hidden_size": 16, "intermediate_size": 10, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision |= {"num_key_value_heads": 2, "head_dim": 8, "patch_size": 3, "pooling_kernel_size": 2}
    vision |= {"position_embedding_size": 9, "use_clipped_linears": True}
    config = transformers.Gemma4Config(text_config=text, vision_config=vision, image_token_id=IMAGE)
    model = randomise(transformers.Gemma4ForConditionalGeneration(config)).double()
    for name, buffer in model.named_buffers():
        if name.endswith(("put_min", "put_max")):
            buffer.fill_(-0.4 if name.endswith("min") else 0.5)
    model.save_pretrained(tmp_path)
    tokens = torch.from_numpy(np.random.default_rng(1).integers(8, 50, (2, 20)))
    tokens[0, 2:8] = tokens[1, 3:9] = tokens[1, 12:18] = IMAGE
    inputs = patches_of({"vision_config": vision}, 3, (4, 6))
    with torch.no_grad():
        inputs["pixel_values"] = inputs["pixel_values"].double()
        expected = model(input_ids=tokens, **inputs)
    network = netcalc.load(
        tmp_path, dtype="float64", set={"batch": 2, "images": 3, "length": 20, "height": 12, "width": 18}
    )
    arrays = {"input_ids": tokens.numpy(), "pixel_values": inputs["pixel_values"].numpy()}
    found = network.run(arrays, weights=tmp_path).outputs
    for name in ("logits", "image_hidden_states"):
        np.testing.assert_allclose(found[name], expected[name].numpy(), rtol=0, atol=2e-4)
