"""Names that nothing uses: warnings in the spec that declares them, errors for misspelt vars of a child."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import shipped
from tests.spec.harness import program

LLAMA = "extends: llama-3-8b\ndims: {length: 4}\nvars: {layers: 1, d_model: 64, heads: 2, kv_heads: 2, d_ff: 32%s}\n"


def warned(found: tuple[Diagnostic, ...]) -> list[str]:
    """Return the messages of W101, whose places start with the name."""
    assert {d.code for d in found} <= {"W101"}
    for warning in found:
        assert warning.span is not None
        assert warning.span.text[warning.span.column - 1 : warning.span.end - 1] in warning.message
    return [d.message for d in found]


def test_every_kind_of_name_is_warned_about() -> None:
    found = program(
        """
        dims: {batch: 1, lenght: 5}
        vars: {units: 4, unitz: 5, derived: "${units}"}
        inputs: {x: [batch, 8]}
        blocks:
          used:
            args: {size: int, unused: 3, twice: "${2 * size}"}
            layers: [{name: unused, linear: "${twice}"}]
          never: {layers: [{never: {}}]}
        layers: [{used: {size: 3}}, {linear: "${units}"}]
        """
    )
    assert warned(found.warnings) == [
        "dim 'lenght' is not used",
        "var 'unitz' is not used",
        "var 'derived' is not used",
        "argument 'unused' of 'used' is not used",
        "block 'never' is not used",
    ]


def test_a_name_is_used_under_any_condition_and_in_any_expression() -> None:
    found = program(
        """
        dims: {batch: 1}
        vars: {on: false, n: 0, kind: one, act: relu, widths: [3], limit: 4, s: 1, f: true, i: 1, low: 5}
        require: [{that: limit > 3, message: never}]
        inputs: {x: {shape: [batch, 8], range: [0, low]}}
        blocks:
          one: {args: {flag: true}, layers: [{when: flag, relu: {}}]}
          two: {layers: [relu]}
          three: {layers: [tanh]}
        layers:
          - "${kind}"
          - "${act}"
          - {when: on, two: {}}
          - {name: r, repeat: n, linear: 8}
          - {repeat: {each: widths, as: width}, linear: "${width}"}
          - {name: "a${s}", freeze: f, linear: "${[2, 3][i]}"}
          - {when: on, name: last, feed_forward: {hidden: 3, activation: three}}
        """
    )
    assert warned(found.warnings) == []


def test_a_block_that_replaces_another_is_used_where_that_is_called() -> None:
    text = """
        inputs: {x: [1, 4, 8]}
        blocks:
          gpt_attention: {args: {heads: int, dropout: 0.0}, inputs: [x, mask?], layers: [{linear: 8}]}
          gpt_mlp: {args: {hidden: int, activation: op, dropout: 0.0}, layers: [{linear: 8}]}
        layers: [%s]
        """
    assert warned(program(text % "{gpt_layer: {heads: 2}}").warnings) == []
    assert warned(program(text % "relu").warnings) == [
        "block 'gpt_attention' is not used",
        "block 'gpt_mlp' is not used",
    ]


def test_a_child_is_warned_about_what_it_sets_itself(tmp_path: Path) -> None:
    child = LLAMA % ""
    assert warned(program(child).warnings) == []
    own_layers = (
        child + "layers: [{name: lm_head, embedding: {num_embeddings: '${vocab}', embedding_dim: '${d_model}'}}]\n"
    )
    assert warned(program(own_layers).warnings) == ["var 'd_ff' is not used"]


@pytest.mark.parametrize("key", ["blocks: {extra: {layers: [relu]}}", "layers: [{linear: 3}]"])
def test_a_misspelt_var_of_a_child_is_an_error(key: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        program(LLAMA % ", d_modle: 1024" + key)
    (found,) = caught.value.diagnostics
    assert found.code == "E101"
    assert "'d_modle'" in found.message
    assert found.hint == "did you mean 'd_model'?"


def test_a_child_may_declare_new_names_that_it_uses() -> None:
    found = program(
        LLAMA % ", base: 3, more: '${base + 1}'"
        + "layers: [{from: input_ids, cast: float32}, {name: lm_head, linear: '${more}'}]"
    )
    assert found.vars["more"] == 4


def test_a_child_that_sets_a_name_of_another_family_is_refused() -> None:
    with pytest.raises(NetcalcError) as caught:
        program("extends: resnet18\nvars: {hidden_size: 1024}\nblocks: {extra: {layers: [relu]}}\n")
    assert [d.code for d in caught.value.diagnostics] == ["E101"]


@pytest.mark.parametrize("name", sorted(shipped()))
def test_no_shipped_spec_warns(name: str) -> None:
    assert elaborate(load_document(name)).warnings == ()
