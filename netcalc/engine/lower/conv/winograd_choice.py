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

#: Bytes of an element of the filters.
_ITEMSIZE = 4


def winograd_side(context: LoweringContext, node: GraphNode) -> int:
    """Return the pixels on a side of a tile of the result of a convolution; 0 if another algorithm is better."""
    if context.winograd_sides is None:
        apply = context.tuning.winograd and context.tuning.compiled and blocks_fit()
        candidates = [layer for layer in map(_candidate, context.nodes) if layer] if apply else []
        context.winograd_sides = _choose(candidates, context)
    return context.winograd_sides.get(node, 0)


class _Candidate(NamedTuple):
    """A convolution with 3×3 filters, stride 1 and a single group."""

    node: GraphNode
    channels: int
    outs: int
    batch: int
    counts: Sequence[int]

    def elements(self, side: int) -> int:
        """Return the elements of the filters, transformed for such tiles."""
        return self.channels * self.outs * ((side + 2) ** 2 if side else 9)

    def cost(self, side: int, tuning: Tuning) -> float:
        """Return the estimated time, in multiply-adds of a product."""
        size = blocks()
        assert size is not None
        if not side:
            pixels = self.batch * math.prod(self.counts)
            return self.elements(0) * (pixels if tuning.packed else pixels + tuning.winograd_packing_cost)
        tiles = self.batch * math.prod(-(-count // side) for count in self.counts)
        narrow = tuning.packed and size.lanes < 16
        element = tuning.winograd_transform_cost_narrow if narrow else tuning.winograd_transform_cost
        tile = element * (side + 2) ** 2 * (self.channels + self.outs)
        return self.elements(side) * (tiles + tuning.winograd_packing_cost) + tile * tiles


def _candidate(node: GraphNode) -> _Candidate | None:
    op = node.op
    if op.name != "conv2d" or op.kernel != (3, 3) or not op.stride == op.dilation == (1, 1) or op.groups != 1:
        return None
    operand, result = node.inputs[0], node.result
    if operand is None or 0 in (*operand.shape, *result.shape):
        return None
    *lead, channels, _, _ = operand.shape
    if compute_dtype(operand.dtype) != np.float32:  # the only type of the kernels
        return None
    return _Candidate(node, channels, op.out, math.prod(lead), result.shape[-2:])


class _Step(NamedTuple):
    """Larger tiles for a convolution; the first in order saves most time for an element of memory."""

    gain: float  # negative
    number: int
    side: int
    before: int
    candidate: _Candidate


def _choose(candidates: Iterable[_Candidate], context: LoweringContext) -> dict[GraphNode, int]:
    """Return the convolutions that are granted memory, and the sizes of their tiles."""
    tuning, sides, chosen = context.tuning, context.tuning.winograd_sides, {}
    queue = [step for number, layer in enumerate(candidates) for step in _best(number, layer, 0, sides, tuning)]
    heapify(queue)
    while queue:
        _, number, side, before, layer = heappop(queue)
        if context.budget.spend((layer.elements(side) - layer.elements(before)) * _ITEMSIZE):
            chosen[layer.node] = side
            more = _best(number, layer, side, [larger for larger in sides if larger > side], tuning)
        else:
            more = _best(number, layer, before, [less for less in sides if before < less < side], tuning)
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
