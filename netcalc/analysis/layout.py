"""Layout of tensors in memory: which results are views of their operand, and with which strides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from netcalc.analysis.strides import Shape, dense, expanded, reshaped
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.opdef import Operation
from netcalc.ops.elementwise import Cast
from netcalc.tensor_type import TensorType


@dataclass(eq=False, slots=True)
class Storage:
    """Memory that tensors are views of: its bytes, and True if it belongs to a parameter or buffer."""

    nbytes: int
    parameter: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor in memory; strides are in elements."""

    storage: Storage
    shape: Shape
    strides: Shape

    @classmethod
    def new(cls, type_: TensorType, *, parameter: bool = False) -> Self:
        """Return the layout of a tensor in memory of its own, without gaps.

        Raises:
            UndecidedError: if a size is symbolic.
        """
        shape = tuple(integer(size) for size in type_.shape)
        nbytes = integer(type_.elements) * ITEMSIZE[type_.dtype]
        return cls(Storage(nbytes, parameter), shape, dense(shape, 1))

    def permuted(self, axes: Sequence[int]) -> Layout:
        """Return the view with its axes in another order, or without those that are not named."""
        shape, strides = (tuple(values[axis] for axis in axes) for values in (self.shape, self.strides))
        return replace(self, shape=shape, strides=strides)

    def stepped(self, axis: int, shape: Shape, step: int = 1) -> Layout:
        """Return the view of a part of an axis, with another shape and stride there."""
        strides = list(self.strides)
        strides[axis] *= step
        return replace(self, shape=shape, strides=tuple(strides))


def passes_on(op: Operation, inputs: Sequence[TensorType | None], training: bool) -> bool:
    """Return True for an operation whose result is its input itself: dropout in inference, a cast to the same type."""
    if isinstance(op, Cast):
        return inputs[0] is not None and inputs[0].dtype == op.dtype
    return op.no_op_in_inference and (op.elementwise or not training)


def results(
    op: Operation,
    layouts: Sequence[Layout | None],
    inputs: Sequence[TensorType | None],
    outputs: Sequence[TensorType],
    *,
    training: bool = False,
) -> list[Layout]:
    """Return the layouts of the results of an operation; new memory where no view can hold them.

    Raises:
        UndecidedError: if a size is symbolic.
    """
    first = layouts[0] if layouts else None
    if first is not None and passes_on(op, inputs, training):
        return [first]
    if not op.view or first is None:
        return [Layout.new(type_, parameter=op.view) for type_ in outputs]
    rule = _VIEWS.get(op.name, _in_shape)
    return [rule(op, first, tuple(integer(size) for size in type_.shape)) or Layout.new(type_) for type_ in outputs]


def _in_shape(op: Any, layout: Layout, shape: Shape) -> Layout | None:
    strides = reshaped(layout.shape, layout.strides, shape)
    return None if strides is None else replace(layout, shape=shape, strides=strides)


def _transposed(op: Any, layout: Layout, shape: Shape) -> Layout:
    axes = list(range(len(layout.shape)))
    first, other = (axis % len(axes) for axis in op.axes)
    axes[first], axes[other] = other, first
    return layout.permuted(axes)


def _permuted(op: Any, layout: Layout, shape: Shape) -> Layout:
    return layout.permuted([axis % len(layout.shape) for axis in op.axes])


def _selected(op: Any, layout: Layout, shape: Shape) -> Layout:
    left_out = op.axis % len(layout.shape)
    return layout.permuted([axis for axis in range(len(layout.shape)) if axis != left_out])


def _sliced(op: Any, layout: Layout, shape: Shape) -> Layout:
    for axis, _, _, step in op.ranges():
        layout = layout.stepped(axis % len(layout.shape), layout.shape, step)
    return replace(layout, shape=shape)


def _part_layout(op: Any, layout: Layout, shape: Shape) -> Layout:
    return replace(layout, shape=shape)


def _expanded(op: Any, layout: Layout, shape: Shape) -> Layout:
    return replace(layout, shape=shape, strides=expanded(layout.shape, layout.strides, shape))


def _part_of_numbers(op: Any, layout: Layout, shape: Shape) -> Layout:
    return replace(layout, strides=tuple(2 * stride for stride in layout.strides))


def _as_real(op: Any, layout: Layout, shape: Shape) -> Layout:
    return replace(layout, shape=shape, strides=(*(2 * stride for stride in layout.strides), 1))


def _as_complex(op: Any, layout: Layout, shape: Shape) -> Layout | None:
    *strides, last = layout.strides
    if last != 1 or any(stride % 2 for stride in strides):
        return None
    return replace(layout, shape=shape, strides=tuple(stride // 2 for stride in strides))


#: The views that are not just another shape of elements in the same order.
_VIEWS: Mapping[str, Callable[[Any, Layout, Shape], Layout | None]] = {
    "transpose": _transposed,
    "permute": _permuted,
    "select": _selected,
    "slice": _sliced,
    "split": _part_layout,
    "chunk": _part_layout,
    "expand": _expanded,
    "real": _part_of_numbers,
    "imag": _part_of_numbers,
    "view_as_real": _as_real,
    "view_as_complex": _as_complex,
}
