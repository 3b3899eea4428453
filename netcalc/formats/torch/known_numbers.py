"""Numbers that a module reads from known tensors during an export: sizes, lengths and numbers of repetitions.

``torch.export`` has symbols for them, with which most code cannot go on.  Where the elements follow from constants, or
from arguments whose values count, a context gives the module the numbers themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from netcalc.formats.torch.known_masks import Places, assignment, selection
from netcalc.formats.torch.known_values import KnownValues
from netcalc.formats.torch.library import torch_library

_READ = ("tolist", "item", "__int__", "__index__", "__bool__")
#: Functions that take sizes, which may be scalars.
_SIZED = (
    *("arange", "expand", "interpolate", "multinomial", "new_full", "new_ones", "new_zeros", "ones", "pad", "repeat"),
    *("reshape", "view", "zeros"),
)
#: Functions whose results, or the shapes of these, depend on values.
_DEPENDENT = (
    *("__contains__", "allclose", "argwhere", "equal", "is_nonzero", "masked_select", "nonzero", "repeat_interleave"),
    *("unique", "unique_consecutive"),
)


@contextmanager
def reading(module: Any, leaves: Sequence[Any] = ()) -> Iterator[None]:
    """Let a module know numbers that follow from constants while it is exported.

    Args:
        module: the module.
        leaves: the arguments of its call, without structure, whose values count too; None for others.
    """
    torch: Any = torch_library()
    values, places = KnownValues(module), Places()

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = str(getattr(function, "__name__", ""))
            if name in _READ and (known := values.elements(args[0])) is not None:
                return known
            dependent = name in _DEPENDENT or (name == "where" and len(args) + len(kwargs) == 1)
            if dependent and (known := values.result(function, args, kwargs)) is not None:
                return known
            if name == "repeat_interleave" and (repeated := _repeated(torch, values, *args, **kwargs)) is not None:
                return repeated
            if name == "__setitem__" and not isinstance(args[2], torch.Tensor):
                args = (args[0], places.mask(args[1]), args[2])
            given, named = _with_numbers(name, args, kwargs, values)
            result = function(*given, **named)
            values.follow(function, args, kwargs, result)
            places.note(function, args, result)
            return result

    with _given(module, values, leaves), Mode():
        yield


@contextmanager
def _given(module: Any, values: KnownValues, leaves: Sequence[Any]) -> Iterator[None]:
    """Know the values of arguments of a module's calls for a while."""
    torch = torch_library()
    held, forward = module.__dict__.get("forward"), module.forward

    @wraps(forward)
    def known(*args: Any, **kwargs: Any) -> Any:
        made = torch.utils._pytree.tree_leaves((args, kwargs))
        for leaf, value in zip(made, leaves, strict=False):
            if value is not None:
                values.give(leaf, value)
        return forward(*args, **kwargs)

    module.__dict__["forward"] = known
    try:
        yield
    finally:
        if held is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = held


def _with_numbers(name: str, args: tuple[Any, ...], kwargs: Any, values: KnownValues) -> tuple[tuple[Any, ...], Any]:
    """Return arguments of a call with numbers, and with indices whose shape is known, in place of known tensors."""
    torch: Any = torch_library()
    if name in _SIZED:
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, partial(_number, values), (args, kwargs))
    elif name == "tensor" and isinstance(args[0], (list, tuple)):
        args = torch.utils._pytree.tree_map_only(torch.Tensor, partial(_whole, values), args)
    elif name == "__getitem__":
        args = selection(values, args[0], _with_known_bounds(args[1], values))
    elif name == "__setitem__":
        args = assignment(values, args[0], _with_known_bounds(args[1], values), args[2])
    return args, kwargs


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


def _whole(values: KnownValues, tensor: Any) -> Any:
    """Return the number in a known scalar of the type that numbers have in a list, or any other tensor itself."""
    return _number(values, tensor) if tensor.dtype == torch_library().int64 else tensor


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
