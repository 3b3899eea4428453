"""Quantization of a model as its configuration describes it: its method with the fields, and schemes of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.schemes.methods import Fields, Method, StoredAs, method_named, method_of, unknown_method
from netcalc.schemes.scheme import PLAIN, is_scheme

#: Keys of a configuration that may say how a model is quantized; MLX writes the second.
KEYS = ("quantization_config", "quantization")
_LAYERS = "num_hidden_layers"
#: A name of a module within one of several layers.
_NUMBER = re.compile(r"\.[0-9]+\.")
#: Regular expressions of modules that are patterns: texts, any text, and a choice of texts.
_REGULAR = re.compile(r"\^?((?:[\w-]|\\?\.|\.\*|\((?:[\w-]+\|)*[\w-]+\))+)(\$?)")
#: Expressions in the name of a scheme.
_IN_BRACES = re.compile(r"\{([^}]*)\}")
_CHOICE = re.compile(r"\(([^)]*)\)")
#: Characters of assignments, and patterns of a regular expression, above which it is left open how a model is stored.
_MOST_CHARACTERS, _MOST_PATTERNS = 20_000, 64


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
        """Yield the fields that may apply to a module, with the defaults of those that are not given.

        A variant has those of the mapping around it, too.
        """
        method = self.method
        own = self.settings.get(module) if method.by_module else None
        general = method.fields.defaults | {k: v for k, v in self.settings.items() if k in method.fields.declared}
        if not method.variants:
            yield {**general, **(own if isinstance(own, Mapping) else {})}
            return
        *way, last = method.variants.split(".")
        outer = method.nested.get(".".join(way), Fields({}, frozenset())).defaults
        for place in _within(self.settings, way):
            for variant in _within(place, [last]):
                around = {field: value for field, value in {**outer, **place}.items() if value is not None}
                yield {**general, **around, **method.nested[method.variants].defaults, **variant}

    def assignments(self, layers: int | None = None) -> tuple[str, ...]:
        """Return ``PATTERN=SCHEME`` for parameters by their paths, the first of which counts.

        The last has no pattern.  There are none if the fields leave open how parameters are stored.

        Args:
            layers: number of layers of the model; None if it is unknown.
        """
        variants = list(self.variants(""))
        plain = self._plain_patterns(layers)
        if len(variants) != 1 or plain is None:
            return ()
        fields = {**self.settings, **variants[0]}
        scheme = _scheme(self.method.storage, fields)
        if scheme is None:
            return ()
        rules = [f"{pattern}={PLAIN}" for pattern in plain]
        for module, own in self.settings.items() if self.method.by_module else ():
            if isinstance(own, Mapping):
                other = _scheme(self.method.storage, {**fields, **own})
                if other is None:
                    return ()
                rules += (f"{pattern}={other}" for pattern in _patterns(module))
        return (*rules, scheme) if sum(map(len, rules)) <= _MOST_CHARACTERS else ()

    def _plain_patterns(self, layers: int | None) -> list[str] | None:
        """Return patterns of the parameters that the configuration leaves out; None if it cannot be told."""
        listed = self.settings.get(self.method.plain) or []
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            return None
        names = [*listed]
        if self.method.by_module:
            names += (name for name, own in self.settings.items() if own is False and name)
        patterns: list[str] = []
        for name in _joined_names(names, layers):
            if name.startswith("re:"):
                match = _REGULAR.fullmatch(name[3:])
                alike = [] if match is None else list(islice(_alternatives(match), _MOST_PATTERNS + 1))
                if not 0 < len(alike) <= _MOST_PATTERNS:
                    return None
                patterns += alike
            else:
                patterns += _patterns(name)
        return patterns


def quantization_of(config: Mapping[str, Any], name: str) -> Quantization | None:
    """Return the quantization that a configuration, or one within it, describes; None if there is none.

    Raises:
        NetcalcError: E007 if its method is not known; ``name`` is the configuration's.
    """
    settings = _settings(config)
    if settings is None:
        return None
    method = method_named(method_of(settings))
    if method is None:
        raise NetcalcError(unknown_method(settings, name))
    return Quantization(method, settings)


def stored_as(config: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return how a configuration says that parameters are stored, as :meth:`Quantization.assignments`.

    Raises:
        NetcalcError: as :func:`quantization_of`.
    """
    quantization = quantization_of(config, name)
    if quantization is None:
        return ()
    layers = next((place[_LAYERS] for place in _places(config) if _LAYERS in place), None)
    return quantization.assignments(layers)


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


def _scheme(storage: StoredAs, fields: Mapping[str, Any]) -> str | None:
    """Return the scheme that fields name; None if they leave it open."""
    conditions = [*storage.that, *(condition for condition, _ in storage.schemes)]
    scope = {**dict.fromkeys(name for condition in conditions for name in condition.names()), **fields}
    try:
        if not all(condition.evaluate(scope) for condition in storage.that):
            return None
        template = next((name for condition, name in storage.schemes if condition.evaluate(scope)), "")
        name = _IN_BRACES.sub(lambda braces: str(parse(braces[1]).evaluate(scope)), template)
    except ExpressionError:
        return None
    return name if name == PLAIN or is_scheme(name) else None


def _joined_names(names: Iterable[str], layers: int | None) -> Iterator[str]:
    """Yield names of modules, with * in place of the number of those that all layers have."""
    numbers: dict[str, set[str]] = {}
    names = list(dict.fromkeys(names))
    for name in names:
        numbers.setdefault(_NUMBER.sub(".*.", name, count=1), set()).add(name)
    for form, alike in numbers.items():
        yield from [form] if len(alike) == layers else sorted(alike)


def _patterns(module: str) -> Iterator[str]:
    """Yield the patterns of the parameters of a module, whose name may lack the first parts of its path."""
    yield from (f"{module}.*", f"*.{module}.*")


def _alternatives(regular: re.Match[str]) -> Iterator[str]:
    """Yield the patterns that stand for a regular expression of modules, or of the beginnings of their paths."""
    end = ".*" if regular[2] else "*.*"
    parts = _CHOICE.split(regular[1])
    for chosen in product(*(part.split("|") if i % 2 else [part] for i, part in enumerate(parts))):
        yield "".join(chosen).replace(".*", "*").replace("\\.", ".") + end
