"""Recurrent layers: the compiled kernel agrees with NumPy, however the hidden features are shared among workers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.engine.native.library import available
from netcalc.engine.plan import Plan
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from tests.engine.tunings import without

CELLS = [
    {"lstm": {"hidden": 33}},
    {"lstm": {"hidden": 40, "proj_size": 7}},
    {"lstm": {"hidden": 1}},
    {"gru": {"hidden": 48, "layers": 2}},
    {"gru": {"hidden": 7, "bias": False}},
    {"gru": {"hidden": 9, "bias": "input"}},
    {"lstm": {"hidden": 12, "bias": "input"}},
    {"rnn": {"hidden": 64}},
    {"rnn": {"hidden": 70, "nonlinearity": "relu"}},
]


def passed(program: Program, inputs: list[Array], tuning: Tuning, workers: int = 1) -> list[Array]:
    plan = Plan(program, workers, workers > 1, tuning)
    return Session(plan, Parameters(program), alone=True)(inputs)


@pytest.mark.skipif(not available(), reason="the kernels in C were not compiled")
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_kernel_agrees_with_numpy(cell: dict[str, dict[str, Any]], bidirectional: bool) -> None:
    ((name, attrs),) = cell.items()
    layer = {name: attrs | {"bidirectional": bidirectional}}
    program = elaborate(load_text(json.dumps({"netcalc": 1, "inputs": {"x": [5, 1, 6]}, "layers": [layer]})))
    inputs = run_inputs(program)
    expected = passed(program, inputs, without("compiled"))
    for workers in (1, 3):
        found = passed(program, inputs, Tuning(product_macs_per_worker=2), workers)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.skipif(not available(), reason="the kernels in C were not compiled")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_are_those_of_numpy(value: float) -> None:
    program = elaborate(load_text('{"netcalc": 1, "inputs": {"x": [3, 1, 2]}, "layers": [{"lstm": {"hidden": 5}}]}'))
    inputs = [np.full((3, 1, 2), value, np.float32)]
    found, expected = (passed(program, inputs, tuning) for tuning in (Tuning(), without("compiled")))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
