"""A limit on the work of an elaboration: terms of polynomials, and items of lists in expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from netcalc.diagnostics import Diagnostic, NetcalcError, TooLargeError
from netcalc.limits import MAX_TERMS, MAX_WORK

_spent: ContextVar[list[int] | None] = ContextVar("spent", default=None)


@contextmanager
def limited_work(most: int = MAX_WORK) -> Iterator[None]:
    """Count the work inside; TooLargeError (E003) is raised where it is more steps than ``most``."""
    token = _spent.set([0, most])
    try:
        yield
    finally:
        _spent.reset(token)


def spend(steps: int) -> None:
    """Count steps of work; TooLargeError beyond the limit of the innermost :func:`limited_work`, if any."""
    spent = _spent.get()
    if spent is not None:
        spent[0] += steps
        if spent[0] > spent[1]:
            message = f"the expressions and symbolic sizes of the spec take over {spent[1]:,} steps"
            raise TooLargeError(Diagnostic(MAX_WORK.code, message))


def spend_terms(terms: int) -> None:
    """Count terms as steps of work; NetcalcError (E404) if they are too many for one polynomial."""
    if terms > MAX_TERMS:
        message = f"a symbolic size would have {terms:,} terms (at most {MAX_TERMS:,})"
        raise NetcalcError(Diagnostic(MAX_TERMS.code, message, hint="leave out --symbolic for some of the sizes"))
    spend(terms)
