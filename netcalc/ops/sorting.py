"""Sorting and selection: the index of the largest element, the k largest elements, sorted elements."""

from collections.abc import Sequence

from netcalc.dims import Dim, ceil_log2, product
from netcalc.opdef import Context, Example, Operation, RuleError, Size, Term, attr, normal_axis, ports
from netcalc.ops import operation
from netcalc.ops._along_axis import steps_along
from netcalc.tensor_type import TensorType


def selection(n: Dim, k: Dim) -> Dim:
    """Return the number of comparisons that find the k largest of n elements in order, by tournament selection.

    The largest takes n − 1 comparisons, and each further one at most ⌈log₂ n⌉ − 1 among the elements that lost to a
    selected one (Knuth, The Art of Computer Programming 3, §5.3.3).  With k = n it sorts.
    """
    return n - 1 + (k - 1) * (ceil_log2(n) - 1)


class _Arg(Operation):
    """Base of argmax and argmin."""

    kernel_suffices = "gives indices: a single NumPy call on a tensor that is reduced to few elements"
    shorthand = "axis"
    shape_rule = "without the axis; with keepdim it has size 1; int64"
    cost_rule = "n − 1 comparisons per output element, n being the number of elements searched"
    example = Example(((2, 3),), {"axis": 1})
    usage = ("logits: [32, 1000]", "- $op: -1")

    axis: int | None = attr("axis to search; null searches the flattened tensor", default=None)
    keepdim: bool = attr("keep the axis, with size 1", default=False)

    def searched(self, rank: int) -> tuple[int, ...]:
        """Return the axes that are searched; RuleError if the axis does not exist."""
        if self.axis is None:
            return tuple(range(rank))
        axis = normal_axis(self.axis, max(rank, 1), self.name)
        return (axis,) if rank else ()

    def infer(self, ctx: Context, x: TensorType) -> TensorType:
        if x.dtype == "bool":
            raise RuleError(f"{self.name} takes numbers, and its input is bool", code="E402", hint="cast it to int8")
        axes = self.searched(x.rank)
        shape = [1 if axis in axes else size for axis, size in enumerate(x.shape) if self.keepdim or axis not in axes]
        return TensorType(tuple(shape), "int64")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        each = product(x.shape[axis] for axis in self.searched(x.rank))
        return (Term.of("compare", "search", outputs=outputs[0].elements, others=each - 1),)


@operation
class Argmax(_Arg):
    """The index of the largest element, or of the first of several; NaN counts as largest."""

    name = "argmax"
    reference = "torch.argmax"


@operation
class Argmin(_Arg):
    """The index of the smallest element, or of the first of several; NaN counts as smallest."""

    name = "argmin"
    reference = "torch.argmin"


@operation
class Topk(Operation):
    """The k largest (or smallest) elements along an axis, and their indices.

    They are sorted, equal elements by their index.  ``sorted: false`` permits any order and has no effect here.
    """

    name = "topk"
    kernel_suffices = "sorts: NumPy's sort gains nothing from tiles"
    reference = "torch.topk"
    outputs = ports("values", "indices")
    shorthand = "k"
    shape_rule = "the axis has size k; the indices are int64"
    cost_rule = "n − 1 + (k − 1)·(⌈log₂ n⌉ − 1) comparisons for each n elements along the axis"
    example = Example(((2, 5),), {"k": 2})
    usage = ("logits: [32, 1000]", "- {topk: 5, as: [values, indices]}")

    k: Size = attr("number of elements")
    axis: int = attr("axis of the selection", default=-1)
    largest: bool = attr("select the largest elements; otherwise the smallest", default=True)
    sorted: bool = attr("return the elements in order", default=True)

    def infer(self, ctx: Context, x: TensorType) -> tuple[TensorType, TensorType]:
        axis = normal_axis(self.axis, max(x.rank, 1), "topk")
        if x.dtype == "bool":
            raise RuleError("topk takes numbers, and its input is bool", code="E402", hint="cast it to int8")
        n = x.shape[axis] if x.rank else 1
        if self.k > n:
            raise RuleError(f"topk: k is {self.k}, and axis {axis} has {n} elements: {x}")
        shape = (*x.shape[:axis], self.k, *x.shape[axis + 1 :]) if x.rank else ()
        return x.with_shape(*shape), TensorType(shape, "int64")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return _selection(inputs[0], self.axis, self.k)


@operation
class Sort(Operation):
    """The sorted elements along an axis, and their indices; NaN counts as largest.

    Equal elements keep their order, as with ``stable=True`` in torch.
    """

    name = "sort"
    kernel_suffices = "sorts: NumPy's sort gains nothing from tiles"
    reference = "torch.sort"
    outputs = ports("values", "indices")
    shape_rule = "as the input; the indices are int64"
    cost_rule = "(n − 1)·⌈log₂ n⌉ comparisons for each n elements along the axis"
    example = Example(((2, 5),))
    usage = ("scores: [32, 100]", "- {sort: {descending: true}, as: [values, indices]}")

    axis: int = attr("axis to sort", default=-1)
    descending: bool = attr("sort in decreasing order", default=False)
    stable: bool = attr("keep the order of equal elements, which is always done here", default=False)

    def infer(self, ctx: Context, x: TensorType) -> tuple[TensorType, TensorType]:
        normal_axis(self.axis, max(x.rank, 1), "sort")
        return x, x.with_dtype("int64")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        (x,) = inputs
        return _selection(x, self.axis, x.shape[self.axis] if x.rank else 1)


class _Running(Operation):
    """Base of extremes of the elements so far."""

    kernel_suffices = "searches along an axis: each element depends on those before it"
    outputs = ports("values", "indices")
    shorthand = "axis"
    shape_rule = "as the input; the indices are int64"
    cost_rule = "n − 1 comparisons for each n elements along the axis"
    example = Example(((2, 5),), {"axis": 1})
    usage = ("x: [32, 128]", "- {$op: 1, as: [values, indices]}")

    axis: int = attr("axis along which elements are taken together")

    def infer(self, ctx: Context, x: TensorType) -> tuple[TensorType, TensorType]:
        normal_axis(self.axis, max(x.rank, 1), self.name)
        return x, x.with_dtype("int64")

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        return steps_along("compare", "search", inputs[0], self.axis)


@operation
class Cummax(_Running):
    """The largest element so far along an axis, and its index, the last one of several; NaN counts as largest."""

    name = "cummax"
    reference = "torch.cummax"


@operation
class Cummin(_Running):
    """The smallest element so far along an axis, and its index, the last one of several; NaN counts as smallest."""

    name = "cummin"
    reference = "torch.cummin"


def _selection(x: TensorType, axis: int, k: Dim) -> Sequence[Term]:
    n = x.shape[axis] if x.rank else 1
    lines = product(size for i, size in enumerate(x.shape) if i != axis % max(x.rank, 1))
    return (Term.of("compare", "selection", lines=lines, comparisons=selection(n, k)),)
