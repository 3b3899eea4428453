"""Modules named on the command line: ``torch:package.module:factory``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.formats.table import TORCH
from netcalc.formats.torch.capture import without_parameters
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.library import torch_library

#: Prefix of the name of a factory of modules.
PREFIX = TORCH.prefix


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


def made_module(model: str, settings: Mapping[str, Any]) -> Any:
    """Return the module of PyTorch that a text names: an instance, or what a class or function returns.

    Its parameters are on the meta device.  Python modules are also looked for in the current folder.

    Args:
        model: ``torch:package.module:factory``.
        settings: keyword arguments of the factory.

    Raises:
        NetcalcError: E009 if there is no such factory, or its code fails.
    """
    name, path = split_name(model)
    torch = torch_library()
    with without_parameters():
        factory = _object_at(name, path)
        if isinstance(factory, torch.nn.Module):
            if settings:
                raise NetcalcError(Diagnostic("E502", f"{path} is a module already, which takes no settings"))
            return factory
        if not callable(factory):
            raise NetcalcError(Diagnostic("E009", f"{path} in {name} is no module of PyTorch and no function"))
        try:
            made = factory(**settings)
        except Exception as error:  # of the user's code
            raise refused(f"{path} in {name} makes no module", error) from error
    if not isinstance(made, torch.nn.Module):
        message = f"{path} in {name} returns no torch.nn.Module, but {type(made).__name__}"
        raise NetcalcError(Diagnostic("E009", message))
    return made


def _object_at(name: str, path: str) -> Any:
    """Return the object that a Python module has at a path."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        owner: Any = import_module(name)
    except Exception as error:  # of the user's code
        raise refused(f"the Python module {name} cannot be imported", error) from error
    for part in path.split("."):
        if not hasattr(owner, part):
            message = f"{part!r} is not in {owner.__name__ if hasattr(owner, '__name__') else name}"
            hint = did_you_mean(part, [member for member in dir(owner) if not member.startswith("_")])
            raise NetcalcError(Diagnostic("E009", message, hint=hint))
        owner = getattr(owner, part)
    return owner


def program_of(path: str | Path) -> Any:
    """Return the exported program in a file; NetcalcError (E009) if it cannot be read."""
    torch = torch_library()
    if not Path(path).is_file():
        raise NetcalcError(Diagnostic("E009", f"there is no file {path}"))
    try:
        return torch.export.load(str(path))
    except Exception as error:  # any of a damaged file
        raise refused(f"{path} cannot be read", error) from error
