"""Random configurations of state-space models and their hybrids: figures are those of transformers' eager form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids

Fields = dict[str, Any]
ACTIVATIONS = ["silu", "gelu", "gelu_pytorch_tanh", "relu"]


@st.composite
def mamba2(draw: st.DrawFn) -> Fields:
    """Return fields of Mamba-2; products over a single state or position are not counted as matrix products."""
    groups, size, expand = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    heads = groups * expand * draw(st.integers(1, 3))
    low = draw(st.sampled_from([0.0, 0.01]))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * size // expand,
        "num_heads": heads,
        "head_dim": size,
        "expand": expand,
        "n_groups": groups,
        "state_size": draw(st.integers(2, 9)),
        "num_hidden_layers": draw(st.integers(1, 4)),
        "conv_kernel": draw(st.integers(1, 4)),
        "chunk_size": draw(st.integers(2, 9)),
        "use_bias": draw(st.booleans()),
        "use_conv_bias": draw(st.booleans()),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "time_step_limit": (low, draw(st.sampled_from([float("inf"), 0.1]))),
        "tie_word_embeddings": draw(st.booleans()),
    }


#: Base of the names of architectures, the ends of the names, and fields.
CASES = [
    ("Mamba2", ["Model", "ForCausalLM"], mamba2()),
]


@pytest.mark.parametrize(("base", "ends", "strategy"), CASES, ids=[base for base, *_ in CASES])
@draws
@given(data=st.data(), batch=st.integers(1, 2), length=st.integers(1, 13))
def test_figures_of_random_configurations(
    base: str, ends: list[str], strategy: st.SearchStrategy[Fields], data: st.DataObject, batch: int, length: int
) -> None:
    end = data.draw(st.sampled_from(ends))
    labels = {"num_labels": data.draw(st.integers(2, 4)), "pad_token_id": data.draw(st.integers(0, 7))}
    inputs = {"input_ids": ids(batch, length), "use_cache": False}  # a cache pads the input of short convolutions
    assert_agrees(base + end, labels | data.draw(strategy), inputs, {"batch": batch, "length": length})
