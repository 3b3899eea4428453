"""Classes of diffusers by their names in configurations."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any


def diffusers_class(name: object) -> type | None:
    """Return a class of diffusers, or one that a pipeline has in its own module; None if there is none.

    The library is imported; None if it is not installed, too.
    """
    if not isinstance(name, str) or not name.isidentifier() or find_spec("diffusers") is None:
        return None
    found = getattr(import_module("diffusers"), name, None)
    if found is None:
        pipelines = import_module("diffusers.pipelines")
        packages = (f"{pipelines.__name__}.{info.name}" for info in iter_modules(pipelines.__path__) if info.ispkg)
        modules = (import_module(package) for package in packages)
        # a lazy module, which lists the classes of its files
        holding: Any = next((module for module in modules if name in vars(module).get("_class_to_module", ())), None)
        found = getattr(holding, name, None)
    return found if isinstance(found, type) else None
