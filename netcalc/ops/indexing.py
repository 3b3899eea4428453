"""Look-up and replacement at positions that tensors hold: several axes at once, scattered elements, masked elements."""

from collections.abc import Sequence
from typing import Literal

from netcalc.dims import Dim
from netcalc.opdef import Context, Domain, Example, Kind, RuleError, Term, attr, normal_axis, ports, same_shape
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast, expands
from netcalc.ops._lists import Axes
from netcalc.ops._movement import MOVES, Movement, normal_axes
from netcalc.ops.slicing import require_index
from netcalc.tensor_type import TensorType


class _Indexing(Movement):
    """Base of operations at the positions along some axes that index tensors hold."""

    kernel_suffices = MOVES

    axis: Axes = attr("axis of each index")

    def places(self, x: TensorType, indices: Sequence[TensorType]) -> tuple[Dim, ...]:
        """Return the shape of the elements at the positions; RuleError if the indices do not fit."""
        axes = normal_axes(self.axis, x.rank, self.name)
        if len(indices) != len(axes):
            raise RuleError(f"{self.name} takes an index for each axis: {len(indices)} for {len(axes)} axes")
        for index in indices:
            require_index(self.name, index)
        common = broadcast(f"{self.name}, of the indices,", [index.shape for index in indices])
        first = min(axes)
        front = 0 if sorted(axes) != list(range(first, first + len(axes))) else first
        plain = [size for axis, size in enumerate(x.shape) if axis not in axes]
        return (*plain[:front], *common, *plain[front:])

    def domains_of_indices(self, x: TensorType) -> Sequence[Domain]:
        """Return the positions along each axis, counted from either end."""
        return [Domain(-x.shape[axis], x.shape[axis]) for axis in self.axis]


@operation
class Index(_Indexing):
    """The elements at positions along several axes, each of which an index holds: x[i, j].

    The indices broadcast, and their axes take the place of the axes that they index; if these are not neighbors, they
    come first.  A negative index counts from the end.
    """

    name = "index"
    reference = "indexing of torch.Tensor by tensors"
    inputs = ports("input", "indices*")
    shorthand = "axis"
    shape_rule = "(…, d1, d2, …), indices (k) → (…, k, …)"
    example = Example(((4, 5, 3), TensorType((2, 6), "int64"), TensorType((6,), "int64")), {"axis": [0, 1]})
    usage = (
        "table: [169, 3]",
        "places: {shape: [49, 49], dtype: int64, range: [0, 169]}",
        "- {from: [table, places], index: 0}",
    )

    def infer(self, ctx: Context, x: TensorType, *indices: TensorType) -> TensorType:
        return x.with_shape(*self.places(x, indices))

    def domains(self, x: TensorType, *indices: TensorType) -> Sequence[Domain | None]:
        return (None, *self.domains_of_indices(x))


@operation
class IndexPut(_Indexing):
    """The input with the elements at positions along several axes replaced: x[i, j] = values.

    The positions are given as for index, to whose result ``values`` broadcasts.  With ``accumulate`` the values are
    added to the elements; without it, positions that occur twice have one of their values.
    """

    name = "index_put"
    reference = "torch.index_put"
    inputs = ports("input", "values", "indices*")
    shorthand = "axis"
    shape_rule = "as the input"
    cost_rule = "none: data moves; with accumulate 1 add per element at the positions"
    example = Example(((4, 3), (2, 3), TensorType((2,), "int64")), {"axis": 0, "accumulate": True})
    usage = (
        "memory: [64, 128]",
        "rows: [8, 128]",
        "places: {shape: [8], dtype: int64, range: [0, 64]}",
        "- {from: [memory, rows, places], index_put: 0}",
    )

    accumulate: bool = attr("add the values to the elements", default=False)

    def infer(self, ctx: Context, x: TensorType, values: TensorType, *indices: TensorType) -> TensorType:
        shape = self.places(x, indices)
        if values.dtype != x.dtype:
            raise RuleError(f"index_put: the values are {values.dtype}, and the input is {x.dtype}", code="E402")
        if not expands(values.shape, shape):
            raise RuleError(f"index_put: values of {values} for {TensorType(shape)} elements")
        return x

    def domains(self, x: TensorType, *others: TensorType) -> Sequence[Domain | None]:
        return (None, None, *self.domains_of_indices(x))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        if not self.accumulate:
            return ()
        places = TensorType(self.places(inputs[0], inputs[2:]))
        return (Term.of("add", "accumulate", elements=places.elements),)


#: The kind of work of combining an element with the one that is scattered to its place.
_COMBINED: dict[str, Kind] = {"sum": "add", "prod": "mul", "amax": "compare", "amin": "compare"}


@operation
class Scatter(Movement):
    """The input with elements of ``source`` written to the positions along an axis that ``index`` holds.

    With axis 1 the element (i, j, k) of the source is written to (i, index[i, j, k], k): the inverse of gather.  With
    ``reduce`` it is combined with the element there; without it, positions that occur twice have one of their elements.
    """

    name = "scatter"
    kernel_suffices = MOVES
    reference = "torch.scatter, torch.scatter_reduce"
    inputs = ports("input", "index", "source")
    shape_rule = "as the input"
    cost_rule = "none: data moves; with reduce 1 add, mul or comparison per element of the source"
    example = Example(((2, 5), TensorType((2, 3), "int64"), (2, 3)), {"axis": 1, "reduce": "sum"})
    usage = (
        "counts: [32, 10]",
        "labels: {shape: [32, 1], dtype: int64, range: [0, 10]}",
        "more: [32, 1]",
        "- {from: [counts, labels, more], scatter: {axis: 1, reduce: sum}}",
    )

    axis: int = attr("axis of the positions")
    reduce: Literal["sum", "prod", "amax", "amin"] | None = attr(
        "combination with the element at the position; null replaces it", default=None
    )

    def infer(self, ctx: Context, x: TensorType, index: TensorType, source: TensorType) -> TensorType:
        require_index("scatter", index)
        if index.rank != x.rank:
            raise RuleError(f"scatter takes an index with as many dimensions as its input: {index} against {x}")
        if not same_shape(index.shape, source.shape):
            raise RuleError(f"scatter takes an index for each element of its source: {index} against {source}")
        if source.dtype != x.dtype or (self.reduce is not None and x.dtype == "bool"):
            raise RuleError(f"scatter: the source is {source.dtype}, and the input is {x.dtype}", code="E402")
        if x.is_complex and self.reduce not in (None, "sum"):
            raise RuleError(f"scatter of complex numbers takes no {self.reduce}", code="E402")
        axis = normal_axis(self.axis, x.rank, "scatter")
        for other, (size, needed) in enumerate(zip(x.shape, index.shape, strict=True)):
            if other != axis and needed > size:
                raise RuleError(f"scatter along axis {axis}: the index {index} is longer than {x} in axis {other}")
        return x

    def domains(self, x: TensorType, *others: TensorType) -> Sequence[Domain | None]:
        return (None, Domain(0, x.shape[self.axis]))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        if self.reduce is None:
            return ()
        return (Term.of(_COMBINED[self.reduce], self.reduce, elements=inputs[2].elements),)


@operation
class MaskedScatter(Movement):
    """The input with the elements where the mask is true replaced by elements of ``source``, in their order.

    Input and mask broadcast.  The source has at least as many elements as the mask has true ones: features of images,
    say, in place of the embeddings of placeholder tokens.
    """

    name = "masked_scatter"
    kernel_suffices = "the number of elements that are replaced is known only at run time"
    reference = "torch.masked_scatter"
    inputs = ports("input", "mask", "source")
    shape_rule = "broadcast: sizes are equal or 1, aligned from the last axis"
    example = Example(((2, 4), TensorType((2, 4), "bool"), (3, 4)))
    usage = (
        "embeddings: [1, 128, 64]",
        "is_image: {shape: [1, 128, 1], dtype: bool}",
        "images: [1, 128, 64]",
        "- {from: [embeddings, is_image, images], masked_scatter: {}}",
    )

    def infer(self, ctx: Context, x: TensorType, mask: TensorType, source: TensorType) -> TensorType:
        if mask.dtype != "bool":
            raise RuleError(f"masked_scatter takes a bool mask, and this one is {mask.dtype}", code="E402")
        if source.dtype != x.dtype:
            raise RuleError(f"masked_scatter: the source is {source.dtype}, and the input is {x.dtype}", code="E402")
        return x.with_shape(*broadcast(self.name, [x.shape, mask.shape]))
