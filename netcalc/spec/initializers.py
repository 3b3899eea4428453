"""Initializers that a spec declares, with the values of its vars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.dims import symbolic_values
from netcalc.inits import parse_init
from netcalc.ir import InitRule
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate
from netcalc.spec.library import Loaded
from netcalc.spec.reporter import Reporter
from netcalc.spec.settings import Settings


def initializers(loaded: Loaded, settings: Settings) -> tuple[InitRule, ...]:
    """Return the initializers of a spec in their order; NetcalcError (E104) with every one that is not known.

    Those that depend on symbolic vars are left out: a program with such vars is not executed.
    """
    reporter = Reporter()
    rule = _rule_without_symbols if settings.symbolic_vars else _rule
    rules = [reporter.guard(rule, *entry, settings) for entry in _entries(loaded)]
    reporter.raise_if_any()
    return tuple(rule for rule in rules if rule is not None)


def _entries(loaded: Loaded) -> Iterator[tuple[str, str, Cursor]]:
    """Yield operation (empty for all), pattern and place of every initializer."""
    for name, text in loaded.document.init.items():
        place = loaded.cursor["init"][name]
        if isinstance(text, str):
            yield "", name, place
        else:
            yield from ((name, param, place[param]) for param in text)


def _rule_without_symbols(operation: str, pattern: str, place: Cursor, settings: Mapping[str, Any]) -> InitRule | None:
    try:
        with symbolic_values():
            return _rule(operation, pattern, place, settings)
    except NetcalcError as error:
        if all(found.code == "E404" for found in error.diagnostics):
            return None
        raise


def _rule(operation: str, pattern: str, place: Cursor, settings: Mapping[str, Any]) -> InitRule:
    text = str(evaluate(place, settings))
    try:
        parse_init(text)
    except NetcalcError as error:
        raise NetcalcError(d._replace(code="E104", span=place.span) for d in error.diagnostics) from None
    return InitRule(pattern, text, place.span, operation)
