"""Memory of tensors that are made and released, whose elements do not exist, and views by the strides of NumPy.

A meter adds up the bytes of the tensors that Python still refers to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from netcalc.verification.references import Attributes, Shape

__all__ = ["Meter", "Tensor", "broadcast", "reshaped", "view"]


class Meter:
    """Bytes of the tensors that are referred to, and the most of them."""

    def __init__(self) -> None:
        self.live = self.peak = 0

    def new(self, shape: Sequence[int], dtype: Any, *, counts: bool = True, order: Sequence[int] = ()) -> Tensor:
        """Return a tensor in memory of its own; ``order`` are its axes, the innermost last, by default as they are."""
        strides, step = [0] * len(shape), 1
        for axis in reversed(order or range(len(shape))):
            strides[axis] = step
            step *= max(shape[axis], 1)
        return Tensor(_Block(self, prod(shape) * np.dtype(dtype).itemsize * counts), tuple(shape), strides, dtype)


class _Block:
    """Memory that tensors lie in."""

    def __init__(self, meter: Meter, nbytes: int) -> None:
        self._meter, self.nbytes = meter, nbytes
        meter.live += nbytes
        meter.peak = max(meter.peak, meter.live)

    def __del__(self) -> None:
        self._meter.live -= self.nbytes


class Tensor:
    """A tensor without elements; strides are in elements."""

    def __init__(self, block: _Block, shape: Shape, strides: Sequence[int], dtype: Any) -> None:
        self.block, self.shape, self.strides, self.dtype = block, shape, tuple(strides), np.dtype(dtype)

    def seen(self, shape: Sequence[int], strides: Sequence[int], dtype: Any = None) -> Tensor:
        """Return another view of the memory."""
        return Tensor(self.block, tuple(shape), strides, dtype or self.dtype)

    @property
    def array(self) -> Any:
        """An array of one byte an element with these strides, of which no element may be read."""
        return np.lib.stride_tricks.as_strided(np.empty((), np.int8), self.shape, self.strides)

    @property
    def order(self) -> tuple[int, ...]:
        """The axes in the order of memory, the innermost last; first those of one element, which may be anywhere."""
        axes = range(len(self.shape))
        return tuple(sorted(axes, key=lambda axis: (self.shape[axis] > 1, -self.strides[axis])))

    @property
    def is_dense(self) -> bool:
        """True if the elements are in memory without gaps, in the order of any axes."""
        step = 1
        for axis in reversed([axis for axis in self.order if self.shape[axis] > 1]):
            if self.strides[axis] != step:
                return False
            step *= self.shape[axis]
        return True

    @property
    def is_contiguous(self) -> bool:
        """True if they are in the order of the axes too."""
        return self.is_dense and self._in_order(range(len(self.shape)))

    @property
    def is_channels_last(self) -> bool:
        """True for images or volumes whose channels are innermost, and not in the order of the axes."""
        rank = len(self.shape)
        last = (0, *range(2, rank), 1)
        return rank in (4, 5) and self.is_dense and self._in_order(last) and not self.is_contiguous

    def _in_order(self, axes: Sequence[int]) -> bool:
        return [a for a in axes if self.shape[a] > 1] == [a for a in self.order if self.shape[a] > 1]


# -- results that share memory --------------------------------------------------------------------------


def view(op: Attributes, x: Tensor, inputs: Sequence[Tensor | None], outputs: Sequence[Shape]) -> list[Tensor] | None:
    """Return the results of an operation that copies nothing; None if it makes tensors."""
    if op.name in ("identity", "detach") or (op.name in ("dropout", "stochastic_depth") and not op.training):
        return [x]
    if op.name == "cast":
        return [x] if np.dtype(x.dtype) == _dtype(op.dtype) else None
    if op.name in _RESHAPES:
        shaped = reshaped(x, outputs[0])
        return None if shaped is None else [shaped]
    rule = _VIEWS.get(op.name)
    found = None if rule is None else rule(op, x, outputs)
    return None if found is None else found if isinstance(found, list) else [found]


def reshaped(x: Tensor, shape: Shape) -> Tensor | None:
    """Return the elements in row-major order in another shape; None if they have to be copied."""
    array = x.array
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            array.shape = shape
        except AttributeError:
            return None
    return x.seen(shape, array.strides)


def broadcast(x: Tensor, shape: Shape) -> Tensor:
    """Return a view in which axes are repeated."""
    return _of_array(x, np.broadcast_to(x.array, shape))


def _of_array(x: Tensor, array: Any) -> Tensor:
    return x.seen(array.shape, array.strides)


def _transpose(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    return _of_array(x, np.swapaxes(x.array, *op.axes))


def _permute(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    return _of_array(x, np.transpose(x.array, op.axis if hasattr(op, "axis") else op.axes))


def _select(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    place: list[Any] = [slice(None)] * len(x.shape)
    place[op.axis] = op.index
    return _of_array(x, x.array[tuple(place)])


def _slice(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    count, place = len(op.axis), [slice(None)] * len(x.shape)
    columns = [values if len(values) == count else values * count for values in (op.start, op.stop, op.step)]
    for axis, *bounds in zip(op.axis, *columns, strict=True):
        place[axis] = slice(*bounds)
    return _of_array(x, x.array[tuple(place)])


def _parts(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> list[Tensor]:
    return [x.seen(shape, x.strides) for shape in outputs]


def _expand(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    return broadcast(x, outputs[0])


def _part_of_numbers(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    return x.seen(x.shape, [2 * step for step in x.strides], np.dtype(f"f{x.dtype.itemsize // 2}"))


def _bits(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    return x.seen(x.shape, x.strides, _dtype(op.dtype))


def _as_real(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor:
    return x.seen(outputs[0], [*(2 * step for step in x.strides), 1], np.dtype(f"f{x.dtype.itemsize // 2}"))


def _as_complex(op: Attributes, x: Tensor, outputs: Sequence[Shape]) -> Tensor | None:
    *strides, last = x.strides
    whole = last == 1 and not any(step % 2 for step in strides)
    return x.seen(outputs[0], [step // 2 for step in strides], np.dtype(f"c{2 * x.dtype.itemsize}")) if whole else None


_RESHAPES = ("reshape", "flatten", "unflatten", "squeeze", "unsqueeze")
_VIEWS: Mapping[str, Callable[[Attributes, Tensor, Sequence[Shape]], Tensor | list[Tensor] | None]] = {
    "transpose": _transpose,
    "permute": _permute,
    "select": _select,
    "slice": _slice,
    "split": _parts,
    "chunk": _parts,
    "expand": _expand,
    "bitcast": _bits,
    "real": _part_of_numbers,
    "imag": _part_of_numbers,
    "view_as_real": _as_real,
    "view_as_complex": _as_complex,
}


def _dtype(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes  # few networks need it

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)
