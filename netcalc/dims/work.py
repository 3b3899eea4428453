"""Limits on the work of an elaboration: terms of polynomials, and items of lists in expressions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from netcalc.diagnostics import Diagnostic, NetcalcError, TooLargeError
from netcalc.limits import MAX_TERMS, MAX_WORK

_work: ContextVar[Work | None] = ContextVar("work", default=None)


class Work:
    """Steps that were counted, and their limit."""

    __slots__ = ("most", "steps")

    def __init__(self, most: int) -> None:
        self.steps, self.most = 0, most


@contextmanager
def limited_work(most: int = MAX_WORK) -> Iterator[Work]:
    """Count the work inside; TooLargeError (E003) is raised where it is more steps than ``most``."""
    work = Work(most)
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


def spend(steps: int) -> None:
    """Count steps of work; TooLargeError beyond the limit of the innermost :func:`limited_work`, if any."""
    work = _work.get()
    if work is None:
        return
    work.steps += steps
    if work.steps > work.most:
        message = f"the expressions and symbolic sizes of the spec take over {work.most:,} steps"
        raise TooLargeError(Diagnostic(MAX_WORK.code, message))


def spend_terms(terms: int) -> None:
    """Count terms as steps of work; NetcalcError (E404) if they are too many for one polynomial."""
    if terms > MAX_TERMS:
        message = f"a symbolic size would have {terms:,} terms (at most {MAX_TERMS:,})"
        raise NetcalcError(Diagnostic(MAX_TERMS.code, message, hint="leave out --symbolic for some of the sizes"))
    spend(terms)
