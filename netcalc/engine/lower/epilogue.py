"""Operations done on a tile while it is in the cache: bias, scale, activation, residual sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.activations import activation, clip_limits, kernel_bytes
from netcalc.engine.lower.broadcast import across, merged_rows
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
class _Tile:
    """A tile, its rows and columns in the whole result, and the scratch buffers of the worker."""

    x: Array
    rows: slice
    columns: slice
    buffers: Buffers


#: Yields the passes that do one operation on a tile in place.
Stage: TypeAlias = Callable[[_Tile], Iterator[Pass]]


class Epilogue:
    """Operations that follow on ``tensor``, each done in place on tiles of (rows, columns); columns are channels.

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
                self._stages.append(partial(_clip, tuning, *limits))
            else:
                self.buffers = dict.fromkeys(_BUFFERS, (tuning.activation_strip_elements, dtype))
                self._stages.append(partial(_activate, tuning, stage.op))
                context.tile_temporaries(kernel_bytes(stage.op, dtype, tuning.activation_strip_elements))
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

    def bind(self, x: Array, rows: slice, columns: slice, buffers: Buffers) -> list[Pass]:
        """Return the passes over the tile ``x``, which is at these rows and columns of the whole result."""
        tile = _Tile(x, rows, columns, buffers)
        return [one for stage in self._stages for one in stage(tile)]


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


def _by_channel(tuning: Tuning, ufunc: Callable[..., Any], vector: Slot, tile: _Tile) -> Iterator[Pass]:
    yield across(ufunc, tile.x, vector.array()[tile.columns], tuning)


def _clip(tuning: Tuning, lowest: float | None, highest: float | None, tile: _Tile) -> Iterator[Pass]:
    """Clip with rows of limits: NumPy vectorises comparisons with an array, but not with a number."""
    x = tile.x
    count = merged_rows(x, tuning)
    if count > 1:
        x = x.reshape(-1, count * x.shape[1])
    for ufunc, limit in ((np.maximum, lowest), (np.minimum, highest)):
        if limit is not None:
            yield partial(ufunc, x, _full_row(x.shape[1], limit, x.dtype), out=x)


@lru_cache(64)
def _full_row(width: int, value: float, dtype: np.dtype[Any]) -> Array:
    return np.full(width, value, dtype)


def _combine(ufunc: Callable[..., Any], operand: Slot | None, reverse: bool, tile: _Tile) -> Iterator[Pass]:
    x = tile.x
    other = x if operand is None else operand.array()[tile.rows, tile.columns]
    if other.dtype != x.dtype:  # float16 or bfloat16 with float32
        yield lambda: ufunc(*_ordered(x, other.astype(x.dtype), reverse), out=x)
    else:
        yield partial(ufunc, *_ordered(x, other, reverse), out=x)


def _combine_with_number(ufunc: Callable[..., Any], number: float, reverse: bool, tile: _Tile) -> Iterator[Pass]:
    x = tile.x
    yield partial(ufunc, *_ordered(x, x.dtype.type(number), reverse), out=x)


def _ordered(x: Array, other: Any, reverse: bool) -> tuple[Any, Any]:
    return (other, x) if reverse else (x, other)


def _activate(tuning: Tuning, op: Any, tile: _Tile) -> Iterator[Pass]:
    passes = activation(op, tile.x.dtype)
    for strip in _strips(tile.x, tuning.activation_strip_elements):
        first, second = (tile.buffers.view(name, strip.shape) for name in _BUFFERS)
        yield from passes(strip, strip, first, second)


def _strips(x: Array, elements: int) -> list[Array]:
    """Cut ``x`` into views of at most so many elements."""
    if x.flags.c_contiguous:
        flat = x.reshape(-1)
        return [flat[start : start + elements] for start in range(0, x.size, elements)]
    height = max(1, elements // x.shape[1])
    return [
        x[top : top + height, left : left + elements]
        for top in range(0, len(x), height)
        for left in range(0, x.shape[1], elements)
    ]
