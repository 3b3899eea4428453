"""Requirements of specs and blocks: conditions on vars, arguments and inputs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec import elaborate, load_document
from tests.spec.harness import problems, program, shapes

HEADS = """
    dims: {length: 6}
    vars: {d_model: 8, heads: 2, head_dim: "${d_model // heads}"}
    require:
      - {that: d_model % heads == 0, message: heads must divide d_model}
    inputs: {x: [length, "${d_model}"]}
    layers: [{reshape: ["${length}", "${heads}", "${head_dim}"]}]
"""
BLOCK = """
    dims: {length: 6}
    inputs: {x: [length, 9]}
    blocks:
      halves:
        args: {groups: int}
        require:
          - {that: in.features % groups == 0, message: groups must divide the features}
          - {that: "in.shape[0] % 2 == 0", message: the length must be even}
        layers: [{name: l, linear: "${in.features // groups}"}]
    layers:
"""


def marked(found: Diagnostic) -> str:
    """Return the text at the place of a diagnostic."""
    assert found.span is not None
    return found.span.text[found.span.column - 1 : found.span.end - 1]


def test_a_requirement_that_does_not_hold_is_the_only_error() -> None:
    (found,) = problems(HEADS, heads=3)
    assert found.code == "E108"
    assert found.message == (
        "heads must divide d_model: d_model % heads == 0 does not hold for d_model = 8, heads = 3 (--set)"
    )
    assert marked(found) == "d_model % heads == 0"
    assert shapes(program(HEADS, heads=4)) == {"reshape": "6×4×2"}


def test_values_are_named_in_the_order_of_the_condition() -> None:
    spec = """
        dims: {heads: 2, size: 6, d: 3}
        require: [{that: heads >= size + d, message: too few}]
        inputs: {x: [heads, size, d]}
        layers: [relu]
    """
    assert problems(spec)[0].message.endswith("does not hold for heads = 2, size = 6, d = 3")


def test_a_requirement_is_reported_beside_wrong_settings_but_not_beside_their_consequences() -> None:
    derived = HEADS.replace("head_dim:", "rest: '${1 // (heads - 3)}', scale: {default: 1.0, max: 2.0}, head_dim:")
    found = problems(derived, heads=3, scale=5)
    assert [d.code for d in found] == ["E108", "E501"]
    assert [d.code for d in problems(HEADS.replace("% heads", "% haeds"))] == ["E202"]
    assert [d.code for d in problems(HEADS, heads=0)] == ["E203"] * 2  # the var divides, and so does the condition


def test_the_requirements_of_a_child_are_added_to_those_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text("netcalc: 1\n" + dedent(HEADS))
    child = tmp_path / "child.yaml"
    text = "netcalc: 1\nextends: parent\nvars: {heads: 3}\nrequire: [{that: heads > 3, message: too few}]\n"
    child.write_text(text)
    with pytest.raises(NetcalcError) as caught:
        elaborate(load_document(child))
    inherited, own = caught.value.diagnostics
    assert inherited.code == own.code == "E108"
    assert (marked(inherited), marked(own)) == ("3", "heads > 3")  # the child's value, the child's condition
    (related,) = inherited.related
    assert related.span is not None
    assert related.span.file.endswith("parent.yaml")
    child.write_text(text.replace("heads: 3", "heads: 4"))
    elaborate(load_document(child))


def test_a_block_requires_of_its_arguments_and_inputs() -> None:
    assert shapes(program(BLOCK + "      - {name: b, halves: {groups: 3}}\n")) == {"b.l": "6×3"}
    (found,) = problems(BLOCK + "      - {name: b, halves: {groups: 2}}\n      - {name: c, linear: 3}\n")
    assert found.code == "E108"
    assert marked(found) == "2"
    assert "does not hold for in = 6×9, groups = 2" in found.message
    assert [fact.text for fact in found.related] == ["required here"]
    (found,) = problems(BLOCK + "      - {name: b, halves: {groups: 3}}\n", length=5)
    assert marked(found) == "halves"


def test_what_symbolic_sizes_leave_open_is_assumed() -> None:
    found = program(BLOCK + "      - {name: b, halves: {groups: 3}}\n", symbolic=("length",))
    (assumed,) = (assumption for assumption in found.assumptions if assumption.relation == "==")
    assert assumed.holds({"length": 8})
    assert not assumed.holds({"length": 7})
    (refused,) = problems(BLOCK + "      - {name: b, halves: {groups: 3}}\n", symbolic=("length",), length=5)
    assert refused.code == "E108"
    undefined = BLOCK.replace("length: 6", "length: null") + "      - {name: b, halves: {groups: 3}}\n"
    assert str(program(undefined).assumptions[0]) == str(assumed)


def test_conditions_are_combined() -> None:
    text = "vars: {a: 1, b: null}\nrequire: [{that: '%s', message: no}]\ninputs: {x: [2]}\nlayers: [relu]\n"
    for holds in ("a == 1 and not b", "b == null or b > 2", "a if a == 1 else b", "${a in [1, 2]}"):
        program(text % holds)
    for fails in ("a == 1 and b", "b != null or a > 2", "false", "${a in [2]}"):
        assert [d.code for d in problems(text % fails)] == ["E108"]


def test_malformed_requirements() -> None:
    rest = "inputs: {x: [2]}\nlayers: [relu]\n"
    assert [d.code for d in problems("require: [{that: 1 > 0}]\n" + rest)] == ["E105"]
    assert [d.code for d in problems("require: [1 > 0]\n" + rest)] == ["E104"]
    assert [d.code for d in problems("require: [{that: 1 >, message: m}]\n" + rest)] == ["E201"]


def test_llama_refuses_heads_that_do_not_divide_its_width() -> None:
    with pytest.raises(NetcalcError) as caught:
        elaborate(load_document("llama-3-8b"), {"heads": 24})
    (found,) = caught.value.diagnostics
    assert found.code == "E108"
    assert "d_model = 4096, heads = 24 (--set)" in found.message
