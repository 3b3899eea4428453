"""Dims, vars and inputs of an extended spec that a spec leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.diagnostics import NetcalcError
from tests.spec.harness import problems, program, shapes

PARENT = """netcalc: 1
dims: {batch: 2, past: {default: 3, min: 0, precedes: length}, length: 4}
vars: {units: 8, more: "${units + past}", kind: relu, scale: 3, scaling: true}
require:
  - {that: past < 10, message: a short past}
  - {that: units > 4, message: enough units}
inputs:
  x: [batch, 8]
  cache.*: {repeat: 2, shape: [batch, past], when: past > 0}
  mask: {shape: [batch, units], range: [0, more]}
layers: [{from: x, linear: "${units}"}, "${kind}", {when: scaling, name: scaled, mul: {value: "${scale}"}}]
loss:
  inputs: {target: [batch, units]}
  layers: [{from: [output, target], mse_loss: {}}]
"""
OWN = "layers: [{from: x, linear: 5}]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parent.yaml").write_text(PARENT)
    return tmp_path


def test_names_are_left_out_with_their_requirements(folder: Path) -> None:
    without = "extends: parent\nwithout: [past, more, cache.*, mask]\n"
    found = program(without + OWN, folder=folder)
    assert (dict(found.dims), dict(found.vars)) == (
        {"batch": 2, "length": 4},
        {"units": 8, "kind": "relu", "scale": 3, "scaling": True},
    )
    assert [spec.name for spec in found.inputs] == ["x"]
    with pytest.raises(NetcalcError, match="E501"):
        program(without + OWN, folder=folder, past=3)
    (problem,) = problems(without + OWN, folder=folder, units=3)  # the other requirement holds its place
    assert (problem.code, problem.message[:12]) == ("E108", "enough units")
    assert shapes(program(without, folder=folder)) == {"linear": "2×8", "relu": "2×8", "scaled": "2×8"}


def test_a_name_is_not_both_left_out_and_declared(folder: Path) -> None:
    (found,) = problems("extends: parent\nwithout: [kind]\nvars: {kind: tanh}\n" + OWN, folder=folder)
    assert (found.code, found.message) == ("E106", "'kind' is declared here, and left out by `without`")


@pytest.mark.parametrize(
    ("without", "own", "users"),
    [
        ("past", OWN, "the var 'more', the input 'cache.*' use 'past'"),
        ("length", OWN, "the dim 'past' uses 'length'"),
        ("more", OWN, "the input 'mask' uses 'more'"),
        ("units", OWN + "vars: {more: 3}\ninputs: {mask: [1]}\n", "the inherited loss uses 'units'"),
        ("kind", "", "an inherited line uses 'kind'"),
        ("x", "", "an inherited line uses 'x'"),
        ("kind", OWN, None),
        ("kind", "patch: [{at: relu, replace: tanh}]\n", "an inherited line uses 'kind'"),
        ("scale", "patch: [{at: scaled, set: {value: 2}}]\n", "an inherited line uses 'scale'"),
        ("scale", "patch: [{at: scaled, replace: tanh}]\n", None),
        ("scale", "patch: [{remove: scaled}]\n", None),
        ("scaling", "patch: [{remove: scaled}]\n", "an inherited line uses 'scaling'"),
        ("units", OWN + "vars: {more: 3}\ninputs: {mask: [1]}\nloss: null\n", None),
    ],
)
def test_what_is_used_cannot_be_left_out(folder: Path, without: str, own: str, users: str | None) -> None:
    text = f"extends: parent\nwithout: [{without}]\n{own}"
    if users is None:
        assert without not in program(text, folder=folder).vars
        return
    (found,) = problems(text, folder=folder)
    assert (found.code, found.message) == ("E202", f"without: {users}")
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith(without)


def test_unknown_names_and_specs_that_extend_nothing(folder: Path) -> None:
    (found,) = problems("extends: parent\nwithout: [pats, mask]\n" + OWN, folder=folder)
    assert (found.code, found.hint) == ("E101", "did you mean 'past'?")
    (found,) = problems("inputs: {x: [1, 8]}\nwithout: [x]\nlayers: [relu]\n")
    assert found.code == "E105"


def test_a_grandchild_inherits_what_is_left(folder: Path) -> None:
    (folder / "child.yaml").write_text("netcalc: 1\nextends: parent\nwithout: [mask]\n")
    assert "mask" not in [spec.name for spec in program("extends: child\n", folder=folder).inputs]
    assert [d.code for d in problems("extends: child\nwithout: [mask]\n", folder=folder)] == ["E101"]
