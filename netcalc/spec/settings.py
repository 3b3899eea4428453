"""Values of the dims and vars of a spec."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, Span, nearest, written
from netcalc.dims import Poly, default_of, has_values, refusal, symbol
from netcalc.limits import MAX_DEFINITIONS, MAX_ERRORS
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.declarations import Declaration, declare_variable, former_names, replacement
from netcalc.spec.document import DimDecl
from netcalc.spec.evaluate import evaluate, places_of_names
from netcalc.spec.library import Loaded
from netcalc.spec.op_values import placed
from netcalc.spec.requirements import place_in, unmet_by_settings
from netcalc.spec.yaml_document import parse_scalar


class Settings(Mapping[str, Any]):
    """Values of dims and vars by name, each evaluated at its first use."""

    def __init__(
        self, loaded: Loaded, overrides: Mapping[str, Any], symbolic: Collection[str], divisors: Mapping[str, int] = {}
    ) -> None:
        self._loaded = loaded
        self._overrides = overrides
        self._symbolic = symbolic
        self._divisors = divisors
        self._values: dict[str, Any] = {}
        self._pending: list[str] = []
        self.circular: set[str] = set()  # names of circular definitions, which are reported once
        self.warnings: list[Diagnostic] = []
        self.former = former_vars(loaded)
        self._noted: set[str] = set()  # former names that a warning tells
        self.dims = tuple(loaded.document.dims)
        self.vars = tuple(loaded.document.vars)

    def __getitem__(self, name: str) -> Any:
        if name in self.former:
            name = self._current(name)
        if name not in self._values:
            self._values[name] = self._resolve(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.dims
        yield from self.vars

    def __len__(self) -> int:
        return len(self.dims) + len(self.vars)

    def __contains__(self, name: object) -> bool:
        declared = self._loaded.document
        return name in declared.dims or name in declared.vars or name in self.former

    def _current(self, former: str) -> str:
        """Return the present name of a var that an expression calls by a former one, with a warning."""
        name = self.former[former]
        if former not in self._noted:
            self._noted.add(former)
            message = f"an expression uses {former!r}; the var is now called {name!r}"
            self.warnings.append(Diagnostic("W102", message, _places_of_former_names(self._loaded).get(former)))
        return name

    def is_overridden(self, name: str) -> bool:
        """Return True if the value of a dim or var is given in place of its default."""
        return name in self._overrides

    @property
    def symbolic_vars(self) -> tuple[str, ...]:
        """Names of the vars that stay symbols."""
        return tuple(name for name in self.vars if name in self._symbolic)

    def option(self, name: str) -> str | None:
        """Return the option that sets a dim or var, or keeps it symbolic; None if it has its default."""
        if name in self._symbolic:
            return f"--symbolic {name}"
        return f"--set {name}" if name in self._overrides else None

    def _resolve(self, name: str) -> Any:
        kind = "dims" if name in self._loaded.document.dims else "vars"
        cursor = self._loaded.cursor[kind][name]
        if name in self._pending:
            cycle = self._pending[self._pending.index(name) :]
            self.circular |= set(cycle)
            raise cursor.error("E204", f"circular definition of {name!r}: {' → '.join([*cycle, name])}")
        if len(self._pending) >= MAX_DEFINITIONS:
            self.circular |= {*self}  # the rest may be as deep
            raise cursor.error("E204", f"over {MAX_DEFINITIONS} dims and vars that follow from each other")
        self._pending.append(name)
        try:
            return self._dim(name, cursor) if kind == "dims" else self._var(name, cursor)
        finally:
            self._pending.pop()

    def _overridden(self, name: str) -> Any:
        """Return the value that is given in place of the spec's; a text with ``${…}`` follows from other names."""
        value = self._overrides[name]
        return evaluate(self.place_of(name), self) if isinstance(value, str) and "${" in value else value

    def _dim(self, name: str, cursor: Cursor) -> Any:
        declared = self._loaded.document.dims[name]
        limits = declared if isinstance(declared, DimDecl) else DimDecl()
        if name in self._overrides:
            value = self._overridden(name)
        elif isinstance(cursor.data, dict):
            value = evaluate(cursor["default"], self) if "default" in cursor.data else None
        else:
            value = evaluate(cursor, self)
        default = default_of(value) if isinstance(value, (int, Poly)) else None
        multiple = math.lcm(limits.multiple_of, self._divisors.get(name, 1))
        dim = symbol(name, default, limits.min, limits.max, multiple)
        if not has_values(dim):
            raise cursor.error("E104", f"{name!r} has limits that no size is within")
        problem = None if value is None else refusal(dim, value)
        if problem is not None:
            raise self._invalid(name, cursor, problem, value, lambda size: refusal(dim, size) is None)
        return dim if value is None or name in self._symbolic else value

    def _var(self, name: str, cursor: Cursor) -> Any:
        declaration = self.declaration(name)
        default = _default(cursor)
        value = self._overridden(name) if name in self._overrides else evaluate(default, self)
        try:
            if declaration.type == "any" and name in self._overrides and not declaration.nullable:
                # a default that is an expression declares the type of its value
                declaration = _with_type(declaration, evaluate(default, self))
            checked = declaration.check(value)
        except ValueError as why:
            raise self._invalid(name, cursor, str(why), value, declaration.accepts) from None
        if name in self._symbolic:
            return self._symbols(name, checked, declaration)
        return placed(checked, self.place_of(name)) if declaration.type == "op" else checked

    def _symbols(self, name: str, value: Any, declaration: Declaration) -> Any:
        """Return the symbol of a var that is a whole number, or a list of one for each number of a list."""
        if isinstance(value, (list, tuple)) and value:
            return [self._symbols(f"{name}_{index}", item, declaration) for index, item in enumerate(value)]
        default = default_of(value) if isinstance(value, (int, Poly)) and not isinstance(value, bool) else None
        if default is None or default < 0:
            raise self._not_symbolic(name, value)
        least = 0 if default == 0 else 1
        least = max(least, math.ceil(declaration.minimum or 0))
        most = None if declaration.maximum is None else math.floor(declaration.maximum)
        return symbol(name, default, least, most, self._divisors.get(name, 1))

    def _not_symbolic(self, name: str, value: Any) -> NetcalcError:
        """Return the error of a var whose value cannot stay a symbol."""
        var = next(own for own in self.vars if own in self._symbolic and (own == name or name.startswith(f"{own}_")))
        if value is None:
            hint = f"--set {var}=NUMBER gives it a value"
            return self.place_of(var).error("E501", f"--symbolic {var}: it is null, and has no size", hint)
        names = [own for own in self.vars if own not in self._symbolic and is_sizes(self[own])]
        message = f"--symbolic {var}: {written(value, quoted=True)} is no whole number of at least 0"
        return self.place_of(var).error("E501", message, f"vars that can: {', '.join(names)}" if names else None)

    def place_of(self, name: str) -> Cursor:
        """Return the value of a var as it is written: its default, or the option that sets it."""
        if name in self._overrides:
            option = Span(f"--set {name}")
            return Cursor(self._overrides[name], (), {(): (option, option)})
        return _default(self._loaded.cursor["vars"][name])

    def declaration(self, name: str) -> Declaration:
        """Return the declaration of a variable; NetcalcError (E104) if it is malformed."""
        cursor = self._loaded.cursor["vars"][name]
        if Declaration in cursor.derived:
            return cursor.derived[Declaration]  # type: ignore[no-any-return]
        try:
            declaration = cursor.derived[Declaration] = declare_variable(name, cursor.data)
            return declaration
        except ValueError as why:
            raise cursor.error("E104", f"var {name!r}: {why}") from None

    def _invalid(self, name: str, cursor: Cursor, why: str, value: Any, accepts: Callable[[Any], bool]) -> NetcalcError:
        if name in self._overrides:
            return cursor.key_error("E501", f"--set {name}: {why}")
        from netcalc.spec.value_hints import explained  # hints are needed for errors only

        default, label = _default(cursor), self._loaded.label
        found = Diagnostic("E104", f"{name!r} {why}", default.span)
        if default.span is not None and default.span.file != label:
            given = place_in(label, self._loaded.cursor, [name], self._overrides)
            if given is not None:
                found = found._replace(span=given, related=(Related("required here", default.span),))
        return NetcalcError(explained(found, value, default, self, accepts))


def is_sizes(value: Any) -> bool:
    """Return True for a whole number of at least 0, or a list of them, which may stay symbols."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(is_sizes, value))
    return isinstance(value, Poly) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _default(cursor: Cursor) -> Cursor:
    """Return the default in the declaration of a dim or var."""
    return cursor["default"] if isinstance(cursor.data, dict) and "default" in cursor.data else cursor


def resolve_settings(
    loaded: Loaded, overrides: Mapping[str, Any], symbolic: Collection[str], divisors: Mapping[str, int] | None = None
) -> Settings:
    """Return all dims and vars.

    Args:
        loaded: the spec.
        overrides: values in place of the defaults.
        symbolic: names of dims that stay symbols.
        divisors: number that is assumed to divide a symbol, by name.

    Raises:
        NetcalcError: with every unknown name and invalid value.
    """
    document = loaded.document
    overrides = {composed(name): value for name, value in overrides.items()}
    overrides, warnings, errors = _current_names(loaded, overrides)
    symbolic = [composed(name) for name in symbolic]
    for name in overrides:
        if name not in document.dims and name not in document.vars:
            message = f"--set {name}: the spec has no dim or var of that name"
            errors.append(Diagnostic("E501", message, hint=known_names(name, loaded)))
    for name in symbolic:
        if name not in document.dims and name not in document.vars:
            message = f"--symbolic {name}: the spec has no dim or var of that name"
            errors.append(Diagnostic("E501", message, hint=known_names(name, loaded)))
    for name in document.vars:
        if name in document.dims:
            span = loaded.cursor["vars"][name].key_span
            errors.append(Diagnostic("E106", f"{name!r} is declared as a dim and as a var", span))
    if errors:
        raise NetcalcError(errors)
    settings = Settings(loaded, overrides, frozenset(symbolic), divisors or {})
    settings.warnings += warnings
    unmet, undefined = unmet_by_settings(loaded.cursor, loaded.label, settings, overrides)
    for name in settings:
        if name in settings.circular:
            continue  # reported when the first of them was evaluated
        try:
            settings[name]
        except NetcalcError as error:
            # the default of a var may follow from values that do not meet the requirements
            errors += error.diagnostics if not unmet or settings.is_overridden(name) else ()
            if len(errors) > MAX_ERRORS:
                break
    if errors or unmet or undefined:
        raise NetcalcError([*unmet, *errors, *undefined])
    return settings


def setting_names(loaded: Loaded) -> list[str]:
    """Return every name that ``--set`` takes: dims, vars, and former names of vars."""
    return [*loaded.document.dims, *loaded.document.vars, *former_vars(loaded)]


def known_names(name: str, loaded: Loaded) -> str:
    """Return the hint for an unknown name: the nearest name, and all dims and vars."""
    replaced = replacement(name, loaded.document.vars)
    if replaced is not None:
        return replaced
    near = nearest(name, setting_names(loaded))
    lists = {"dims": loaded.document.dims, "vars": loaded.document.vars}
    described = "; ".join(f"its {kind} are {', '.join(names)}" for kind, names in lists.items() if names)
    return "; ".join(filter(None, (f"did you mean {near!r}?" if near else "", described or "it has none")))


def former_vars(loaded: Loaded) -> dict[str, str]:
    """Return the present name of each var that had another one, by the former name."""
    declared = loaded.document.vars
    former = ((old, new) for new, value in declared.items() for old in former_names(value) if old not in declared)
    return kept(loaded.derived, former_vars, lambda: dict(former))


def _places_of_former_names(loaded: Loaded) -> dict[str, Span | None]:
    """Return the first place where an expression of the spec uses each former name of a var."""
    return kept(loaded.derived, places_of_names, lambda: places_of_names(loaded.cursor, former_vars(loaded)))


def _current_names(
    loaded: Loaded, overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Diagnostic], list[Diagnostic]]:
    """Return the overrides by current names, with the warnings and errors of former names among them."""
    former = former_vars(loaded)
    current: dict[str, Any] = {}
    warnings, errors = [], []
    for name, value in overrides.items():
        new = former.get(name, name)
        if new != name:
            warnings.append(Diagnostic("W102", f"--set {name}: the var is now called {new!r}"))
        if new != name and new in overrides:
            errors.append(Diagnostic("E501", f"--set {name}: {new!r}, the present name of the var, is given too"))
        current[new] = value
    return current, warnings, errors


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return (name, value) of ``name=value``, the value read as YAML; NetcalcError (E501) if it is malformed."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise NetcalcError(Diagnostic("E501", f"--set {text}: should be name=value", hint="for example --set batch=8"))
    return name.strip(), parse_scalar(value)


def _with_type(declaration: Declaration, default: Any) -> Declaration:
    """Return the declaration with the type of its evaluated default."""
    type_ = declare_variable(declaration.name, default).type
    return declaration._replace(type=type_, default=default, nullable=False, about="")
