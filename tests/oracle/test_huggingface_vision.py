"""Random configurations of models of images and sound: figures are those of transformers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids, images

BATCHES = st.integers(1, 2)


@st.composite
def encoder(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields of a Transformer encoder that most configurations name alike."""
    heads = draw(st.integers(1, 3))
    return {
        "hidden_size": heads * draw(st.integers(1, 6)),
        "num_attention_heads": heads,
        "num_hidden_layers": draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(1, 40)),
        "hidden_act": draw(st.sampled_from(["gelu", "quick_gelu", "relu"])),
    }


@st.composite
def clip(draw: st.DrawFn) -> dict[str, Any]:
    patch = draw(st.integers(1, 4))
    return {
        "text_config": draw(encoder()) | {"vocab_size": draw(st.integers(8, 40)), "max_position_embeddings": 9},
        "vision_config": draw(encoder())
        | {"patch_size": patch, "image_size": patch * draw(st.integers(1, 3)), "num_channels": draw(st.integers(1, 3))},
        "projection_dim": draw(st.integers(1, 9)),
    }


@draws
@given(clip(), BATCHES, st.integers(1, 2), st.integers(1, 9))
def test_clip(fields: dict[str, Any], batch: int, texts: int, length: int) -> None:
    vision = fields["vision_config"]
    size = vision["image_size"]
    inputs = {"pixel_values": images(batch, vision["num_channels"], size, size), "input_ids": ids(texts, length)}
    assert_agrees("CLIPModel", fields, inputs, {"images": batch, "texts": texts, "length": length})
