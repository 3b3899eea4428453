"""Modules and arguments in another element type, as ``module.to(dtype)`` makes them, without a change to the module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from netcalc.arguments import NAME, checked_argument
from netcalc.formats.torch.holding import holding
from netcalc.formats.torch.library import torch_library
from netcalc.spec.elaborate import float_type


def type_name(dtype: Any) -> str | None:
    """Return the name of a floating-point type that is given by its name or as ``torch.dtype``; None for None.

    Raises:
        NetcalcError: E502 for anything else.
    """
    if dtype is None:
        return None
    is_type = isinstance(dtype, torch_library().dtype)
    return float_type(checked_argument("dtype", str(dtype).removeprefix("torch.") if is_type else dtype, NAME))


def converted_tensor(tensor: Any, dtype: str | None) -> Any:
    """Return a tensor in an element type; one of integers, and any tensor if the type is None, as it is."""
    torch = torch_library()
    if dtype is None or not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
        return tensor
    return tensor.to(getattr(torch, dtype))


@contextmanager
def converted(module: Any, dtype: str | None) -> Iterator[None]:
    """Give the parameters and buffers of a module an element type for a while.

    Parameters have no data then; buffers keep their values, which are rounded.
    """
    if dtype is None:
        yield
        return
    made: dict[int, Any] = {}
    with holding(module, lambda tensor: _without_data(tensor, dtype, made)):
        yield


def _without_data(tensor: Any, dtype: str, made: dict[int, Any]) -> Any:
    """Return a parameter or buffer in an element type, the same for the same one."""
    nn = torch_library().nn
    if tensor is None or nn.parameter.is_lazy(tensor) or not tensor.is_floating_point():
        return tensor
    if id(tensor) not in made:
        if isinstance(tensor, nn.Parameter):
            made[id(tensor)] = nn.Parameter(converted_tensor(tensor.to("meta"), dtype), tensor.requires_grad)
        else:
            made[id(tensor)] = converted_tensor(tensor, dtype)
    return made[id(tensor)]
