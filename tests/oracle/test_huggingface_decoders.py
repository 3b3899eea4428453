"""Random configurations of decoders: figures are those of transformers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids


@st.composite
def llama(draw: st.DrawFn) -> dict[str, Any]:
    kv_heads, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    heads, head_dim = kv_heads * groups, 2 * draw(st.integers(1, 4))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * head_dim,
        "intermediate_size": draw(st.integers(1, 40)),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.sampled_from([None, 2, 6])),
        "hidden_act": draw(st.sampled_from(["silu", "gelu_new", "relu"])),
        "tie_word_embeddings": draw(st.booleans()),
        "attention_bias": draw(st.booleans()),
        "mlp_bias": draw(st.booleans()),
    }


@st.composite
def heads(draw: st.DrawFn, *heads: str) -> tuple[str, dict[str, Any], int, int]:
    """Draw the end of an architecture's name, fields of its head, batch and length."""
    fields = {"num_labels": draw(st.integers(2, 4)), "pad_token_id": draw(st.integers(0, 7))}
    return draw(st.sampled_from(heads)), fields, draw(st.integers(1, 2)), draw(st.integers(1, 9))


def check(name: str, fields: dict[str, Any], head: tuple[str, dict[str, Any], int, int]) -> None:
    end, more, batch, length = head
    inputs = {"input_ids": ids(batch, length)}
    assert_agrees(name + end, more | fields, inputs, {"batch": batch, "length": length})


ALL = ("Model", "ForCausalLM", "ForSequenceClassification", "ForTokenClassification")


@draws
@given(llama(), heads(*ALL))
def test_llama(fields: dict[str, Any], head: tuple[str, dict[str, Any], int, int]) -> None:
    check("Llama", fields, head)
