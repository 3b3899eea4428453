"""Rules of the executions: where results lie, and what an operation allocates beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from netcalc.analysis.layout import Layout, results
from netcalc.analysis.strides import dense, expanded, reshaped
from netcalc.dims import Dim, integer
from netcalc.dims.valued import Valued
from netcalc.dtypes import DType
from netcalc.ir import OpNode
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.backward import declaration as backward_pass
from netcalc.ops.eager import EagerCall, Moment, declaration
from netcalc.options import AttentionKernel


class Execution:
    """The base of executions.

    ``frames`` is True if variables of the calling code keep values: arguments until a block returns, and those that a
    line holds.
    """

    frames: bool = False

    def __init__(self, training: bool) -> None:
        self._training = training

    def results(self, node: OpNode, layouts: Sequence[Layout | None]) -> list[Layout]:
        """Return the layouts of an operation's results.

        Raises:
            UndecidedError: if a size is symbolic.
        """
        return results(node.op, layouts, node.input_types, node.output_types, training=self._training)

    def moments(self, node: OpNode, layouts: Sequence[Layout | None], outputs: Sequence[Layout]) -> Sequence[Moment]:
        """Return what an operation holds, moment by moment, for the layouts of its inputs and outputs."""
        return (Moment(),)

    def saves(self, node: OpNode, layouts: Sequence[Layout | None], call: BackwardCall) -> Sequence[Saved]:
        """Return what an operation with a gradient keeps for its backward pass."""
        declared = backward_pass(node.op)
        return () if declared is None else declared.saves(node.op, call)


class Ideal(Execution):
    """The execution of an ideal framework, which overwrites nothing.

    A tensor has memory from the operation that makes it to its last use.  Views share the memory of what they are a
    view of, and so does what changes nothing in inference.  Inputs and outputs of an operation are live while it runs.
    Kernels need no work buffers.  Inputs of the program are live from the start to their last use, outputs to the end.
    """


class Eager(Execution):
    """The execution of PyTorch in eager mode on the CPU, in inference without autograd.

    Operations allocate their outputs and what :mod:`netcalc.ops.eager` declares.  Results keep the order of axes in
    memory where PyTorch's kernels do, so that a reshape copies or not as there.  An operation that works in place
    allocates nothing.  Inputs of the program are live to the end.
    """

    frames = True

    def __init__(self, training: bool, attention: AttentionKernel = "sdpa-cpu", masks: DType | None = None) -> None:
        super().__init__(training)
        self._attention: AttentionKernel = attention
        self._masks = masks

    def results(self, node: OpNode, layouts: Sequence[Layout | None]) -> list[Layout]:
        outputs = super().results(node, layouts)
        first = layouts[0] if layouts else None
        declared = declaration(node.op)
        if first is not None and (node.inplace or declared.returns_input(node.op)):
            return [first]
        storages = {layout.storage for layout in layouts if layout is not None}
        if not outputs or outputs[0].storage in storages or outputs[0].storage.parameter:
            return outputs
        order = declared.order(node.op, self.call(node, layouts)) or _kept_order(node, layouts, outputs[0])
        if order is not None:
            outputs[0] = replace(outputs[0], strides=dense(outputs[0].shape, 1, order))
        return outputs

    def moments(self, node: OpNode, layouts: Sequence[Layout | None], outputs: Sequence[Layout]) -> Sequence[Moment]:
        first = layouts[0] if layouts else None
        if first is not None and outputs[0].storage is first.storage:
            return (Moment(),)
        return declaration(node.op).moments(node.op, self.call(node, layouts))

    def saves(self, node: OpNode, layouts: Sequence[Layout | None], call: BackwardCall) -> Sequence[Saved]:
        kept = declaration(node.op).saves(node.op, self.call(node, layouts), call)
        return super().saves(node, layouts, call) if kept is None else kept

    def call(self, node: OpNode, layouts: Sequence[Layout | None]) -> EagerCall:
        """Return the call of an operation on inputs of these layouts."""

        def copied(index: int, *shapes: Sequence[Dim]) -> tuple[Dim, ...] | None:
            layout = layouts[index]
            assert layout is not None
            return _last_copy(layout, shapes)

        contiguous = tuple(layout is not None and _dense_order(layout) == _axes_in_order(layout) for layout in layouts)
        orders = tuple(() if layout is None else _axes_by_stride(layout) for layout in layouts)
        return EagerCall(
            node.input_types,
            node.output_types,
            node.params,
            orders,
            contiguous,
            copied,
            self._training,
            self._attention,
            self._masks,
        )


def _last_copy(layout: Layout, shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...] | None:
    """Return the shape of the last copy of a tensor that takes other shapes one after the other; None if none is."""
    shape, strides, copy = layout.shape, layout.strides, None
    for sizes in shapes:
        target = tuple(map(integer, sizes))
        if prod(target) != prod(shape):
            strides = expanded(shape, strides, target)
        elif (view := reshaped(shape, strides, target)) is not None:
            strides = view
        else:
            copy, strides = target, dense(target, 1)
        shape = target
    return copy


def _axes_in_order(layout: Layout) -> tuple[int, ...]:
    """Return the axes of more than one element in their own order."""
    return tuple(axis for axis, size in enumerate(layout.shape) if size != 1)


def _axes_by_stride(layout: Layout) -> tuple[int, ...]:
    """Return all axes in the order of memory, first the axes of one element, which may be anywhere."""
    return _orders(layout.shape, layout.strides)[0]


def _dense_order(layout: Layout) -> tuple[int, ...] | None:
    """Return the axes of more than one element in the order of memory; None if there are gaps between elements."""
    return _orders(layout.shape, layout.strides)[1]


def _orders(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Return the orders of :func:`_axes_by_stride` and :func:`_dense_order`."""
    # what is found for formulas depends on how they are compared, and is not kept
    return (_found_orders.__wrapped__ if Valued in map(type, (*shape, *strides)) else _found_orders)(shape, strides)


@lru_cache(maxsize=4096)
def _found_orders(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    # the order of memory is that of the strides wherever there is more than one element
    axes = tuple(sorted(range(len(shape)), key=lambda axis: (shape[axis] != 1, -int(strides[axis]))))
    order = tuple(axis for axis in axes if shape[axis] != 1)
    expected = dense(shape, 1, order)
    return axes, order if all(strides[axis] == expected[axis] for axis in order) else None


def _kept_order(node: OpNode, layouts: Sequence[Layout | None], result: Layout) -> Sequence[int] | None:
    """Return the order of memory that a result takes over from an input; None for the order of its own axes."""
    op = node.op
    present = [layout for layout in layouts if layout is not None]
    if op.elementwise or op.combines:
        alike = next((layout for layout in present if layout.shape == result.shape), None)
        order = None if alike is None else _dense_order(alike)
        return None if order is None else _with_axes_of_one(order, result)
    alike_in_rank = bool(present) and len(present[0].shape) == len(result.shape) in (4, 5)
    if (op.windowed or op.normalizes_channels) and alike_in_rank:
        last = (0, *range(2, len(result.shape)), 1)
        order_of_first = _dense_order(present[0])
        channels_last = (
            order_of_first == tuple(axis for axis in last if present[0].shape[axis] != 1) != _axes_in_order(present[0])
        )
        return last if channels_last else None
    return None


def _with_axes_of_one(order: Sequence[int], layout: Layout) -> Sequence[int]:
    """Return an order with the axes of one element, which may be anywhere."""
    return (*(axis for axis in range(len(layout.shape)) if axis not in order), *order)
