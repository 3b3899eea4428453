"""Reductions over axes, and the running sum."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from netcalc.dims import Dim, product
from netcalc.dtypes import FLOATS, DType
from netcalc.opdef import Context, Example, Kind, Operation, RuleError, Term, attr, normal_axis, require_float
from netcalc.ops import operation
from netcalc.ops._lists import Axes
from netcalc.tensor_type import TensorType


class _Reduction(Operation):
    """What reductions share: the axes they take away."""

    shorthand = "axis"
    shape_rule = "without the reduced axes; with keepdim they are 1"
    example = Example(((2, 3, 4),), {"axis": 1})
    kind: ClassVar[Kind]

    axis: Annotated[Axes, Field(min_length=1)] | None = attr("the axis or axes to reduce; null: all", default=None)
    keepdim: bool = attr("keep the reduced axes, with size 1", default=False)

    def axes(self, rank: int) -> tuple[int, ...]:
        """The reduced axes, counted from the front; RuleError where the tensor has none of that number."""
        if self.axis is None:
            return tuple(range(rank))
        # as in PyTorch, a scalar has an axis 0 to reduce
        axes = tuple(normal_axis(axis, max(rank, 1), self.name) for axis in self.axis)
        if len(set(axes)) < len(axes):
            raise RuleError(f"{self.name}: an axis is given twice in {list(self.axis)}")
        return axes if rank else ()

    def sizes(self, x: TensorType) -> tuple[Dim, Dim]:
        """How many elements the output has, and how many of the input each of them is made of."""
        axes = self.axes(x.rank)
        return (
            product(size for axis, size in enumerate(x.shape) if axis not in axes),
            product(x.shape[axis] for axis in axes),
        )

    def result(self, dtype: DType) -> DType:
        """The type of the output; RuleError where there is none."""
        return dtype

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axes = self.axes(x.rank)
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if self.keepdim or axis not in axes]
        return TensorType(tuple(shape), self.result(x.dtype))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return self.work(*self.sizes(inputs[0]))

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        """The work for so many outputs, of so many elements each."""
        return (Term.of(self.kind, self.name, outputs=outputs, others=each - 1),)


class _Total(_Reduction):
    """A sum or product: whole numbers and bools are taken as int64, unless ``dtype`` says otherwise."""

    dtype: DType | None = attr("the type to compute in and return", default=None)

    def result(self, dtype: DType) -> DType:
        return self.dtype or (dtype if dtype in FLOATS else "int64")


@operation
class Sum(_Total):
    """The sum over axes; whole numbers and bools add up as int64."""

    name = "sum"
    reference = "torch.sum"
    cost_rule = "n − 1 adds for each sum of n elements"
    kind = "add"


@operation
class Prod(_Total):
    """The product over axes (torch.prod takes one axis or all); whole numbers and bools multiply as int64."""

    name = "prod"
    reference = "torch.prod"
    cost_rule = "n − 1 multiplications for each product of n elements"
    kind = "mul"


@operation
class Mean(_Total):
    """The mean over axes, of floating-point numbers; whole numbers want a ``dtype``."""

    name = "mean"
    reference = "torch.mean"
    cost_rule = "n − 1 adds and one division for each mean of n elements"

    def result(self, dtype: DType) -> DType:
        found = self.dtype or dtype
        if found not in FLOATS:
            raise RuleError(
                f"mean is a floating-point number, and this would be {found}", code="E402", hint="set dtype: float32"
            )
        return found

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        return (Term.of("add", "sum", outputs=outputs, others=each - 1), Term.of("div", "mean", outputs=outputs))


@operation
class Max(_Reduction):
    """The largest element over axes, its value alone (torch.amax); argmax and topk tell where it is."""

    name = "max"
    reference = "torch.amax"
    cost_rule = "n − 1 comparisons for each maximum of n elements"
    kind = "compare"


@operation
class Min(_Reduction):
    """The smallest element over axes, its value alone (torch.amin); argmin and topk tell where it is."""

    name = "min"
    reference = "torch.amin"
    cost_rule = "n − 1 comparisons for each minimum of n elements"
    kind = "compare"


class _FloatReduction(_Reduction):
    def result(self, dtype: DType) -> DType:
        require_float(TensorType((), dtype), self.name)
        return dtype


@operation
class Var(_FloatReduction):
    """The variance over axes: Σ(x − mean)² / (n − correction).

    ``correction`` 1 (the default) is Bessel's, for a sample; 0 gives the variance of the elements themselves, as
    normalisation layers want it.
    """

    name = "var"
    reference = "torch.var"
    cost_rule = "n subtractions, n squares, 2·(n − 1) adds and 2 divisions for each variance"

    correction: float = attr("subtracted from the number of elements in the divisor", default=1.0)

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        return (
            Term.of("add", "mean", outputs=outputs, others=each - 1),
            Term.of("div", "mean", outputs=outputs),
            Term.of("add", "deviation", outputs=outputs, elements=each),
            Term.of("mul", "square", outputs=outputs, elements=each),
            Term.of("add", "sum", outputs=outputs, others=each - 1),
            Term.of("div", "variance", outputs=outputs),
        )


@operation
class VectorNorm(_FloatReduction):
    """The norm (Σ|x|^ord)^(1/ord) over axes.

    ``ord`` ``.inf`` and ``-.inf`` give the largest and the smallest |x|, 0 the number of elements that are not 0.
    """

    name = "vector_norm"
    reference = "torch.linalg.vector_norm"
    cost_rule = "ord 2: n squares, n − 1 adds and one root for each norm of n elements"

    ord: float = attr("the order of the norm", default=2.0)

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        magnitude = Term.of("compare", "magnitude", outputs=outputs, elements=each)
        total = Term.of("add", "sum", outputs=outputs, others=each - 1)
        if math.isinf(self.ord):
            return (magnitude, Term.of("compare", "extreme", outputs=outputs, others=each - 1))
        if self.ord in (0, 1):
            return (magnitude, total)
        root = Term.of("transcendental", "root", outputs=outputs)
        if self.ord == 2:
            return (Term.of("mul", "square", outputs=outputs, elements=each), total, root)
        return (magnitude, Term.of("transcendental", "power", outputs=outputs, elements=each), total, root)


@operation
class Logsumexp(_Reduction):
    """log Σ eˣ over axes, about the largest element so that nothing overflows; whole numbers become float32."""

    name = "logsumexp"
    reference = "torch.logsumexp"
    cost_rule = "for n elements: n − 1 comparisons, 2·n adds, n exponentials, one logarithm"

    def result(self, dtype: DType) -> DType:
        return dtype if dtype in FLOATS else "float32"

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        return (
            Term.of("compare", "max", outputs=outputs, others=each - 1),
            Term.of("add", "shift", outputs=outputs, elements=each),
            Term.of("transcendental", "exp", outputs=outputs, elements=each),
            Term.of("add", "sum", outputs=outputs, others=each - 1),
            Term.of("transcendental", "log", outputs=outputs),
            Term.of("add", "shift back", outputs=outputs),
        )


@operation
class Cumsum(Operation):
    """The running sum along an axis; whole numbers and bools add up as int64."""

    name = "cumsum"
    reference = "torch.cumsum"
    shorthand = "axis"
    shape_rule = "as the input"
    cost_rule = "n − 1 adds for n elements along the axis"
    example = Example(((2, 3),), {"axis": 1})

    axis: int = attr("the axis to sum along")
    dtype: DType | None = attr("the type to compute in and return", default=None)

    def result(self, dtype: DType) -> DType:
        """The type of the output."""
        return self.dtype or (dtype if dtype in FLOATS else "int64")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        normal_axis(self.axis, max(x.rank, 1), "cumsum")
        return x.with_dtype(self.result(x.dtype))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        if not x.rank:
            return ()
        axis = normal_axis(self.axis, x.rank, "cumsum")
        lines = product(size for i, size in enumerate(x.shape) if i != axis)
        return (Term.of("add", "sum", lines=lines, others=x.shape[axis] - 1),)
