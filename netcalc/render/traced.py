"""Pictures of traced tensors: heat maps of their last two axes, or histograms of their elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from netcalc.numerics.trace import Histogram, TraceRow
from netcalc.render.plot import Chart, Drawing, HeatMap, Series

#: Most pictures of a tensor, such as heads of an attention, and of all tensors.
_OF_ONE, _ALL = 16, 64
#: Names of axes of what an attention tells besides its output.
_PAIRS = ("keys", "queries")


def drawings(rows: Sequence[TraceRow]) -> Iterator[Drawing]:
    """Yield histograms of traced tensors, or else maps of those whose arrays are kept; so many at most."""
    drawn = 0
    for row in rows:
        for drawing in _of_row(row):
            if drawn == _ALL:
                return
            drawn += 1
            yield drawing


def _of_row(row: TraceRow) -> Iterator[Drawing]:
    if row.histogram is not None:
        yield _histogram(row.path, row.histogram)
        return
    array: Any = row.small if row.array is None else row.array
    if array is None or array.ndim < 1 or not array.size:
        return
    if array.ndim == 1:
        array = array[None]
    pair = row.path.rpartition(".")[2] in ("weights", "mask")
    x, y = _PAIRS if pair else (f"axis {array.ndim - 1}", f"axis {array.ndim - 2}")
    places = list(product(*map(range, array.shape[:-2])))
    for number, place in enumerate(places[:_OF_ONE]):
        named = f" [{','.join(map(str, place))}]" if len(places) > 1 else ""
        more = f", {len(places) - _OF_ONE:,} more are not drawn" if number == _OF_ONE - 1 < len(places) - 1 else ""
        yield HeatMap(f"{row.path}{named}{more}", x, y, _numbers(array[place]))


def _numbers(matrix: Any) -> list[list[float]]:
    """Return a matrix as lists; complex numbers by their absolute values."""
    real = abs(matrix) if matrix.dtype.kind == "c" else matrix
    rows: list[list[float]] = real.astype("float64").tolist()
    return rows


def _histogram(path: str, histogram: Histogram) -> Chart:
    """Return the outline of a histogram."""
    edges, counts = histogram
    points = [(edges[0], 0.0)]
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        points += [(low, count), (high, count)]
    points.append((edges[-1], 0.0))
    return Chart(f"distribution of {path}", "value", "elements", [Series("elements", points, kind="area")])
