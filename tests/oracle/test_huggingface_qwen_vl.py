"""Descendants of Qwen2-VL: figures of random configurations and outputs of saved models are those of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids
from tests.oracle.test_huggingface_moe import ACTIVATIONS, Fields, common, layer_types
from tests.oracle.test_huggingface_multimodal import IMAGE, patches_of, texts
from tests.oracle.test_huggingface_state_space import qwen3_5, qwen3_5_moe

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402

#: Rows and columns of patches of an image.
Grid = tuple[int, int]


def sections(draw: st.DrawFn, pairs: int, **more: Any) -> Fields:
    """Return a field that divides the pairs of features of a head among time, height and width."""
    time = draw(st.integers(0, pairs))
    height = draw(st.integers(0, pairs - time))
    parameters = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [time, height, pairs - time - height]}
    return {"rope_parameters": parameters | more}


def tower(draw: st.DrawFn) -> Fields:
    """Return the fields of an image encoder of Qwen that all its versions have."""
    heads = draw(st.integers(1, 2))
    return {
        "depth": draw(st.integers(1, 4)),
        "hidden_size": heads * 4 * draw(st.integers(1, 3)),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "intermediate_size": draw(st.integers(1, 20)),
        "num_heads": heads,
        "in_channels": draw(st.integers(1, 3)),
        "patch_size": draw(st.integers(1, 3)),
        "spatial_merge_size": draw(st.integers(1, 3)),
        "temporal_patch_size": draw(st.integers(1, 2)),
    }


@st.composite
def qwen2_5_vl_text(draw: st.DrawFn) -> Fields:
    fields = common(draw)
    fields |= sections(draw, fields["hidden_size"] // fields["num_attention_heads"] // 2)
    fields["use_sliding_window"] = draw(st.booleans())
    fields["max_window_layers"] = draw(st.integers(0, 6))
    if fields["use_sliding_window"]:
        fields |= {
            "sliding_window": draw(st.integers(1, 9)),
            "layer_types": layer_types(draw, fields["num_hidden_layers"]),
        }
    return fields


@st.composite
def qwen2_5_vl(draw: st.DrawFn) -> tuple[Fields, Grid]:
    text, vision = draw(qwen2_5_vl_text()), tower(draw)
    patch, merge = vision["patch_size"], vision["spatial_merge_size"]
    vision |= {
        "out_hidden_size": text["hidden_size"],
        "window_size": draw(st.integers(patch * merge, 3 * patch * merge)),
        "fullatt_block_indexes": draw(st.lists(st.integers(0, 4), max_size=3)),
    }
    fields = {"text_config": text, "vision_config": vision, "image_token_id": IMAGE}
    fields["tie_word_embeddings"] = draw(st.booleans())
    return fields, (merge * draw(st.integers(1, 5)), merge * draw(st.integers(1, 5)))


@st.composite
def qwen3_vl_text(draw: st.DrawFn) -> Fields:
    fields = common(draw, divided=False)
    pairs = draw(st.integers(1, 5))
    fields |= {"head_dim": 2 * pairs, "attention_bias": draw(st.booleans())}
    return fields | sections(draw, pairs, mrope_interleaved=True)


def with_places(draw: st.DrawFn, text: Fields, **more: Any) -> tuple[Fields, Grid]:
    """Return a text part with an image encoder that has learned positions."""
    vision = tower(draw) | {"out_hidden_size": text["hidden_size"], "num_position_embeddings": draw(st.integers(1, 20))}
    merge = vision["spatial_merge_size"]
    fields = {"text_config": text, "vision_config": vision | more, "image_token_id": IMAGE}
    fields["tie_word_embeddings"] = draw(st.booleans())
    return fields, (merge * draw(st.integers(1, 3)), merge * draw(st.integers(1, 3)))


@st.composite
def qwen3_vl(draw: st.DrawFn, text: st.SearchStrategy[Fields]) -> tuple[Fields, Grid]:
    fields, grid = with_places(draw, draw(text))
    vision = fields["vision_config"]
    vision["deepstack_visual_indexes"] = sorted(draw(st.sets(st.integers(0, vision["depth"] - 1))))
    return fields, grid


@st.composite
def qwen3_vl_moe_text(draw: st.DrawFn) -> Fields:
    experts = draw(st.integers(1, 4))
    return draw(qwen3_vl_text()) | {
        "num_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "decoder_sparse_step": draw(st.integers(1, 2)),
        "mlp_only_layers": draw(st.lists(st.integers(0, 2), max_size=2, unique=True)),
    }


@st.composite
def qwen3_5_vision(draw: st.DrawFn, text: st.SearchStrategy[Fields]) -> tuple[Fields, Grid]:
    rotary = {
        "rope_type": "default",
        "rope_theta": 1e4,
        "partial_rotary_factor": draw(st.sampled_from([0.25, 0.4, 1.0])),
        "mrope_section": draw(st.lists(st.integers(0, 3), min_size=3, max_size=3)),
    }
    return with_places(draw, draw(text) | {"vocab_size": 50, "rope_parameters": rotary})


def assert_agrees_on_images(
    architecture: str, fields: Fields, grid: Grid, batch: int, length: int, **arguments: Any
) -> None:
    """Assert agreement for texts of an image and ``length`` more tokens; ``arguments`` are others of the model."""
    vision = fields["vision_config"]
    features = grid[0] * grid[1] // vision["spatial_merge_size"] ** 2
    tokens = texts(batch, length, features)
    inputs = patches_of(fields, batch, grid) | {"input_ids": tokens, "mm_token_type_ids": (tokens == IMAGE).int()}
    inputs |= arguments
    dims = {"batch": batch, "images": batch, "length": length + features}
    dims |= {"height": grid[0] * vision["patch_size"], "width": grid[1] * vision["patch_size"]}
    assert_agrees(architecture, fields, inputs, dims, "cpu")


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(qwen2_5_vl(), st.integers(1, 2), st.integers(1, 4))
def test_qwen2_5_vl(end: str, drawn: tuple[Fields, Grid], batch: int, length: int) -> None:
    assert_agrees_on_images(f"Qwen2_5_VL{end}", *drawn, batch, length)


@draws
@given(qwen2_5_vl_text(), st.integers(1, 2), st.integers(1, 9))
def test_qwen2_5_vl_text(fields: Fields, batch: int, length: int) -> None:
    assert_agrees("Qwen2_5_VLTextModel", fields, {"input_ids": ids(batch, length)}, {"batch": batch, "length": length})


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(qwen3_vl(qwen3_vl_text()), st.integers(1, 2), st.integers(1, 4))
def test_qwen3_vl(end: str, drawn: tuple[Fields, Grid], batch: int, length: int) -> None:
    assert_agrees_on_images(f"Qwen3VL{end}", *drawn, batch, length)


@draws
@given(qwen3_vl_text(), st.integers(1, 2), st.integers(1, 9))
def test_qwen3_vl_text(fields: Fields, batch: int, length: int) -> None:
    assert_agrees("Qwen3VLTextModel", fields, {"input_ids": ids(batch, length)}, {"batch": batch, "length": length})


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(qwen3_vl(qwen3_vl_moe_text()), st.integers(1, 2), st.integers(1, 4))
def test_qwen3_vl_moe(end: str, drawn: tuple[Fields, Grid], batch: int, length: int) -> None:
    assert_agrees_on_images(f"Qwen3VLMoe{end}", *drawn, batch, length)


@draws
@given(qwen3_vl_moe_text(), st.integers(1, 2), st.integers(1, 9))
def test_qwen3_vl_moe_text(fields: Fields, batch: int, length: int) -> None:
    dims = {"batch": batch, "length": length}
    assert_agrees("Qwen3VLMoeTextModel", fields, {"input_ids": ids(batch, length)}, dims)


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(qwen3_5_vision(qwen3_5()), st.integers(1, 2), st.integers(1, 4))
def test_qwen3_5(end: str, drawn: tuple[Fields, Grid], batch: int, length: int) -> None:
    # with a cache transformers computes columns of the convolution that no token has
    assert_agrees_on_images(f"Qwen3_5{end}", *drawn, batch, length, use_cache=False)


@pytest.mark.parametrize("end", ["ForConditionalGeneration", "Model"])
@draws
@given(qwen3_5_vision(qwen3_5_moe()), st.integers(1, 2), st.integers(1, 4))
def test_qwen3_5_moe(end: str, drawn: tuple[Fields, Grid], batch: int, length: int) -> None:
    assert_agrees_on_images(f"Qwen3_5Moe{end}", *drawn, batch, length, use_cache=False)


TEXT = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 20}
TEXT |= {"num_key_value_heads": 2}
VISION = {
    "depth": 2,
    "hidden_size": 16,
    "intermediate_size": 10,
    "num_heads": 2,
    "patch_size": 3,
    "out_hidden_size": 24,
}
TURNED = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 1]}
CASES: list[tuple[str, Fields]] = [
    (
        "Qwen2_5_VLForConditionalGeneration",
        {"text_config": TEXT | {"rope_parameters": TURNED}}
        | {"vision_config": VISION | {"window_size": 18, "fullatt_block_indexes": [1]}},
    ),
    (
        "Qwen3VLForConditionalGeneration",
        {"text_config": TEXT | {"head_dim": 10, "rope_parameters": TURNED | {"mrope_section": [2, 2, 1]}}}
        | {"vision_config": VISION | {"num_position_embeddings": 17, "deepstack_visual_indexes": [0, 1]}},
    ),
    (
        "Qwen3_5ForConditionalGeneration",
        {
            "text_config": TEXT
            | {"head_dim": 16, "layer_types": ["full_attention", "full_attention"]}
            | {"rope_parameters": TURNED | {"partial_rotary_factor": 0.625, "mrope_section": [2, 2, 1]}},
            "vision_config": VISION | {"num_position_embeddings": 17},
        },
    ),
]


@pytest.mark.parametrize(("architecture", "fields"), CASES, ids=[name for name, _ in CASES])
def test_images_of_several_windows(architecture: str, fields: Fields, tmp_path: Path) -> None:
    """Three images of 6 by 10 patches in two texts; windows of 3 by 3 features do not cover the 3 by 5 of an image."""
    model_class = getattr(transformers, architecture)
    fields = fields | {"image_token_id": IMAGE}
    model = randomise(model_class(model_class.config_class(**fields)))
    model.save_pretrained(tmp_path)
    tokens = torch.from_numpy(np.random.default_rng(1).integers(8, 50, (2, 40)))
    tokens[0, 2:17] = tokens[1, 3:18] = tokens[1, 20:35] = IMAGE
    inputs = patches_of(
        {"vision_config": fields["vision_config"] | {"in_channels": 3, "temporal_patch_size": 2}}, 3, (6, 10)
    )
    with torch.no_grad():
        expected = model(input_ids=tokens, mm_token_type_ids=(tokens == IMAGE).int(), **inputs)
    network = netcalc.load(tmp_path, set={"batch": 2, "images": 3, "length": 40, "height": 18, "width": 30})
    arrays = {"input_ids": tokens.numpy(), "pixel_values": inputs["pixel_values"].numpy()}
    assert_close(network.run(arrays, weights=tmp_path).outputs["logits"], expected["logits"].numpy())
