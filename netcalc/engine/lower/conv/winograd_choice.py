"""Convolutions that are computed by Winograd's algorithm, and the size of their tiles.

Transformed filters take more memory than filters, 16/9 or 36/9 of it, and the memory that they may add is limited.  The
convolutions that save most time for an element of memory come first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from netcalc.engine.graph import GraphNode
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.native.library import blocks, blocks_fit
from netcalc.engine.tuning import Tuning


def winograd_side(context: LoweringContext, node: GraphNode) -> int:
    """Return the pixels on a side of a tile of the result of a convolution; 0 if another algorithm is better."""
    if context.winograd_sides is None:
        candidates = [] if not context.tuning.winograd else [layer for layer in map(_candidate, context.nodes) if layer]
        context.winograd_sides = _choose(candidates, context)
    return context.winograd_sides.get(node, 0)


def kernels_apply(tuning: Tuning, dtype: np.dtype[np.generic]) -> bool:
    """Return True if there are compiled kernels for this type of the arithmetic."""
    return tuning.compiled and blocks_fit() and dtype == np.float32


class _Candidate(NamedTuple):
    """A convolution with 3×3 filters, stride 1 and a single group."""

    node: GraphNode
    dtype: np.dtype[np.generic]
    channels: int
    outs: int
    batch: int
    counts: Sequence[int]

    def elements(self, side: int) -> int:
        """Return the elements of the filters, transformed for such tiles."""
        return self.channels * self.outs * ((side + 2) ** 2 if side else 9)

    def cost(self, side: int, tuning: Tuning) -> float:
        """Return the estimated time, in multiply-adds of a product."""
        compiled = kernels_apply(tuning, self.dtype)
        if not side:
            pixels = self.batch * math.prod(self.counts)
            if compiled and tuning.packed:  # windows are read in place
                return self.elements(0) * pixels
            passes = tuning.winograd_pass_cost * 9 * pixels * self.channels
            return self.elements(0) * (pixels + tuning.winograd_packing_cost) + passes
        tiles = self.batch * math.prod(-(-count // side) for count in self.counts)
        if compiled:
            size = blocks()
            narrow = tuning.packed and size is not None and size.lanes < 16
            element = tuning.winograd_transform_cost_narrow if narrow else tuning.winograd_transform_cost
            tile = element * (side + 2) ** 2 * (self.channels + self.outs)
        else:
            tile = tuning.winograd_pass_cost * (32 * self.channels + 24 * self.outs)
        return self.elements(side) * (tiles + tuning.winograd_packing_cost) + tile * tiles

    def sides(self, tuning: Tuning) -> tuple[int, ...]:
        """Return the sizes of tiles that may be taken."""
        return tuning.winograd_sides if kernels_apply(tuning, self.dtype) else (2,)


def _candidate(node: GraphNode) -> _Candidate | None:
    op = node.op
    if op.name != "conv2d" or op.kernel != (3, 3) or not op.stride == op.dilation == (1, 1) or op.groups != 1:
        return None
    operand, result = node.inputs[0], node.result
    if operand is None or 0 in (*operand.shape, *result.shape):
        return None
    *lead, channels, _, _ = operand.shape
    dtype = compute_dtype(operand.dtype)
    return _Candidate(node, dtype, channels, op.out, math.prod(lead), result.shape[-2:])


class _Step(NamedTuple):
    """Larger tiles for a convolution; the first in order saves most time for an element of memory."""

    gain: float  # negative
    number: int
    side: int
    before: int
    candidate: _Candidate


def _choose(candidates: Iterable[_Candidate], context: LoweringContext) -> dict[GraphNode, int]:
    """Return the convolutions that are granted memory, and the sizes of their tiles."""
    tuning, chosen = context.tuning, {}
    queue = [
        step for number, layer in enumerate(candidates) for step in _best(number, layer, 0, layer.sides(tuning), tuning)
    ]
    heapify(queue)
    while queue:
        _, number, side, before, layer = heappop(queue)
        if context.budget.spend((layer.elements(side) - layer.elements(before)) * layer.dtype.itemsize):
            chosen[layer.node] = side
            more = _best(number, layer, side, [larger for larger in layer.sides(tuning) if larger > side], tuning)
        else:
            more = _best(number, layer, before, [less for less in layer.sides(tuning) if before < less < side], tuning)
        for step in more:
            heappush(queue, step)
    return chosen


def _best(number: int, layer: _Candidate, before: int, sides: Iterable[int], tuning: Tuning) -> list[_Step]:
    """Return the step to one of these sizes that comes first; none if no size saves time."""
    steps = []
    for side in sides:
        saved = layer.cost(before, tuning) - layer.cost(side, tuning)
        if saved > 0:
            steps.append(_Step(-saved / (layer.elements(side) - layer.elements(before)), number, side, before, layer))
    return sorted(steps)[:1]
