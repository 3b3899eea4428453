"""The search behind ``reconcile --reported``: choices of counting that reproduce a number to its last digit."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import ceil, floor
from shlex import quote
from typing import NamedTuple

from netcalc.analysis.reported import Diagnosis, Explained
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.planning.reported_counts import FACTOR, Counted, param_candidates, recounted, work_candidates
from netcalc.planning.reported_number import BASES, Reported, reported_number
from netcalc.reconcile_options import ReportedOptions
from netcalc.request import Request

#: Most choices of an explanation.
CHOICES = 3
_SHOWN = 10
_DRAWN = 1000
_BINARY = "a prefix of powers of 1024"


class _Match(NamedTuple):
    counted: Counted
    base: int

    @property
    def changes(self) -> int:
        return self.counted.changes + (self.base != BASES[0])


def diagnosed(request: Request, options: ReportedOptions) -> Diagnosis:
    """Return what explains a reported number of work or of parameters.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.reconcile_reported` does.
    """
    work, params = options["reported"], options["reported_params"]
    if (work is None) == (params is None):
        raise NetcalcError(Diagnostic("E502", "one number is explained at a time", hint="--reported 11.29G"))
    if request.symbolic:
        raise NetcalcError(Diagnostic("E404", "a number is explained at sizes that are numbers: no --symbolic"))
    text = work if work is not None else params
    assert text is not None
    if work is not None:
        number = reported_number(work, "--reported", units=True)
        candidates = [*work_candidates(request, number.unit, CHOICES)]
    else:
        number = reported_number(text, "--reported-params", units=False)
        candidates = [*param_candidates(request, CHOICES)]
    search = _Search(candidates, number)
    chances = search.chances()
    holding = _simplest(match for match in search.matches() if _holds(request, match))
    found = tuple(_explained(request, match, chances) for match in islice(holding, _SHOWN))
    nearest = None if found else next((match for match in search.nearest() if _holds(request, match)), None)
    return Diagnosis(
        request.program.name,
        text.strip(),
        "work" if work is not None else "params",
        number.unit,
        found,
        None if nearest is None else _explained(request, nearest, chances),
        None if nearest is None else round(number.value - Fraction(nearest.counted.scaled, FACTOR)),
        len({candidate.scaled for candidate in candidates}),
    )


class _Search:
    """Candidates in order of their values, and a number."""

    def __init__(self, candidates: Sequence[Counted], number: Reported) -> None:
        self._candidates = sorted(candidates, key=lambda counted: counted.scaled)
        self._number = number
        self._values = [counted.scaled for counted in self._candidates]

    def matches(self) -> Iterable[_Match]:
        """Return the candidates that are printed as the number, those with the fewest choices first."""
        found = []
        for base in BASES if self._number.power else BASES[:1]:
            low, high = _bounds(self._number, base)
            inside = self._candidates[bisect_left(self._values, low) : bisect_right(self._values, high)]
            found += [match for counted in inside if (match := _Match(counted, base)).changes <= CHOICES]
        return sorted(found, key=lambda match: (match.changes, match.counted.rank, match.base))

    def nearest(self) -> Iterator[_Match]:
        """Yield the candidates from the nearest to the number on, those with the fewest choices first."""
        value = self._number.value * FACTOR
        ordered = sorted(self._candidates, key=lambda one: (abs(one.scaled - value), one.changes, one.rank))
        yield from (_Match(counted, BASES[0]) for counted in ordered)

    def chances(self) -> Sequence[float]:
        """Return the share of drawn numbers that are explained, by the largest number of choices.

        Numbers of as many decimals are drawn between half and twice the reported one, each order of magnitude alike.
        """
        number, source = self._number, random.Random(0)
        drawn = []
        for _ in range(_DRAWN):
            digits = Fraction(float(number.digits) * 2 ** source.uniform(-1, 1))
            drawn.append(number._replace(digits=round(digits / number.step) * number.step))
        return [self._share(drawn, most) for most in range(CHOICES + 1)]

    def _share(self, drawn: Iterable[Reported], most: int) -> float:
        values = {
            base: [one.scaled for one in self._candidates if _Match(one, base).changes <= most]
            for base in (BASES if self._number.power else BASES[:1])
        }
        explained = 0
        for number in drawn:
            bounds = ((own, *_bounds(number, base)) for base, own in values.items())
            explained += any(bisect_left(own, low) < bisect_right(own, high) for own, low, high in bounds)
        return explained / _DRAWN


def _simplest(matches: Iterable[_Match]) -> Iterator[_Match]:
    """Yield the matches that are not an earlier one with further choices, which change no digit."""
    earlier: list[frozenset[str]] = []
    for match in matches:
        choices = frozenset((*match.counted.choices, *([_BINARY] if match.base != BASES[0] else [])))
        if not any(simpler <= choices for simpler in earlier):
            earlier.append(choices)
            yield match


def _bounds(number: Reported, base: int) -> tuple[int, int]:
    low, high = number.interval(base)
    return ceil(low * FACTOR), floor(high * FACTOR)


def _holds(request: Request, match: _Match) -> bool:
    """Return True if the value is what a count at the sizes of the explanation gives, too."""
    return recounted(request, match.counted) == match.counted.scaled


def _explained(request: Request, match: _Match, chances: Sequence[float]) -> Explained:
    counted = match.counted
    choices = (*counted.choices, *([_BINARY] if match.base != BASES[0] else []))
    value = round(Fraction(counted.scaled, FACTOR))
    command = " ".join(_command(request, counted))
    return Explained(value, choices, command, counted.base, counted.arithmetic, chances[min(match.changes, CHOICES)])


def _command(request: Request, counted: Counted) -> Iterator[str]:
    """Yield the words of the command that prints the figure."""
    yield from ("netcalc", counted.verb, quote(str(request.model or request.program.name)))
    if request.mode is not None:
        yield f"--mode {request.mode}"
    if counted.convention != "netcalc":
        yield f"--convention {counted.convention}"
    for name, value in {**request.settings, **dict(counted.settings)}.items():
        yield f"--set {quote(f'{name}={value}')}"
