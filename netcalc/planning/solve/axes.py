"""Unknowns with the values that they may have, as ``--for`` and ``--multiple-of`` give them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError, pairs_of
from netcalc.limits import MAX_UNKNOWNS
from netcalc.ranges import RangesArgument, Values, ranges_of
from netcalc.request import Request
from netcalc.spec.document import DimDecl
from netcalc.spec.settings import Settings, known_names
from netcalc.spec.yaml_document import parse_scalar

#: Values of an unknown without a greatest one are below this number.
ENDLESS = 1 << 62
_HINT = "for example --for d_model, --for layers=2:48:2, --for heads=8,12,16, --for width=0.25:2:0.25"


class Axis(NamedTuple):
    """An unknown.

    Attributes:
        name: a dim or var.
        values: its values in rising order; a range for whole numbers at equal distances.
        own: its value without a question.
        multiple: number that divides every value; 1 for values that are not whole.
        reason: origin of the multiple.
    """

    name: str
    values: Values
    own: Any
    multiple: int = 1
    reason: str = ""

    @property
    def is_endless(self) -> bool:
        """True for values without a greatest one."""
        return isinstance(self.values, range) and self.values.stop >= ENDLESS

    @property
    def is_whole(self) -> bool:
        """True for whole numbers."""
        return isinstance(self.values, range) or all(isinstance(value, int) for value in self.values)

    @property
    def divisor(self) -> int:
        """The greatest number that divides every value."""
        if not self.is_whole:
            return 1
        if isinstance(self.values, range):
            return math.gcd(self.values.start, self.values.step if len(self.values) > 1 else 0) or 1
        return math.gcd(*self.values) or 1

    def multiples(self, number: int, reason: str) -> Axis:
        """Return the axis with the multiples of a number alone.

        Raises:
            NetcalcError: E502 if there are none.
        """
        if number == 1:
            return self
        values: Sequence[Any]
        if isinstance(self.values, range):
            start, step = self.values.start, self.values.step
            shared = math.gcd(step, number)
            # start + k·step is a multiple for every k that is congruent to one number, if the shared factor divides it
            first = -start // shared * pow(step // shared, -1, number // shared) % (number // shared)
            values = self.values[first :: number // shared] if start % shared == 0 else ()
        else:
            values = tuple(value for value in self.values if isinstance(value, int) and value % number == 0)
        if not values:
            raise NetcalcError(Diagnostic("E502", f"--for {self.name}: no value is a multiple of {number}: {reason}"))
        return self._replace(values=values, multiple=math.lcm(self.multiple, number), reason=reason)


def axes_of(request: Request, unknowns: RangesArgument, multiple_of: Mapping[str, Any]) -> tuple[Axis, ...]:
    """Return the unknowns of a question.

    Args:
        request: the source and its settings.
        unknowns: names, alone or with ranges.
        multiple_of: numbers that divide the values, by name.

    Raises:
        NetcalcError: E502 for a name that the spec does not have, a malformed or empty range, and a value outside the
            limits of the spec.
    """
    given = _given(unknowns)
    if not given:
        raise NetcalcError(Diagnostic("E502", "nothing is unknown", hint=_HINT))
    if len(given) > MAX_UNKNOWNS:
        raise NetcalcError(Diagnostic("E502", f"--for: {len(given)} unknowns, more than {int(MAX_UNKNOWNS)}"))
    document = request.source.document
    for option, names in (("--for", given), ("--multiple-of", multiple_of)):
        for name in names:
            if name not in document.dims and name not in document.vars:
                message = f"{option} {name}: the spec has no dim or var of that name"
                raise NetcalcError(Diagnostic("E502", message, hint=known_names(name, request.source)))
    for name, number in multiple_of.items():
        if name not in given:
            raise NetcalcError(Diagnostic("E502", f"--multiple-of {name}: it is not unknown", hint=f"--for {name}"))
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            message = f"--multiple-of {name}={number}: should be a whole number of at least 1"
            raise NetcalcError(Diagnostic("E502", message))
    axes = (_axis(request, name, values) for name, values in given.items())
    return tuple(axis.multiples(multiple_of.get(axis.name, 1), "--multiple-of") for axis in axes)


def multiples_of(given: Any) -> dict[str, int]:
    """Return the numbers by name that ``NAME=NUMBER`` stands for.

    Raises:
        NetcalcError: E502 for another text, and for a name that is given twice.
    """
    if isinstance(given, Mapping):
        return {composed(str(name)): number for name, number in given.items()}

    def pair(text: str) -> tuple[str, int]:
        name, _, number = (part.strip() for part in text.partition("="))
        if not name or not (number.isascii() and number.isdigit()):
            message = f"--multiple-of {text}: should be NAME=NUMBER"
            raise NetcalcError(Diagnostic("E502", message, hint="for example --multiple-of d_model=64"))
        return composed(name), int(number)

    return pairs_of([given] if isinstance(given, str) else given, pair, "--multiple-of")


def _given(unknowns: RangesArgument) -> dict[str, Any]:
    """Return the range of each unknown as it is given; None for a name alone."""
    if isinstance(unknowns, Mapping):
        return {composed(str(name)): values for name, values in unknowns.items()}

    def pairs(text: str) -> Iterable[tuple[str, str | None]]:
        if "=" in text:
            name, _, values = (part.strip() for part in text.partition("="))
            if not name or not values:
                raise NetcalcError(Diagnostic("E502", f"--for {text}: should be NAME or NAME=RANGE", hint=_HINT))
            *alone, last = (composed(part.strip()) for part in name.split(","))
            return [*((other, None) for other in alone if other), (last, values)]
        return [(composed(name.strip()), None) for name in text.split(",") if name.strip()]

    texts = [unknowns] if isinstance(unknowns, str) else unknowns
    return pairs_of([pair for text in texts for pair in pairs(text)], lambda pair: pair, "--for")


def _axis(request: Request, name: str, given: Any) -> Axis:
    own = _own(request, name)
    if isinstance(own, (bool, str, list, tuple, dict)):
        kind = "a list" if isinstance(own, (list, tuple)) else "no number"
        raise NetcalcError(Diagnostic("E502", f"--for {name}: it is {kind}", hint="unknowns are numbers"))
    low, multiple, most = _limits(request, name, own)
    text = given.replace(" ", "") if isinstance(given, str) else None
    if text is not None and text.startswith(":"):
        text = f"{low}{text}"
    start, _, stop = (text or ":").partition(":")
    if given is None or (text is not None and stop in ("", ":") and ":" in text):
        if isinstance(own, float):
            message = f"--for {name}: it is no whole number, and needs a range with a step"
            raise NetcalcError(Diagnostic("E502", message, hint=f"for example --for {name}=0.25:2:0.25"))
        first = low if not start else _range(name, start)[0]
        _require_value(request, name, first)
        values: Values = range(first, ENDLESS if most is None else most + 1)
    else:
        values = _range(name, given if text is None else text)
        if not isinstance(values, range):
            values = _sorted(name, values)
        for value in (values[0], values[-1]) if isinstance(values, range) else values:
            _require_value(request, name, value)
    return Axis(name, values, own).multiples(multiple, f"{name} is a multiple of it in the spec")


def _sorted(name: str, values: Values) -> Values:
    """Return values in rising order, as a range where they are whole and at equal distances."""
    values = [parse_scalar(value) if isinstance(value, str) else value for value in values]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise NetcalcError(Diagnostic("E502", f"--for {name}: the values of an unknown are numbers", hint=_HINT))
    ordered = sorted(values)
    if all(isinstance(value, int) for value in ordered):
        step = ordered[1] - ordered[0] if len(ordered) > 1 else 1
        even = range(ordered[0], ordered[-1] + 1, step)
        if len(even) == len(ordered) and all(a == b for a, b in zip(even, ordered, strict=True)):
            return even
    return tuple(ordered)


def _own(request: Request, name: str) -> Any:
    """Return the value of a dim or var without a question; None if it has none."""
    value = Settings(request.source, request.settings, ())[name]
    return value if isinstance(value, (bool, int, float, str, list, tuple, dict)) else None


def _limits(request: Request, name: str, own: Any) -> tuple[int, int, int | None]:
    """Return the least value, the number that divides all, and the greatest, as the spec declares them."""
    declared = request.source.document.dims.get(name)
    if isinstance(declared, DimDecl):
        return declared.min, declared.multiple_of, declared.max
    if name in request.source.document.dims:
        return 1, 1, None
    declaration = Settings(request.source, request.settings, ()).declaration(name)
    least = 0 if own == 0 else 1
    if declaration.minimum is not None:
        least = math.ceil(declaration.minimum)
    return least, 1, None if declaration.maximum is None else math.floor(declaration.maximum)


def _range(name: str, values: Any) -> Values:
    try:
        return ranges_of({name: values}, ENDLESS).values[name]
    except NetcalcError as error:
        raise _renamed(error) from None


def _require_value(request: Request, name: str, value: Any) -> None:
    """Check a value with the limits of the spec alone; NetcalcError (E502) for one outside."""
    try:
        Settings(request.source, {**request.settings, name: value}, ())[name]
    except NetcalcError as error:
        raise _renamed(error) from None


def _renamed(error: NetcalcError) -> NetcalcError:
    """Return an error about ``--over`` or ``--set`` as one about ``--for``."""
    problems = []
    for problem in error.diagnostics:
        message = problem.message.replace("--set", "--for").replace("--over", "--for")
        hint = None if problem.hint is None else problem.hint.replace("--over", "--for")
        problems.append(problem._replace(code="E502", message=message, hint=hint))
    return NetcalcError(problems)
