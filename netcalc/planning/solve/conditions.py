"""Conditions and aims as they are written: ``params <= 125M``, ``1G <= macs <= 2G``, ``memory < 8GiB``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from netcalc.amounts import number_in, share_in, size_in_bytes
from netcalc.analysis.solution import Unit
from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

#: A figure or a limit: exact, but for times.
Number: TypeAlias = int | float | Fraction

#: Figures by unit, in the order of reports.
FIGURES: dict[str, Unit] = {
    "params": "parameters",
    "non_embedding": "parameters",
    "macs": "MAC",
    "flops": "FLOP",
    "macts": "elements",
    "weights": "bytes",
    "cache": "bytes",
    "activations": "bytes",
    "memory": "bytes",
    "time": "seconds",
}
_RELATION = re.compile(r"(<=|>=|==|≤|≥|<|>|=)")
_SAME = {"≤": "<=", "≥": ">=", "=": "=="}
_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}
_TOLERANCE = re.compile(r"±|\+/?-")
_NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?(?:[eE]\+?\d{1,3})?")
_SECONDS = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*(s|ms|us|µs|μs|ns|min|h|d)")
_SECOND = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    **dict.fromkeys(("us", "µs", "μs"), Fraction(1, 10**6)),
    "ns": Fraction(1, 10**9),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_EXAMPLES: dict[Unit, str] = {"bytes": "8GiB or 512MB", "seconds": "20ms or 1.5s", "": "64"}
_HINT = "for example --under 'params <= 125M', --under 'memory <= 8GiB', --under '1G <= macs <= 2G'"


class Limit(NamedTuple):
    """A bound of a figure."""

    figure: str
    most: bool
    """True for the greatest value, False for the least."""
    number: Number
    strict: bool = False
    """True if the number itself is beyond it."""

    def holds(self, value: Number) -> bool:
        """Return True for a value within the bound."""
        if self.most:
            return value < self.number if self.strict else value <= self.number
        return value > self.number if self.strict else value >= self.number


class Condition(NamedTuple):
    """A condition, and the bounds that it stands for."""

    text: str
    figure: str
    limits: tuple[Limit, ...]

    def holds(self, value: Number) -> bool:
        """Return True for a value of the figure that meets it."""
        return all(limit.holds(value) for limit in self.limits)


class Aim(NamedTuple):
    """A figure that is to be greatest, least, or nearest to a number."""

    kind: str
    """``maximize``, ``minimize`` or ``near``."""
    figure: str
    target: Number | None = None

    def score(self, value: Number) -> Number:
        """Return a number that is the greater, the better a value is."""
        if self.kind == "near":
            assert self.target is not None
            distance: Number = value - self.target
            return -distance if distance > 0 else distance
        return value if self.kind == "maximize" else -value

    def best(self, low: Number, high: Number) -> Number:
        """Return the score of the best of all values between two numbers."""
        if self.kind != "near":
            return self.score(high if self.kind == "maximize" else low)
        assert self.target is not None
        return 0 if low <= self.target <= high else max(self.score(low), self.score(high))

    def better_than(self, score: Number) -> tuple[Limit, ...]:
        """Return the bounds of values whose score is greater."""
        if self.kind != "near":
            limit = Limit(self.figure, False, score, strict=True)
            return (limit if self.kind == "maximize" else limit._replace(most=True, number=-score),)
        assert self.target is not None
        return (
            Limit(self.figure, True, self.target - score, strict=True),
            Limit(self.figure, False, self.target + score, strict=True),
        )


def conditions_of(texts: Iterable[str], names: Collection[str]) -> tuple[Condition, ...]:
    """Return the conditions that texts stand for.

    Args:
        texts: the conditions.
        names: dims and vars, which may have conditions too.

    Raises:
        NetcalcError: E502 for one that cannot be read, an unknown figure, or an amount of another unit.
    """
    return tuple(_condition(text, names) for text in texts)


def _condition(text: str, names: Collection[str]) -> Condition:
    parts = [part.strip() for part in _RELATION.split(text)]
    if len(parts) not in (3, 5) or not all(parts):
        message = (
            f"--under {text}: should be FIGURE <= AMOUNT, or FIGURE with >=, <, > or =, or LEAST <= FIGURE <= MOST"
        )
        raise NetcalcError(Diagnostic("E502", message, hint=_HINT))
    relations = [_SAME.get(relation, relation) for relation in parts[1::2]]
    if len(parts) == 3 and _is_amount(parts[0]) and not _is_amount(parts[2]):
        parts, relations = parts[::-1], [_TURNED[relations[0]]]
    figure = figure_named(parts[0] if len(parts) == 3 else parts[2], names, f"--under {text}")
    if len(parts) == 3:
        return Condition(text, figure, tuple(_limits(figure, relations[0], parts[2], text)))
    if "==" in relations or _TURNED[relations[0]][0] == relations[1][0]:
        raise NetcalcError(Diagnostic("E502", f"--under {text}: should be LEAST <= FIGURE <= MOST", hint=_HINT))
    ends = (_TURNED[relations[0]], parts[0]), (relations[1], parts[4])
    return Condition(text, figure, tuple(limit for end in ends for limit in _limits(figure, *end, text)))


def _limits(figure: str, relation: str, written: str, text: str) -> Iterator[Limit]:
    amount, *tolerance = (part.strip() for part in _TOLERANCE.split(written))
    number = amount_in(figure, amount, f"--under {text}")
    if not tolerance:
        if relation in ("<=", "<", "=="):
            yield Limit(figure, True, number, relation == "<")
        if relation in (">=", ">", "=="):
            yield Limit(figure, False, number, relation == ">")
        return
    if relation != "==" or len(tolerance) > 1:
        message = f"--under {text}: a tolerance belongs to =, as in params = 125M ± 2%"
        raise NetcalcError(Diagnostic("E502", message))
    share = share_in(tolerance[0])
    width = number * share if share is not None else amount_in(figure, tolerance[0], f"--under {text}")
    yield Limit(figure, False, number - width)
    yield Limit(figure, True, number + width)


def aim_of(
    maximize: str | None, minimize: str | None, near: str | None, conditions: Collection[Condition], names: Any
) -> Aim:
    """Return what is aimed at; by default the first figure with a greatest value is to be greatest.

    Raises:
        NetcalcError: E502 for several aims, or for none and no condition to take it from; for an unknown figure.
    """
    given = {"maximize": maximize, "minimize": minimize, "near": near}
    chosen = {kind: text for kind, text in given.items() if text is not None}
    if len(chosen) > 1:
        message = f"{' and '.join(f'--{kind}' for kind in chosen)}: only one figure can be the best"
        raise NetcalcError(Diagnostic("E502", message, hint="--under states a condition on the others"))
    for kind, text in chosen.items():
        if kind != "near":
            return Aim(kind, figure_named(text, names, f"--{kind} {text}"))
        figure, equals, amount = (part.strip() for part in text.partition("="))
        if not (figure and equals and amount):
            message = f"--near {text}: should be FIGURE=AMOUNT"
            raise NetcalcError(Diagnostic("E502", message, hint="for example --near params=125M"))
        figure = figure_named(figure, names, f"--near {text}")
        return Aim("near", figure, amount_in(figure, amount, f"--near {text}"))
    for condition in conditions:
        if any(limit.most for limit in condition.limits):
            return Aim("maximize", condition.figure)
    for condition in conditions:
        return Aim("minimize", condition.figure)
    hint = "--maximize FIGURE, --minimize FIGURE, --near FIGURE=AMOUNT, or a condition with --under"
    raise NetcalcError(Diagnostic("E502", "nothing is to be met, and nothing to be greatest or least", hint=hint))


def figure_named(name: str, names: Collection[str], place: str) -> str:
    """Return the name of a figure, or of a dim or var.

    Raises:
        NetcalcError: E502 for another name; ``place`` begins its message.
    """
    name = composed(name)
    if name in FIGURES or name in names:
        return name
    known = (*FIGURES, *names)
    hint = did_you_mean(name, known)
    listed = f"the figures are {', '.join(FIGURES)}, and every dim and var"
    message = f"{place}: there is no figure {name!r}"
    raise NetcalcError(Diagnostic("E502", message, hint=f"{hint}; {listed}" if hint else listed))


def amount_in(figure: str, text: str, place: str) -> int | Fraction:
    """Return the amount of a figure that a text stands for: bytes, seconds, or a number with k, M, G, B or T.

    Raises:
        NetcalcError: E502 for another text; ``place`` begins its message.
    """
    unit = FIGURES.get(figure, "")
    amount: int | Fraction | None
    if unit == "bytes":
        amount = size_in_bytes(text)
    elif unit == "seconds":
        match = _SECONDS.fullmatch(text)
        amount = None if match is None else Fraction(match[1]) * _SECOND[match[2]]
    else:
        exact = Fraction(text) if _NUMBER.fullmatch(text) else number_in(text)
        amount = exact if exact is None or exact != math.floor(exact) else int(exact)
    if amount is None:
        example = _EXAMPLES.get(unit, "125M, 4.1G or 1000")
        kind = "a number" if unit not in ("bytes", "seconds") else unit
        raise NetcalcError(Diagnostic("E502", f"{place}: {figure} should be compared with {kind}, such as {example}"))
    return amount


def _is_amount(text: str) -> bool:
    return text[:1].isdigit()
