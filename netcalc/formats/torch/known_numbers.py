"""Numbers that a module reads from constant tensors during an export: sizes, lengths and numbers of repetitions.

``torch.export`` has symbols for them, with which most code cannot go on.  Where the elements follow from constants, a
context gives the module the numbers themselves.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from netcalc.formats.torch.known_values import KnownValues
from netcalc.formats.torch.library import torch_library

_READ = ("tolist", "item", "__int__", "__index__", "__bool__")
#: Functions that take sizes, which may be scalars.
_SIZED = ("arange", "expand", "new_full", "new_ones", "new_zeros", "ones", "repeat", "reshape", "view", "zeros")
#: Functions whose results have shapes that depend on values.
_DEPENDENT = ("argwhere", "masked_select", "nonzero", "repeat_interleave", "unique", "unique_consecutive")


def reading(module: Any) -> AbstractContextManager[Any]:
    """Return a context of an export of a module in which numbers that follow from constants are known."""
    torch: Any = torch_library()
    values = KnownValues(module)

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = str(getattr(function, "__name__", ""))
            if name in _READ and (known := values.elements(args[0])) is not None:
                return known
            if name in ("__getitem__", "__setitem__"):
                args = (args[0], _with_known_bounds(args[1], values), *args[2:])
            elif name in _SIZED:
                args = tuple(torch.utils._pytree.tree_map_only(torch.Tensor, partial(_number, values), args))
            by_mask = name == "__getitem__" and isinstance(args[1], torch.Tensor) and args[1].dtype == torch.bool
            if (name in _DEPENDENT or by_mask) and (known := values.result(function, args, kwargs)) is not None:
                return known
            if name == "repeat_interleave" and (repeated := _repeated(torch, values, *args, **kwargs)) is not None:
                return repeated
            result = function(*args, **kwargs)
            values.follow(function, args, kwargs, result)
            return result

    return Mode()


def _with_known_bounds(index: Any, values: KnownValues) -> Any:
    """Return an index with numbers in place of known tensors that bound its slices."""
    if isinstance(index, tuple):
        return tuple(_with_known_bounds(part, values) for part in index)
    if not isinstance(index, slice):
        return index
    tensor = torch_library().Tensor
    bounds = (index.start, index.stop, index.step)
    return slice(*(_number(values, bound) if isinstance(bound, tensor) else bound for bound in bounds))


def _number(values: KnownValues, tensor: Any) -> Any:
    """Return the number in a known scalar, or any other tensor itself."""
    known = values.elements(tensor) if tensor.ndim == 0 else None
    return tensor if known is None else known


def _repeated(torch: Any, values: KnownValues, input: Any, repeats: Any = None, dim: Any = None, **_: Any) -> Any:
    """Return the elements of a tensor, each repeated a known number of times; None if the numbers are not known."""
    if not isinstance(repeats, torch.Tensor) or (numbers := values.elements(repeats)) is None:
        return None
    if dim is None:
        input, dim = input.flatten(), 0
    numbers = numbers if isinstance(numbers, list) else [numbers]
    numbers = numbers * input.shape[dim] if len(numbers) == 1 else numbers
    places = [place for place, number in enumerate(numbers) for _ in range(number)]
    return input.index_select(dim, torch.tensor(places, device=input.device))
