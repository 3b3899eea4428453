"""Operations done on a tile while it is in the cache: bias, scale, activation, residual sum.

All of them are done on a strip of the tile before the next strip, which is small enough for the second-level cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.activations import activation, clip_limits, kernel_bytes
from netcalc.engine.lower.broadcast import across, clipped, rows_at_once
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.passes import Pass
from netcalc.engine.step import Buffers, BufferSpec
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import UFUNCS, Array

__all__ = ["Epilogue", "batch_norm_affine", "combining_ufunc"]

#: Scratch buffers of activations.
_BUFFERS = ("activation", "second activation")


@dataclass(frozen=True, slots=True)
class _Strip:
    """A strip of a tile, its rows and columns in the whole result, and the scratch buffers of the worker.

    A stage computes ``x`` from ``source``, which are the same array after the first stage.
    """

    source: Array
    x: Array
    rows: slice
    columns: slice
    buffers: Buffers


#: Yields the passes that do one operation on a strip.
Stage: TypeAlias = Callable[[_Strip], Iterator[Pass]]


class Epilogue:
    """Operations that follow on ``tensor``, each done on tiles of (rows, columns); columns are channels.

    Args:
        context: the lowering context.
        node: the node that computes the tiles.
        tensor: the result of the node before the first stage.
        stages: the elementwise nodes fused onto it.
        order: the order of the axes in memory.
        bias: one value for each channel, added first.
    """

    def __init__(
        self,
        context: LoweringContext,
        node: GraphNode,
        tensor: Tensor,
        stages: Sequence[GraphNode],
        order: Sequence[int],
        bias: Slot | None = None,
    ) -> None:
        self.reads: list[Slot] = []
        self.buffers: dict[str, BufferSpec] = {}
        self._stages: list[Stage] = []
        tuning, dtype = context.tuning, compute_dtype(tensor.dtype)
        self._tuning, self._strip_elements = tuning, tuning.epilogue_strip_elements
        by_channel, elements = partial(_by_channel, tuning), math.prod(tensor.shape)
        if bias is not None:
            self._stages.append(partial(by_channel, np.add, bias))
            context.repeat(bias, elements // bias.elements)
        for stage in stages:
            if stage.op.normalises_channels:
                channels = (tensor.shape[1],)
                scale, shift = (
                    context.constants.derived(channels, dtype, load) for load in batch_norm_affine(context, stage)
                )
                self._stages += [partial(by_channel, np.multiply, scale), partial(by_channel, np.add, shift)]
                context.repeat(scale, elements // channels[0])
                context.repeat(shift, elements // channels[0])
            elif stage.op.combines:
                self._stages.append(self._combination(context, node, stage, tensor, order))
            elif (limits := clip_limits(stage.op)) is not None:
                self._stages.append(partial(_clip, *limits))
            else:
                self.buffers = dict.fromkeys(_BUFFERS, (self._strip_elements + tuning.broadcast_elements, dtype))
                self._stages.append(partial(_activate, stage.op))
                context.tile_temporaries(
                    kernel_bytes(stage.op, dtype, self._strip_elements + tuning.broadcast_elements)
                )
            tensor = stage.outputs[0]

    def _combination(
        self, context: LoweringContext, node: GraphNode, stage: GraphNode, tensor: Tensor, order: Sequence[int]
    ) -> Stage:
        """Return the stage that combines the tile with a number, with another tensor, or with itself."""
        ufunc, reverse = combining_ufunc(stage), stage.op.swaps
        numbers = stage.op.numbers()
        if numbers:
            return partial(_combine_with_number, ufunc, numbers[0], reverse)
        first, second = (t for t in stage.inputs if t is not None)
        other = second if first is tensor else first
        if other is tensor:
            return partial(_combine, ufunc, None, reverse)
        operand = context.emit.rows(node, context.layout.slot(other), order)
        self.reads.append(operand)
        return partial(_combine, ufunc, operand, reverse != (first is not tensor))

    @property
    def empty(self) -> bool:
        """True if nothing is done."""
        return not self._stages

    @property
    def stages(self) -> int:
        """Number of operations."""
        return len(self._stages)

    def bind(
        self, x: Array, rows: slice, columns: slice, buffers: Buffers, source: Array | None = None
    ) -> Iterator[Pass]:
        """Yield the passes over the tile ``x``, which is at these rows and columns of the whole result.

        Its elements are those of ``source`` if there is one, and otherwise in place.
        """
        if not self._stages:
            assert source is None
            return
        for part in self._strips(*x.shape):
            down, across = (
                slice(o.start + p.start, o.start + p.stop) for o, p in zip((rows, columns), part, strict=True)
            )
            strip = _Strip((x if source is None else source)[part], x[part], down, across, buffers)
            for stage in self._stages:
                yield from stage(strip)
                strip = replace(strip, source=strip.x)

    def _strips(self, height: int, width: int) -> Iterator[tuple[slice, slice]]:
        """Yield the strips of a tile, of about equal size and of whole rows where these are not too wide."""
        most = self._strip_elements
        across = min(width, most)
        unit = rows_at_once(across, self._tuning)  # of whole inner loops
        pieces = -(-height * across // most)
        down = max(1, min(-(-height // pieces), most // across))
        down = -(-down // unit) * unit
        for top in range(0, height, down):
            for left in range(0, width, across):
                yield slice(top, min(top + down, height)), slice(left, min(left + across, width))


def combining_ufunc(node: GraphNode) -> Callable[..., Any]:
    """Return the ufunc of a node that combines two tensors, or a tensor and a number."""
    ufunc = UFUNCS.get(node.op.name)
    assert ufunc is not None
    return ufunc


def batch_norm_affine(context: LoweringContext, node: GraphNode) -> tuple[Callable[[], Array], Callable[[], Array]]:
    """Return functions that compute the scale and the shift of each channel, in float64.

    Together they are a batch normalisation with given statistics.
    """
    channels = node.outputs[0].shape[1]

    def values(name: str, default: float) -> Array:
        if not context.constants.has(node, name):
            return np.full(channels, default)
        return context.constants.fetch(node, name).astype(np.float64)

    def scale() -> Array:
        return np.asarray(values("weight", 1) / np.sqrt(values("running_var", 1) + node.op.eps))

    def shift() -> Array:
        return np.asarray(values("bias", 0) - values("running_mean", 0) * scale())

    return scale, shift


def _by_channel(tuning: Tuning, ufunc: Callable[..., Any], vector: Slot, strip: _Strip) -> Iterator[Pass]:
    yield across(ufunc, strip.source, strip.x, vector.array()[strip.columns], tuning)


def _clip(lowest: float | None, highest: float | None, strip: _Strip) -> Iterator[Pass]:
    return clipped(strip.source, strip.x, lowest, highest)


def _combine(ufunc: Callable[..., Any], operand: Slot | None, reverse: bool, strip: _Strip) -> Iterator[Pass]:
    x, out = strip.source, strip.x
    other = x if operand is None else operand.array()[strip.rows, strip.columns]
    if other.dtype != x.dtype:  # float16 or bfloat16 with float32
        yield lambda: ufunc(*_ordered(x, other.astype(x.dtype), reverse), out=out)
    else:
        yield partial(ufunc, *_ordered(x, other, reverse), out=out)


def _combine_with_number(ufunc: Callable[..., Any], number: float, reverse: bool, strip: _Strip) -> Iterator[Pass]:
    yield partial(ufunc, *_ordered(strip.source, np.asarray(number, strip.x.dtype), reverse), out=strip.x)


def _ordered(x: Array, other: Any, reverse: bool) -> tuple[Any, Any]:
    return (other, x) if reverse else (x, other)


def _activate(op: Any, strip: _Strip) -> Iterator[Pass]:
    first, second = (strip.buffers.view(name, strip.x.shape) for name in _BUFFERS)
    return activation(op, strip.x.dtype)(strip.source, strip.x, first, second)
