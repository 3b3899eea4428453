"""The search behind ``reconcile --reported``: choices of counting that reproduce a number to its last digit."""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from math import ceil, floor
from shlex import quote
from typing import Literal, NamedTuple

from netcalc.analysis.conventions import Convention
from netcalc.analysis.reported import Diagnosis, Explained, FigureName
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.planning.reported_counts import FACTOR, Counted, searched_conventions
from netcalc.planning.reported_number import Reported, reported_bytes, reported_number
from netcalc.reconcile_options import ReportedOptions
from netcalc.request import Request

#: Most choices of an explanation.
CHOICES = 3
_SHOWN = 10
_DRAWN = 1000
#: Options of numbers.
_OPTIONS: dict[FigureName, Literal["reported", "reported_params", "reported_memory"]] = {
    "work": "reported",
    "params": "reported_params",
    "memory": "reported_memory",
}


class _Match(NamedTuple):
    counted: Counted
    base: int
    prefix: str = ""
    """Words for a prefix of another base than the number says."""

    @property
    def choices(self) -> tuple[str, ...]:
        return (*self.counted.choices, self.prefix) if self.prefix else self.counted.choices

    @property
    def changes(self) -> int:
        return self.counted.changes + bool(self.prefix)


def diagnosed(request: Request, options: ReportedOptions) -> Diagnosis:
    """Return what explains a reported number of work, parameters or bytes.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.reconcile_reported` does.
    """
    numbers = {name: options[key] for name, key in _OPTIONS.items() if options[key] is not None}
    if len(numbers) != 1:
        raise NetcalcError(Diagnostic("E502", "one number is explained at a time", hint="--reported 11.29G"))
    if request.symbolic:
        raise NetcalcError(Diagnostic("E404", "a number is explained at sizes that are numbers: no --symbolic"))
    ((figure, text),) = numbers.items()
    assert text is not None
    number, candidates = _searched(request, figure, text, options["convention"])
    search = _Search(candidates, number)
    chances = search.chances()
    holding = _simplest(match for match in search.matches() if _holds(match))
    found = tuple(_explained(request, match, chances) for match in islice(holding, _SHOWN))
    nearest = None if found else next((match for match in search.nearest() if _holds(match)), None)
    return Diagnosis(
        request.program.name,
        text.strip(),
        figure,
        number.unit,
        found,
        None if nearest is None else _explained(request, nearest, chances),
        None if nearest is None else round(search.left_over(nearest)),
        len({candidate.scaled for candidate in candidates}),
    )


def _searched(request: Request, figure: FigureName, text: str, own: str | None) -> tuple[Reported, list[Counted]]:
    """Return the number that a text stands for, and the values among which it is looked for."""
    option = f"--{_OPTIONS[figure].replace('_', '-')}"
    if figure == "memory":
        number = reported_bytes(text, option)
    else:
        number = reported_number(text, option, units=figure == "work")
    conventions = searched_conventions(own)
    key = diagnosed, figure, number.unit, None if own is None else id(conventions[own])
    if key not in request.derived:
        request.derived[key] = [*_candidates(request, figure, conventions, number.unit)]
    return number, request.derived[key]


def _candidates(
    request: Request, figure: FigureName, conventions: Mapping[str, Convention], unit: str
) -> Iterator[Counted]:
    if figure == "params":
        from netcalc.planning.reported_params import param_candidates

        return param_candidates(request, conventions, CHOICES)
    if figure == "memory":
        from netcalc.planning.reported_memory import memory_candidates

        return memory_candidates(request, conventions, CHOICES)
    from netcalc.planning.reported_work import work_candidates

    return work_candidates(request, conventions, unit, CHOICES)


class _Search:
    """Candidates in order of their values, and a number."""

    def __init__(self, candidates: Sequence[Counted], number: Reported) -> None:
        self._candidates = sorted(candidates, key=lambda counted: counted.scaled)
        self._number = number
        self._values = [counted.scaled for counted in self._candidates]

    def matches(self) -> Iterable[_Match]:
        """Return the candidates that are printed as the number, those with the fewest choices first."""
        found = []
        for base in self._number.bases:
            low, high = _bounds(self._number, base)
            inside = self._candidates[bisect_left(self._values, low) : bisect_right(self._values, high)]
            found += [match for counted in inside if (match := self._match(counted, base)).changes <= CHOICES]
        return sorted(found, key=lambda match: (match.changes, match.counted.rank, match.base))

    def nearest(self) -> Iterator[_Match]:
        """Yield the candidates from the nearest to the number on, those with the fewest choices first.

        The distance is in steps of the last digit, below which the number says nothing.
        """
        number, found = self._number, list[tuple[int, int, tuple[int, ...], int, int]]()
        for base in number.bases:
            unit = base**number.power * FACTOR
            places = number.step.denominator
            value, step = int(number.digits * unit * places), int(number.step * unit * places)
            other = base != number.bases[0]
            for index, counted in enumerate(self._candidates):
                if counted.changes + other <= CHOICES:
                    steps = (2 * abs(value - counted.scaled * places) + step) // (2 * step)
                    found.append((steps, counted.changes + other, counted.rank, index, base))
        yield from (self._match(self._candidates[index], base) for *_, index, base in sorted(found))

    def left_over(self, match: _Match) -> Fraction:
        """Return the number, with the prefix of a match, minus the value of this."""
        return self._number.of(match.base) - Fraction(match.counted.scaled, FACTOR)

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
            base: [c.scaled for c in self._candidates if c.changes + (base != self._number.bases[0]) <= most]
            for base in self._number.bases
        }
        explained = 0
        for number in drawn:
            bounds = ((own, *_bounds(number, base)) for base, own in values.items())
            explained += any(bisect_left(own, low) < bisect_right(own, high) for own, low, high in bounds)
        return explained / _DRAWN

    def _match(self, counted: Counted, base: int) -> _Match:
        return _Match(counted, base, "" if base == self._number.bases[0] else f"a prefix of powers of {base}")


def _simplest(matches: Iterable[_Match]) -> Iterator[_Match]:
    """Yield the matches that are not an earlier one with further choices, which change no digit."""
    earlier: list[frozenset[str]] = []
    for match in matches:
        choices = frozenset(match.choices)
        if not any(simpler <= choices for simpler in earlier):
            earlier.append(choices)
            yield match


def _bounds(number: Reported, base: int) -> tuple[int, int]:
    low, high = number.interval(base)
    return ceil(low * FACTOR), floor(high * FACTOR)


def _holds(match: _Match) -> bool:
    """Return True if the value is what a count at the sizes of the explanation gives, too."""
    again = match.counted.again
    return again is None or again() == match.counted.scaled


def _explained(request: Request, match: _Match, chances: Sequence[float]) -> Explained:
    counted = match.counted
    value = round(Fraction(counted.scaled, FACTOR))
    command = " ".join(command_of(request, counted))
    chance = chances[min(match.changes, CHOICES)]
    return Explained(value, match.choices, command, counted.base, counted.arithmetic, chance)


def command_of(request: Request, counted: Counted) -> Iterator[str]:
    """Yield the words of the command that prints the figure."""
    yield from ("netcalc", counted.verb, quote(str(request.model or request.program.name)))
    if request.mode is not None:
        yield f"--mode {request.mode}"
    if counted.convention != "netcalc":
        yield f"--convention {counted.convention}"
    yield from map(quote, counted.options)
    for name, value in {**request.settings, **dict(counted.settings)}.items():
        yield f"--set {quote(f'{name}={value}')}"
