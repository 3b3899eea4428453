"""Backward passes of :mod:`netcalc.ops.loss`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dtypes import promote
from netcalc.opdef import Term
from netcalc.ops._elementwise import SIGMOID, Work, terms
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._broadcast import summing
from netcalc.ops.backward._statistics import wide_dtype
from netcalc.ops.loss import KLDiv, Loss

#: ln sigmoid(x) = min(x, 0) − ln(1 + exp(−|x|)).
_LOG_SIGMOID: Work = {"compare": 2, "add": 2, "transcendental": 2}
_WEIGHTS = "∂L/∂weight = g·loss of each element"


class _Elementwise(Backward):
    """Base of losses of each element: g is the gradient of the element's loss, divided by the divisor of a mean."""

    def share(self, op: Loss) -> list[Term]:
        """Return the work of the gradient of an element's loss."""
        return [Term.of("div", "mean")] if op.reduction in ("mean", "batchmean") else []

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        saved = [call.saved_input("self"), call.saved_input("target", 1)]
        if call.present(2):
            saved.append(call.saved_input("weight", 2))
        if call.present(3):
            saved.append(call.saved_input("pos_weight", 3))
        return saved


class _Distance(_Elementwise):
    """Base of losses of the difference; a weighted mean divides by the sum of the weights, which is kept."""

    gradient: Work
    loss: Work
    factor: Work = {}

    def saves(self, op: Loss, call: BackwardCall) -> Sequence[Saved]:
        saved = [*super().saves(op, call)]
        if call.present(2) and op.reduction == "mean":
            weight = call.input(2)
            saved.append(call.saved_kept("other", dtype=wide_dtype(weight) if weight.is_float else "int64"))
            if call.wants(2):
                saved.append(call.saved_output("output"))
        return saved

    def difference(self, call: BackwardCall) -> list[Term]:
        """Return the work of the difference from the saved inputs."""
        return [Term.of("add", "difference", elements=call.input().elements)]

    def cost(self, op: Loss, call: BackwardCall) -> Sequence[Term]:
        elements = call.input().elements
        work = [*self.share(op), *self.difference(call)]
        if call.wants(0, 1):
            work += terms(self.factor, "factor", gradients=call.outputs[0].elements)
            work += terms(self.gradient, "gradient", elements=elements)
            work += [Term.of("mul", "weight", elements=elements)] if call.present(2) else []
        if call.wants(1):
            work.append(Term.of("add", "negate", elements=elements))
        if call.wants(2):
            work += terms(self.loss, "loss", elements=elements)
            work += [Term.of("add", "through sum of weights", elements=elements)] if op.reduction == "mean" else []
            work.append(Term.of("mul", "gradient of weight", elements=elements))
        return work


@backward("mse_loss")
class MSELossBackward(_Distance):
    """Twice the difference."""

    rule = ("∂L/∂x = 2·g·(x − target)·weight", "∂L/∂target = −∂L/∂x", _WEIGHTS)
    gradient = {"mul": 1}
    loss = {"mul": 1}
    factor = {"mul": 1}


@backward("l1_loss")
class L1LossBackward(_Distance):
    """Sign of the difference, which is kept; 0 where there is none."""

    rule = ("∂L/∂x = g·sign(x − target)·weight", "∂L/∂target = −∂L/∂x", _WEIGHTS)
    gradient = {"compare": 1, "mul": 1}
    loss = {"compare": 1}

    def saves(self, op: Loss, call: BackwardCall) -> Sequence[Saved]:
        _, _, *others = super().saves(op, call)
        x = call.input()
        common = x.with_dtype(promote(x.dtype, call.input(1).dtype))
        return [call.saved_kept("self", *x.shape, dtype=wide_dtype(common)), *others]

    def difference(self, call: BackwardCall) -> list[Term]:
        return []


class _Binary(_Elementwise):
    """Base of losses of binary probabilities, by the work per element of each gradient."""

    def works(self, op: Any, call: BackwardCall) -> tuple[Work, ...]:
        """Return the work of the gradient of each input before its product with g."""
        raise NotImplementedError

    def cost(self, op: Loss, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        work = self.share(op)
        for number, (name, each) in enumerate(
            zip(("input", "target", "weight", "pos_weight"), self.works(op, call), strict=False)
        ):
            if call.wants(number):
                role = f"gradient of {name}"
                work += [*terms(each, role, elements=x.elements), Term.of("mul", role, elements=x.elements)]
                if call.present(2) and number != 2:
                    work.append(Term.of("mul", "weight", elements=x.elements))
                work += summing(x, call.input(number))
        if call.wants(3):
            work.append(Term.of("add", "negate", elements=call.input(3).elements))
        return work


@backward("binary_cross_entropy")
class BinaryCrossEntropyBackward(_Binary):
    """Difference over the variance of the probability, at least 10⁻¹² as in PyTorch."""

    rule = ("∂L/∂x = g·weight·(x − target)/max(x·(1 − x), 1e-12)", "∂L/∂target = g·weight·(ln(1 − x) − ln x)", _WEIGHTS)

    def works(self, op: Any, call: BackwardCall) -> tuple[Work, ...]:
        return (
            {"add": 2, "mul": 1, "compare": 1, "div": 1},
            {"add": 2, "transcendental": 2},
            {"add": 3, "transcendental": 2, "compare": 2, "mul": 2},
        )


@backward("binary_cross_entropy_with_logits")
class BinaryCrossEntropyWithLogitsBackward(_Binary):
    """The sigmoid less the target; p is the weight of the positive part."""

    rule = (
        "∂L/∂x = g·weight·((1 − target + p·target)·sigmoid(x) − p·target)",
        "∂L/∂target = g·weight·(ln sigmoid(−x) − p·ln sigmoid(x))",
        _WEIGHTS,
        "∂L/∂p = −g·weight·target·ln sigmoid(x)",
    )

    def works(self, op: Any, call: BackwardCall) -> tuple[Work, ...]:
        positive = op.pos_weight is not None or call.present(3)
        of_x: Work = {"mul": 2, "add": 3} if positive else {"add": 1}
        of_target: Work = {"add": 2, "mul": 1} if positive else {"add": 1}
        loss: Work = {"add": 3 if positive else 2, "mul": 3 if positive else 1}
        return (
            _sum(SIGMOID, of_x),
            _sum(_LOG_SIGMOID, of_target) if positive else of_target,
            _sum(_LOG_SIGMOID, loss),
            _sum(_LOG_SIGMOID, {"mul": 1}),
        )


@backward("kl_div")
class KLDivBackward(_Elementwise):
    """Minus the target, for log-probabilities x."""

    rule = (
        "∂L/∂x = −g·target; with log_target −g·exp(target)",
        "∂L/∂target = g·(ln target + 1 − x); with log_target g·exp(target)·(target − x + 1)",
    )

    def saves(self, op: KLDiv, call: BackwardCall) -> Sequence[Saved]:
        target = call.saved_input("target", 1)
        return (call.saved_input("self"), target) if call.wants(1) else (target,)

    def cost(self, op: KLDiv, call: BackwardCall) -> Sequence[Term]:
        elements = call.input().elements
        work = self.share(op)
        if op.log_target:
            work.append(Term.of("transcendental", "exp", elements=elements))
        if call.wants(0):
            work += terms({"add": 1, "mul": 1}, "gradient of input", elements=elements)
        if call.wants(1):
            each: Work = {"add": 2, "mul": 2} if op.log_target else {"transcendental": 1, "div": 1, "add": 2, "mul": 1}
            work += terms(each, "gradient of target", elements=elements)
        return work


def _sum(*works: Work) -> Work:
    total: Work = {}
    for work in works:
        total |= {kind: total.get(kind, 0) + times for kind, times in work.items()}
    return total
