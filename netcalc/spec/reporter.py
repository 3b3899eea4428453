"""Collection of diagnostics during elaboration, so that one pass reports every independent error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, Span
from netcalc.spec.cursor import Cursor
from netcalc.spec.limits import MAX_LINES
from netcalc.spec.scope import Poisoned

__all__ = ["LineBudget", "Reporter", "TooLargeError"]

_T = TypeVar("_T")


class TooLargeError(NetcalcError):
    """Error that ends elaboration at once; after any other error it continues."""


class Reporter:
    """Diagnostics found so far, and the chain of block calls and iterations that is being elaborated."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.chain: list[Related] = []

    def report(self, error: NetcalcError, bindings: Mapping[str, str] | None = None) -> None:
        """Record an error; diagnostics without a chain or bindings get the current ones."""
        chain = tuple(self.chain)
        self.diagnostics += (
            d._replace(chain=d.chain or chain, bindings=d.bindings or bindings or {}) for d in error.diagnostics
        )

    def guard(self, work: Callable[..., _T], *args: Any) -> _T | None:
        """Return the result of ``work``; None if it raised an error, which is recorded."""
        try:
            return work(*args)
        except NetcalcError as error:
            self.report(error)
        except Poisoned:
            pass
        return None

    @contextmanager
    def inside(self, text: str, span: Span | None) -> Iterator[None]:
        """Add an entry to the chain of the errors reported inside."""
        self.chain.append(Related(text, span))
        try:
            yield
        finally:
            self.chain.pop()

    def raise_if_any(self) -> None:
        """Raise NetcalcError with all diagnostics, if there are any."""
        if self.diagnostics:
            raise NetcalcError(self.diagnostics)


class LineBudget:
    """Limit on the number of lines that are elaborated."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._used = 0

    def spend(self, lines: int, cursor: Cursor) -> None:
        """Count lines; TooLargeError above the limit."""
        self._used += lines
        if self._used > MAX_LINES:
            message = f"the spec unrolls to more than {MAX_LINES:,} lines, as its iterations cannot be folded"
            hint = "iterations are folded if the repeat has a name and its lines do not use the loop variable"
            chain = tuple(self._reporter.chain)
            raise TooLargeError(Diagnostic("E003", message, cursor.span, chain=chain, hint=hint))
