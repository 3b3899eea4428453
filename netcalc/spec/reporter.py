"""Collection of diagnostics during elaboration, so that one pass reports every independent error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, Span, TooLargeError, Unlisted
from netcalc.limits import MAX_ERRORS, MAX_LINES
from netcalc.spec.cursor import Cursor
from netcalc.spec.scope import Poisoned

_T = TypeVar("_T")
_DIGITS = re.compile(r"\d+")
_MOST_CALLS = 4


class Reporter:
    """Diagnostics found so far, and the chain of block calls and iterations that is being elaborated."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.chain: list[Related] = []
        self.deepest = 0  # the greatest length of the chain

    def report(self, error: NetcalcError, bindings: Mapping[str, Any] | None = None) -> None:
        """Record an error; diagnostics without a chain or bindings get the current ones."""
        chain = tuple(self.chain)
        self.diagnostics += (
            d._replace(chain=d.chain or chain, bindings=d.bindings or bindings or {}) for d in error.diagnostics
        )
        if len(self.diagnostics) > MAX_ERRORS:
            listed = list(_merge_calls(self.diagnostics))[:MAX_ERRORS]
            raise TooLargeError([*listed, Unlisted.after(self.diagnostics[-1])])

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
        self.deepest = max(self.deepest, len(self.chain))
        try:
            yield
        finally:
            self.chain.pop()

    def raise_if_any(self) -> None:
        """Raise NetcalcError with all diagnostics, if there are any; an error in several calls is included once."""
        if self.diagnostics:
            raise NetcalcError(_merge_calls(self.diagnostics))


def _merge_calls(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the diagnostics; a line that fails in several calls of its block has one, which counts the others."""
    groups: dict[Any, list[Diagnostic]] = {}
    for item in diagnostics:
        # sizes in the message may differ from call to call
        key = (item.code, item.span, _DIGITS.sub("", item.message)) if item.chain and item.span else id(item)
        groups.setdefault(key, []).append(item)
    for first, *others in groups.values():
        calls = list(dict.fromkeys(filter(None, (_other_call(first.chain, item.chain) for item in others))))
        if not calls:
            yield first
            continue
        shown = ", ".join(calls[:_MOST_CALLS]) + (", …" if len(calls) > _MOST_CALLS else "")
        text = f"the same in {len(calls)} other {'call' if len(calls) == 1 else 'calls'}: {shown}"
        yield first._replace(related=(*first.related, Related(text)))


def _other_call(first: Sequence[Related], other: Sequence[Related]) -> str | None:
    """Return the place of the innermost call or iteration in which ``other`` differs from ``first``."""
    inner = next((entry for entry in reversed(other) if entry not in first), None)
    if inner is None:
        return None
    is_shared = any(entry.span == inner.span for entry in first)
    return inner.text if is_shared or inner.span is None else str(inner.span)


class LineBudget:
    """Limit on the number of lines that are elaborated."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.used = 0

    def spend(self, lines: int, cursor: Cursor) -> None:
        """Count lines; TooLargeError above the limit."""
        self.used += lines
        if self.used > MAX_LINES:
            message = f"the spec unrolls to more than {MAX_LINES:,} lines, as its iterations cannot be folded"
            hint = "iterations are folded if the repeat has a name and its lines do not use the loop variable"
            chain = tuple(self._reporter.chain)
            raise TooLargeError(Diagnostic("E003", message, cursor.span, chain=chain, hint=hint))
