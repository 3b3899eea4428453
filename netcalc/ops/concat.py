"""Concatenating, stacking and splitting tensors along an axis."""

from collections.abc import Sequence
from typing import Annotated, Any

from netcalc.dims import Dim, Poly, UndecidedError, ceil_div, divided, equal
from netcalc.dtypes import promote
from netcalc.limits import MAX_PIECES
from netcalc.models import BeforeValidator, WithJsonSchema
from netcalc.opdef import (
    Context,
    Example,
    Merged,
    Reach,
    RuleError,
    attr,
    axes_of,
    normal_axis,
    ports,
    same_shape,
    whole_number,
)
from netcalc.ops import operation
from netcalc.ops._movement import Movement, resized
from netcalc.tensor_type import TensorType


@operation
class Concat(Movement):
    """Joins tensors along an axis; all other sizes are equal.

    The default axis is 1: the channels of (N, C, H, W), the positions of (N, L, C).  (In torch.cat it is 0, the
    batch.)  The element type is the promoted type of the inputs.
    """

    name = "concat"
    takes_empty = True
    reference = "torch.cat"
    inputs = ports("inputs*")
    shape_rule = "(N, C1, …), (N, C2, …) → (N, C1 + C2, …)"
    example = Example(((2, 3, 4), (2, 5, 4)))
    usage = (
        "x: [1, 192, 14, 14]",
        "- concat:",
        "    axis: 1",
        "    narrow: [{conv2d: {out: 64, kernel: 1}}]",
        "    wide: [{conv2d: {out: 128, kernel: 3, padding: 1}}]",
    )

    axis: int = attr("axis along which the tensors are joined", default=1)

    def infer(self, ctx: Context, *inputs: TensorType) -> TensorType:
        first = inputs[0]
        same_rank("concat", inputs)
        axis = normal_axis(self.axis, first.rank, "concat")
        for other in range(first.rank):
            if other != axis and not all(equal(x.shape[other], first.shape[other]) for x in inputs):
                raise RuleError(f"concat along axis {axis}: the inputs differ in axis {other}: {shapes_of(inputs)}")
        total = ctx.size(f"axis {axis}", "sum(sizes)", sizes=[x.shape[axis] for x in inputs])
        return resized(first, {axis: total}).with_dtype(promote(*(x.dtype for x in inputs)))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        axis = self.axis % output.rank
        return [axes_of(x, {axis: Merged(axis)}) for x in inputs]


@operation
class Stack(Movement):
    """Joins tensors of one shape along a new axis, by default axis 1 (in torch.stack 0)."""

    name = "stack"
    takes_empty = True
    reference = "torch.stack"
    inputs = ports("inputs*")
    shape_rule = "k × (N, …) → (N, k, …)"
    example = Example(((2, 3), (2, 3)))
    usage = ("left: [32, 256]", "right: [32, 256]", "- {from: [left, right], stack: {axis: 1}}")

    axis: int = attr("position of the new axis in the result", default=1)

    def infer(self, ctx: Context, *inputs: TensorType) -> TensorType:
        first = inputs[0]
        same_rank("stack", inputs)
        axis = normal_axis(self.axis, first.rank + 1, "stack")
        if not all(same_shape(x.shape, first.shape) for x in inputs):
            raise RuleError(f"stack takes inputs of one shape, and these differ: {shapes_of(inputs)}")
        shape = (*first.shape[:axis], len(inputs), *first.shape[axis:])
        return TensorType(shape, promote(*(x.dtype for x in inputs)))


class Splitting(Movement):
    """Base of operations that split a tensor along an axis, by default axis 1 (in torch 0, the batch)."""

    takes_empty = True
    outputs = ports("outputs*")
    view = True

    axis: int = attr("axis to split", default=1)

    def pieces(self, ctx: Context, size: Dim) -> Sequence[Dim]:
        """Return the sizes of the pieces of an axis of this size."""
        raise NotImplementedError

    def infer(self, ctx: Context, x: TensorType) -> tuple[TensorType, ...]:
        axis = normal_axis(self.axis, x.rank, self.name)
        return tuple(resized(x, {axis: piece}) for piece in self.pieces(ctx, x.shape[axis]))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        (x,) = inputs
        return [axes_of(x, {self.axis: "unknown"})]


def _pieces(value: Any) -> Any:
    return tuple(map(whole_number, value)) if isinstance(value, (list, tuple)) else whole_number(value)


_SIZE = {"type": "integer", "minimum": 1}
#: Sizes of pieces, or one size for all of them.
_Pieces = Annotated[
    Any, BeforeValidator(_pieces), WithJsonSchema({"anyOf": [_SIZE, {"type": "array", "items": _SIZE}]})
]


@operation
class Split(Splitting):
    """Splits a tensor along an axis, into pieces of given sizes or of one size.

    With a single size the last piece is smaller if the size does not divide the axis.  The default axis is 1 (in
    torch.split 0, the batch).
    """

    name = "split"
    reference = "torch.split"
    shorthand = "sizes"
    shape_rule = "(N, C1 + C2 + …, …) → (N, C1, …), (N, C2, …), …"
    example = Example(((2, 6, 3),), {"sizes": [1, 2, 3]})
    usage = ("x: [1, 128, 768]", "- {split: {sizes: [512, 128, 128], axis: -1}, as: [query, key, value]}")

    sizes: _Pieces = attr("sizes of the pieces, or the size of each piece")

    def pieces(self, ctx: Context, size: Dim) -> Sequence[Dim]:
        if not isinstance(self.sizes, tuple):
            return equal_pieces(size, self.sizes)
        total = ctx.size("all pieces", "sum(sizes)", sizes=list(self.sizes))
        if not equal(total, size):
            raise RuleError(
                f"split: the sizes {', '.join(map(str, self.sizes))} add up to {total}, and the axis has {size}"
            )
        return self.sizes


@operation
class Chunk(Splitting):
    """Splits a tensor along an axis into equal pieces.

    As in PyTorch every piece has ⌈size / chunks⌉ elements along the axis and the last one has the rest, so that there
    can be fewer pieces than ``chunks``: 4 chunks of 5 elements have 2, 2 and 1.  The default axis is 1 (in torch.chunk
    0, the batch).
    """

    name = "chunk"
    reference = "torch.chunk"
    shorthand = "chunks"
    shape_rule = "(N, C, …) → k × (N, ⌈C/k⌉, …)"
    example = Example(((2, 6, 3),), {"chunks": 2})
    usage = (
        "x: [1, 128, 768]",
        "- linear: 2304",
        "- {chunk: {chunks: 3, axis: -1}, as: [query, key, value]}",
        "- {from: [query, key, value], attend: {heads: 12}}",
    )

    chunks: int = attr("number of pieces", ge=1)

    def pieces(self, ctx: Context, size: Dim) -> Sequence[Dim]:
        if divided(size, self.chunks) is not None:
            return repeated(ctx.size("piece", "size//chunks", size=size, chunks=self.chunks), self.chunks)
        return equal_pieces(size, ctx.size("piece", "ceil_div(size, chunks)", size=size, chunks=self.chunks))


def equal_pieces(size: Dim, piece: Dim) -> tuple[Dim, ...]:
    """Return the sizes of pieces of ``piece`` elements, of which the last one has the rest."""
    count = divided(size, piece) or ceil_div(size, piece)
    if isinstance(count, Poly):
        raise UndecidedError(f"the number of pieces of {piece} in an axis of {size} is undecided")
    return (*repeated(piece, count - 1), size - piece * (count - 1))


def repeated(piece: Dim, count: int) -> tuple[Dim, ...]:
    """Return the sizes of so many equal pieces; RuleError if an operation cannot have that many outputs."""
    if count > MAX_PIECES:
        raise RuleError(f"over {MAX_PIECES:,} pieces of size {piece}", code=MAX_PIECES.code)
    return (piece,) * count


def same_rank(what: str, inputs: Sequence[TensorType]) -> None:
    """Raise RuleError unless all inputs have the same number of dimensions."""
    if any(x.rank != inputs[0].rank for x in inputs):
        raise RuleError(f"{what} takes inputs of the same number of dimensions, and these differ: {shapes_of(inputs)}")


def shapes_of(inputs: Sequence[TensorType]) -> str:
    """Return the shapes as text for a message."""
    return ", ".join(map(str, inputs))
