"""Indices by masks whose elements are known, written as indices by positions, whose number is known as well."""

from __future__ import annotations

from math import prod
from operator import is_
from typing import Any, NamedTuple

from netcalc.formats.torch.known_values import KnownValues
from netcalc.formats.torch.library import torch_library


class Places:
    """The positions that ``where`` and ``nonzero`` give, with the masks that they are of."""

    def __init__(self) -> None:
        self._masks = torch_library().utils.weak.WeakIdKeyDictionary()

    def note(self, function: Any, args: tuple[Any, ...], result: Any) -> None:
        """Note a result of a call if it is the positions of a mask by axis."""
        if getattr(function, "__name__", "") in ("where", "nonzero") and isinstance(result, tuple) and len(args) == 1:
            self._masks[result[0]] = (args[0], result)

    def mask(self, index: Any) -> Any:
        """Return the mask that an index by its positions is of; any other index itself."""
        if not isinstance(index, tuple) or not index or not isinstance(index[0], torch_library().Tensor):
            return index
        mask, positions = self._masks.get(index[0], (index, ()))
        return mask if len(index) == len(positions) and all(map(is_, index, positions)) else index


class _Mask(NamedTuple):
    """A mask whose elements are known.

    Attributes:
        shape: its sizes.
        positions: for each axis the indices of the elements that are true.
        start, stop: the first of these, of all elements in a row, and the one after the last.
    """

    shape: tuple[int, ...]
    positions: tuple[Any, ...]
    start: int
    stop: int

    @property
    def is_range(self) -> bool:
        """True if all elements between the first and the last that are true are so too."""
        return self.stop - self.start == len(self.positions[0])


def selection(values: KnownValues, input: Any, index: Any) -> tuple[Any, Any]:
    """Return a tensor and an index without known masks that give what ``input[index]`` gives."""
    mask = _known(values, index)
    if mask is None or not mask.is_range:
        return input, _with_positions(values, index)
    return input.flatten(0, len(mask.shape) - 1).clone(), slice(mask.start, mask.stop)


def assignment(values: KnownValues, input: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
    """Return an index without known masks, and a value, that change ``input`` as ``input[index] = value`` does.

    A mask stays where all elements that it selects get the same.
    """
    mask = _known(values, index)
    if not isinstance(value, torch_library().Tensor) or (mask and value.ndim <= input.ndim - len(mask.shape)):
        return input, index, value
    if mask is None or not mask.is_range:
        return input, _with_positions(values, index), value
    if len(mask.shape) == 1:
        return input, slice(mask.start, mask.stop), value
    if mask.stop - mask.start == prod(mask.shape) == value.shape[0]:
        return input, ..., value.unflatten(0, mask.shape)
    return input, mask.positions, value


def _known(values: KnownValues, index: Any) -> _Mask | None:
    """Return the mask that an index is, if its elements are known."""
    torch: Any = torch_library()
    if not isinstance(index, torch.Tensor) or index.dtype not in (torch.bool, torch.uint8) or index.ndim == 0:
        return None
    data = values.data(index)
    if data is None:
        return None
    with values.outside():
        places = data.flatten().nonzero().flatten().tolist() or [0, -1]
        return _Mask(tuple(data.shape), data.nonzero(as_tuple=True), places[0], places[-1] + 1)


def _with_positions(values: KnownValues, index: Any) -> Any:
    """Return an index with the positions that known masks select in place of these."""
    parts: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        mask = _known(values, part)
        parts += [part] if mask is None else mask.positions
    return tuple(parts) if isinstance(index, tuple) or len(parts) > 1 else parts[0]
