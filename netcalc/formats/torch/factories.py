"""Modules named on the command line: ``torch:package.module:factory``."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError

__all__ = ["PREFIX", "split_name"]

#: Prefix of the name of a factory of modules.
PREFIX = "torch:"


def split_name(model: str) -> tuple[str, str]:
    """Return the Python module and the factory that a text names.

    Raises:
        NetcalcError: E009 if it names none.
    """
    module, _, factory = model.removeprefix(PREFIX).partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *factory.split("."))):
        message = f"{model!r} names no factory of modules"
        raise NetcalcError(Diagnostic("E009", message, hint="write torch:package.module:factory"))
    return module, factory
