"""Backward passes of :mod:`netcalc.ops.class_loss`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import Dim
from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._statistics import wide_dtype
from netcalc.ops.class_loss import CrossEntropy, NLLLoss, class_axis


class _Classes(Backward):
    """Gradients at the target class, and of the weights of classes.

    PyTorch has no gradient of the weights of classes, unless the target holds probabilities.
    """

    def by_class(self, op: CrossEntropy | NLLLoss, call: BackwardCall, log_probabilities: Saved) -> list[Saved]:
        saved = [log_probabilities, call.saved_input("target", 1)]
        if call.present(2):
            saved.append(call.saved_input("weight", 2))
        if op.reduction == "mean":
            saved.append(call.saved_kept("total_weight", dtype=wide_dtype(call.input())))
            if call.wants(2):
                saved.append(call.saved_output("output"))
        return saved

    def coefficients(self, op: CrossEntropy | NLLLoss, call: BackwardCall, rows: Dim) -> list[Term]:
        """Return the work of the gradient of each row's loss, and of its weight."""
        weighted = call.present(2) and call.wants(0)
        return [
            Term.of("compare", "ignored", rows=rows),
            *([Term.of("div", "mean")] if op.reduction == "mean" else []),
            *([Term.of("mul", "weight", rows=rows)] if weighted else []),
        ]

    def of_weight(self, op: CrossEntropy | NLLLoss, rows: Dim, classes: Dim, smoothing: float) -> list[Term]:
        """Return the work of the gradient of the weights for target classes."""
        every = {"rows": rows, "classes": classes}
        work = [Term.of("mul", "gradient of weight", rows=rows), Term.of("add", "gradient of weight", rows=rows)]
        if op.reduction == "mean":
            work.append(Term.of("add", "through sum of weights", rows=rows))
        if smoothing:
            work += [
                Term.of("mul", "smoothing", rows=rows),
                Term.of("mul", "smoothed gradient of weight", **every),
                Term.of("add", "smoothed gradient of weight", rows_less_one=rows - 1, classes=classes),
                Term.of("add", "smoothed gradient of weight", classes=classes),
            ]
        return work


@backward("nll_loss")
class NLLLossBackward(_Classes):
    """Minus the weight of the class, at the target class."""

    rule = ("∂L/∂x = −g·weight[class]/Σ weight at the target class, else 0; without the sum unless it is a mean",)

    def saves(self, op: NLLLoss, call: BackwardCall) -> Sequence[Saved]:
        return self.by_class(op, call, call.saved_input("self"))

    def cost(self, op: NLLLoss, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        rows, classes = op.rows(x).elements, x.shape[class_axis(x.rank)]
        work = self.coefficients(op, call, rows)
        if call.wants(0):
            work.append(Term.of("add", "negate", rows=rows))
        return [*work, *(self.of_weight(op, rows, classes, 0) if call.wants(2) else [])]


@backward("cross_entropy")
class CrossEntropyBackward(_Classes):
    """Softmax less the target's distribution, for each row of logits; the log-probabilities are kept."""

    rule = (
        "c = g·weight[class]/Σ weight of each row; without the sum unless it is a mean",
        "∂L/∂x = c·(softmax(x) − 1 at the target class)",
        "with probabilities or smoothing q: ∂L/∂x = g·(softmax(x)·Σ weight·q − weight·q)",
        "∂L/∂target = −g·weight·ln softmax(x)",
    )

    def saves(self, op: CrossEntropy, call: BackwardCall) -> Sequence[Saved]:
        x = call.input()
        result = call.saved_kept("result", *x.shape, dtype=x.dtype)
        if not call.input(1).is_float:
            return self.by_class(op, call, result)
        saved = [result]
        if call.wants(0, 2):
            saved.append(call.saved_input("target", 1))
        if call.present(2) and call.wants(0, 1):
            saved.append(call.saved_input("weight", 2))
        return saved

    def cost(self, op: CrossEntropy, call: BackwardCall) -> Sequence[Term]:
        x = call.input()
        rows, classes = op.rows(x).elements, x.shape[class_axis(x.rank)]
        every = {"rows": rows, "classes": classes}
        if call.input(1).is_float:
            return self._by_probability(op, call, rows, classes)
        work = self.coefficients(op, call, rows)
        if op.label_smoothing:
            work.append(Term.of("mul", "spread", rows=rows))
        if call.wants(0):
            work += [Term.of("transcendental", "softmax", **every), Term.of("mul", "by softmax", **every)]
            work.append(Term.of("add", "at the class", rows=rows))
            if op.label_smoothing:
                work.append(Term.of("mul", "smoothing", rows=rows))
                work += [Term.of("mul", "weight", **every)] if call.present(2) else []
                work.append(Term.of("add", "sum over classes", rows=rows, sums=classes - 1))
                work.append(Term.of("add", "difference", **every))
        return [*work, *(self.of_weight(op, rows, classes, op.label_smoothing) if call.wants(2) else [])]

    def _by_probability(self, op: CrossEntropy, call: BackwardCall, rows: Dim, classes: Dim) -> list[Term]:
        every = {"rows": rows, "classes": classes}
        weighted = [Term.of("mul", "weight", **every)] if call.present(2) else []
        work = [Term.of("div", "mean")] if op.reduction == "mean" else []
        if op.label_smoothing and call.wants(0, 2):
            work += [Term.of("mul", "smoothing", **every), Term.of("add", "smoothing", **every)]
        if call.wants(0):
            work += [
                *weighted,
                Term.of("mul", "by gradient", **every),
                Term.of("add", "sum over classes", rows=rows, sums=classes - 1),
                Term.of("transcendental", "softmax", **every),
                Term.of("mul", "by softmax", **every),
                Term.of("add", "difference", **every),
            ]
        if call.wants(1):
            work += [Term.of("mul", "target's share", rows=rows), Term.of("mul", "gradient of target", **every)]
            work += weighted
        if call.wants(2):
            work += [
                Term.of("mul", "gradient of weight", **every, each=2),
                Term.of("add", "gradient of weight", rows_less_one=rows - 1, classes=classes),
                Term.of("add", "negate", classes=classes),
            ]
        return work
