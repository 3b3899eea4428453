"""Reductions over axes, and the cumulative sum."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from netcalc.dims import Dim, product
from netcalc.dtypes import FLOATS, INEXACT, DType
from netcalc.models import Field
from netcalc.opdef import (
    Context,
    Example,
    Kind,
    Operation,
    Reach,
    RuleError,
    Term,
    Window,
    attr,
    normal_axis,
    require_float,
)
from netcalc.ops import operation
from netcalc.ops._along_axis import steps_along
from netcalc.ops._elementwise import amount
from netcalc.ops._lists import Axes
from netcalc.tensor_type import TensorType


class _Reduction(Operation):
    """Base of reductions over axes."""

    kernel_suffices = "a few NumPy calls on a tensor that is reduced to few elements"
    shorthand = "axis"
    shape_rule = "without the reduced axes; with keepdim they have size 1"
    example = Example(((2, 3, 4),), {"axis": 1})
    usage: ClassVar[tuple[str, ...]] = ("x: [32, 128, 64]", "- $op: 1")
    kind: ClassVar[Kind]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Derive the cost rule from ``kind``."""
        super().__init_subclass__(**keywords)
        if "kind" in cls.__dict__:
            cls.cost_rule = f"{amount(cls.kind, 'n − 1')} per output element, n being the number of elements it reduces"

    axis: Annotated[Axes, Field(min_length=1)] | None = attr("axis or axes to reduce; null is all", default=None)
    keepdim: bool = attr("keep the reduced axes, with size 1", default=False)

    def axes(self, rank: int) -> tuple[int, ...]:
        """Return the reduced axes, counted from the front; RuleError if an axis does not exist."""
        if self.axis is None:
            return tuple(range(rank))
        # as in PyTorch, a scalar has an axis 0 to reduce
        axes = tuple(normal_axis(axis, max(rank, 1), self.name) for axis in self.axis)
        if len(set(axes)) < len(axes):
            raise RuleError(f"{self.name}: an axis is listed twice in {list(self.axis)}")
        return axes if rank else ()

    def sizes(self, x: TensorType) -> tuple[Dim, Dim]:
        """Return the number of output elements, and the number of input elements that each reduces."""
        axes = self.axes(x.rank)
        return (
            product(size for axis, size in enumerate(x.shape) if axis not in axes),
            product(x.shape[axis] for axis in axes),
        )

    def result(self, dtype: DType) -> DType:
        """Return the type of the output; RuleError if it is not supported."""
        return dtype

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        axes = self.axes(x.rank)
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if self.keepdim or axis not in axes]
        return TensorType(tuple(shape), self.result(x.dtype))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        axes = self.axes(x.rank)
        remaining = [axis for axis in range(x.rank) if axis not in axes or self.keepdim]
        return [tuple("all" if axis in axes else Window(remaining.index(axis)) for axis in range(x.rank))]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return self.work(*self.sizes(inputs[0]))

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        """Return the work for ``outputs`` results of ``each`` elements."""
        return (Term.of(self.kind, self.name, outputs=outputs, others=each - 1),)


class _Total(_Reduction):
    """Base of sums and products; integers and bools become int64 unless ``dtype`` is set."""

    takes_empty = True
    takes_complex = True
    dtype: DType | None = attr("type of the computation and of the result", default=None)

    def result(self, dtype: DType) -> DType:
        return self.dtype or (dtype if dtype in INEXACT else "int64")


@operation
class Sum(_Total):
    """The sum over axes; integers and bools are added as int64."""

    name = "sum"
    reference = "torch.sum"
    kind = "add"


@operation
class Prod(_Total):
    """The product over axes (torch.prod takes one axis or all); integers and bools are multiplied as int64."""

    name = "prod"
    reference = "torch.prod"
    kind = "mul"


@operation
class Mean(_Total):
    """The mean over axes, of floating-point numbers; integers need a floating-point ``dtype``."""

    name = "mean"
    takes_empty = False
    reference = "torch.mean"
    cost_rule = "n − 1 adds and 1 div per output element, n being the number of elements it reduces"
    usage = ("x: [1, 196, 768]", "- mean: 1", "- linear: 1000")

    def result(self, dtype: DType) -> DType:
        computed = self.dtype or dtype
        if computed not in INEXACT:
            raise RuleError(
                f"mean needs a floating-point type, and this is {computed}", code="E402", hint="set dtype: float32"
            )
        return computed

    def work(self, outputs: Dim, each: Dim) -> Sequence[Term]:
        return (Term.of("add", "sum", outputs=outputs, others=each - 1), Term.of("div", "mean", outputs=outputs))


@operation
class Max(_Reduction):
    """The largest element over axes, without its index (torch.amax); see argmax and topk for the index."""

    name = "max"
    reference = "torch.amax"
    kind = "compare"


@operation
class Min(_Reduction):
    """The smallest element over axes, without its index (torch.amin); see argmin and topk for the index."""

    name = "min"
    reference = "torch.amin"
    kind = "compare"


class _FloatReduction(_Reduction):
    def result(self, dtype: DType) -> DType:
        require_float(TensorType((), dtype), self.name)
        return dtype


@operation
class Var(_FloatReduction):
    """The variance over axes: Σ(x − mean)² / (n − correction).

    ``correction`` 1 (the default) is Bessel's correction; 0 gives the biased variance of normalization layers.
    """

    name = "var"
    reference = "torch.var"
    cost_rule = "3·n − 2 adds, n muls and 2 divs per output element, n being the number of elements it reduces"

    correction: float = attr("subtracted from n in the divisor", default=1.0)

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

    An ``ord`` of ``.inf`` or ``-.inf`` gives the largest or the smallest |x|, 0 the number of nonzero elements.
    """

    name = "vector_norm"
    reference = "torch.linalg.vector_norm"
    cost_rule = "for ord 2: n muls, n − 1 adds and 1 root per output element, n being the number of elements it reduces"

    ord: float = attr("order of the norm", default=2.0)

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
    """log Σ eˣ over axes, relative to the largest element to avoid overflow; integers become float32."""

    name = "logsumexp"
    reference = "torch.logsumexp"
    cost_rule = "n − 1 comparisons, 2·n adds, n exponentials and 1 logarithm per output element that reduces n elements"

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


class _Cumulative(Operation):
    """Base of sums and products of the elements so far."""

    takes_empty = True
    takes_complex = True
    shorthand = "axis"
    shape_rule = "as the input"
    example = Example(((2, 3),), {"axis": 1})
    usage = ("x: [32, 128]", "- $op: 1")
    kind: ClassVar[Kind]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Derive the cost rule from ``kind``."""
        super().__init_subclass__(**keywords)
        cls.cost_rule = f"{amount(cls.kind, 'n − 1')} for each n elements along the axis"

    axis: int = attr("axis along which elements are taken together")
    dtype: DType | None = attr("type of the computation and of the result", default=None)

    def result(self, dtype: DType) -> DType:
        """Return the type of the output."""
        return self.dtype or (dtype if dtype in INEXACT else "int64")

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        normal_axis(self.axis, max(x.rank, 1), self.name)
        return x.with_dtype(self.result(x.dtype))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return steps_along(self.kind, self.name.removeprefix("cum"), inputs[0], self.axis)


@operation
class Cumsum(_Cumulative):
    """The cumulative sum along an axis; integers and bools are added as int64."""

    name = "cumsum"
    kernel_suffices = "sums along an axis: each element depends on those before it"
    reference = "torch.cumsum"
    kind = "add"


@operation
class Cumprod(_Cumulative):
    """The cumulative product along an axis; integers and bools are multiplied as int64."""

    name = "cumprod"
    kernel_suffices = "multiplies along an axis: each element depends on those before it"
    reference = "torch.cumprod"
    kind = "mul"
