"""Operators of ONNX as methods, which know the types of their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.dims import Dim, product
from netcalc.formats.export.onnx.graph import Graph, Tensor
from netcalc.formats.export.onnx.sizes import RuntimeSizes
from netcalc.ops._broadcast import broadcast
from netcalc.tensor_type import TensorType

_INT64 = "int64"


class Emitter(Graph):
    """A graph with a method for each operator that rules use."""

    sizes: RuntimeSizes

    # -- constants ----------------------------------------------------------------------------------

    def scalar(self, value: float | int | bool, like: Tensor | str) -> Tensor:
        """Return a number in an element type, or in the one of a value."""
        return self.constant(value, TensorType((), like if isinstance(like, str) else like.type.dtype))  # type: ignore[arg-type]

    def integers(self, values: Sequence[int]) -> Tensor:
        """Return a list of whole numbers, as axes and sizes are given."""
        return self.constant(list(values), TensorType((len(values),), _INT64))  # type: ignore[arg-type]

    def shape(self, sizes: Sequence[Dim]) -> Tensor:
        """Return sizes as a list; those that are symbols are read from the inputs of the graph."""
        if all(isinstance(size, int) for size in sizes):
            return self.integers([int(size) for size in sizes])
        return self.concat([self.sizes.of(self, size) for size in sizes], 0)

    def size(self, size: Dim, dtype: str = _INT64) -> Tensor:
        """Return a size as a scalar."""
        if isinstance(size, int):
            return self.scalar(size, dtype)
        found = self.reshape(self.sizes.of(self, size), ())
        return self.cast(found, dtype)

    def zeros(self, shape: Sequence[Dim], dtype: str, value: float = 0) -> Tensor:
        """Return a tensor of equal numbers."""
        return self.expand(self.scalar(value, dtype), shape)

    # -- elements -----------------------------------------------------------------------------------

    def unary(self, op: str, x: Tensor, **attributes: Any) -> Tensor:
        """Return a function of each element."""
        return self.node(op, [x], x.type, **attributes)

    def binary(self, op: str, x: Tensor, y: Tensor | float, **attributes: Any) -> Tensor:
        """Return a function of the elements of two tensors that broadcast, or of a tensor and a number."""
        y = y if isinstance(y, Tensor) else self.scalar(y, x)
        return self.node(op, [x, y], x.type.with_shape(*broadcast(op, [x.shape, y.shape])), **attributes)

    def add(self, x: Tensor, y: Tensor | float) -> Tensor:
        """Return the sum."""
        return self.binary("Add", x, y)

    def sub(self, x: Tensor, y: Tensor | float) -> Tensor:
        """Return the difference."""
        return self.binary("Sub", x, y)

    def mul(self, x: Tensor, y: Tensor | float) -> Tensor:
        """Return the product."""
        return self.binary("Mul", x, y)

    def div(self, x: Tensor, y: Tensor | float) -> Tensor:
        """Return the quotient."""
        return self.binary("Div", x, y)

    def compare(self, op: str, x: Tensor, y: Tensor | float) -> Tensor:
        """Return a comparison of the elements of two tensors that broadcast, or of a tensor and a number."""
        y = y if isinstance(y, Tensor) else self.scalar(y, x)
        return self.node(op, [x, y], TensorType(broadcast(op, [x.shape, y.shape]), "bool"))

    def where(self, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """Return elements of ``x`` where the condition holds, and else of ``y``."""
        shape = broadcast("Where", [condition.shape, x.shape, y.shape])
        return self.node("Where", [condition, x, y], x.type.with_shape(*shape))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """Return the elements in another type."""
        if x.dtype == dtype:
            return x
        type_ = TensorType(x.shape, dtype)  # type: ignore[arg-type]
        return self.node("Cast", [x], type_, to=type_)

    def clip(self, x: Tensor, low: float | None, high: float | None) -> Tensor:
        """Return the elements within bounds."""
        bounds = [None if bound is None else self.scalar(bound, x) for bound in (low, high)]
        return self.node("Clip", [x, *bounds], x.type)

    # -- shapes -------------------------------------------------------------------------------------

    def reshape(self, x: Tensor, sizes: Sequence[Dim]) -> Tensor:
        """Return the elements in another shape."""
        if tuple(sizes) == x.shape:
            return x
        return self.node("Reshape", [x, self._target(x, sizes)], x.type.with_shape(*sizes))

    def _target(self, x: Tensor, sizes: Sequence[Dim]) -> Tensor:
        """Return the shape for a reshape: with 0 for an axis that is kept, and -1 for one that is left."""
        written: list[int] = []
        empty = any(size == 0 for size in (*x.shape, *sizes))
        for axis, size in enumerate(sizes):
            if isinstance(size, int):
                written.append(size)
            elif empty:
                return self.shape(sizes)
            elif axis < x.rank and x.shape[axis] == size and 0 not in sizes:
                written.append(0)
            else:
                written.append(-1)
        return self.integers(written) if written.count(-1) < 2 else self.shape(sizes)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """Return the tensor with its axes in another order."""
        if list(order) == [*range(x.rank)]:
            return x
        return self.node("Transpose", [x], x.type.with_shape(*(x.shape[axis] for axis in order)), perm=list(order))

    def swapped(self, x: Tensor, first: int = -2, second: int = -1) -> Tensor:
        """Return the tensor with two axes swapped."""
        order = [*range(x.rank)]
        order[first], order[second] = order[second], order[first]
        return self.transpose(x, order)

    def unsqueeze(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Return the tensor with axes of size 1 at places of the result."""
        rank = x.rank + len(axes)
        places = sorted(axis % rank for axis in axes)
        rest = iter(x.shape)
        shape = [1 if axis in places else next(rest) for axis in range(rank)]
        return self.node("Unsqueeze", [x, self.integers(places)], x.type.with_shape(*shape))

    def squeeze(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Return the tensor without axes of size 1."""
        places = sorted(axis % x.rank for axis in axes)
        if not places:
            return x
        shape = [size for axis, size in enumerate(x.shape) if axis not in places]
        return self.node("Squeeze", [x, self.integers(places)], x.type.with_shape(*shape))

    def expand(self, x: Tensor, sizes: Sequence[Dim]) -> Tensor:
        """Return the tensor broadcast to a shape."""
        if tuple(sizes) == x.shape:
            return x
        return self.node("Expand", [x, self.shape(sizes)], x.type.with_shape(*sizes))

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Return tensors one after the other along an axis."""
        if len(parts) == 1:
            return parts[0]
        axis %= parts[0].rank
        shape = list(parts[0].shape)
        shape[axis] = sum((part.shape[axis] for part in parts[1:]), start=shape[axis])
        return self.node("Concat", parts, parts[0].type.with_shape(*shape), axis=axis)

    def stack(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Return tensors one after the other along a new axis."""
        return self.concat([self.unsqueeze(part, [axis]) for part in parts], axis)

    def slice(self, x: Tensor, axis: int, start: Dim, stop: Dim, step: int = 1) -> Tensor:
        """Return elements from ``start`` to ``stop`` along an axis; both count from the beginning."""
        axis %= x.rank
        shape = list(x.shape)
        shape[axis] = -((start - stop) // step)
        bounds = [self.shape([start]), self.shape([stop]), self.integers([axis])]
        if step != 1:
            bounds.append(self.integers([step]))
        return self.node("Slice", [x, *bounds], x.type.with_shape(*shape))

    def flip(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Return the tensor with the elements of axes in reverse order."""
        count = len(axes)
        bounds = [[-1] * count, [-(2**63) + 1] * count, [axis % x.rank for axis in axes], [-1] * count]
        return self.node("Slice", [x, *map(self.integers, bounds)], x.type)

    def split(self, x: Tensor, axis: int, sizes: Sequence[Dim]) -> list[Tensor]:
        """Return parts of a tensor along an axis."""
        axis %= x.rank
        types = [x.type.with_shape(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
        return self.nodes_of("Split", [x, self.shape(sizes)], types, axis=axis)

    def gather(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        """Return slices of a tensor along an axis, by numbers."""
        axis %= x.rank
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        return self.node("Gather", [x, indices], x.type.with_shape(*shape), axis=axis)

    def gather_elements(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        """Return elements by their numbers along an axis."""
        return self.node("GatherElements", [x, indices], x.type.with_shape(*indices.shape), axis=axis % x.rank)

    def range(self, start: Dim, stop: Dim, step: int = 1, dtype: str = _INT64) -> Tensor:
        """Return whole numbers from ``start`` to before ``stop``."""
        count = -((start - stop) // step)
        numbers = [self.size(start), self.size(stop), self.scalar(step, _INT64)]
        made = self.node("Range", numbers, TensorType((count,), _INT64))  # type: ignore[arg-type]
        return self.cast(made, dtype)

    def pad(self, x: Tensor, pads: Sequence[tuple[Dim, Dim]], value: float = 0, mode: str | None = None) -> Tensor:
        """Return the tensor with elements added before and after each axis."""
        if all(before == 0 and after == 0 for before, after in pads):
            return x
        shape = [size + before + after for size, (before, after) in zip(x.shape, pads, strict=True)]
        widths = self.shape([*(before for before, _ in pads), *(after for _, after in pads)])
        fill = self.scalar(value, x) if mode is None else None
        return self.node("Pad", [x, widths, fill], x.type.with_shape(*shape), mode=mode)

    # -- products and sums --------------------------------------------------------------------------

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the matrix product over the last two axes; those before broadcast."""
        left = x.shape if x.rank > 1 else (1, *x.shape)
        right = y.shape if y.rank > 1 else (*y.shape, 1)
        shape = [*broadcast("MatMul", [left[:-2], right[:-2]]), left[-2], right[-1]]
        if x.rank == 1:
            del shape[-2]
        if y.rank == 1:
            del shape[-1]
        return self.node("MatMul", [x, y], x.type.with_shape(*shape))

    def reduce(self, op: str, x: Tensor, axes: Sequence[int], *, keep: bool = False) -> Tensor:
        """Return a reduction over axes: ``ReduceMean``, ``ReduceSum`` and others."""
        if not axes:
            return x
        places = sorted(axis % x.rank for axis in axes)
        kept = [1 if axis in places else size for axis, size in enumerate(x.shape)]
        shape = kept if keep else [size for axis, size in enumerate(x.shape) if axis not in places]
        return self.node(op, [x, self.integers(places)], x.type.with_shape(*shape), keepdims=int(keep))

    def mean(self, x: Tensor, axes: Sequence[int], *, keep: bool = True) -> Tensor:
        """Return the mean over axes."""
        return self.reduce("ReduceMean", x, axes, keep=keep)

    def sum(self, x: Tensor, axes: Sequence[int], *, keep: bool = True) -> Tensor:
        """Return the sum over axes."""
        return self.reduce("ReduceSum", x, axes, keep=keep)

    def softmax(self, x: Tensor, axis: int) -> Tensor:
        """Return the softmax over an axis."""
        return self.unary("Softmax", x, axis=axis % x.rank)

    def flat(self, x: Tensor, axis: int) -> Tensor:
        """Return the matrix whose rows are the elements from an axis on."""
        return self.reshape(x, (product(x.shape[:axis]), product(x.shape[axis:])))
