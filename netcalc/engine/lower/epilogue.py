"""Operations done on a tile while it is in the cache: bias, scale, activation, residual sum.

The compiled kernel does all of them in one pass.  NumPy does all of them on a strip of the tile before the next strip,
which is small enough for the second-level cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.activations import activation, clip_limits, kernel_bytes
from netcalc.engine.lower.broadcast import across, clipped, rows_at_once
from netcalc.engine.lower.compiled_epilogue import compiled_arguments, compiled_operations, compiled_passes
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.fused_operations import Activate, ByChannel, Clip, Combine, FusedOperation
from netcalc.engine.lower.passes import Pass
from netcalc.engine.native.epilogue import Epilogue as Arguments
from netcalc.engine.step import Buffers, BufferSpec
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import UFUNCS

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


class Epilogue:
    """Operations that follow on ``tensor``, each done on tiles of (rows, columns); columns are channels.

    Args:
        context: the lowering context.
        node: the node that computes the tiles.
        tensor: the result of the node before the first stage.
        stages: the elementwise nodes fused onto it.
        order: the order of the axes in memory.
        bias: one value for each channel, added first.
        folds: True if the factors of a normalization that comes first, without a bias before it, go into the filters of
            the node: :attr:`scale` computes them, and only its shift is an operation here.
    """

    def __init__(
        self,
        context: LoweringContext,
        node: GraphNode,
        tensor: Tensor,
        stages: Sequence[GraphNode],
        order: Sequence[int],
        bias: Slot | None = None,
        *,
        folds: bool = False,
    ) -> None:
        #: Computes the factor of each channel by which filters are to be multiplied, in float64; None if there is none.
        self.scale: Callable[[], Array] | None = None
        self._folds = folds
        self.reads: list[Slot] = []
        self.buffers: dict[str, BufferSpec] = {}
        self._tuning = context.tuning
        dtype = compute_dtype(tensor.dtype)
        self._operations: list[FusedOperation] = [] if bias is None else [ByChannel(np.add, bias)]
        for stage in stages:
            self._operations += self._fused(context, node, stage, tensor, order)
            tensor = stage.outputs[0]
        self._compiled = compiled_operations(self._operations, dtype, context.tuning)
        if self._compiled is None:
            self._declare(context, dtype, math.prod(tensor.shape))

    def _fused(
        self, context: LoweringContext, node: GraphNode, stage: GraphNode, tensor: Tensor, order: Sequence[int]
    ) -> list[FusedOperation]:
        """Return the operations of a node that is fused onto ``tensor``."""
        if stage.op.normalizes_channels:
            dtype, channels = compute_dtype(tensor.dtype), (tensor.shape[1],)
            load_scale, load_shift = batch_norm_affine(context, stage)
            shift = ByChannel(np.add, context.constants.derived(channels, dtype, load_shift))
            if self._folds and not self._operations:
                self.scale = load_scale
                return [shift]
            return [ByChannel(np.multiply, context.constants.derived(channels, dtype, load_scale)), shift]
        if stage.op.combines:
            return [self._combination(context, node, stage, tensor, order)]
        limits = clip_limits(stage.op)
        return [Activate(stage.op) if limits is None else Clip(*limits)]

    def _combination(
        self, context: LoweringContext, node: GraphNode, stage: GraphNode, tensor: Tensor, order: Sequence[int]
    ) -> Combine:
        """Return the operation that combines the tile with a number, with another tensor, or with itself."""
        ufunc, reverse = combining_ufunc(stage), stage.op.swaps
        numbers = stage.op.numbers()
        if numbers:
            with np.errstate(over="ignore"):
                number = float(tensor.dtype.type(numbers[0])) if stage.op.rounds_number else numbers[0]
            return Combine(ufunc, number, reverse)
        first, second = (t for t in stage.inputs if t is not None)
        other = second if first is tensor else first
        if other is tensor:
            return Combine(ufunc, None, reverse)
        operand = context.emit.rows(node, context.layout.slot(other), order)
        self.reads.append(operand)
        return Combine(ufunc, operand, reverse != (first is not tensor))

    def _declare(self, context: LoweringContext, dtype: np.dtype[Any], elements: int) -> None:
        """Declare the memory that NumPy's passes take: repeated vectors, scratch buffers, temporary arrays."""
        most = context.tuning.epilogue_strip_elements + context.tuning.broadcast_elements
        for operation in self._operations:
            if isinstance(operation, ByChannel):
                context.repeat(operation.vector, elements // operation.vector.elements)
            elif isinstance(operation, Activate):
                self.buffers = dict.fromkeys(_BUFFERS, (most, dtype))
                context.tile_temporaries(kernel_bytes(operation.op, dtype, most))

    @property
    def empty(self) -> bool:
        """True if nothing is done."""
        return not self._operations

    @property
    def stages(self) -> int:
        """Number of operations."""
        return len(self._operations)

    @property
    def compiled(self) -> bool:
        """True if the kernel in C has all operations."""
        return self._compiled is not None

    def arguments(self, x: Array, rows: slice, columns: slice) -> Arguments | None:
        """Return the operations on a tile as kernels take them; None if there are none."""
        assert self._compiled is not None
        return compiled_arguments(self._compiled, x, rows, columns) if self._compiled else None

    def bind(
        self, x: Array, rows: slice, columns: slice, buffers: Buffers, source: Array | None = None
    ) -> Iterator[Pass]:
        """Yield the passes over the tile ``x``, which is at these rows and columns of the whole result.

        It reads the elements of ``source`` if there is one, and otherwise works in place.
        """
        if not self._operations:
            assert source is None
            return
        if self._compiled is not None:
            yield from compiled_passes(self._compiled, x if source is None else source, x, rows, columns)
            return
        for part in self._strips(*x.shape):
            down, across = (
                slice(o.start + p.start, o.start + p.stop) for o, p in zip((rows, columns), part, strict=True)
            )
            strip = _Strip((x if source is None else source)[part], x[part], down, across, buffers)
            for operation in self._operations:
                yield from _passes(operation, strip, self._tuning)
                strip = replace(strip, source=strip.x)

    def _strips(self, height: int, width: int) -> Iterator[tuple[slice, slice]]:
        """Yield the strips of a tile, of about equal size and of whole rows where these are not too wide."""
        most = self._tuning.epilogue_strip_elements
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

    Together they are a batch normalization with given statistics.
    """
    channels = node.outputs[0].shape[1]

    def values(name: str, default: float) -> Array:
        if not context.constants.has(node, name):
            return np.full(channels, default)
        return context.constants.fetch(node, name).astype(np.float64)

    def quotient() -> Array:
        return np.asarray(values("weight", 1) / np.sqrt(values("running_var", 1) + node.op.eps))

    def scale() -> Array:
        return context.constants.once((node, "scale"), quotient)

    def shift() -> Array:
        return np.asarray(values("bias", 0) - values("running_mean", 0) * scale())

    return scale, shift


def _passes(operation: FusedOperation, strip: _Strip, tuning: Tuning) -> Iterator[Pass]:
    """Yield NumPy's passes that do one operation on a strip."""
    match operation:
        case ByChannel(ufunc, vector):
            yield across(ufunc, strip.source, strip.x, vector.array()[strip.columns], tuning)
        case Combine(ufunc, other, reverse):
            yield _combining_pass(ufunc, other, reverse, strip)
        case Clip(lowest, highest):
            yield from clipped(strip.source, strip.x, lowest, highest)
        case Activate(op):
            first, second = (strip.buffers.view(name, strip.x.shape) for name in _BUFFERS)
            yield from activation(op, strip.x.dtype)(strip.source, strip.x, first, second)


def _combining_pass(ufunc: Callable[..., Any], other: Slot | float | None, reverse: bool, strip: _Strip) -> Pass:
    x, out = strip.source, strip.x
    if isinstance(other, Slot):
        operand = other.array()[strip.rows, strip.columns]
    else:
        operand = x if other is None else np.asarray(other, out.dtype)
    if operand.dtype != x.dtype:  # float16 or bfloat16 with float32
        return lambda: ufunc(*_in_order(x, operand.astype(x.dtype), reverse), out=out)
    return partial(ufunc, *_in_order(x, operand, reverse), out=out)


def _in_order(x: Array, other: Any, reverse: bool) -> tuple[Any, Any]:
    return (other, x) if reverse else (x, other)
