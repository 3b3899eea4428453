"""Saved tensors held against what products read: tensors saved in vain, missing ones, and those that PyTorch keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from netcalc.numerics import interpret, vjps
from netcalc.ops.backward import BACKWARD, BackwardCall, Saved
from netcalc.verification.report import VerifyReport
from netcalc.verification.verify import verify
from tests.numerics.programs import program

CHAIN = "inputs: {x: [2, 3, 8, 8]}\nlayers: [{conv2d: {out: 4, kernel: 3}}, relu, {max_pool2d: 2}, {layer_norm: {}}]\n"
Saves = Callable[[Any, BackwardCall], Sequence[Saved]]


def compared(text: str = CHAIN) -> VerifyReport:
    return verify(program(text), values=True, backward=True)


def changed(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[BackwardCall, list[Saved]], Any]) -> None:
    """Change what the declaration of an operation saves."""
    declared: Any = BACKWARD.get(name)
    right: Saves = declared.saves
    monkeypatch.setattr(declared, "saves", lambda op, call: change(call, [*right(op, call)]))


def found(report: VerifyReport) -> set[tuple[str, str]]:
    return {(check.path, check.what) for check in report.failures if check.path}


def test_tensors_that_are_read() -> None:
    report = compared()
    assert report.ok
    assert {check.op for check in report.checks if check.what == "saved tensors"} == {
        *("conv2d", "relu", "max_pool2d", "layer_norm")
    }


def test_a_tensor_that_is_kept_without_need_as_in_pytorch_is_named() -> None:
    gaps = {gap.what: gap.reason for gap in compared().gaps}
    assert gaps["values of self, which max_pool2d saves"].startswith("as in PyTorch: ")


@pytest.mark.parametrize("name", ["relu", "layer_norm", "max_pool2d"])
def test_a_tensor_saved_in_vain_is_found_in_its_layer(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    changed(monkeypatch, name, lambda call, saved: [*saved, call.saved_input("spare")])
    assert found(compared()) == {(name, "saved spare")}


def test_a_tensor_that_is_missing_is_found_in_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "relu", lambda call, saved: saved[:0])
    assert found(compared()) == {("relu", what) for what in ("saved tensors", "gradient values", "backward run")}


def test_a_tensor_that_no_kernel_keeps_is_found_in_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "relu", lambda call, saved: [call.saved_kept("spare", 3)])
    assert {path for path, _ in found(compared())} == {"relu"}


def test_an_input_that_pytorch_keeps_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "max_pool2d", lambda call, saved: [one for one in saved if one.name != "self"])
    assert found(compared()) == {("max_pool2d", "saved self")}


def test_a_copy_of_an_input_is_no_tensor_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would count the memory twice."""
    changed(monkeypatch, "silu", lambda call, saved: [call.saved_kept("self", *call.input().shape)])
    right = interpret.apply_at

    def keeping(instance: Any, run: Any, inputs: Any, params: Any) -> Any:
        if run.kept is not None:
            run.kept["self"] = np.array(inputs[0])
        return right(instance, run, inputs, params)

    monkeypatch.setattr("netcalc.verification.saved_tensors.apply_at", keeping)
    report = verify(program("inputs: {x: [2, 3]}\nlayers: [silu]\n"), values=True, backward=True)
    assert ("silu", "saved self") in found(report)


def test_a_gradient_by_itself_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    right = vjps.VJPS.get("linear")
    assert right is not None

    def product(op: Any, back: Any, gradient: Any) -> Any:
        gradients = right(op, back, gradient)
        return {k: 2 * g if back.wanted == {"weight"} else g for k, g in gradients.items()}

    monkeypatch.setitem(vjps.VJPS._entries, "linear", product)
    report = verify(program("inputs: {x: [2, 3]}\nlayers: [{linear: 4}]\n"), values=True, backward=True)
    assert ("linear", "saved tensors") in found(report)
