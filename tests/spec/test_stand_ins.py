"""Blocks of a spec that are called in place of shipped or inherited ones, and do not fit there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spec.harness import problems, program

GPT2 = "extends: gpt2\nvars: {layers: 2, d_model: 8, heads: 2, vocab: 16, max_length: 8%s}\ndims: {length: 4%s}\n"


def block(name: str, interface: str, more_vars: str = "", more_dims: str = "") -> str:
    """Return a spec that extends GPT-2 and has a block with an interface of its own in place of a shipped one."""
    return f"{GPT2 % (more_vars, more_dims)}blocks: {{{name}: {{{interface}, layers: [{{linear: 8}}]}}}}\n"


def test_everything_that_a_block_lacks_is_one_error() -> None:
    text = block(
        "gpt_attention", "args: {heads: int, width: int}, inputs: [x, y]", ", use_cache: true, padding_mask: true"
    )
    (found,) = problems(text)
    assert found.code == "E110"
    assert "lacks the arguments scale, dropout, use_cache" in found.message
    assert "requires the argument width" in found.message
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith("gpt_attention")
    assert found.hint is not None
    for part in (
        "inputs: [x, key_padding_mask?, past_key?, past_value?]",
        "args: {heads: int, scale: float?, dropout: 0.0, bias: true, use_cache: false}",
        "outputs: [projected, present_key?, present_value?]",
    ):
        assert part in found.hint


def test_inputs_that_a_block_lacks_are_named_as_the_replaced_block_names_them() -> None:
    text = block("gpt_attention", "args: {heads: int, dropout: 0.0, scale: float?, use_cache: false}, inputs: [in]")
    assert program(text).warnings == ()
    (found,) = problems(text.replace("length: 4", "length: 4, past: 3"))
    assert "lacks the inputs past_key, past_value" in found.message
    (found,) = problems(text, padding_mask=True)
    assert found.message.endswith("lacks the input key_padding_mask")


def test_inputs_of_a_call_by_name() -> None:
    text = """
extends: llama-3-8b
vars: {layers: 2, d_model: 8, heads: 2, kv_heads: 1, d_ff: 8, vocab: 16}
dims: {length: 4%s}
blocks: {decoder_layer: {args: {norm: op, attention: op, mlp: op%s}, inputs: [%s], layers: [{linear: 8}]}}
"""
    named = "x, key_padding_mask?, past_key?, past_value?"
    assert program(text % ("", "", named)).warnings == ()
    (found,) = problems(text % (", past: 2", "", "x, past_value?"))
    assert found.message.endswith("lacks the inputs key_padding_mask, past_key")
    (found,) = problems(text % ("", ", gain: float", f"{named}, memory"))
    assert found.message.endswith("requires the input memory and the argument gain, which the call does not give")


def test_a_block_in_place_of_an_inherited_one(tmp_path: Path) -> None:
    part = "{args: {units: int}, layers: [{linear: '${units}'}]}"
    parent = f"netcalc: 1\ninputs: {{x: [2, 8]}}\nblocks: {{part: {part}}}\nlayers: [{{part: {{units: 3}}}}]\n"
    (tmp_path / "parent.yaml").write_text(parent)
    child = "extends: parent\nblocks: {part: {layers: [relu]}}\n"
    (found,) = problems(child, folder=tmp_path)
    assert (found.code, found.hint) == ("E110", "its interface should be inputs: [in], args: {units: int}")


@pytest.mark.parametrize(
    ("line", "code"), [("gpt_mlp: {hidden: 3}", "E103"), ("from: [x, x]\n  gpt_mlp: {size: 3}", "E303")]
)
def test_a_call_in_the_file_of_the_block_has_the_error_of_a_call(line: str, code: str) -> None:
    text = "inputs: {x: [2, 8]}\nblocks: {gpt_mlp: {args: {size: int}, layers: [{linear: 8}]}}\nlayers:\n- %s\n"
    assert {found.code for found in problems(text % line)} <= {code, "E105"}
