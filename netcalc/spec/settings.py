"""The dims and vars of a spec at the values that are asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Poly, symbol
from netcalc.spec.declarations import Declaration, declare_variable
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import Loaded
from netcalc.spec.source import Cursor, parse_scalar

__all__ = ["Settings", "parse_assignment", "resolve_settings"]


class Settings(Mapping[str, Any]):
    """Dims and vars by name, each evaluated when it is first asked for."""

    def __init__(self, loaded: Loaded, given: Mapping[str, Any], symbolic: Collection[str]) -> None:
        self._loaded = loaded
        self._given = given
        self._symbolic = symbolic
        self._values: dict[str, Any] = {}
        self._pending: list[str] = []
        self.circular: set[str] = set()  # names of circles that were found
        self.dims = tuple(loaded.document.dims)
        self.vars = tuple(loaded.document.vars)

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = self._resolve(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.dims
        yield from self.vars

    def __len__(self) -> int:
        return len(self.dims) + len(self.vars)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded.document.dims or name in self._loaded.document.vars

    def _resolve(self, name: str) -> Any:
        kind = "dims" if name in self._loaded.document.dims else "vars"
        cursor = self._loaded.cursor[kind][name]
        if name in self._pending:
            around = self._pending[self._pending.index(name) :]
            self.circular |= set(around)
            circle = " → ".join([*around, name])
            raise NetcalcError(Diagnostic("E204", f"{name!r} is defined through itself: {circle}", cursor.span))
        self._pending.append(name)
        try:
            return self._dim(name, cursor) if kind == "dims" else self._var(name, cursor)
        finally:
            self._pending.pop()

    def _dim(self, name: str, cursor: Cursor) -> Any:
        value = self._given[name] if name in self._given else evaluate(cursor, self, self)
        if value is None or name in self._symbolic:
            return symbol(name, value if isinstance(value, int) else None)
        if isinstance(value, Poly):
            return value
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._bad(name, cursor, f"should be a whole number of at least 1, not {value!r}")
        return value

    def _var(self, name: str, cursor: Cursor) -> Any:
        declaration = self.declaration(name)
        default = cursor["default"] if isinstance(cursor.data, dict) and "default" in cursor.data else cursor
        value = self._given[name] if name in self._given else evaluate(default, self, self)
        try:
            if declaration.type == "any" and name in self._given and not declaration.nullable:
                # the type of a default that is an expression is that of its value
                declaration = _typed(declaration, evaluate(default, self, self))
            return declaration.check(value)
        except ValueError as why:
            raise self._bad(name, cursor, str(why)) from None

    def declaration(self, name: str) -> Declaration:
        """What the spec says of a variable."""
        cursor = self._loaded.cursor["vars"][name]
        try:
            return declare_variable(name, cursor.data)
        except ValueError as why:
            raise NetcalcError(Diagnostic("E104", f"var {name!r}: {why}", cursor.span)) from None

    def _bad(self, name: str, cursor: Cursor, why: str) -> NetcalcError:
        if name in self._given:
            return NetcalcError(Diagnostic("E501", f"--set {name}: {why}", cursor.key_span))
        return NetcalcError(Diagnostic("E104", f"{name!r} {why}", cursor.span))


def resolve_settings(loaded: Loaded, given: Mapping[str, Any], symbolic: Collection[str]) -> Settings:
    """Every dim and var; NetcalcError with all that is wrong with them."""
    document = loaded.document
    problems: list[Diagnostic] = []
    for name in given:
        if name not in document.dims and name not in document.vars:
            hint = did_you_mean(name, [*document.dims, *document.vars])
            problems.append(Diagnostic("E501", f"--set {name}: the spec has no dim or var of this name", hint=hint))
    for name in symbolic:
        if name not in document.dims:
            hint = did_you_mean(name, document.dims)
            problems.append(Diagnostic("E501", f"--symbolic {name}: the spec has no dim of this name", hint=hint))
    for name in document.vars:
        if name in document.dims:
            span = loaded.cursor["vars"][name].key_span
            problems.append(Diagnostic("E106", f"{name!r} is both a dim and a var", span))
    if problems:
        raise NetcalcError(problems)
    settings = Settings(loaded, given, frozenset(symbolic))
    for name in settings:
        if name in settings.circular:
            continue  # reported where the circle was entered
        try:
            settings[name]
        except NetcalcError as error:
            problems += error.diagnostics
    if problems:
        raise NetcalcError(problems)
    return settings


def parse_assignment(text: str) -> tuple[str, Any]:
    """``name=value`` as (name, value), the value read as YAML."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise NetcalcError(Diagnostic("E501", f"--set {text}: should be name=value", hint="for example --set batch=8"))
    return name.strip(), parse_scalar(value)


def _typed(declaration: Declaration, default: Any) -> Declaration:
    plain = declare_variable(declaration.name, default)
    return Declaration(
        plain.name, plain.type, default, False, declaration.minimum, declaration.maximum, declaration.choices
    )
