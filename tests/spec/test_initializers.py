"""Initializers that specs declare: by path and by operation, with expressions, and in specs that extend others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcalc.analysis.walk import instances
from netcalc.ir import Program
from netcalc.numerics.parameters import Parameters
from tests.spec.harness import problems, program

NETWORK = """
    vars: {scale: 0.5, layers: 2}
    inputs: {x: [1, 3, 8, 8]}
    layers:
      - {name: conv, conv2d: {out: 4, kernel: 3}}
      - {name: norm, batch_norm: {}}
      - flatten
      - {name: stack, repeat: "${layers}", sequence: [{name: fc, linear: 40}]}
      - {name: head, tie: {weight: stack.1.fc.weight}, linear: 40}
"""


def values(found: Program) -> dict[str, set[float]]:
    """Return the distinct values of every parameter that its spec makes constant."""
    parameters = Parameters(found)
    arrays = {
        instance.owners[param.name]: parameters.fetch(instance, param)
        for instance in instances(found)
        for param in instance.node.params
        if not param.is_buffer
    }
    return {path: {*np.unique(array).tolist()} for path, array in arrays.items() if np.unique(array).size == 1}


def test_by_operation_and_by_path() -> None:
    init = """
    init:
      stack.0.*.bias: ones
      "conv*": {weight: constant(3)}
      linear: {weight: constant(2), "*": constant(4)}
    """
    assert values(program(NETWORK + init)) == {
        "conv.weight": {3},
        "norm.weight": {1},
        "norm.bias": {0},
        "stack.0.fc.weight": {2},
        "stack.0.fc.bias": {1},
        "stack.1.fc.weight": {2},
        "stack.1.fc.bias": {4},
        "head.bias": {4},
    }


def test_the_first_that_matches_counts() -> None:
    first = program(NETWORK + '    init: {"*.bias": ones, "*": {bias: constant(2)}}\n')
    assert values(first)["conv.bias"] == {1}
    second = program(NETWORK + '    init: {"*": {bias: constant(2)}, "*.bias": ones}\n')
    assert values(second)["conv.bias"] == {2}
    kept = program(NETWORK + '    init: {batch_norm: {"*": default}, "*": {"*": constant(2)}}\n')
    assert values(kept)["norm.weight"] == {1}
    assert values(kept)["conv.weight"] == {2}


def test_expressions_have_the_values_of_vars() -> None:
    bias = "${'ones' if layers > 2 else 'zeros'}"
    text = f'{NETWORK}    init: {{linear: {{weight: "constant(${{scale / layers}})", bias: "{bias}"}}}}\n'
    assert values(program(text))["stack.0.fc.weight"] == {0.25}
    for layers in (2, 4, 5):  # those of other settings too, which may come from a sketch
        found = values(program(text, layers=layers))
        assert found["stack.0.fc.weight"] == {np.float32(0.5 / layers)}
        assert found["stack.1.fc.bias"] == {float(layers > 2)}


def test_entries_precede_those_of_the_extended_spec(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(
        "netcalc: 1\ninputs: {x: [1, 3]}\nlayers: [{name: fc, linear: 4}]\ninit: {'*': ones, '*.bias': ones}\n"
    )
    child = program("extends: parent.yaml\ninit: {linear: {bias: zeros}}\n", folder=tmp_path)
    assert values(child) == {"fc.weight": {1}, "fc.bias": {0}}


@pytest.mark.parametrize("text", ["nothing(3)", "normal(std=${0 - 1})", "normal(std=${nothing})"])
def test_each_is_checked_at_its_place(text: str) -> None:
    found = problems(f"inputs: {{x: [1, 3]}}\nlayers: [relu]\ninit:\n  linear: {{bias: '{text}', weight: '{text}'}}\n")
    assert [(d.code, d.span and d.span.line) for d in found] == [("E202" if "nothing}" in text else "E104", 5)] * 2
