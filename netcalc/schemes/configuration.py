"""Quantization of a model as its configuration describes it: its method with the fields, and schemes of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.expressions import ExpressionError, parse
from netcalc.schemes.methods import Method, StoredAs, method_named, method_of, unknown_method
from netcalc.schemes.modules import ModuleFields
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
        rule = self.method.modules
        place, entries = rule.entries(self.settings) if rule else ("", {})
        if rule is None or not entries:
            own = self.settings.get(module) if self.method.by_module else None
            for fields in self._general():
                yield {**fields, **(own if isinstance(own, Mapping) else {})}
            return
        named, entry = rule.entry_of(entries, module)
        if named and isinstance(entry, Mapping):
            yield from self._of_entry(rule, place, entry)
        elif not named and rule.inherits:
            yield from self._general()

    def _general(self) -> Iterator[dict[str, Any]]:
        """Yield the fields that may apply to all modules."""
        return self._along(self.settings, [part for part in self.method.variants.split(".") if part], "")

    def _of_entry(self, rule: ModuleFields, place: str, entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the fields of modules that have an entry of their own."""
        if rule.inherits:
            yield from ({**fields, **entry} for fields in self._general())
        else:
            outer = {**self.method.fields.defaults, **self.settings}
            yield from ({**outer, **fields} for fields in self._along(entry, list(rule.fields), f"{place}.*"))

    def _along(self, data: Mapping[str, Any], way: list[str], place: str) -> Iterator[dict[str, Any]]:
        """Yield the fields of the mappings that a way leads to, and of those on it that have a value, with defaults."""
        declared = self.method.nested.get(place) if place else self.method.fields
        fields = {**(declared.defaults if declared else {}), **data}
        if not way:
            yield fields
            return
        around = {field: value for field, value in fields.items() if value is not None}
        for value in data.values() if way[0] == "*" else [data.get(way[0])]:
            if isinstance(value, Mapping):
                for inner in self._along(value, way[1:], f"{place}.{way[0]}".strip(".")):
                    yield {**around, **inner}

    def assignments(self, layers: int | None = None) -> tuple[str, ...]:
        """Return ``PATTERN=SCHEME`` for parameters by their paths, the first of which counts.

        The last has no pattern.  There are none if the fields leave open how parameters are stored.

        Args:
            layers: number of layers of the model; None if it is unknown.
        """
        plain = self._plain_patterns(layers)
        general = self._scheme_of_all()
        named = self._schemes_of_modules(layers)
        if plain is None or general is None or named is None:
            return ()
        rules = [*(f"{pattern}={PLAIN}" for pattern in plain), *named, general]
        return tuple(rules) if sum(map(len, rules)) <= _MOST_CHARACTERS else ()

    def _scheme_of_all(self) -> str | None:
        """Return the scheme of modules without an entry of their own; None if the fields leave it open."""
        rule = self.method.modules
        entries = rule.entries(self.settings)[1] if rule else {}
        if rule is not None and entries and not rule.inherits and rule.default not in entries:
            return PLAIN
        variants = list(self.variants(""))
        return _scheme(self.method.storage, variants[0]) if len(variants) == 1 else None

    def _schemes_of_modules(self, layers: int | None) -> list[str] | None:
        """Return assignments for modules with fields of their own; None if it is open how one is stored."""
        rule = self.method.modules
        if rule is None:
            own = {name: own for name, own in self.settings.items() if isinstance(own, Mapping)}
            named = {name: next(self.variants(name)) for name in own} if self.method.by_module else {}
            return _assigned({name: _scheme(self.method.storage, fields) for name, fields in named.items()}, layers)
        place, entries = rule.entries(self.settings)
        assigned: dict[str, str | None] = {}
        for name, entry in rule.ordered(entries):
            fields = next(self._of_entry(rule, place, entry), None) if isinstance(entry, Mapping) else None
            scheme = (
                PLAIN if not isinstance(entry, Mapping) else _scheme(self.method.storage, fields) if fields else None
            )
            regular = rule.regular(name)
            assigned[name.removesuffix(".weight") if regular is None else f"re:{regular}"] = scheme
        return _assigned(assigned, layers)

    def _plain_patterns(self, layers: int | None) -> list[str] | None:
        """Return patterns of the parameters that the configuration leaves out; None if it cannot be told."""
        listed = self.settings.get(self.method.plain) or []
        if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
            return None
        names = [*listed]
        if self.method.by_module:
            names += (name for name, own in self.settings.items() if own is False and name)
        return _patterns_of(names, layers)


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


def _assigned(schemes: Mapping[str, str | None], layers: int | None) -> list[str] | None:
    """Return the assignments of schemes to modules by their names; None if a scheme or the modules are open."""
    by_scheme: dict[str, list[str]] = {}
    for name, scheme in schemes.items():
        if scheme is None:
            return None
        by_scheme.setdefault(scheme, []).append(name)
    if any(name.startswith("re:") for name in schemes):  # the first that matches counts
        by_scheme = {}
    rules = []
    for scheme, names in by_scheme.items() or ((scheme or "", [name]) for name, scheme in schemes.items()):
        patterns = _patterns_of(names, layers)
        if patterns is None:
            return None
        rules += [f"{pattern}={scheme}" for pattern in patterns]
    return rules


def _patterns_of(names: Iterable[str], layers: int | None) -> list[str] | None:
    """Return patterns of the parameters of modules by their names or expressions; None if they cannot be told."""
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
