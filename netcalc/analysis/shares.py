"""Shares that layers have of the totals."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.analysis.figures import FIGURES, layer_fields
from netcalc.analysis.summary import Summary
from netcalc.dims import Poly, integer


def shares_of(summary: Summary) -> Mapping[str, tuple[float, ...]]:
    """Return the share that each layer has of the totals by figure; symbolic figures and totals of 0 are left out."""
    shares = {}
    for name in layer_fields("summary", summary.phases):
        figure = FIGURES.get(name)
        total = None if figure is None else figure.of(summary.totals)
        if figure is None or not isinstance(total, int) or total <= 0:
            continue
        counts = [figure.of(layer) * layer.repeat for layer in summary.layers]
        if not any(isinstance(count, Poly) for count in counts):
            shares[name] = tuple(integer(count) / total for count in counts)
    return shares
