"""Verification: correct predictions pass, and wrong ones are located."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.ir import Program
from netcalc.numerics import kernels
from netcalc.opdef import Operation, Term
from netcalc.ops.linear import Linear
from netcalc.verification.verify import Check, verify
from tests.numerics.programs import TIED, program

NET = """
inputs: {x: [2, 6]}
layers:
  - {name: a, linear: 6}
  - {name: act, relu: {}}
  - {name: stack, repeat: 50, linear: {out: 6}}
  - {name: norm, layer_norm: {}}
"""


def break_kernel(monkeypatch: pytest.MonkeyPatch, name: str, change: Any) -> None:
    """Replace an operation's output by ``change(output)``."""
    kernels.KERNELS.get(name)
    right = kernels.KERNELS._entries[name]
    monkeypatch.setitem(
        kernels.KERNELS._entries, name, lambda op, run, *inputs, **params: change(right(op, run, *inputs, **params))
    )


def failures(net: Program) -> list[Check]:
    report = verify(net)
    assert report.ok == (not report.failures)
    return list(report.failures)


def test_correct_predictions_pass() -> None:
    report = verify(program(NET))
    assert report.ok
    assert report.operations == 53
    assert report.counts == {"outputs": 53, "parameters": 104, "work": 51 * 2 + 1 + 4, "totals": 2, "plan": 1}
    assert len(report.checks) < 40  # instances of one node are one entry
    assert Check("stack.0", "linear", "mac", 72, 72, 50) in report.checks
    assert Check("a", "linear", "weight", "6×6 float32", "6×6 float32") in report.checks


@pytest.mark.parametrize("training", [False, True])
def test_training_and_ties(training: bool) -> None:
    net = program("inputs: {x: [8, 3, 4, 4]}\nlayers: [batch_norm, {dropout: 0.5}]", training=training)
    assert verify(net).ok
    report = verify(program(TIED, training=training))
    assert report.ok
    assert Check("", "", "total parameters", 36 + 6 + 6 + 3 * 36, 156) in report.checks


def test_a_wrong_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    break_kernel(monkeypatch, "relu", lambda y: y[:1])
    assert failures(program(NET)) == [Check("act", "relu", "output", "2×6 float32", "1×6 float32")]


def test_a_wrong_type(monkeypatch: pytest.MonkeyPatch) -> None:
    break_kernel(monkeypatch, "layer_norm", lambda y: y.astype(np.float64))
    assert failures(program(NET)) == [Check("norm", "layer_norm", "output", "2×6 float32", "2×6 float64")]


def test_a_surplus_output(monkeypatch: pytest.MonkeyPatch) -> None:
    break_kernel(monkeypatch, "relu", lambda y: (y, y))
    assert failures(program(NET)) == [Check("act", "relu", "output", "1 outputs", "2 outputs")]


def test_undeclared_work(monkeypatch: pytest.MonkeyPatch) -> None:
    break_kernel(monkeypatch, "linear", lambda y: y * 1 + 0)
    assert failures(program(NET)) == [
        Check("a", "linear", "add", 12, 24),
        Check("a", "linear", "mul", 0, 12),
        Check("stack.0", "linear", "add", 12, 24, 50),
        Check("stack.0", "linear", "mul", 0, 12, 50),
    ]


def test_declared_but_not_executed_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(self: Operation, *args: Any) -> list[Term]:
        return [Term.of("mac", "product", n=72), Term.of("add", "bias", n=12), Term.of("div", "none", n=1)]

    monkeypatch.setattr(Linear, "cost", cost)
    found = failures(program(NET))
    assert {(c.what, c.predicted, c.executed) for c in found} == {("div", 1, 0)}


def test_a_kernel_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(y: Any) -> Any:
        raise ZeroDivisionError("no")

    break_kernel(monkeypatch, "relu", fail)
    assert failures(program(NET)) == [Check("act", "relu", "run", "outputs", "ZeroDivisionError: no")]


def test_wrong_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    from netcalc.numerics.parameters import Parameters

    fetch = Parameters.fetch
    monkeypatch.setattr(
        Parameters, "fetch", lambda self, i, p: fetch(self, i, p)[:-1] if p.name == "bias" else fetch(self, i, p)
    )
    net = program("inputs: {x: [2, 6]}\nlayers: [{name: norm, layer_norm: {}}]")
    assert Check("norm", "layer_norm", "bias", "6 float32", "5 float32") in failures(net)
    assert Check("", "", "total parameters", 12, 11) in failures(net)


def test_weights_and_inputs_of_the_caller() -> None:
    net = program("inputs: {x: [2, 6]}\nlayers: [{name: a, linear: {out: 3, bias: false}}]")
    assert verify(net, {"x": np.ones((2, 6), np.float32)}, weights={"a.weight": np.ones((3, 6), np.float32)}).ok
    with pytest.raises(NetcalcError, match="E601"):
        verify(net, weights={})


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    verify(program(NET), progress=lambda done, total, path: seen.append((done, total)))
    assert seen == [(n, 53) for n in range(1, 54)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("training", [False, True])
def test_every_floating_point_type(dtype: str, training: bool) -> None:
    text = f"""
dtype: {dtype}
inputs: {{ids: {{shape: [2, 5], dtype: int64, range: [0, 9]}}}}
layers:
  - {{name: embed, embedding: {{num_embeddings: 9, embedding_dim: 8, scale: 2.5}}}}
  - {{add: {{side: [{{linear: 8}}, gelu], skip: []}}}}
  - layer_norm
  - {{dropout: 0.5}}
  - {{name: head, linear: {{out: 9, bias: false}}, tie: embed}}
  - softmax
"""
    report = verify(program(text, training=training))
    assert not report.failures
    assert any(check.predicted == f"2×5×9 {dtype}" for check in report.checks)
