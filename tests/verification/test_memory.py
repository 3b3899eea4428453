"""Memory of activations held against tensors that are made and released: faults of kernels, views and liveness."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.analysis import layout, liveness
from netcalc.analysis.activations import bodies, execution
from netcalc.ops.eager import EAGER, Moment
from netcalc.verification.figure_references.allocation import Meter, reshaped
from netcalc.verification.report import Gap, VerifyReport
from netcalc.verification.verify import verify
from tests.numerics.programs import program

NET = """
inputs: {x: [2, 6, 8]}
layers:
  - {name: a, linear: 8}
  - {name: act, softsign: {}}
  - {name: turned, transpose: [1, 2]}
  - {name: stack, repeat: 3, linear: 6}
  - {name: flat, flatten: {start_axis: 1}}
"""


def wrong(text: str = NET) -> set[tuple[str, str]]:
    return {(c.path, c.what) for c in verify(program(text), values=True).failures if c.group == "memory"}


def compared(text: str) -> VerifyReport:
    return verify(program(text), values=True)


def test_peaks_and_kernels_are_compared() -> None:
    report = compared(NET)
    assert report.ok
    found = {(check.path, check.what): check.predicted for check in report.checks if check.group == "memory"}
    assert found[("act", "memory")] == 2 * 6 * 8 * 4 * 2  # the divisor and the quotient
    assert found[("", "memory of PyTorch")] == 2 * 6 * 8 * 4 * 4
    assert found[("", "memory of the kernels: weights")] == 4 * (8 * 8 + 8 + 3 * (6 * 6 + 6))
    assert "memory" not in verify(program(NET)).counts


def test_a_wrong_buffer_is_found_in_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = EAGER.get("softsign")
    assert declared is not None
    monkeypatch.setattr(type(declared), "moments", lambda self, op, call: (Moment((call.like("divisor"),) * 3),))
    assert ("act", "memory") in wrong() and ("a", "memory") not in wrong()


def test_a_view_that_counts_as_a_copy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(layout._VIEWS, "transpose", lambda *given: None)
    assert ("turned", "memory of PyTorch") in wrong()


def test_a_copy_that_counts_as_a_view_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "inputs: {x: [2, 6, 8]}\nlayers: [relu, {transpose: [1, 2]}, {name: flat, flatten: {start_axis: 1}}]\n"
    assert compared(text).ok

    def shared(op: Any, first: Any, shape: Any) -> Any:
        return layout.Layout(first.storage, shape, tuple(1 for _ in shape))

    monkeypatch.setattr(layout, "_in_shape", shared)
    assert ("flat", "memory of an ideal execution") in wrong(text)


def test_a_value_that_is_kept_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "dying", lambda body, held=False: [() for _ in body.nodes])
    assert {path for path, _ in wrong()} > {"", "stack.0"}
    assert liveness.dying is not bodies.dying


def test_an_order_of_axes_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "inputs: {x: [2, 6, 8]}\nlayers: [{transpose: [1, 2]}, {name: act, gelu: {}}, {transpose: [1, 2]}]\n"
    assert compared(text).ok
    monkeypatch.setattr(execution, "_kept_order", lambda *given: None)
    assert ("act", "memory: strides") in wrong(text)


def test_a_prediction_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any, op: Any, call: Any) -> Any:
        raise IndexError("beyond the axes")

    monkeypatch.setattr(type(EAGER.get("softsign")), "moments", broken)
    assert ("act", "memory") in wrong()


def test_a_value_that_a_call_takes_twice_is_a_gap() -> None:
    text = """
inputs: {x: [2, 6]}
blocks:
  both:
    inputs: [a, b]
    layers: [{from: [a, b], add: {}}]
layers: [relu, {name: y, from: [relu, relu], both: {}}]
"""
    report = compared(text)
    assert report.ok
    reason = "a value that a call takes twice is predicted to be kept until it returns"
    assert Gap("memory of the kernels", reason) in report.gaps


def test_a_meter_counts_what_is_referred_to() -> None:
    meter = Meter()
    x = meter.new((2, 3), "float32")
    y = x.seen((3, 2), (1, 3))
    del x
    assert meter.live == 24
    assert reshaped(y, (6,)) is None and reshaped(meter.new((2, 3), "float32"), (6,)) is not None
    del y
    assert (meter.live, meter.peak) == (0, 48)
