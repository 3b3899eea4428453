"""Verification of planned runs: they are held against the reference path, and differences are located."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from netcalc.engine.lower import activations, compiled_epilogue
from netcalc.engine.runtime.session import Session
from netcalc.engine.runtime.workers import SerialPool
from netcalc.limits import Limit
from netcalc.verification import planned
from netcalc.verification.verify import Check, Gap, verify
from tests.numerics.programs import program

NET = """
inputs: {x: [2, 6]}
layers:
  - {name: a, linear: 6}
  - {name: act, tanh: {}}
  - {name: b, linear: 6}
  - {name: last, gelu: {}}
  - {name: c, linear: 4}
outputs: {hidden: act, end: c}
"""


def planned_checks(text: str = NET, **options: Any) -> list[Check]:
    report = verify(program(text, **options))
    assert not report.gaps
    return [check for check in report.checks if check.group == "plan"]


def test_each_output_is_a_check() -> None:
    assert planned_checks() == [
        Check("", "", f"planned output {name}", *(f"2×{size} float32 as by the kernels",) * 2)
        for name, size in (("hidden", 6), ("end", 4))
    ]


def test_a_difference_is_reported_at_the_layer_where_it_arises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_epilogue, "available", lambda: False)
    monkeypatch.setitem(activations._UFUNCS, "tanh", np.negative)
    hidden, end = planned_checks()
    assert (hidden.ok, hidden.path, hidden.op) == (False, "act", "tanh")
    assert (end.ok, end.path, end.op) == (False, "act", "tanh")
    assert "instead of" in str(hidden.executed)


def test_outputs_without_the_difference_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Session.__call__

    def last_is_wrong(self: Session, inputs: Sequence[Any], *watch: Any) -> list[Any]:
        hidden, end = call(self, inputs, *watch)
        end[1, 3] += 1e-3
        return [hidden, end]

    monkeypatch.setattr(Session, "__call__", last_is_wrong)
    hidden, end = planned_checks()
    assert hidden.ok
    assert (end.ok, end.path) == (False, "")
    assert str(end.executed).startswith("at [1, 3] ")


@pytest.mark.parametrize("change", [lambda y: y.astype(np.float64), lambda y: y[:1], lambda y: y * np.nan])
def test_types_shapes_and_nan(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Session.__call__
    monkeypatch.setattr(Session, "__call__", lambda *args: [change(y) for y in call(*args)])
    assert [check.ok for check in planned_checks()] == [False, False]


def test_a_plan_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(Session, "_pass", fail)
    assert planned_checks() == [Check("", "", "planned run", "outputs", "ZeroDivisionError: no")]


def test_a_plan_that_cannot_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("netcalc.engine.plan._lower", fail)
    assert planned_checks() == [Check("", "", "planned run", "outputs", "AssertionError: ")]


def test_what_cannot_be_planned_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    report = verify(program(NET, training=True))
    assert report.ok and report.counts["plan"] == 0
    assert [gap.what for gap in report.gaps] == ["planned run"]
    assert "training mode" in report.gaps[0].reason
    monkeypatch.setattr("netcalc.engine.preflight.MAX_PLANNED_OPERATIONS", Limit(4, "operations", "E502"))
    assert "5 operations" in verify(program(NET)).gaps[0].reason


def test_work_that_a_second_worker_leaves_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "inputs: {x: [1, 64, 128, 128]}\nlayers: [{name: c, max_pool2d: {kernel: 3}}]"
    assert all(check.ok for check in planned_checks(text))
    monkeypatch.setattr(SerialPool, "run", lambda self, phase, own_part, workers: own_part())
    (check,) = planned_checks(text)
    assert not check.ok


def test_a_plan_without_memory_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned, "free_bytes", lambda: 100)
    (gap,) = verify(program(NET)).gaps
    assert gap.what == "planned run" and "100 B is free" in gap.reason


def test_kernels_that_give_other_shapes_leave_the_plan_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.verification.test_verify import break_kernel

    break_kernel(monkeypatch, "tanh", lambda y: y[:1])
    report = verify(program(NET))
    assert report.gaps == (Gap("planned run", "the kernels did not give the predicted outputs"),)


def test_a_result_that_rounding_decides_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The position of the largest of equal numbers depends on rounding alone."""
    text = "inputs: {x: [4, 400]}\nlayers: [{sub: 0.5}, {mul: 1.0e-7}, {add: 1.0}, {argmax: {axis: 1}}]"
    call = Session.__call__
    monkeypatch.setattr(Session, "__call__", lambda *args: [(y + 1) % 400 for y in call(*args)])
    report = verify(program(text))
    assert report.ok
    assert [gap.what for gap in report.gaps] == ["output output of the planned run"]


def test_a_difference_behind_a_complex_scalar_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results that are changed by a rounding, to compare with, keep their types if they are scalars too."""
    text = """
inputs: {x: [4]}
layers:
  - {name: factor, parameter: {shape: [], dtype: complex64}}
  - {name: halved, from: factor, mul: 0.5}
  - {from: [x, halved], mul: {}}
"""
    call = Session.__call__
    monkeypatch.setattr(Session, "__call__", lambda *args: [y * np.float32(1.01) for y in call(*args)])
    failures = verify(program(text)).failures
    assert [failure.what for failure in failures] == ["planned output output"]
