"""Tensors joined into one along an axis, and one parted into several."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from netcalc.dims import Dim, Poly, UndecidedError, ceil_div, exact_div
from netcalc.dtypes import promote
from netcalc.opdef import Context, Example, RuleError, attr, normal_axis, ports, whole_number
from netcalc.ops import operation
from netcalc.ops._movement import Movement, resized
from netcalc.tensor_type import TensorType


@operation
class Concat(Movement):
    """Joins tensors end to end along an axis; all other sizes are equal.

    The axis is 1 unless given: the channels of (N, C, H, W), the positions of (N, L, C) (in torch.cat it is 0, the
    batch).  The element type is the one that holds all of theirs.
    """

    name = "concat"
    reference = "torch.cat"
    inputs = ports("inputs*")
    shape_rule = "(N, C1, …), (N, C2, …) → (N, C1 + C2, …)"
    example = Example(((2, 3, 4), (2, 5, 4)))

    axis: int = attr("the axis that grows", default=1)

    def infer(self, ctx: Context, *inputs: TensorType) -> TensorType:
        first = inputs[0]
        same_rank("concat", inputs)
        axis = normal_axis(self.axis, first.rank, "concat")
        for other in range(first.rank):
            if other != axis and any(x.shape[other] != first.shape[other] for x in inputs):
                raise RuleError(f"concat along axis {axis}: the inputs differ in axis {other}: {shapes_of(inputs)}")
        total = ctx.size(f"axis {axis}", "sum(sizes)", sizes=[x.shape[axis] for x in inputs])
        return resized(first, {axis: total}).with_dtype(promote(*(x.dtype for x in inputs)))


@operation
class Stack(Movement):
    """Puts tensors of one shape side by side along a new axis, 1 unless given (in torch.stack it is 0)."""

    name = "stack"
    reference = "torch.stack"
    inputs = ports("inputs*")
    shape_rule = "k × (N, …) → (N, k, …)"
    example = Example(((2, 3), (2, 3)))

    axis: int = attr("where the new axis stands in the result", default=1)

    def infer(self, ctx: Context, *inputs: TensorType) -> TensorType:
        first = inputs[0]
        same_rank("stack", inputs)
        axis = normal_axis(self.axis, first.rank + 1, "stack")
        if any(x.shape != first.shape for x in inputs):
            raise RuleError(f"stack takes inputs of one shape, and these differ: {shapes_of(inputs)}")
        shape = (*first.shape[:axis], len(inputs), *first.shape[axis:])
        return TensorType(shape, promote(*(x.dtype for x in inputs)))


class Parting(Movement):
    """Base of what parts a tensor along an axis, 1 unless given (in torch it is 0, the batch)."""

    outputs = ports("outputs*")
    view = True

    axis: int = attr("the axis that is parted", default=1)

    def pieces(self, ctx: Context, size: Dim) -> Sequence[Dim]:
        """The sizes of the pieces of an axis of this size."""
        raise NotImplementedError

    def infer(self, ctx: Context, x: TensorType) -> tuple[TensorType, ...]:
        axis = normal_axis(self.axis, x.rank, self.name)
        return tuple(resized(x, {axis: piece}) for piece in self.pieces(ctx, x.shape[axis]))


def _pieces(value: Any) -> Any:
    return tuple(map(whole_number, value)) if isinstance(value, (list, tuple)) else whole_number(value)


_SIZE = {"type": "integer", "minimum": 1}
#: Sizes of pieces, or one size for all of them.
_Pieces = Annotated[
    Any, BeforeValidator(_pieces), WithJsonSchema({"anyOf": [_SIZE, {"type": "array", "items": _SIZE}]})
]


@operation
class Split(Parting):
    """Parts a tensor along an axis: into pieces of the given sizes, or of one size each.

    A single size makes as many pieces as there are, the last of them smaller where it does not divide the axis.  The
    axis is 1 unless given (in torch.split it is 0, the batch).
    """

    name = "split"
    reference = "torch.split"
    shorthand = "sizes"
    shape_rule = "(N, C1 + C2 + …, …) → (N, C1, …), (N, C2, …), …"
    example = Example(((2, 6, 3),), {"sizes": [1, 2, 3]})

    sizes: _Pieces = attr("the sizes of the pieces, or the size of each")

    def pieces(self, ctx: Context, size: Dim) -> Sequence[Dim]:
        if not isinstance(self.sizes, tuple):
            return equal_pieces(size, self.sizes)
        total = ctx.size("all pieces", "sum(sizes)", sizes=list(self.sizes))
        if total != size:
            raise RuleError(f"split: the sizes {', '.join(map(str, self.sizes))} make {total}, and the axis has {size}")
        return self.sizes


@operation
class Chunk(Parting):
    """Parts a tensor along an axis into equal pieces.

    As in PyTorch every piece has ⌈size / chunks⌉ elements along the axis and the last what is left, so that there can
    be fewer pieces than asked for: 4 chunks of 5 elements are 2, 2 and 1.  The axis is 1 unless given (in torch.chunk
    it is 0, the batch).
    """

    name = "chunk"
    reference = "torch.chunk"
    shorthand = "chunks"
    shape_rule = "(N, C, …) → k × (N, ⌈C/k⌉, …)"
    example = Example(((2, 6, 3),), {"chunks": 2})

    chunks: int = attr("how many pieces", ge=1)

    def pieces(self, ctx: Context, size: Dim) -> Sequence[Dim]:
        if exact_div(size, self.chunks) is not None:
            return (ctx.size("piece", "size//chunks", size=size, chunks=self.chunks),) * self.chunks
        return equal_pieces(size, ctx.size("piece", "ceil_div(size, chunks)", size=size, chunks=self.chunks))


def equal_pieces(size: Dim, piece: Dim) -> tuple[Dim, ...]:
    """The sizes of pieces of ``piece`` elements, the last of which holds the rest."""
    count = exact_div(size, piece) or ceil_div(size, piece)
    if isinstance(count, Poly):
        raise UndecidedError(f"how many pieces of {piece} an axis of {size} gives is open")
    return (piece,) * (count - 1) + (size - piece * (count - 1),)


def same_rank(what: str, inputs: Sequence[TensorType]) -> None:
    """RuleError unless all inputs have the same number of dimensions."""
    if any(x.rank != inputs[0].rank for x in inputs):
        raise RuleError(f"{what} takes inputs of as many dimensions, and these differ: {shapes_of(inputs)}")


def shapes_of(inputs: Sequence[TensorType]) -> str:
    """The shapes for a message, in order."""
    return ", ".join(map(str, inputs))
