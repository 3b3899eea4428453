"""Limits on the work of an elaboration: terms of polynomials, and items of lists in expressions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import process_time

from netcalc.diagnostics import Diagnostic, NetcalcError, TooLargeError
from netcalc.limits import MAX_TERMS, MAX_WORK

_work: ContextVar[_Work | None] = ContextVar("work", default=None)


class _Work:
    """Steps that were counted, and the limits of these and of the processor's time in seconds."""

    __slots__ = ("most", "steps", "until")

    def __init__(self, most: int, until: float) -> None:
        self.steps, self.most, self.until = 0, most, until


@contextmanager
def limited_work(most: int = MAX_WORK, until: float = math.inf) -> Iterator[None]:
    """Count the work inside; TooLargeError (E003) is raised where it is more steps than ``most``.

    It is also raised where the processor's time of the process is later than ``until``.
    """
    token = _work.set(_Work(most, until))
    try:
        yield
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
    if work.until != math.inf and process_time() > work.until:
        raise TooLargeError(Diagnostic(MAX_WORK.code, "the expressions and symbolic sizes of the spec take too long"))


def spend_terms(terms: int) -> None:
    """Count terms as steps of work; NetcalcError (E404) if they are too many for one polynomial."""
    if terms > MAX_TERMS:
        message = f"a symbolic size would have {terms:,} terms (at most {MAX_TERMS:,})"
        raise NetcalcError(Diagnostic(MAX_TERMS.code, message, hint="leave out --symbolic for some of the sizes"))
    spend(terms)
