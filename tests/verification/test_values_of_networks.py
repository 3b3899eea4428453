"""Verification with ``values=True``: every distinct operation is held against its definition."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netcalc.numerics import kernels
from netcalc.opdef import Context
from netcalc.ops.max_pool import MaxPool2d
from netcalc.verification.references import REFERENCES
from netcalc.verification.verify import Check, Gap, ValueCount, verify
from tests.numerics.programs import program
from tests.verification.test_verify import break_kernel

NET = """
inputs: {x: [2, 6]}
layers:
  - {name: a, linear: 6}
  - {name: act, relu: {}}
  - {name: stack, repeat: 50, linear: {out: 6}}
"""


def test_every_distinct_operation_is_compared() -> None:
    report = verify(program(NET), values=True)
    assert report.ok and report.counts["values"] == 3
    assert report.values == (ValueCount("linear", 2, 24, 0), ValueCount("relu", 1, 12, 0))
    assert Check("stack.0", "linear", "values", "as defined", "as defined") in report.checks
    assert any("random" in fault for fault in report.unseen)
    plain = verify(program(NET))
    assert not plain.values and not plain.unseen and "values" not in plain.counts


def test_a_wrong_value_is_reported_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(y: Any) -> Any:
        y = y.copy()
        y[1, 2] += 1e-3
        return y

    break_kernel(monkeypatch, "linear", change)
    found = [check for check in verify(program(NET), values=True).failures if check.group == "values"]
    assert [check.path for check in found] == ["a", "stack.0"]
    assert {check.what for check in found} == {"values: output at [1, 2]"}
    assert not [c for c in verify(program(NET)).failures if c.group not in ("plan", "work")]


def test_a_size_that_rule_and_kernel_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooling whose rule and kernel both ignore ``ceil_mode`` is seen by its definition alone."""
    net = "inputs: {x: [1, 2, 8, 8]}\nlayers: [{max_pool2d: {kernel: 3, stride: 2, ceil_mode: %s}}]"
    right = kernels.KERNELS.get("max_pool2d")
    assert right is not None and REFERENCES.get("max_pool2d") is not None
    floor = MaxPool2d(kernel=3, stride=2)
    infer, cost = MaxPool2d.infer, MaxPool2d.cost
    monkeypatch.setattr(MaxPool2d, "infer", lambda self, ctx, x: infer(floor, Context(), x))
    monkeypatch.setattr(MaxPool2d, "cost", lambda self, *args: cost(floor, *args))
    monkeypatch.setitem(kernels.KERNELS._entries, "max_pool2d", lambda op, run, x: right(floor, run, x))
    assert not verify(program(net % "false"), values=True).failures
    found = [check for check in verify(program(net % "true"), values=True).failures if check.group != "plan"]
    assert found == [
        Check("max_pool2d", "max_pool2d", "values: output", "1×2×4×4 float32", "1×2×3×3 float32"),
    ]


def test_random_values_are_a_gap() -> None:
    report = verify(program("inputs: {x: [8, 3]}\nlayers: [{dropout: 0.5}]", training=True), values=True)
    assert report.ok
    assert Gap("values of dropout", "output: random values") in report.gaps


def test_an_operation_without_reference_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    REFERENCES.get("relu")
    monkeypatch.delitem(REFERENCES._entries, "relu")
    report = verify(program(NET), values=True)
    assert report.gaps == (Gap("values of relu", "relu has no reference"),)
    assert [count.op for count in report.values] == ["linear"]


def test_a_reference_that_fails_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise IndexError("no")

    REFERENCES.get("relu")
    monkeypatch.setitem(REFERENCES._entries, "relu", fail)
    (found,) = verify(program(NET), values=True).failures
    assert (found.path, found.executed) == ("act", "IndexError: no")


@pytest.mark.parametrize("format_", ["table", "json", "csv"])
def test_the_command(format_: str, netcalc: Callable[..., Any], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("verify", "mlp", "--values", "--format", format_)
    assert ran.code == 0
    if format_ == "table":
        golden("runs/verify-values.txt", ran.out)
    elif format_ == "json":
        record = json.loads(ran.out)
        assert [value["op"] for value in record["values"]] == ["linear", "relu"]
        assert record["unseen"] and record["gaps"] == [] and record["counts"]["values"] == 5
    else:
        assert "values,as defined,as defined" in ran.out


def test_tables_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "inputs: {x: [1, 1, 9, 9]}\nlayers: [{blur_pool2d: {}}]"
    assert verify(program(text), values=True).ok
    table = kernels.TABLES.get("blur_pool2d")
    assert table is not None
    monkeypatch.setitem(kernels.TABLES._entries, "blur_pool2d", lambda *args: np.flip(table(*args) * 2))
    report = verify(program(text), values=True)
    assert [check.what.partition(" at")[0] for check in report.failures] == ["values: filt"]
