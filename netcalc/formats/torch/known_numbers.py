"""Numbers that a module reads from constant tensors during an export: sizes, lengths and numbers of repetitions.

``torch.export`` has symbols for them, with which most code cannot go on.  Where the elements follow from constants, a
context gives the module the numbers themselves.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from netcalc.formats.torch.known_values import KnownValues
from netcalc.formats.torch.library import torch_library

_READ = ("tolist", "item", "__int__", "__index__", "__bool__")
#: Functions whose results have shapes that depend on values.
_DEPENDENT = ("argwhere", "masked_select", "nonzero", "repeat_interleave", "unique", "unique_consecutive")


def reading(module: Any, constants: Any) -> AbstractContextManager[Any]:
    """Return a context of an export in which numbers that follow from constants are known.

    Args:
        module: the module that is exported.
        constants: tensors whose values count, which are arguments of its call; without any there is nothing to know.
    """
    if not constants:
        return nullcontext()
    torch: Any = torch_library()
    values = KnownValues(module)

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            name = str(getattr(function, "__name__", ""))
            if name in _READ and (known := values.elements(args[0])) is not None:
                return known
            by_mask = name == "__getitem__" and isinstance(args[1], torch.Tensor) and args[1].dtype == torch.bool
            if (name in _DEPENDENT or by_mask) and (known := values.result(function, args, kwargs)) is not None:
                return known
            if name == "repeat_interleave" and (repeated := _repeated(torch, values, *args, **kwargs)) is not None:
                return repeated
            result = function(*args, **kwargs)
            values.follow(function, args, kwargs, result)
            return result

    return Mode()


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
