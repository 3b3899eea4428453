"""Losses of numbers against numbers; :mod:`netcalc.ops.class_loss` has those against classes."""

from collections.abc import Sequence
from typing import Any, Literal

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.dtypes import promote
from netcalc.opdef import Context, Example, Operation, Term, attr, ports, require_float
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops._lists import Numbers
from netcalc.tensor_type import TensorType

Reduction = Literal["none", "mean", "sum"]


class Loss(Operation):
    """A number for each element, and what becomes of them."""

    reduction: Reduction = attr("what becomes of the elements' losses", default="mean")

    def reduced(self, x: TensorType) -> TensorType:
        """The output where ``x`` holds the elements' losses."""
        return x if self.reduction == "none" else x.with_shape()

    def reducing(self, elements: Dim) -> tuple[Term, ...]:
        """The work of the reduction."""
        total, mean = Term.of("add", "reduction", sums=elements - 1), Term.of("div", "reduction")
        return {"none": (), "sum": (total,)}.get(self.reduction, (total, mean))


class _Elementwise(Loss):
    """A loss between tensors of one shape, which are not broadcast: that is nearly always a mistake."""

    inputs = ports("input", "target", "weight?")
    shape_rule = "two tensors of one shape → scalar, or that shape unreduced"
    example = Example(((2, 8), (2, 8)))

    def between(self, x: TensorType, target: TensorType) -> TensorType:
        """The elements' losses; RuleError where the tensors do not fit."""
        if x.shape != target.shape:
            raise RuleError(f"{self.name} takes a target of the input's shape {x}, and this is {target}")
        result = TensorType(x.shape, promote(x.dtype, target.dtype))
        require_float(result, self.name)
        return result


class _Distance(_Elementwise):
    """A loss of the difference; with a ``weight`` of the same shape the mean is the weighted one."""

    def infer(self, ctx: Context, x: TensorType, target: TensorType, weight: TensorType | None = None) -> TensorType:
        result = self.between(x, target)
        if weight is not None and weight.shape != x.shape:
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

    A ``weight`` multiplies each element's; the mean is then over the sum of the weights.
    """

    name = "mse_loss"
    reference = "torch.nn.functional.mse_loss"
    cost_rule = "an element: 1 add, 1 mul, and 1 add to reduce"

    def element(self, **elements: Dim) -> Term:
        return Term.of("mul", "square", **elements)


@operation
class L1Loss(_Distance):
    """|input − target|, the absolute error.

    A ``weight`` multiplies each element's; the mean is then over the sum of the weights.
    """

    name = "l1_loss"
    reference = "torch.nn.functional.l1_loss"
    cost_rule = "an element: 1 add, 1 comparison, and 1 add to reduce"

    def element(self, **elements: Dim) -> Term:
        return Term.of("compare", "magnitude", **elements)


class _Binary(_Elementwise):
    """A loss of probabilities of yes; a ``weight`` that broadcasts to the input multiplies each element's."""

    def checked(self, x: TensorType, target: TensorType, **factors: TensorType | None) -> TensorType:
        """The output; RuleError where a factor does not broadcast to the input."""
        require_float(target, f"the target of {self.name}")
        result = self.between(x, target)
        for name, factor in factors.items():
            if factor is not None and broadcast(self.name, (x.shape, factor.shape)) != x.shape:
                raise RuleError(f"{self.name}: the {name} is {factor}, which does not broadcast to {x}")
        return self.reduced(result)


@operation
class BinaryCrossEntropy(_Binary):
    """−(target·ln input + (1 − target)·ln(1 − input)), the input being a probability.

    Logarithms are kept from falling below −100, as PyTorch does; an input outside 0 … 1 gives NaN.
    """

    name = "binary_cross_entropy"
    reference = "torch.nn.functional.binary_cross_entropy"
    cost_rule = "an element: 2 logarithms, 2 comparisons, 3 adds, 2 muls, and 1 add to reduce"

    def infer(self, ctx: Context, x: TensorType, target: TensorType, weight: TensorType | None = None) -> TensorType:
        return self.checked(x, target, weight=weight)

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

    ``pos_weight`` multiplies the positive part; it is an attribute (a number, or one for each of the last axis)
    or an input that broadcasts.
    """

    name = "binary_cross_entropy_with_logits"
    reference = "torch.nn.functional.binary_cross_entropy_with_logits"
    inputs = ports("input", "target", "weight?", "pos_weight?")
    cost_rule = "an element: 1 exponential, 1 logarithm, 2 comparisons, 4 adds, 1 mul, and 1 add to reduce"

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
                raise RuleError(f"{self.name} has pos_weight twice: as an attribute and as an input")
            pos_weight = TensorType((len(self.pos_weight),)) if len(self.pos_weight) > 1 else TensorType(())
        return self.checked(x, target, weight=weight, pos_weight=pos_weight)

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        elements = inputs[0].elements
        given = [one is not None for one in (*inputs[2:], None, None)]
        positive = (
            Term.of("mul", "pos_weight", elements=elements, each=2),
            Term.of("add", "pos_weight", elements=elements),
        )
        return (
            Term.of("compare", "log sigmoid", elements=elements, each=2),
            Term.of("add", "log sigmoid", elements=elements, each=2),
            Term.of("transcendental", "log sigmoid", elements=elements, each=2),
            Term.of("add", "target complement", elements=elements),
            *(positive if self.pos_weight or given[1] else ()),
            Term.of("mul", "product", elements=elements),
            Term.of("add", "sum", elements=elements),
            *((Term.of("mul", "weight", elements=elements),) if given[0] else ()),
            *self.reducing(elements),
        )


@operation
class KLDiv(_Elementwise):
    """target·(ln target − input), the Kullback–Leibler divergence of a target from log-probabilities.

    Zero where the target is zero.  ``log_target`` says that the target is a logarithm too.  ``mean`` is over all
    elements, as in PyTorch; the divergence of distributions is ``batchmean``, the sum over the size of axis 0.
    """

    name = "kl_div"
    reference = "torch.nn.functional.kl_div"
    inputs = ports("input", "target")
    cost_rule = (
        "an element: 1 logarithm, 2 muls, 1 add, 1 comparison (log_target: 1 exponential, 1 mul), 1 add to reduce"
    )

    reduction: Literal["none", "mean", "sum", "batchmean"] = attr(  # type: ignore[assignment]
        "what becomes of the elements' divergences", default="mean"
    )
    log_target: bool = attr("the target is given as log-probabilities", default=False)

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
