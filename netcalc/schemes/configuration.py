"""Quantization of a model as its configuration describes it: its method with the fields, and schemes of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from netcalc.diagnostics import NetcalcError, written
from netcalc.dtypes import DType
from netcalc.expressions import Expression, ExpressionError, parse
from netcalc.schemes.files import entries
from netcalc.schemes.methods import Fields, Lists, Method, SchemeRule, method_named, method_of, unknown_method
from netcalc.schemes.module_lists import ModuleList
from netcalc.schemes.modules import Entry, ModuleFields
from netcalc.schemes.rules import StorageRule
from netcalc.schemes.scheme import PLAIN, Settings, is_scheme, scheme_named

#: Keys of a configuration that may say how a model is quantized; MLX writes the second.
KEYS = ("quantization_config", "quantization")
#: Fields that name the element type; earlier versions of transformers wrote the second.
DTYPE_FIELDS = ("dtype", "torch_dtype")
_HEAD = "head"
#: Expressions in the name of a scheme.
_BRACES = re.compile(r"\{([^}]*)\}")
#: Fields that a message shows.
_SHOWN = 3
#: Fields of a configuration: keys from the settings of the quantization to a value.
FieldPath = tuple[str, ...]


class Unsettled(NamedTuple):
    """A field from which it does not follow how parameters are stored, and why."""

    field: FieldPath
    message: str
    hint: str | None = None


class UnsettledError(Exception):
    """A configuration from which it does not follow how parameters are stored."""

    def __init__(self, problems: Iterable[Unsettled]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(problem.message for problem in self.problems))


@dataclass(frozen=True, eq=False)
class Quantization:
    """A method of quantization with the fields of its configuration, and the keys under which they stand."""

    method: Method
    settings: Mapping[str, Any]
    place: FieldPath = KEYS[:1]

    def stores_plainly(self, module: str) -> bool:
        """Return True if the configuration names a module among those that are not quantized."""
        if any(rule.modules is not None and rule.modules.matches(module) for rule in self._plain_rules):
            return True
        entry = self.entry_of(module)
        return entry is not None and entry.fields is None

    def entry_of(self, module: str) -> Entry | None:
        """Return the entry that has fields of a module's own, or says that it stays plain; None if there is none."""
        return next((entry for entry in self._entries if entry.modules.matches(module)), None)

    @cached_property
    def _plain_rules(self) -> tuple[StorageRule, ...]:
        return tuple(self._plain([]))

    def variants(self, module: str) -> Iterator[dict[str, Any]]:
        """Yield the fields that may apply to a module, with the defaults of those that are not given.

        A variant has those of the mapping around it, too.  Those whose targets name the module are before classes.
        """
        own = self.settings.get(module) if self.method.by_module else None
        entry = self.entry_of(module)
        if entry is not None:
            yield from (fields for _, fields in self._of_entry(entry))
            return
        for fields in self._targeting(module):
            yield {**fields, **(own if isinstance(own, Mapping) else {})}

    def _targeting(self, module: str) -> list[Mapping[str, Any]]:
        """Return the fields whose targets name a module; if none do, those for classes, or else all."""
        named = [fields for fields, lists in self._targets if any(modules.matches(module) for modules in lists)]
        if named:
            return named
        by_class = [fields for fields, lists in self._targets if any(modules.classes for modules in lists)]
        return by_class or [fields for fields, _ in self._targets]

    @cached_property
    def _targets(self) -> list[tuple[Mapping[str, Any], list[ModuleList]]]:
        """The fields that count for modules without an entry of their own, each with the lists of their targets."""
        return [
            (fields, [modules for _, modules in _lists_of(self.method.targets, fields, path, [])])
            for path, fields in self._general
        ]

    def rules(self, dtype: DType) -> tuple[StorageRule, ...]:
        """Return how parameters are stored, the first rule that applies to one counting.

        Args:
            dtype: element type of the model.

        Raises:
            UnsettledError: if it does not follow from the fields.
        """
        problems: list[Unsettled] = []
        rules = [*self._plain(problems), *self._of_modules(dtype, problems), *self._schemes(dtype, problems)]
        if problems:
            raise UnsettledError(problems)
        return tuple(rules)

    def _plain(self, problems: list[Unsettled]) -> Iterator[StorageRule]:
        """Yield the rules of modules that are stored as they are."""
        for field, modules in _lists_of(self.method.plain, self.settings, (), problems):
            yield from _by_name_and_class(StorageRule(PLAIN, field=field, list=field), modules)

    def _of_modules(self, dtype: DType, problems: list[Unsettled]) -> Iterator[StorageRule]:
        """Yield the rules of modules that have fields of their own."""
        problems += self._refused
        for entry in self._entries:
            place = (*self._place, entry.name)
            field, listed = ".".join(place), ".".join(self._place) or self.place[-1]
            if entry.fields is None:
                yield StorageRule(PLAIN, entry.modules, field=field, list=listed)
                continue
            for path, fields in self._of_entry(entry):
                for rule in self._chosen(fields, dtype, path, problems):
                    yield rule._replace(modules=entry.modules, field=field, list=listed)

    def _schemes(self, dtype: DType, problems: list[Unsettled]) -> Iterator[StorageRule]:
        """Yield the rules of the modules that are quantized: those that are named, then those by kind."""
        rules: list[StorageRule] = []
        if not self._general and not self._entries:
            field = (self.method.variants or "quant_method").split(".")[0]
            problems.append(Unsettled((field,), f"{self.method.name}: {field} should say how modules are quantized"))
        for path, fields in self._general:
            chosen = list(self._chosen(fields, dtype, path, problems))
            targets = _lists_of(self.method.targets, fields, path[:-1], problems)
            for field, modules in targets:
                rules += (
                    rule
                    for part in modules.split()
                    for scheme in chosen
                    for rule in _by_name_and_class(scheme._replace(field=field, list=field), part)
                )
            empty = [name for name in self.method.targets.fields if fields.get(name) == []]
            problems += (
                Unsettled((*path[:-1], name), f"{name} should name the modules that are quantized") for name in empty
            )
            if not targets:
                rules += map(self._of_kinds, chosen)
        # names before patterns, these before classes and kinds
        yield from sorted(rules, key=lambda rule: (2, ()) if rule.modules is None else rule.modules.order)

    def _of_kinds(self, rule: StorageRule) -> StorageRule:
        """Return a rule for the kinds that its scheme quantizes, and the last linear layer where the method does."""
        if rule.scheme == PLAIN:
            return rule
        kinds = rule.kinds if rule.kinds is not None else scheme_named(rule.scheme).quantizes
        listed = any(self.settings.get(field) is not None for field in self.method.plain.fields)
        if "linear" in kinds and self.method.plain.output == "unlisted" and listed:
            kinds |= {_HEAD}
        return rule._replace(kinds=kinds)

    def _chosen(
        self, fields: Mapping[str, Any], dtype: DType, path: FieldPath, problems: list[Unsettled]
    ) -> Iterator[StorageRule]:
        """Yield the schemes that fields name, with the kinds of parameters that each is for."""
        storage = self.method.storage
        scope = {**fields, "dtype": dtype}
        for name, expression in storage.names.items():  # of which one may have those before it
            scope[name] = _value(expression, scope)
        unmet = [condition for condition in storage.that if not _value(condition.holds, scope)]
        for condition in unmet:
            names = (part for name in sorted(condition.holds.names()) for part in self._fields_behind(name))
            problems.append(self._unsettled(names, fields, path, condition.otherwise))
        if unmet:
            return
        settings: Settings = tuple((name, _value(expression, scope)) for name, expression in storage.settings.items())
        settled: frozenset[str] = frozenset()
        for rule in storage.schemes:
            if not _value(rule.when, scope):
                continue
            if not rule.name:
                break
            try:
                name = _named(rule, scope)
            except (ExpressionError, ValueError) as why:
                problems.append(self._unsettled(self._names_in(rule.name), fields, path, str(why)))
                return
            if rule.kinds is None or not rule.kinds <= settled:
                cause = self._place_of(_by_sizes(self._given(self._names_in(rule.name), fields), fields, name), path)
                yield StorageRule(name, None, rule.kinds, settings, ".".join(path), cause=cause)
            if rule.kinds is None:
                return
            settled |= rule.kinds
        if not settled:
            whens = (name for rule in storage.schemes for name in sorted(rule.when.names()))
            names = (part for name in whens for part in self._fields_behind(name))
            problems.append(self._unsettled(names, fields, path, "no layout with these values is known"))

    def _names_in(self, scheme: str) -> Iterable[str]:
        """Return the fields from which the expressions in the name of a scheme follow."""
        names = (name for text in _BRACES.findall(scheme) for name in sorted(parse(text).names()))
        return [part for name in names for part in self._fields_behind(name)]

    def _fields_behind(self, name: str) -> Iterable[str]:
        """Return the fields from which a name follows."""
        expression = self.method.storage.names.get(name)
        if expression is None:
            return [name]
        names = sorted(expression.names() - {name})
        return [field for part in names for field in self._fields_behind(part)] + [name] * (name in expression.names())

    def _unsettled(self, names: Iterable[str], fields: Mapping[str, Any], path: FieldPath, reason: str) -> Unsettled:
        """Return the problem that the bytes do not follow from fields, at the first that is given."""
        given = self._given(names, fields)
        said = ", ".join(f"{name} {written(fields[name], quoted=True)}" for name in given[:_SHOWN])
        message = f"{self.method.name}: how parameters are stored does not follow from {said or 'the configuration'}"
        hint = f"{self.method.storage.told_by} would tell; --quantize or --dtype replaces it"
        return Unsettled(self._place_of(given, path), f"{message}: {reason}", hint)

    def _given(self, names: Iterable[str], fields: Mapping[str, Any]) -> list[str]:
        """Return those fields that have other values than by default, the innermost first."""
        nested = self.method.nested.get(self.method.variants, Fields({}, frozenset()))
        defaults = {**self.method.fields.defaults, **nested.defaults}
        given = [name for name in dict.fromkeys(names) if name in fields and fields[name] != defaults.get(name)]
        return sorted(given, key=lambda name: not nested.has(name))

    def _place_of(self, names: list[str], path: FieldPath) -> FieldPath:
        """Return the place of the first of several fields, in the innermost mapping on a path that has it."""
        mappings: list[Any] = [self.settings]
        for key in path:
            mappings.append(mappings[-1].get(key) if isinstance(mappings[-1], Mapping) else None)
        around = (
            depth for depth, data in enumerate(mappings) if names and isinstance(data, Mapping) and names[0] in data
        )
        depth = max(around, default=None)
        return path if depth is None else (*path[:depth], names[0])

    @cached_property
    def _place(self) -> FieldPath:
        """The place of the entries for modules."""
        modules = self.method.modules
        return tuple(modules.entries(self.settings)[0].split(".")) if modules is not None else ()

    @cached_property
    def _read(self) -> tuple[tuple[Entry, ...], tuple[Unsettled, ...]]:
        """The entries for modules, and those that cannot be read."""
        modules = self.method.modules
        if modules is None:
            modules = _BY_NAME
            entries = {n: v for n, v in self.settings.items() if self.method.by_module and n not in self._declared}
            entries = {name: value for name, value in entries.items() if isinstance(value, Mapping) or value is False}
        else:
            _, entries = modules.entries(self.settings)
        read: list[Entry] = []
        refused: list[Unsettled] = []
        for name, value in modules.ordered(entries):
            try:
                read.append(modules.entry(name, value))
            except ValueError as why:
                refused.append(Unsettled((*self._place, name), str(why)))
        return tuple(read), tuple(refused)

    @property
    def _entries(self) -> tuple[Entry, ...]:
        return self._read[0]

    @property
    def _refused(self) -> tuple[Unsettled, ...]:
        return self._read[1]

    @cached_property
    def _general(self) -> tuple[tuple[FieldPath, dict[str, Any]], ...]:
        """Places of the fields that count for modules without an entry of their own, with the fields in force there."""
        modules = self.method.modules
        if modules is not None:
            _, entries = modules.entries(self.settings)
            if modules.default in entries and isinstance(entries[modules.default], Mapping):
                return tuple(self._of_entry(modules.entry(modules.default, entries[modules.default])))
            if entries and not modules.inherits:
                return ()
        return tuple(self._along(self.settings, [part for part in self.method.variants.split(".") if part], (), ""))

    def _of_entry(self, entry: Entry) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
        """Yield the fields of modules that have an entry of their own, with their places."""
        assert entry.fields is not None
        modules, path = self.method.modules, (*self._place, entry.name)
        if modules is None or modules.inherits:
            yield from ((path, {**fields, **entry.fields}) for _, fields in self._general)
            return
        outer = {**self.method.fields.defaults, **self.settings}
        inner = self._along(entry.fields, list(modules.fields), path, ".".join((*self._place, "*")))
        yield from ((place, {**outer, **fields}) for place, fields in inner)

    def _along(
        self, data: Mapping[str, Any], way: list[str], path: FieldPath, place: str
    ) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
        """Yield the fields of the mappings that a way leads to, and of those on it that have a value, with defaults.

        ``path`` is where the mapping stands, and ``place`` where the method declares its fields.
        """
        declared = self.method.nested.get(place) if place else self.method.fields
        fields = {**(declared.defaults if declared else {}), **data}
        if not way:
            yield path, fields
            return
        around = {field: value for field, value in fields.items() if value is not None}
        for key in data if way[0] == "*" else [way[0]]:
            value = data.get(key)
            if isinstance(value, Mapping):
                for at, inner in self._along(value, way[1:], (*path, key), f"{place}.{way[0]}".strip(".")):
                    yield at, {**around, **inner}

    @property
    def _declared(self) -> frozenset[str]:
        return frozenset(self.method.fields.declared) | self.method.fields.without_effect


#: The entries of MLX, which are names of modules.
_BY_NAME = ModuleFields((), "names", (), True, "", "", "", "", frozenset())


def quantization_of(config: Mapping[str, Any], name: str) -> Quantization | None:
    """Return the quantization that a configuration, or one within it, describes; None if there is none.

    Raises:
        NetcalcError: E007 if its method is not known; ``name`` is the configuration's.
    """
    for outer, place in _places(config):
        for key in KEYS:
            settings = place.get(key)
            if isinstance(settings, dict) and settings:
                method = method_named(method_of(settings))
                if method is None:
                    raise NetcalcError(unknown_method(settings, name))
                return Quantization(method, settings, (*outer, key))
    return None


def assumed_dtype(config: Mapping[str, Any]) -> DType:
    """Return the element type of a model whose configuration names none: that of its quantization, or float32."""
    for _, place in _places(config):
        for key in KEYS:
            settings = place.get(key)
            method = method_named(method_of(settings)) if isinstance(settings, dict) else None
            if method is not None:
                return method.dtype
    return "float32"


def stated_dtype(config: Mapping[str, Any]) -> FieldPath | None:
    """Return the keys that lead to the element type of a model: its own, or the first of a configuration within."""
    for path, place in _places(config):
        name = next((name for name in DTYPE_FIELDS if place.get(name) is not None), None)
        if name is not None and not {*path} & {*KEYS}:
            return (*path, name)
    return None


def described(rules: Iterable[StorageRule]) -> str:
    """Return the schemes of rules in a few words."""
    shorts = (scheme_named(rule.scheme, settings=rule.settings).short for rule in rules if rule.scheme != PLAIN)
    return "; ".join(dict.fromkeys(shorts))


def _places(config: Mapping[str, Any]) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Yield a configuration and those within it, each with the keys that lead to it."""
    yield (), config
    yield from (((key,), value) for key, value in config.items() if key.endswith("_config") and isinstance(value, dict))


def _lists_of(
    lists: Lists, fields: Mapping[str, Any], path: FieldPath, problems: list[Unsettled]
) -> list[tuple[str, ModuleList]]:
    """Return the lists of modules in fields at a path, by their places."""
    found = []
    for name in lists.fields:
        place = (*path, name)
        listed = list(_flat(fields.get(name)))
        if not isinstance(fields.get(name) or [], list) or not all(
            entry and isinstance(entry, str) for entry in listed
        ):
            problems.append(Unsettled(place, f"{name} should be a list of names of modules"))
        elif listed and (modules := _module_list(listed, lists.match, place, problems)) is not None:
            found.append((".".join(place), modules))
    return found


def _by_name_and_class(rule: StorageRule, modules: ModuleList) -> Iterator[StorageRule]:
    """Yield a rule for the modules of a list, and for the kinds of parameters of the classes in it."""
    if modules.classes != set(modules.entries):
        yield rule._replace(modules=modules)
    if modules.classes:
        kinds = frozenset(kind for name in modules.classes for kind in entries("classes")[name])
        yield rule._replace(kinds=kinds if rule.kinds is None else kinds & rule.kinds)


def _flat(listed: Any) -> Iterator[Any]:
    """Yield the items of lists within lists, or what is no list."""
    if isinstance(listed, list):
        for item in listed:
            yield from _flat(item)
    elif listed is not None:
        yield listed


def _module_list(entries: list[str], match: str, path: FieldPath, problems: list[Unsettled]) -> ModuleList | None:
    try:
        return ModuleList(entries, match)
    except ValueError as why:
        problems.append(Unsettled(path, str(why)))
        return None


def _by_sizes(names: list[str], fields: Mapping[str, Any], scheme: str) -> list[str]:
    """Return fields, first those with a size by which a scheme divides rows or columns."""
    if scheme == PLAIN:
        return names
    found = scheme_named(scheme)
    sizes = [found.settings.get(part) for formula in found.remainders for part in formula.names()]
    return sorted(names, key=lambda name: fields[name] not in sizes)


def _named(rule: SchemeRule, scope: Mapping[str, Any]) -> str:
    """Return the name of a scheme with the values of the expressions in its braces."""
    name = _BRACES.sub(lambda braces: str(parse(braces[1]).evaluate(scope)), rule.name)
    if name != PLAIN and not is_scheme(name):
        raise ValueError(f"netcalc knows no scheme {name!r}")
    return name


def _value(expression: Expression, scope: Mapping[str, Any]) -> Any:
    """Return the value of an expression of fields, of which one that is not given is null; null if it has none."""
    try:
        return expression.evaluate({**dict.fromkeys(expression.names()), **scope})
    except ExpressionError:
        return None
