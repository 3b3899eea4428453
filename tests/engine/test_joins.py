"""Concatenations whose parts are computed in their places."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from netcalc.engine.native.library import blocks_fit
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.engine.tunings import SMALL, without

pytestmark = pytest.mark.skipif(not blocks_fit(), reason="needs the kernels in C")


def conv(out: int, kernel: int = 1) -> dict[str, Any]:
    return {"conv2d": {"out": out, "kernel": kernel, "padding": kernel // 2}}


#: Layers behind an image x, the number of tensors that are copied for concatenations, and of those that all copy.
LAYERS: dict[str, tuple[list[Any], int, int]] = {
    "squeeze and expand": ([{"concat": {"axis": 1, "one": [conv(24), "relu"], "three": [conv(40, 3), "relu"]}}], 0, 2),
    "within each other": (
        [
            conv(16),
            *[{"concat": {"axis": 1, "before": [], "new": ["relu", conv(24, 3)]}}] * 3,
            {"concat": {"axis": 1, "pooled": [{"max_pool2d": {"kernel": 3, "stride": 1, "padding": 1}}], "all": []}},
            "batch_norm",
        ],
        1,  # the pooled images
        8,
    ),
    "used elsewhere too": (
        [
            {"name": "a", **conv(32)},
            {"name": "b", "from": "a", **conv(32, 3)},
            {"name": "sum", "from": ["a", "b"], "add": {}},
            {"name": "all", "from": ["sum", "b", "a", "sum"], "concat": {"axis": 1}},
            {"name": "high", "from": ["a", "b"], "concat": {"axis": 2}},
            {"from": "high", "tanh": {}},
            {"from": "all", **conv(8, 3)},
            {"name": "other", "from": "all", "relu": {}},
        ],
        4,
        6,
    ),
    "images above each other": ([{"concat": {"axis": 2, "one": [conv(16)], "three": [conv(16, 3)]}}], 0, 2),
    "images beside each other": ([{"concat": {"axis": 3, "one": [conv(16)], "three": [conv(16, 3)]}}], 2, 2),
}


def network(layers: list[Any], batch: int) -> Program:
    return elaborate(load_data({"netcalc": 1, "inputs": {"x": [batch, 12, 9, 11]}, "layers": layers}))


@pytest.mark.parametrize("tuning", [Tuning(), without("packed"), SMALL, without("winograd", tuning=SMALL)])
@pytest.mark.parametrize(("threads", "processes", "batch"), [(1, False, 1), (2, False, 2), (3, True, 2)])
@pytest.mark.parametrize("name", LAYERS)
def test_outputs_are_those_of_the_kernels(name: str, threads: int, processes: bool, batch: int, tuning: Tuning) -> None:
    if processes and sys.platform != "linux":
        pytest.skip("processes are copied on Linux")
    program = network(LAYERS[name][0], batch)
    inputs = run_inputs(program)
    session = Session(Plan(program, threads, processes, tuning), Parameters(program))
    named = {spec.name: array for spec, array in zip(program.inputs, inputs, strict=True)}
    expected = forward(program, named, plan="reference").outputs.values()
    for _ in range(2):  # a pass does not depend on what the last one left
        for array, other in zip(session(inputs), expected, strict=True):
            assert np.abs(array - other).max() <= 3e-6 * np.abs(other).max()


@pytest.mark.parametrize("name", LAYERS)
def test_parts_are_not_copied(name: str) -> None:
    layers, *copies = LAYERS[name]

    def copied(tuning: Tuning) -> int:
        steps = Plan(network(layers, 1), tuning=tuning).steps
        return sum(len(step.reads) for step in steps if step.node.op.name == "concat")

    assert [copied(Tuning()), copied(replace(Tuning(), join_distance=0))] == copies
