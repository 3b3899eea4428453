"""Losses of class scores against classes."""

from collections.abc import Sequence
from typing import Any, ClassVar

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.dtypes import INTEGERS
from netcalc.opdef import Context, Domain, Example, Term, attr, ports, require_float, same_shape
from netcalc.ops import operation
from netcalc.ops.loss import Loss
from netcalc.ops.softmax import log_softmax_terms
from netcalc.tensor_type import TensorType


def class_axis(rank: int) -> int:
    """Return the axis of classes: 1, or 0 for a single sample."""
    return 1 if rank > 1 else 0


class _Classes(Loss):
    """Base of losses with a target class for each position of the other axes."""

    inputs = ports("input", "target", "weight?")
    shape_rule = "(N, C, …) and classes (N, …) → scalar, or (N, …) unreduced"
    example = Example(((4, 5), TensorType((4,), "int64")))

    takes_probabilities: ClassVar[bool] = False

    ignore_index: int = attr("class whose positions are ignored", default=-100)

    def rows(self, x: TensorType) -> TensorType:
        """Return the type of the unreduced loss: one number for each position."""
        axis = class_axis(x.rank)
        return x.with_shape(*x.shape[:axis], *x.shape[axis + 1 :])

    def checked(self, x: TensorType, target: TensorType, weight: TensorType | None) -> TensorType:
        """Return the output type; RuleError if the target or the weights do not fit the input."""
        require_float(x, self.name)
        if x.rank < 1:
            raise RuleError(f"{self.name} takes an input with an axis of classes, and this one is a scalar")
        rows, classes = self.rows(x), x.shape[class_axis(x.rank)]
        if target.is_float and self.takes_probabilities:
            self.by_probability(x, target)
        elif target.dtype not in INTEGERS:
            raise RuleError(
                f"{self.name} takes whole numbers as classes, and its target is {target.dtype}", code="E402"
            )
        elif not same_shape(target.shape, rows.shape):
            raise RuleError(f"{self.name} of {x} takes a target of {rows}, one class each, and this is {target}")
        if weight is not None:
            require_float(weight, f"the weight of {self.name}")
        if weight is not None and not same_shape(weight.shape, (classes,)):
            raise RuleError(f"{self.name} takes one weight for each of {classes} classes, and this is {weight}")
        return self.reduced(rows)

    def domains(self, x: TensorType, target: TensorType, *others: TensorType | None) -> Sequence[Domain | None]:
        return () if target.is_float else (None, Domain(0, x.shape[class_axis(x.rank)], self.ignore_index))

    def by_probability(self, x: TensorType, target: TensorType) -> None:
        """Raise RuleError unless the target holds a probability for each class."""
        if not same_shape(target.shape, x.shape):
            raise RuleError(
                f"{self.name} takes probabilities of the input's shape {x}, and its target is {target}",
                hint="a target of classes is of an integer type",
            )
        if self.ignore_index >= 0:
            raise RuleError(f"{self.name} by probabilities has no class to ignore", hint="leave out ignore_index")

    def at_class(self, rows: Dim, weighted: bool) -> tuple[Term, ...]:
        """Return the work at the target class: comparison with ignore_index, negation and weight."""
        return (
            Term.of("compare", "ignored", rows=rows),
            Term.of("add", "negate", rows=rows),
            *((Term.of("mul", "weight", rows=rows),) if weighted else ()),
        )

    def averaging(self, rows: Dim) -> tuple[Term, ...]:
        """Return the work of the reduction; a mean divides by the sum of the weights that are not ignored."""
        divisor = (Term.of("add", "sum of weights", sums=rows - 1),) if self.reduction == "mean" else ()
        return (*self.reducing(rows), *divisor)


@operation
class NLLLoss(_Classes):
    """−weight[class]·input[class], for log-probabilities.

    Classes are axis 1 (the only axis of a single sample).  The mean divides by the sum of the weights of the positions
    that are not ignored; it is NaN if all are ignored.
    """

    name = "nll_loss"
    reference = "torch.nn.functional.nll_loss"
    cost_rule = "per position: 1 comparison, 1 negation, 1 mul with weights; and the reduction"
    usage = (
        "logits: [32, 1000]",
        "labels: {shape: [32], dtype: int64, range: [0, 1000]}",
        "- log_softmax",
        "- {from: [_, labels], nll_loss: {}}",
    )

    def infer(self, ctx: Context, x: TensorType, target: TensorType, weight: TensorType | None = None) -> TensorType:
        return self.checked(x, target, weight)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        rows = self.rows(inputs[0]).elements
        weighted = len(inputs) > 2 and inputs[2] is not None
        return (*self.at_class(rows, weighted), *self.averaging(rows))


@operation
class CrossEntropy(_Classes):
    """−weight[class]·log_softmax(input)[class], for logits.

    Classes are axis 1 (the only axis of a single sample).  A floating-point target of the input's shape holds class
    probabilities instead; its mean divides by the number of positions, regardless of the weights.
    ``label_smoothing`` ε gives the target class 1 − ε and spreads ε evenly over all classes.
    """

    name = "cross_entropy"
    reference = "torch.nn.functional.cross_entropy; Szegedy et al. 2015, arXiv:1512.00567 (label smoothing)"
    shape_rule = "(N, C, …), and classes (N, …) or probabilities (N, C, …) → scalar, or (N, …) unreduced"
    cost_rule = "log_softmax over the classes, then as nll_loss; with probabilities 1 mul and 1 add per element"

    takes_probabilities = True
    usage = (
        "logits: [32, 1000]",
        "labels: {shape: [32], dtype: int64, range: [0, 1000]}",
        "- {from: [logits, labels], cross_entropy: {}}",
    )

    label_smoothing: float = attr("probability that is spread over all classes", default=0.0, ge=0, le=1)

    def infer(self, ctx: Context, x: TensorType, target: TensorType, weight: TensorType | None = None) -> TensorType:
        return self.checked(x, target, weight)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x, target, *rest = inputs
        weighted = bool(rest) and rest[0] is not None
        classes, rows = x.shape[class_axis(x.rank)], self.rows(x).elements
        every = {"rows": rows, "classes": classes}
        softmax = log_softmax_terms(rows, classes)
        over_classes = Term.of("add", "sum over classes", rows=rows, sums=classes - 1)
        by_weight = (Term.of("mul", "weight", **every),) if weighted else ()
        if target.is_float:
            smoothed = (Term.of("mul", "smoothing", **every), Term.of("add", "smoothing", **every))
            return (
                *softmax,
                *(smoothed if self.label_smoothing else ()),
                Term.of("mul", "product", **every),
                *by_weight,
                over_classes,
                Term.of("add", "negate", rows=rows),
                *self.reducing(rows),
            )
        work = (*softmax, *self.at_class(rows, weighted), *self.averaging(rows))
        if not self.label_smoothing:
            return work
        mixed = (Term.of("mul", "smoothing", rows=rows, each=2), Term.of("add", "smoothing", rows=rows))
        return (*work, *by_weight, over_classes, *mixed)
