"""Losses of elementwise targets; :mod:`netcalc.ops.class_loss` has losses of classes."""

from collections.abc import Sequence
from typing import Any, Literal

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.dtypes import promote
from netcalc.opdef import Context, Domain, Example, Operation, Term, attr, ports, require_float, same_shape
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops._lists import Numbers
from netcalc.tensor_type import TensorType

Reduction = Literal["none", "mean", "sum"]


class Loss(Operation):
    """Base of losses: one number per element, and their reduction."""

    kernel_suffices = "runs once at the end, on the logits"

    reduction: Reduction = attr("reduction of the elements' losses", default="mean")

    def reduced(self, x: TensorType) -> TensorType:
        """Return the output type, where ``x`` is the type of the unreduced loss."""
        return x if self.reduction == "none" else x.with_shape()

    def reducing(self, elements: Dim) -> tuple[Term, ...]:
        """Return the work of the reduction."""
        total, mean = Term.of("add", "reduction", sums=elements - 1), Term.of("div", "reduction")
        return {"none": (), "sum": (total,)}.get(self.reduction, (total, mean))


class _Elementwise(Loss):
    """Base of losses between tensors of one shape, which are not broadcast: that is nearly always a mistake."""

    inputs = ports("input", "target", "weight?")
    shape_rule = "two tensors of one shape → scalar, or that shape unreduced"
    example = Example(((2, 8), (2, 8)))

    def between(self, x: TensorType, target: TensorType) -> TensorType:
        """Return the type of the unreduced loss; RuleError if the tensors do not match."""
        if not same_shape(x.shape, target.shape):
            raise RuleError(f"{self.name} takes a target of the input's shape {x}, and this is {target}")
        result = TensorType(x.shape, promote(x.dtype, target.dtype))
        require_float(result, self.name)
        return result


class _Distance(_Elementwise):
    """Base of losses of the difference; with a ``weight`` of the same shape the mean is weighted."""

    usage = ("prediction: [32, 1]", "target: [32, 1]", "- {from: [prediction, target], $op: {}}")

    def infer(self, ctx: Context, x: TensorType, target: TensorType, weight: TensorType | None = None) -> TensorType:
        result = self.between(x, target)
        if weight is not None and not same_shape(weight.shape, x.shape):
            raise RuleError(f"{self.name} takes a weight of the input's shape {x}, and this is {weight}")
        return self.reduced(result)

    def element(self, **elements: Dim) -> Term:
        """The work after the difference."""
        raise NotImplementedError(self.name)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        elements = inputs[0].elements
        work = (Term.of("add", "difference", elements=elements), self.element(elements=elements))
        if len(inputs) < 3 or inputs[2] is None:
            return (*work, *self.reducing(elements))
        weights = (Term.of("add", "sum of weights", sums=elements - 1),) if self.reduction == "mean" else ()
        return (*work, Term.of("mul", "weight", elements=elements), *self.reducing(elements), *weights)


@operation
class MSELoss(_Distance):
    """(input − target)², the squared error.

    A ``weight`` multiplies the loss of each element; the mean then divides by the sum of the weights.
    """

    name = "mse_loss"
    reference = "torch.nn.functional.mse_loss"
    cost_rule = "per element: 1 add, 1 mul, and 1 add for the reduction"

    def element(self, **elements: Dim) -> Term:
        return Term.of("mul", "square", **elements)


@operation
class L1Loss(_Distance):
    """|input − target|, the absolute error.

    A ``weight`` multiplies the loss of each element; the mean then divides by the sum of the weights.
    """

    name = "l1_loss"
    reference = "torch.nn.functional.l1_loss"
    cost_rule = "per element: 1 add, 1 comparison, and 1 add for the reduction"

    def element(self, **elements: Dim) -> Term:
        return Term.of("compare", "magnitude", **elements)


class _Binary(_Elementwise):
    """Base of losses of binary probabilities; a ``weight`` that broadcasts multiplies the loss of each element."""

    def checked(self, x: TensorType, target: TensorType, **factors: TensorType | None) -> TensorType:
        """Return the output type; RuleError if a factor does not broadcast to the input."""
        require_float(target, f"the target of {self.name}")
        result = self.between(x, target)
        for name, factor in factors.items():
            if factor is not None and not same_shape(broadcast(self.name, (x.shape, factor.shape)), x.shape):
                raise RuleError(f"{self.name}: the {name} is {factor}, which does not broadcast to {x}")
        return self.reduced(result)


@operation
class BinaryCrossEntropy(_Binary):
    """−(target·ln input + (1 − target)·ln(1 − input)), for probabilities.

    Logarithms are at least −100, as in PyTorch.  An input outside 0 … 1 is an error.
    """

    name = "binary_cross_entropy"
    reference = "torch.nn.functional.binary_cross_entropy"
    cost_rule = "per element: 2 logarithms, 2 comparisons, 3 adds, 2 muls, and 1 add for the reduction"
    usage = (
        "probability: {shape: [32, 1], range: [0, 1]}",
        "target: {shape: [32, 1], range: [0, 1]}",
        "- {from: [probability, target], binary_cross_entropy: {}}",
    )

    def infer(self, ctx: Context, x: TensorType, target: TensorType, weight: TensorType | None = None) -> TensorType:
        return self.checked(x, target, weight=weight)

    def domains(self, *inputs: TensorType | None) -> Sequence[Domain | None]:
        return (Domain(0, 1), Domain(0, 1))

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        elements = inputs[0].elements
        weighted = len(inputs) > 2 and inputs[2] is not None
        return (
            Term.of("add", "complement", elements=elements),
            Term.of("transcendental", "logarithms", elements=elements, each=2),
            Term.of("compare", "least logarithm", elements=elements, each=2),
            Term.of("add", "target complement", elements=elements),
            Term.of("mul", "product", elements=elements, each=2),
            Term.of("add", "sum", elements=elements),
            *((Term.of("mul", "weight", elements=elements),) if weighted else ()),
            *self.reducing(elements),
        )


@operation
class BinaryCrossEntropyWithLogits(_Binary):
    """binary_cross_entropy of sigmoid(input), computed from the logits without overflow.

    ``pos_weight`` multiplies the positive part.  It is an attribute (one number, or one for each element of the last
    axis) or an input that broadcasts.
    """

    name = "binary_cross_entropy_with_logits"
    reference = "torch.nn.functional.binary_cross_entropy_with_logits"
    inputs = ports("input", "target", "weight?", "pos_weight?")
    cost_rule = "per element: 1 exponential, 1 logarithm, 2 comparisons, 4 adds, 1 mul, and 1 add for the reduction"
    usage = (
        "logits: [32, 1]",
        "target: {shape: [32, 1], range: [0, 1]}",
        "- {from: [logits, target], binary_cross_entropy_with_logits: {}}",
    )

    pos_weight: Numbers | None = attr("weight of the positive part", default=None)

    def infer(
        self,
        ctx: Context,
        x: TensorType,
        target: TensorType,
        weight: TensorType | None = None,
        pos_weight: TensorType | None = None,
    ) -> TensorType:
        if self.pos_weight is not None:
            if pos_weight is not None:
                raise RuleError(f"{self.name} takes pos_weight as an attribute or as an input, and both are present")
            pos_weight = TensorType((len(self.pos_weight),)) if len(self.pos_weight) > 1 else TensorType(())
        return self.checked(x, target, weight=weight, pos_weight=pos_weight)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        elements = inputs[0].elements
        present = [input_ is not None for input_ in (*inputs[2:], None, None)]
        positive = (
            Term.of("mul", "pos_weight", elements=elements, each=2),
            Term.of("add", "pos_weight", elements=elements),
        )
        return (
            Term.of("compare", "log sigmoid", elements=elements, each=2),
            Term.of("add", "log sigmoid", elements=elements, each=2),
            Term.of("transcendental", "log sigmoid", elements=elements, each=2),
            Term.of("add", "target complement", elements=elements),
            *(positive if self.pos_weight or present[1] else ()),
            Term.of("mul", "product", elements=elements),
            Term.of("add", "sum", elements=elements),
            *((Term.of("mul", "weight", elements=elements),) if present[0] else ()),
            *self.reducing(elements),
        )


@operation
class KLDiv(_Elementwise):
    """target·(ln target − input), the Kullback–Leibler divergence of a target from log-probabilities.

    It is zero where the target is zero.  With ``log_target`` the target is a log-probability too.  ``mean`` divides by
    the number of elements, as in PyTorch; ``batchmean``, the divergence of distributions, by the size of axis 0.
    """

    name = "kl_div"
    reference = "torch.nn.functional.kl_div"
    inputs = ports("input", "target")
    cost_rule = (
        "per element: 1 logarithm, 2 muls, 1 add, 1 comparison (with log_target: 1 exponential, 1 mul, 1 add), and "
        "1 add for the reduction"
    )
    usage = (
        "logits: [32, 10]",
        "target: {shape: [32, 10], range: [0, 1]}",
        "- log_softmax",
        "- {from: [_, target], kl_div: {reduction: batchmean}}",
    )

    reduction: Literal["none", "mean", "sum", "batchmean"] = attr(  # type: ignore[assignment]
        "reduction of the elements' divergences", default="mean"
    )
    log_target: bool = attr("the target holds log-probabilities", default=False)

    def infer(self, ctx: Context, x: TensorType, target: TensorType) -> TensorType:
        require_float(x, "kl_div")
        require_float(target, "the target of kl_div")
        return self.reduced(self.between(x, target))

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        elements = inputs[0].elements
        exp_or_log = Term.of("transcendental", "target", elements=elements)
        difference = Term.of("add", "difference", elements=elements)
        reducing = self.reducing(elements)
        if self.log_target:
            return (exp_or_log, difference, Term.of("mul", "product", elements=elements), *reducing)
        zeros = Term.of("compare", "zeros", elements=elements)
        return (zeros, exp_or_log, difference, Term.of("mul", "product", elements=elements, each=2), *reducing)
