"""Quantization of a model as its configuration describes it: its method with the fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.schemes.methods import Method, method_named, method_of, unknown_method

__all__ = ["KEYS", "Quantization", "quantization_of"]

#: Keys of a configuration that may say how a model is quantized; the second is that of MLX.
KEYS = ("quantization_config", "quantization")


class Quantization(NamedTuple):
    """A method of quantization, with the fields of its configuration."""

    method: Method
    settings: Mapping[str, Any]

    def stores_plainly(self, module: str) -> bool:
        """Return True if the configuration names a module among those that are not quantized."""
        if self.method.by_module and self.settings.get(module) is False:
            return True
        listed = self.settings.get(self.method.plain)
        if not isinstance(listed, list):
            return False
        return any(isinstance(name, str) and (module == name or module.endswith(f".{name}")) for name in listed)

    def variants(self, module: str) -> Iterator[dict[str, Any]]:
        """Yield the fields that may apply to a module, with the defaults of those that are not given."""
        method = self.method
        own = self.settings.get(module) if method.by_module else None
        general = method.fields.defaults | {k: v for k, v in self.settings.items() if k in method.fields.declared}
        if not method.variants:
            yield {**general, **(own if isinstance(own, Mapping) else {})}
            return
        defaults = method.nested[method.variants].defaults
        for variant in _within(self.settings, method.variants.split(".")):
            yield {**general, **defaults, **variant}


def quantization_of(config: Mapping[str, Any], name: str) -> Quantization | None:
    """Return the quantization that a configuration, or one within it, describes; None if there is none.

    Raises:
        NetcalcError: E007 if its method is not known; ``name`` is that of the configuration.
    """
    settings = _settings(config)
    if settings is None:
        return None
    method = method_named(method_of(settings))
    if method is None:
        raise NetcalcError(unknown_method(settings, name))
    return Quantization(method, settings)


def _settings(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the mapping that describes the quantization, of the model or of a configuration within."""
    for place in _places(config):
        for key in KEYS:
            settings = place.get(key)
            if isinstance(settings, dict) and settings:
                return settings
    return None


def _places(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return a configuration and those within it."""
    return (config, *(value for key, value in config.items() if key.endswith("_config") and isinstance(value, dict)))


def _within(data: Any, path: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings at a path, in which * stands for any key."""
    if not isinstance(data, Mapping):
        return
    if not path:
        yield data
        return
    for value in data.values() if path[0] == "*" else [data.get(path[0])]:
        yield from _within(value, path[1:])
