"""Emission of steps, and the copies that steps need to read a tensor in another layout or type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from netcalc.arrays import is_half
from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.layout import Layout
from netcalc.engine.lower.parallelism import Parallelism
from netcalc.engine.step import Buffers, Step, cuts
from netcalc.engine.storage import Slot


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of arithmetic on this type: float32 for float16 and bfloat16, as in PyTorch."""
    return np.dtype(np.float32) if is_half(dtype) else dtype


class Emission:
    """Steps of a plan, in their order."""

    def __init__(self, layout: Layout, parallelism: Parallelism) -> None:
        self.steps: list[Step] = []
        self._layout = layout
        self._parallelism = parallelism

    def step(self, step: Step) -> None:
        """Append a step."""
        self.steps.append(step)

    def rows(self, node: GraphNode, slot: Slot, order: Sequence[int], lead: int = -1) -> Slot:
        """Return the tensor as (rows, columns), each row contiguous; a copy where it lies otherwise.

        The first ``lead`` axes of ``order`` are the rows, the others the columns; by default the last is the columns.
        """
        permuted = slot.permuted(order)
        columns = math.prod(permuted.shape[lead:])
        shape = (permuted.elements // max(columns, 1), columns)
        view = permuted.reshaped(shape)
        if view is None or (columns > 1 and view.strides[1] != slot.dtype.itemsize):
            view = self.copy(node, permuted).reshaped(shape)
            assert view is not None
        return view

    def widened(self, node: GraphNode, slot: Slot) -> Slot:
        """Return the tensor in the type of its arithmetic, a copy if that is another one."""
        dtype = compute_dtype(slot.dtype)
        return slot if dtype == slot.dtype else self.copy(node, slot, dtype)

    def copy(self, node: GraphNode, slot: Slot, dtype: np.dtype[Any] | None = None) -> Slot:
        """Emit a copy without gaps, the axes in their own order; in another type if one is given.

        The copy of a constant for a constant node is made once.
        """
        target = self._layout.temporary(slot.shape, dtype or slot.dtype)
        once = node.constant and self._layout.is_constant(slot)
        if once:
            self._layout.keep(target)
        axis = next((axis for axis, size in enumerate(slot.shape) if size > 1), None)
        jobs = 1 if once else self._parallelism.pass_jobs(slot.elements)
        ranges = [(0, 1)] if axis is None else cuts(slot.shape[axis], jobs)

        def bind(index: int, buffers: Buffers) -> Callable[[], None]:
            operand, result = slot.array(), target.array()
            if axis is not None:
                part = (slice(None),) * axis + (slice(*ranges[index]),)
                operand, result = operand[part], result[part]
            return lambda: np.copyto(result, operand)

        self.step(Step(node, (slot,), (target,), len(ranges), bind, constant=once, what="copy"))
        return target
