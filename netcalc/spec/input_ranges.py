"""Ranges of inputs, held against the numbers that the operations which read them take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Related
from netcalc.dims import Dim, Poly, in_sketch, maximum, minimum, required
from netcalc.dtypes import INEXACT
from netcalc.ir import Body, InputSpec, Value
from netcalc.ir.readers import Reader, readers
from netcalc.opdef import Domain


def with_ranges(
    inputs: Sequence[InputSpec], values: Iterable[Value | None], body: Body, passed: Iterable[Value | None]
) -> tuple[InputSpec, ...]:
    """Return inputs, those without a range with the range that all operations which read them take.

    An operation reads an input if it takes the input itself or a view of it.

    Args:
        inputs: the inputs.
        values: the value of each input.
        body: the body that reads them.
        passed: the value that is passed for each input of the body.

    Raises:
        NetcalcError: E104 for each input that may hold numbers which an operation does not take.
    """
    readers_of = dict(zip(passed, readers(body), strict=True))
    read = [(spec, value, readers_of.get(value, ())) for spec, value in zip(inputs, values, strict=True)]
    problems = [problem for spec, value, by in read if (problem := _problem(spec, value, by)) is not None]
    if problems:
        raise NetcalcError(problems)
    return tuple(_ranged(spec, [reader.domain for reader in by]) for spec, _, by in read)


def _problem(spec: InputSpec, value: Value | None, by: Iterable[Reader]) -> Diagnostic | None:
    """Return the error of an input that may hold numbers which an operation does not take, None for others."""
    step = 0 if spec.type.dtype in INEXACT else 1  # from the last number of a range to its end
    held = [] if spec.low is None or spec.high is None else [(spec.low, spec.high)]
    held += [] if spec.default is None else [(spec.default, spec.default + step)]
    for domain, operation, span in by:
        for low, high in held:
            if not _includes(domain, low, high):
                numbers = f"{low:g}" if low == high - step else f"{low:g} to {high - step:g}"
                also = "" if domain.also is None else f", or {domain.also}"
                taken = f"{domain.low} to {domain.high - step}{also}"
                message = f"the input {spec.name!r} may hold {numbers}, and {operation} takes {taken}"
                hint = f"write range: [{domain.low}, {domain.high}]"
                place = None if value is None else value.span
                return Diagnostic("E104", message, place, (Related(f"{operation} takes it", span),), hint=hint)
    return None


def _includes(domain: Domain, low: float, high: float) -> bool:
    """Return True if a domain includes a range; for symbolic sizes that is assumed where they leave it open."""
    if domain.also is not None:
        low, high = low + (low == domain.also), high - (high - 1 == domain.also)
    return low >= high or (_at_most(domain.low, low) and _at_most(high, domain.high))


def _at_most(a: Dim | float, b: Dim | float) -> bool:
    if isinstance(a, Poly) or isinstance(b, Poly):  # a position, which is a whole number
        return required(a if isinstance(a, Poly) else int(a), "<=", b if isinstance(b, Poly) else int(b))
    return a <= b


def _ranged(spec: InputSpec, domains: Sequence[Domain]) -> InputSpec:
    """Return an input with the numbers that all domains include as its range, unless it declares a range."""
    if not domains or spec.low is not None:
        return spec
    low: Any = maximum(*(domain.low for domain in domains))
    high: Any = minimum(*(domain.high for domain in domains))  # of a sketch both may be symbolic
    if not in_sketch() and (isinstance(low, Poly) or isinstance(high, Poly) or low >= high):
        return spec
    also = spec.also if len({domain.also for domain in domains}) > 1 or spec.also is not None else domains[0].also
    return spec._replace(low=low, high=high, also=also)
