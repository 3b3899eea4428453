"""PyTorch, which only this package of netcalc imports."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError


def torch_library() -> Any:
    """Return the library ``torch``; NetcalcError (E009) if it is not installed."""
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
    hint = 'install it with `pip install "torch>=2.9"`'
    raise NetcalcError(Diagnostic("E009", "a module of PyTorch needs the library torch", hint=hint)) from None
