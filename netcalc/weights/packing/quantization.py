"""Quantisation of a checkpoint, as its configuration describes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.weights.packing.schemes import Scheme, method_of, read_scheme, unknown_method
from netcalc.weights.stored import DamagedError, exactly, opened, parsed_json, reading

__all__ = ["Quantization", "config_beside", "quantization_of"]

#: Keys of a configuration that may say how a model is quantised.
_KEYS = ("quantization_config", "quantization")
_CONFIG = "config.json"


class Quantization(NamedTuple):
    """A scheme of quantisation, with the fields of its configuration."""

    scheme: Scheme
    settings: Mapping[str, Any]

    def stores_plainly(self, module: str) -> bool:
        """Return True if the configuration names a module among those that are not quantised."""
        if self.scheme.by_module and self.settings.get(module) is False:
            return True
        listed = self.settings.get(self.scheme.plain)
        if not isinstance(listed, list):
            return False
        return any(isinstance(name, str) and (module == name or module.endswith(f".{name}")) for name in listed)

    def variants(self, module: str) -> Iterator[dict[str, Any]]:
        """Yield the fields that may apply to a module, with the defaults of those that are not given."""
        scheme = self.scheme
        own = self.settings.get(module) if scheme.by_module else None
        general = scheme.fields.defaults | {k: v for k, v in self.settings.items() if k in scheme.fields.declared}
        if not scheme.variants:
            yield {**general, **(own if isinstance(own, Mapping) else {})}
            return
        defaults = scheme.nested[scheme.variants].defaults
        for found in _within(self.settings, scheme.variants.split(".")):
            yield {**general, **defaults, **found}


def quantization_of(config: Mapping[str, Any], name: str) -> Quantization | None:
    """Return the quantisation that a configuration, or one within it, describes; None if there is none.

    Raises:
        NetcalcError: E007 if its method is not known; ``name`` is that of the configuration.
    """
    found = _found(config)
    if found is None:
        return None
    scheme = read_scheme(method_of(found))
    if scheme is None:
        raise NetcalcError(unknown_method(found, name))
    return Quantization(scheme, found)


def config_beside(path: Path) -> tuple[Mapping[str, Any], str] | None:
    """Return the configuration in the folder of a checkpoint and its name; None if there is none.

    Raises:
        NetcalcError: E605 if it cannot be read.
    """
    folder = path if os.path.isdir(path) else path.parent  # noqa: PTH112 - raises nothing
    config = folder / _CONFIG
    if not os.path.isfile(config):  # noqa: PTH113 - raises nothing
        return None
    with reading(str(config)), opened(config, MAX_SPEC_SIZE) as (file, length):
        content = parsed_json(exactly(file, length, "a configuration"))
        if not isinstance(content, dict):
            raise DamagedError("it is no object")
    return content, str(config)


def _found(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the mapping that describes the quantisation, of the model or of a configuration within."""
    inner = [value for key, value in config.items() if key.endswith("_config") and isinstance(value, dict)]
    for place in (config, *inner):
        for key in _KEYS:
            found = place.get(key)
            if isinstance(found, dict) and found:
                return found
    return None


def _within(data: Any, path: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings at a path, in which * stands for any key."""
    if not isinstance(data, Mapping):
        return
    if not path:
        yield data
        return
    for value in data.values() if path[0] == "*" else [data.get(path[0])]:
        yield from _within(value, path[1:])
