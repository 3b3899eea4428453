"""What is done to a tile of a product while it is in the cache: bias, scale, activation, residual sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from netcalc.engine.fuse import COMBINING, NORMALISING
from netcalc.engine.graph import Node, Tensor
from netcalc.engine.lower.activations import curve, limits
from netcalc.engine.lower.context import Lowering, wide_dtype
from netcalc.engine.lower.tiling import across, repeats
from netcalc.engine.step import Job, Scratch
from netcalc.engine.storage import Slot
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import Array

__all__ = ["Epilogue", "sequence", "statistics"]

Pass: TypeAlias = Callable[[], object]
#: A stage on the tile ``x`` at these rows and columns of the whole, with two strips of scratch.
Stage: TypeAlias = Callable[[Array, slice, slice, Sequence[Array]], Iterator[Pass]]

UFUNCS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
}


class Epilogue:
    """The stages that follow on ``tensor``, each in place on a tile of (rows, columns).

    ``order`` is that of the axes in memory.  The channels are the columns, or with ``channels_first`` the rows.
    ``bias`` comes first.
    """

    def __init__(
        self,
        low: Lowering,
        node: Node,
        tensor: Tensor,
        stages: Sequence[Node],
        order: Sequence[int],
        bias: Slot | None = None,
        channels_first: bool = False,
    ) -> None:
        self.reads: list[Slot] = []
        self._dtype = wide_dtype(tensor.dtype)
        self._tuning = low.tuning
        self._strips = False
        self._stages: list[Stage] = []
        self._lead = 1 if channels_first else -1
        each = _down if channels_first else partial(_across, low.tuning)
        if bias is not None:
            self._stages.append(partial(each, np.add, bias))
        for stage in stages:
            name = stage.op.name
            if name in NORMALISING:
                channels = (tensor.shape[1],)
                scale, shift = (low.made(channels, self._dtype, load) for load in statistics(low, stage))
                self._stages += [partial(each, np.multiply, scale), partial(each, np.add, shift)]
            elif name in COMBINING:
                self._stages.append(self._combining(low, node, stage, tensor, order))
            elif (ends := limits(stage.op)) is not None:
                self._stages.append(partial(_clip, low.tuning, *ends))
            else:
                self._strips = True
                self._stages.append(partial(_curve, low.tuning, stage.op))
            tensor = stage.outputs[0]

    def _combining(self, low: Lowering, node: Node, stage: Node, tensor: Tensor, order: Sequence[int]) -> Stage:
        """A stage that takes another tensor, or a number."""
        ufunc, turned = UFUNCS[stage.op.name], bool(getattr(stage.op, "reverse", False))
        numbers = stage.op.numbers()
        if numbers:
            return partial(_combine_number, ufunc, numbers[0], turned)
        first, second = (t for t in stage.inputs if t is not None)
        other = second if first is tensor else first
        if other is tensor:
            return partial(_combine, ufunc, None, turned)
        rows = low.rows(node, low.slot(other), order, self._lead)
        self.reads.append(rows)
        return partial(_combine, ufunc, rows, turned != (first is not tensor))

    @property
    def empty(self) -> bool:
        """Whether nothing is done."""
        return not self._stages

    @property
    def scratch(self) -> list[Scratch]:
        """What :meth:`bind` takes."""
        return [((self._tuning.activation_strip_elements,), self._dtype)] * 2 if self._strips else []

    def bind(self, x: Array, rows: slice, columns: slice, scratch: Sequence[Array]) -> list[Pass]:
        """The passes over the tile ``x``, which is at these rows and columns of the whole."""
        return [one for stage in self._stages for one in stage(x, rows, columns, scratch)]

    def finish(
        self, passes: list[Pass], y: Array, goal: Array, rows: slice, columns: slice, scratch: Sequence[Array]
    ) -> Job:
        """A job of these passes, which compute the tile ``y``, then the stages, then the copy to its place."""
        passes = [*passes, *self.bind(y, rows, columns, scratch)]
        if y is not goal:  # it was computed in a wider type
            passes.append(partial(np.copyto, goal, y, casting="unsafe"))
        return sequence(passes)


def sequence(passes: Sequence[Pass]) -> Job:
    """One job that does all of them in order."""
    if len(passes) == 1:
        (only,) = passes

        def single() -> None:
            only()

        return single
    fixed = tuple(passes)

    def job() -> None:
        for one in fixed:
            one()

    return job


def statistics(low: Lowering, node: Node) -> tuple[Callable[[], Array], Callable[[], Array]]:
    """The scale and the shift of each channel that given statistics and the affine map amount to, as float64."""
    channels = node.outputs[0].shape[1]

    def numbers(name: str, default: float) -> Array:
        if low.param(node, name) is None:
            return np.full(channels, default)
        return low.fetch(node, name).astype(np.float64)

    def scale() -> Array:
        return np.asarray(numbers("weight", 1) / np.sqrt(numbers("running_var", 1) + node.op.eps))

    def shift() -> Array:
        return np.asarray(numbers("bias", 0) - numbers("running_mean", 0) * scale())

    return scale, shift


def _across(
    tuning: Tuning,
    ufunc: Callable[..., Any],
    vector: Slot,
    x: Array,
    rows: slice,
    columns: slice,
    scratch: Sequence[Array],
) -> Iterator[Pass]:
    """``x`` with a number for each column."""
    yield across(ufunc, x, vector.array()[columns], tuning)


def _down(
    ufunc: Callable[..., Any], vector: Slot, x: Array, rows: slice, columns: slice, scratch: Sequence[Array]
) -> Iterator[Pass]:
    """``x`` with a number for each row."""
    yield partial(ufunc, x, vector.array()[rows, None], x)


def _clip(
    tuning: Tuning,
    low: float | None,
    high: float | None,
    x: Array,
    rows: slice,
    columns: slice,
    scratch: Sequence[Array],
) -> Iterator[Pass]:
    """A whole row of limits: NumPy compares arrays with vectors, and a number one by one."""
    count = repeats(x, tuning)
    if count > 1:
        x = x.reshape(-1, count * x.shape[1])
    for ufunc, limit in ((np.maximum, low), (np.minimum, high)):
        if limit is not None:
            yield partial(ufunc, x, _limits(x.shape[1], limit, x.dtype), out=x)


@lru_cache(64)
def _limits(width: int, limit: float, dtype: np.dtype[Any]) -> Array:
    return np.full(width, limit, dtype)


def _combine(
    ufunc: Callable[..., Any],
    other: Slot | None,
    turned: bool,
    x: Array,
    rows: slice,
    columns: slice,
    scratch: Sequence[Array],
) -> Iterator[Pass]:
    values = x if other is None else other.array()[rows, columns]
    if values.dtype != x.dtype:  # a half beside its float32
        yield lambda: ufunc(*_ordered(x, values.astype(x.dtype), turned), out=x)
    else:
        yield partial(ufunc, *_ordered(x, values, turned), out=x)


def _combine_number(
    ufunc: Callable[..., Any],
    number: float,
    turned: bool,
    x: Array,
    rows: slice,
    columns: slice,
    scratch: Sequence[Array],
) -> Iterator[Pass]:
    yield partial(ufunc, *_ordered(x, x.dtype.type(number), turned), out=x)


def _ordered(x: Array, other: Any, turned: bool) -> tuple[Any, Any]:
    return (other, x) if turned else (x, other)


def _curve(tuning: Tuning, op: Any, x: Array, rows: slice, columns: slice, scratch: Sequence[Array]) -> Iterator[Pass]:
    function = curve(op, x.dtype)
    for strip in _strips(x, tuning.activation_strip_elements):
        one, other = (array[: strip.size].reshape(strip.shape) for array in scratch[:2])
        yield from function(strip, strip, one, other)


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
