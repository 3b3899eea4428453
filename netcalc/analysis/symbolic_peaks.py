"""Peaks of activations at symbolic sizes, as formulas.

The program is evaluated near its default sizes, on numbers with formulas (:mod:`netcalc.dims.valued`).  The bytes that
are live at each operation are a formula then, and the peak is their maximum: an exact one, in which the operations are
left out whose formula another one exceeds at all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from netcalc.analysis.activations.peaks import ExecutionName, activations
from netcalc.analysis.activations.records import Activations
from netcalc.analysis.caches.beside import beside_caches
from netcalc.diagnostics import TooLargeError
from netcalc.dims import (
    Assumption,
    Dim,
    Poly,
    Settled,
    Symbol,
    UndecidedError,
    assumptions,
    bounds_of,
    claimed,
    default_of,
    limited_work,
    maximum,
)
from netcalc.dims.atoms import Call
from netcalc.dims.polynomial import as_dim
from netcalc.dims.settled import least_of
from netcalc.dims.valued import comparing_values, form_of, valued
from netcalc.ir import Body, CallNode, Program
from netcalc.ir.specialize import Specializer
from netcalc.limits import MAX_PEAK_WORK
from netcalc.options import AttentionKernel
from netcalc.results import recorded

_Place = TypeVar("_Place")

#: Numbers of iterations from 1 on at which a formula is tried: their first and last ones differ from the others.
_FEWER = 4


@recorded("at", "bytes")
class PeakMoment(NamedTuple):
    """An operation at which the activations may be the most."""

    at: str
    """Path of the operation, or of its first instance."""
    bytes: Dim
    """Live bytes while it runs."""


@recorded("execution", "peak", "moments", "assumptions")
class SymbolicPeak(NamedTuple):
    """Peak of the activations as a formula: the maximum over moments."""

    execution: ExecutionName
    peak: Dim
    """The most bytes at a time."""
    moments: tuple[PeakMoment, ...]
    """Moments of the maximum, that of the default sizes first."""
    claims: tuple[Assumption, ...]
    """Relations between sizes that the formula relies on, besides those of the network."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The relations in words."""
        return tuple(map(claimed, self.claims))


def symbolic_peaks(program: Program, attention: AttentionKernel) -> tuple[SymbolicPeak, ...]:
    """Return the peaks of ideal and eager execution of a program with symbols, as far as they have formulas."""
    kinds: Mapping[ExecutionName, Callable[[Program], Activations]] = {
        "ideal": beside_caches,
        "eager": lambda at: activations(at, "eager", attention),
    }
    found = (_peak(name, program, evaluate) for name, evaluate in kinds.items())
    return tuple(peak for peak in found if peak is not None)


def _peak(name: ExecutionName, program: Program, evaluate: Callable[[Program], Activations]) -> SymbolicPeak | None:
    """Return the peak of an execution, None if it has no formula.

    A size whose default is 0 or 1 is taken for a larger one, and for no 1, unless the peak at the defaults is another
    one then.
    """
    defaults, general = tried_sizes(program)
    try:
        number = evaluate(AtSizes(lambda size: size.at({})).program(program, ())).peak
        for sizes, by_value in ((general, False), (defaults, False), (defaults, True)):
            with limited_work(MAX_PEAK_WORK):
                found = _by_formulas(name, program, evaluate, sizes, by_value)
            holds = found is not None and all(claim.holds(defaults) for claim in found.claims)
            if found is not None and holds and default_of(found.peak) == number:
                return found
    except (TooLargeError, UndecidedError):
        pass  # a formula that takes long, or a size without a default
    return None


def tried_sizes(program: Program) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the default sizes, and sizes at which none whose default is 0 or 1 is taken for a 1 that it is not."""
    symbols = symbols_of(program)
    defaults = {symbol.name: symbol.example for symbol in symbols if symbol.example is not None}
    general = defaults | {
        symbol.name: -(-max(2, symbol.least) // symbol.multiple) * symbol.multiple
        for symbol in symbols
        if symbol.example is not None and symbol.example < 2 and symbol.most is None
    }
    try:
        return defaults, general if all(claim.holds(general) for claim in program.assumptions) else defaults
    except UndecidedError:  # a size without a default
        return defaults, defaults


def symbols_of(program: Program) -> set[Symbol]:
    """Return the named sizes of a program."""
    sizes = [*program.dims.values(), *program.vars.values()]
    sizes += [size for spec in program.inputs for size in spec.type.shape]
    return {symbol for size in sizes if isinstance(size, Poly) for symbol in size.symbols()}


def _by_formulas(
    name: ExecutionName,
    program: Program,
    evaluate: Callable[[Program], Activations],
    sizes: Mapping[str, int],
    by_value: bool,
) -> SymbolicPeak | None:
    """Return the peak on numbers with formulas; None if it depends on a symbolic number of iterations."""
    settle, claims = Settled(program.assumptions), list[Assumption]()

    def moments(change: int = 0, times: int | None = None) -> Mapping[Dim, str]:
        with assumptions() as noted, comparing_values(settle, by_value=by_value):
            found = evaluate(AtSizes(lambda size: valued(size, sizes), change, times).program(program, ()))
        claims[:] = noted
        return greatest_moments((settle(form_of(point.bytes)), point.path) for point in found.points())

    numbers = list(dict.fromkeys(symbolic_times(program.main, set())))
    greatest = moments()
    own = [claim for claim in claims if not any(map(claim.is_same, program.assumptions))]
    if numbers:
        if set(moments(1)) != set(greatest):
            return None
        default = min(default_of(size) or 1 for size in numbers)
        fewer = range(1, min(default, _FEWER + 1))
        least = next((times for times in fewer if set(moments(times=times)) == set(greatest)), default)
        own += _strongest(least_of(size, least) for size in numbers if bounds_of(size)[0] < least)
    ordered = sorted(greatest.items(), key=lambda item: -(default_of(item[0]) or 0))
    return SymbolicPeak(name, maximum(*greatest), tuple(PeakMoment(path, size) for size, path in ordered), tuple(own))


def _strongest(claims: Iterable[Assumption]) -> Iterator[Assumption]:
    """Yield claims that sizes are at least some numbers, of those about one size the strongest."""
    least: dict[Any, Any] = {}
    for claim in claims:
        least[claim.left] = max(claim.right, least.get(claim.left, claim.right))
    yield from (Assumption(size, ">=", number) for size, number in least.items())


def greatest_moments(points: Iterable[tuple[Dim, _Place]]) -> Mapping[Dim, _Place]:
    """Return the sizes that decide the maximum of some, each with the first place that has it."""
    first: dict[Dim, _Place] = {}
    for size, place in points:
        for operand in _operands(size):
            first.setdefault(operand, place)
    return {size: first[size] for size in _operands(maximum(*first))}


def _operands(size: Dim) -> tuple[Dim, ...]:
    """Return the sizes that a size is the maximum of."""
    if isinstance(size, Poly):
        terms = list(size.monomials())
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            ((atom, power),) = terms[0][0]
            if isinstance(atom, Call) and atom.function == "max" and power == 1:
                return tuple(map(as_dim, atom.operands))
    return (size,)


def symbolic_times(body: Body, seen: set[Body]) -> Iterator[Poly]:
    """Yield the symbolic numbers of iterations."""
    seen.add(body)
    for node in body.nodes:
        if isinstance(node, CallNode):
            if isinstance(node.times, Poly):
                yield node.times
            if node.body not in seen:
                yield from symbolic_times(node.body, seen)


class AtSizes(Specializer):
    """A program at numbers in place of symbolic sizes, as a function gives them.

    Symbolic numbers of iterations are ``times``, or those of the defaults and ``change`` more.
    """

    def __init__(self, number: Callable[[Poly], int], change: int = 0, times: int | None = None) -> None:
        super().__init__({})
        self._value_of, self._change, self._times = number, change, times

    def _number(self, size: Poly) -> Dim:
        return self._value_of(size)

    def _call(self, node: CallNode) -> CallNode:
        times: Dim = node.times
        if isinstance(times, Poly):
            times = times.at({}) + self._change if self._times is None else self._times
        return replace(super()._call(node), times=times)
