"""Scaling laws of language models, from ``data/laws``: the size and the tokens that use a budget of FLOPs best.

A file has the laws of a paper: ``title``, ``source``, what its parameters count (``counts``) and the ``figure`` of a
network that they are, by default ``params``, the ``runs`` that it was fitted to, and ``laws`` by name, each in one of
three forms:

* ``loss``: L(N, D) = E + A/N^alpha + B/D^beta.  Under 6·N·D = C it is least at N = G·(C/6)^(β/(α+β)) with
  G = (α·A/(β·B))^(1/(α+β)) (Hoffmann et al. 2022, equation 4).
* ``points``: printed pairs of N and C, of which the line through the logarithms is taken, by least squares;
  D = C/(6·N).
* ``power``: N and D as powers of the budget, in a ``unit`` of FLOPs of which a ``share`` is counted.

In each form N and D are powers of the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.amounts import number_in
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.results import Result, recorded

_FOLDER = Path(__file__).parent.parent / "data" / "laws"
#: FLOPs of a parameter and a token, in a forward and a backward pass.
_EACH = 6
#: Largest numbers that are asked for: powers of them are still numbers.
_MOST = 1e100
#: Points of a curve of equal FLOPs on either side of the best size, and the doublings that they span.
_STEPS, _DOUBLINGS = 16, 4


class Power(NamedTuple):
    """A power of the budget in FLOPs: scale · C^exponent."""

    scale: float
    exponent: float

    def of(self, flops: float) -> float:
        """Return the value at a budget."""
        return math.exp(math.log(self.scale) + self.exponent * math.log(flops))

    def budget(self, value: float) -> float:
        """Return the budget at which the power has a value."""
        return math.exp((math.log(value) - math.log(self.scale)) / self.exponent)


class Law(NamedTuple):
    """A scaling law.

    Attributes:
        params: parameters that are best, by the budget.
        tokens: tokens that are best, by the budget.
        loss: nats for a token that the law predicts at a budget, parameters and tokens; None if it predicts none.
        has_curves: True if the loss depends on parameters and tokens, and not on the budget alone.
        runs: ranges of parameters and tokens that it was fitted to.
        figure: the figure of a network that ``counts`` describes: ``params`` or ``non_embedding``.
    """

    name: str
    title: str
    about: str
    source: str
    counts: str
    params: Power
    tokens: Power
    loss: Callable[[float, float, float], float] | None
    has_curves: bool
    runs: tuple[tuple[float, float], tuple[float, float]]
    notes: tuple[str, ...]
    figure: str = "params"

    def at(self, flops: float) -> Optimum:
        """Return parameters and tokens that use a budget of FLOPs best."""
        params, tokens = self.params.of(flops), self.tokens.of(flops)
        inside = all(low <= value <= high for (low, high), value in zip(self.runs, (params, tokens), strict=True))
        loss = None if self.loss is None else self.loss(flops, params, tokens)
        exponents = self.params.exponent, self.tokens.exponent
        about = self.title, self.about, self.source, self.counts
        curve = tuple(self._curve(flops, params)) if self.has_curves else ()
        return Optimum(
            self.name, flops, params, tokens, loss, *exponents, not inside, curve, *about, self.notes, self.figure
        )

    def _curve(self, flops: float, params: float) -> Iterator[CurvePoint]:
        assert self.loss is not None
        for step in range(-_STEPS, _STEPS + 1):
            size = params * 2 ** (_DOUBLINGS * step / _STEPS)
            tokens = flops / (_EACH * size)
            yield CurvePoint(size, tokens, self.loss(flops, size, tokens))


class CurvePoint(NamedTuple):
    """A size on a curve of equal FLOPs."""

    params: float
    tokens: float
    loss: float


@recorded(
    *("law", "flops", "params", "tokens", "tokens_per_param", "loss", "params_exponent", "tokens_exponent"),
    *("extrapolated", "curve", "title", "about", "source", "counts", "notes"),
)
class Optimum(NamedTuple):
    """The parameters and tokens that a law takes to be best."""

    law: str
    flops: float
    """Budget: FLOPs of all training."""
    params: float
    tokens: float
    loss: float | None
    """Loss in nats for a token; none of a law that predicts only sizes."""
    params_exponent: float
    """Power of the budget with which the parameters grow."""
    tokens_exponent: float
    """Power of the budget with which the tokens grow."""
    extrapolated: bool
    """True beyond the parameters and tokens of the runs that the law was fitted to."""
    curve: tuple[CurvePoint, ...]
    """Sizes around the best one with the same budget; none of a law that predicts no loss of them."""
    title: str
    about: str
    source: str
    counts: str
    """The parameters that the law counts."""
    notes: tuple[str, ...]
    figure: str = "params"
    """Figure of a network that the law counts."""

    @property
    def tokens_per_param(self) -> float:
        """Tokens for each parameter."""
        return self.tokens / self.params


@recorded(name="compute-optimal")
@dataclass(frozen=True)
class ComputeOptimal(Result):
    """Compute-optimal sizes of models and of their data, by scaling laws."""

    asked: str
    """Quantity that is given: flops, params or tokens."""
    values: tuple[float, ...]
    laws: tuple[Optimum, ...]
    """By law and value."""


def law_names() -> tuple[str, ...]:
    """Return the names of all scaling laws."""
    return tuple(law.name for laws in _files().values() for law in laws)


def laws_named(names: Sequence[str]) -> tuple[Law, ...]:
    """Return scaling laws by their names, or by those of papers, which have several; all without names.

    Raises:
        NetcalcError: E502 for a name that there is not.
    """
    files = _files()
    known = {law.name: [law] for laws in files.values() for law in laws} | files
    chosen: dict[str, Law] = {}
    for name in names or files:
        if name not in known:
            hint = did_you_mean(name, known) or f"the laws are {', '.join(known)}"
            raise NetcalcError(Diagnostic("E502", f"there is no scaling law {name!r}", hint=hint))
        chosen |= {law.name: law for law in known[name]}
    return tuple(chosen.values())


def compute_optimal(laws: Iterable[Law], asked: str, value: Any) -> ComputeOptimal:
    """Return what laws take to be best at a budget, or for a number of parameters or of tokens.

    Args:
        laws: the laws.
        asked: ``"flops"``, ``"params"`` or ``"tokens"``.
        value: a number, or a text such as ``"5.76e23"`` or ``"70B"``; of FLOPs several, too.

    Raises:
        NetcalcError: E502 for a value that is no number above 0, and for an empty list.
    """
    several = asked == "flops" and isinstance(value, Iterable) and not isinstance(value, str)
    numbers = tuple(_number(asked, each) for each in value) if several else (_number(asked, value),)
    if not numbers:
        raise NetcalcError(Diagnostic("E502", f"{asked}: the list has no values", hint="for example [1e21, 1e22]"))
    found = (
        law.at(number if asked == "flops" else getattr(law, asked).budget(number))
        for law in laws
        for number in dict.fromkeys(numbers)
    )
    return ComputeOptimal(asked, numbers, tuple(found))


def _number(asked: str, value: Any) -> float:
    number = value
    if isinstance(value, str):
        number = number_in(value)
        if number is None:
            try:
                number = float(value)
            except ValueError:
                number = 0
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 1 <= number <= _MOST:
        hint = "for example 5.76e23, or 70B of parameters and 1.4T of tokens"
        message = f"{asked} should be a number of at least 1 and at most {_MOST:g}, not {value!r}"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
    return float(number)


@cache
def _files() -> dict[str, list[Law]]:
    """Return the laws of every paper, in the order of their years."""
    from netcalc.spec.yaml_document import parse_yaml

    read = {}
    for file in _FOLDER.glob("*.yaml"):
        data: Mapping[str, Any] = parse_yaml(file.read_text(encoding="utf-8"), file.name).data
        read[file.stem] = [_law(name, entry, data) for name, entry in data["laws"].items()]
    return dict(sorted(read.items(), key=lambda item: item[1][0].title.rpartition("20")[2]))


def _law(name: str, entry: Mapping[str, Any], paper: Mapping[str, Any]) -> Law:
    form = next(key for key in _FORMS if key in entry)
    params, tokens, loss = _FORMS[form](entry[form])
    runs = paper["runs"]
    ranges = tuple(runs["params"]), tuple(runs["tokens"])
    source = f"{paper['source']}, {entry['source']}"
    notes = tuple(entry.get("notes", ()))
    has_curves, about = form == "loss", (paper["title"], entry["about"], source, paper["counts"])
    return Law(name, *about, params, tokens, loss, has_curves, ranges, notes, paper.get("figure", "params"))


_Form = tuple[Power, Power, Callable[[float, float, float], float] | None]


def _of_loss(fit: Mapping[str, float]) -> _Form:
    alpha, beta = fit["alpha"], fit["beta"]
    scale = (alpha * fit["A"] / (beta * fit["B"])) ** (1 / (alpha + beta))

    def loss(flops: float, params: float, tokens: float) -> float:
        return float(fit["E"] + fit["A"] / params**alpha + fit["B"] / tokens**beta)

    return (*_shared(scale, beta / (alpha + beta)), loss)


def _shared(scale: float, exponent: float) -> tuple[Power, Power]:
    """Return parameters scale · (C/6)^exponent, and the tokens that make 6·N·D the budget."""
    return (
        Power(scale / _EACH**exponent, exponent),
        Power(1 / (scale * _EACH ** (1 - exponent)), 1 - exponent),
    )


def _of_points(points: Sequence[Sequence[float]]) -> _Form:
    xs, ys = zip(*((math.log(flops / _EACH), math.log(params)) for params, flops in points), strict=True)
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)
    return (*_shared(math.exp(mean_y - slope * mean_x), slope), None)


def _of_power(power: Mapping[str, Any]) -> _Form:
    unit = power["unit"] / power["share"]

    def in_flops(entry: Mapping[str, float]) -> Power:
        return Power(entry["scale"] / unit ** entry["exponent"], entry["exponent"])

    fit = power["loss"]

    def loss(flops: float, params: float, tokens: float) -> float:
        return float((fit["scale"] * unit / flops) ** fit["exponent"])

    return in_flops(power["params"]), in_flops(power["tokens"]), loss


_FORMS: Mapping[str, Callable[[Any], _Form]] = {"loss": _of_loss, "points": _of_points, "power": _of_power}
