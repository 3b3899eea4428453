"""Tables and charts of layers whose outputs are followed over steps of training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from netcalc.render.plot import Chart, Series
from netcalc.render.table import ALWAYS, Column, Row, Table
from netcalc.training.result import TrainingResult, WatchedLayer

T = TypeVar("T")

#: Most steps in a table of a page, and most lines in a chart; of more, some at equal distances are shown.
_STEPS, _LINES = 5, 8
#: Figures by attribute, with their titles.
_FIGURES = {"mean": "mean", "std": "standard deviation"}


def some(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most so many items at equal distances, the first and the last among them."""
    if len(items) <= most:
        return items
    last = len(items) - 1
    return [items[number * last // (most - 1)] for number in range(most)]


def steps_of(result: TrainingResult) -> range:
    """Return the numbers of the steps of a run in which layers were followed."""
    return range(result.resumed + 1, len(result.steps) + 1)


def watched_tables(result: TrainingResult) -> Iterator[Table]:
    """Yield a table of each figure: a row for each layer, and columns for some steps."""
    if not result.watched:
        return
    places = some(range(len(steps_of(result))), _STEPS)
    ends = {places[0], places[-1]}
    for figure, title in _FIGURES.items():
        steps = [
            Column(f"step {result.resumed + 1 + place}", "real", ALWAYS if place in ends else 50 - place)
            for place in places
        ]
        rows = [Row([layer.path, *(getattr(layer, figure)[place] for place in places)]) for layer in result.watched]
        yield Table([Column(title, "path"), *steps], rows)


def watched_columns(result: TrainingResult) -> Iterator[tuple[Column, Sequence[float | None]]]:
    """Yield a column of each figure of each layer, with its value in every step; None before this run."""
    before: list[float | None] = [None] * result.resumed
    for layer in result.watched:
        for figure in _FIGURES:
            yield Column(f"{layer.path} {figure}", "real"), [*before, *getattr(layer, figure)]


def watched_charts(result: TrainingResult, name: str) -> Iterator[Chart]:
    """Yield a chart of each figure by step, with a line for each of some layers."""
    shown = some(result.watched, _LINES)
    part = f", {len(shown)} of {len(result.watched)} layers" if len(shown) < len(result.watched) else ""
    for figure, title in _FIGURES.items() if shown else ():
        series = [Series(layer.path, _points(result, layer, figure)) for layer in shown]
        yield Chart(f"{title} of outputs of {name}{part}", "step", title, series)


def _points(result: TrainingResult, layer: WatchedLayer, figure: str) -> list[tuple[float, float]]:
    return [*zip(steps_of(result), getattr(layer, figure), strict=True)]
