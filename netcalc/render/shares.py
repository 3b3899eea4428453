"""Charts of shares: bars of a figure by layer, and of networks by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netcalc.analysis.compare import Comparison
from netcalc.analysis.figures import Figure
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.render.numbers import bytes_text, share, short, work
from netcalc.render.plot import COUNT, Bars, Values

#: Most layers, and most operations, that have bars of their own.
LAYERS, _OPERATIONS = 20, 7
#: Units of figures: on an axis, and in words.
_UNITS = {"elements": COUNT, "bytes": "B", "macs": "MAC", "flops": "FLOP"}


def number_of(value: Dim) -> int:
    """Return a figure as a number; NetcalcError (E502) for a symbolic one."""
    if isinstance(value, int):
        return value
    hint = "leave out --symbolic, or give sizes by --set"
    raise NetcalcError(Diagnostic("E502", f"a chart needs a number in place of {value}", hint=hint))


def shares_chart(
    title: str, figure: Figure, layers: Sequence[tuple[str, Dim]], total: Dim, *, ranked: bool = True
) -> Bars | None:
    """Return bars of a figure by layer, the largest first, and of all others together; None if all are 0.

    Args:
        title: title of the chart.
        figure: the figure.
        layers: names of layers, with the figure of all instances.
        total: the figure of the network.
        ranked: False to draw the layers as they come.

    Raises:
        NetcalcError: E502 if a figure is symbolic.
    """
    sizes = [(name, number_of(value)) for name, value in layers if value != 0]
    shown = sorted(sizes, key=lambda size: -size[1]) if ranked else sizes
    shown, others = shown[:LAYERS], shown[LAYERS:]
    rest = sum(size for _, size in others)
    if rest:
        shown = [*shown, (f"{len(others):,} other layers", rest)]
    if not shown:
        return None
    words = _words(figure)
    labels = [f"{words(size)} · {share(size, total)}" for _, size in shown]
    values = Values(figure.total or figure.title, [size for _, size in shown], labels)
    return Bars(title, figure.total or figure.title, [name for name, _ in shown], [values], _UNITS[figure.unit])


def composition(comparison: Comparison, figure: Figure) -> Bars | None:
    """Return a bar for each network, of parts by operation; None if all are 0.

    Raises:
        NetcalcError: E502 if a figure is symbolic.
    """
    sizes = {match.op: [number_of(figure.of(cost)) for cost in match.costs] for match in comparison.operations}
    order = sorted((op for op in sizes if any(sizes[op])), key=lambda op: -max(sizes[op]))
    if not order:
        return None
    parts = {op: sizes[op] for op in order[:_OPERATIONS]}
    if others := order[_OPERATIONS:]:
        parts[f"{len(others)} others"] = [sum(row) for row in zip(*(sizes[op] for op in others), strict=True)]
    totals = [sum(row) for row in zip(*parts.values(), strict=True)]
    labels = [_words(figure)(total) for total in totals]
    title = f"{figure.total or figure.title} by operation"
    series = [Values(op, numbers, labels) for op, numbers in parts.items()]
    return Bars(title, figure.total or figure.title, comparison.titles, series, _UNITS[figure.unit], stacked=True)


def _words(figure: Figure) -> Callable[[Any], str]:
    """Return what writes a figure in a few digits."""
    match figure.unit:
        case "elements":
            return lambda value: short(value, elements=True)
        case "bytes":
            return bytes_text
        case _:
            return lambda value: work(value, _UNITS[figure.unit])
