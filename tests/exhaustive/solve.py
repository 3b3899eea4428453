"""Answers of ``solve`` for a spec of every family, against all networks in the ranges of drawn questions.

A question has two sizes of the spec with some values near those of its own, conditions with amounts near those of the
networks there, and an aim.  Every network is counted by itself; the answer must be one of the best that meet the
conditions, with its figures, and what is said of one step further must be so.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from random import Random
from typing import Any, NamedTuple

import netcalc
from netcalc import Network
from netcalc.analysis.solution import Solution
from netcalc.diagnostics import NetcalcError

#: Questions about a spec, values of each size, and draws of sizes with networks that the spec takes.
QUESTIONS, _VALUES, _DRAWS = 4, 4, 30
#: One family of this many is in the sample.
SAMPLED = 24
FIGURES = ("params", "macs", "flops")
_HOLDS: Mapping[str, Callable[[int, int], bool]] = {"<=": int.__le__, ">=": int.__ge__, "=": int.__eq__}

#: Figures of the networks by the values of two sizes; None for one that the spec refuses.
Networks = Mapping[tuple[int, ...], "Mapping[str, int] | None"]


class Question(NamedTuple):
    """Conditions as figure, relation and amount, and an aim as its kind, figure and amount."""

    conditions: tuple[tuple[str, str, int], ...]
    kind: str
    figure: str
    target: int

    def is_met(self, figures: Mapping[str, int] | None) -> bool:
        """Return True if a network meets all conditions."""
        return figures is not None and all(_HOLDS[r](figures[f], amount) for f, r, amount in self.conditions)

    def score(self, figures: Mapping[str, int]) -> int:
        """Return a number that is greater for a better network."""
        value = figures[self.figure]
        return {"maximize": value, "minimize": -value, "near": -abs(value - self.target)}[self.kind]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="name of a family")
    parser.add_argument("--jobs", type=int, default=1, help="specs at a time")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Ask questions about a spec of each family; return what was asked, and what is wrong."""
    listed = netcalc.list_specs().specs
    first = {spec.family: spec.name for spec in reversed(listed)}
    return _compared([name for family, name in sorted(first.items()) if options.only in ("", family)], options.jobs)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Ask about some of the specs of a record."""
    return _compared(list(result)[::SAMPLED])[0]


def _compared(names: Sequence[str], jobs: int = 1) -> tuple[dict[str, Any], list[str]]:
    results, failures = {}, []
    with ProcessPoolExecutor(jobs) as pool:
        for name, outcome in zip(names, pool.map(compared, names), strict=True):
            results[name] = outcome
            print(f"{name}: {outcome}", flush=True)
            failures += [f"{name}: {outcome}"] if outcome.startswith("FAILED") else []
    return results, failures


def compared(name: str) -> str:
    """Return the sizes of a spec that were asked for, and the numbers of right answers and of proved ones."""
    random, net = Random(name), netcalc.load(name)
    sizes = {key: value for key, value in {**net.dims, **net.vars}.items() if type(value) is int and value > 0}
    ranges, networks = _networks(net, sizes, random)
    taken = [figures for figures in networks.values() if figures is not None]
    if not taken:
        return "FAILED: no sizes that the spec takes"
    proved = 0
    for _ in range(QUESTIONS):
        question = _question(taken, random)
        try:
            answer = _answer(net, ranges, question)
        except NetcalcError as error:
            return f"FAILED: {question} of {ranges}: {error}"
        problem = _problem(answer, question, ranges, networks)
        if problem:
            return f"FAILED: {question} of {ranges}: {problem}"
        proved += answer.proved
    return f"{', '.join(ranges)}: {QUESTIONS} of {QUESTIONS} answers, {proved} proved"


def _networks(net: Network, sizes: Mapping[str, int], random: Random) -> tuple[dict[str, range], Networks]:
    """Return ranges of two sizes and the networks in them, of which the spec takes several if such are drawn."""
    for _ in range(_DRAWS):
        ranges = {name: _range(sizes[name], random) for name in random.sample(sorted(sizes), min(2, len(sizes)))}
        networks = {
            values: _counted(net, dict(zip(ranges, values, strict=True))) for values in product(*ranges.values())
        }
        if len({(*figures.values(),) for figures in networks.values() if figures is not None}) > 1:
            return ranges, networks
    return ranges, networks


def _range(own: int, random: Random) -> range:
    """Return some values around a spec's own, which is one of them."""
    step = random.choice([1, max(1, own // 4), max(1, own // 2)])
    low = own - step * random.randint(0, min(_VALUES - 1, (own - 1) // step))
    return range(low, low + step * _VALUES, step)


def _counted(net: Network, settings: Mapping[str, int]) -> dict[str, int] | None:
    try:
        network = Network(net.request.with_settings(settings))
        return {name: getattr(network, name) for name in FIGURES} | dict(settings)
    except NetcalcError:
        return None


def _question(taken: list[Mapping[str, int]], random: Random) -> Question:
    conditions = []
    for _ in range(random.randint(1, 2)):
        figure = random.choice([*taken[0]])
        amount = random.choice(taken)[figure] + random.choice([0, 0, 0, -1, 1])
        conditions.append((figure, random.choice(["<=", "<=", ">=", ">=", "="]), max(0, amount)))
    kind, figure = random.choice(["maximize", "minimize", "near"]), random.choice([*taken[0]])
    return Question(tuple(conditions), kind, figure, random.choice(taken)[figure] + random.randint(-1, 1))


def _answer(net: Network, ranges: Mapping[str, range], question: Question) -> Solution:
    aimed = f"{question.figure}={question.target}" if question.kind == "near" else question.figure
    aim: dict[str, Any] = {question.kind: aimed}
    under = [f"{figure} {relation} {amount}" for figure, relation, amount in question.conditions]
    return net.solve(unknowns=dict(ranges), under=under, **aim)


def _problem(answer: Solution, question: Question, ranges: Mapping[str, range], networks: Networks) -> str:
    """Return what is wrong in an answer; nothing if all is right."""
    possible = [figures for figures in networks.values() if figures is not None and question.is_met(figures)]
    if answer.found != bool(possible):
        return f"found is {answer.found}, and {len(possible)} networks meet the conditions"
    if not possible:
        return "" if answer.proved else "it is not proved that nothing meets the conditions"
    place = tuple(int(answer.settings[name]) for name in ranges)
    own = networks.get(place)
    if own is None or not question.is_met(own):
        return f"{answer.settings} does not meet the conditions: {own}"
    if any(answer.figures[name] != own[name] for name in FIGURES):
        return f"{answer.figures} at {answer.settings}, counted {own}"
    best = max(map(question.score, possible))
    if question.score(own) != best:
        return f"{answer.settings} misses the best by {best - question.score(own)}"
    return next(filter(None, (_problem_of_step(step, answer, question, ranges, networks) for step in answer.steps)), "")


def _problem_of_step(
    step: Any, answer: Solution, question: Question, ranges: Mapping[str, range], networks: Networks
) -> str:
    """Return what is wrong in the words on one step further."""
    if step.value is None:
        return ""
    there = networks.get(tuple(int({**answer.settings, step.name: step.value}[name]) for name in ranges))
    if (there is None) != (step.outcome == "refused"):
        return f"{step.name} = {step.value} is {step.outcome}, counted {there}"
    if there is None:
        return ""
    broken = {f"{f} {r} {amount}" for f, r, amount in question.conditions if not _HOLDS[r](there[f], amount)}
    return "" if {*step.broken} == broken else f"{step.name} = {step.value} breaks {step.broken}, counted {broken}"
