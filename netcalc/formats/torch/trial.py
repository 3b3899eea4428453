"""Calls of modules without data, to see if a module takes them."""

from __future__ import annotations

from typing import Any

from netcalc.formats.torch.calls import Call, with_constants
from netcalc.formats.torch.devices import one_device
from netcalc.formats.torch.library import torch_library


def error_of(module: Any, call: Call) -> Exception | None:
    """Return the error that a call of a module ends with; None if the module takes it."""
    torch = torch_library()
    pytree = torch.utils._pytree
    leaves, structure = pytree.tree_flatten((call.args, call.kwargs))
    leaves = [leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    with with_constants(module, call), one_device(module, leaves) as leaves, torch.no_grad():
        args, kwargs = pytree.tree_unflatten(leaves, structure)
        try:
            module(*args, **kwargs)
        except Exception as error:  # of the user's code
            return error
    return None
