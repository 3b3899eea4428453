"""Calls of modules without data, to see if a module takes them."""

from __future__ import annotations

import re
from typing import Any

from netcalc.formats.torch.calls import Call, with_constants
from netcalc.formats.torch.devices import one_device
from netcalc.formats.torch.library import torch_library

#: Errors at a number or size that depends on values, which a call without data has not, but an export may.
_WITHOUT_DATA = ("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode")

_DEPENDENT = re.compile(r"data-dependent|\bu\d+\b")


def is_refused(error: Exception | None) -> bool:
    """Return True for an error that says that a module does not take a call."""
    return error is not None and type(error).__name__ not in _WITHOUT_DATA


def depends_on_values(error: BaseException | None) -> bool:
    """Return True for an error at a number or size that depends on values of tensors, such as the size u0."""
    return type(error).__name__ in _WITHOUT_DATA or _DEPENDENT.search(str(error)) is not None


def error_of(module: Any, call: Call) -> Exception | None:
    """Return the error that a call of a module ends with; None if there is none."""
    torch = torch_library()
    pytree = torch.utils._pytree
    leaves, structure = pytree.tree_flatten((call.args, call.kwargs))
    leaves = [leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    with with_constants(module, call.constants), one_device(module, leaves) as leaves, torch.no_grad():
        args, kwargs = pytree.tree_unflatten(leaves, structure)
        try:
            module(*args, **kwargs)
        except Exception as error:  # of the user's code
            return error
    return None
