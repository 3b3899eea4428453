"""Leading terms of the totals of a symbolic network: how each grows with each size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.analysis.figures import FIGURES, Cost, Figure, View
from netcalc.dims import Dim, Poly
from netcalc.dims.formulas import superscript
from netcalc.dims.growth import growth
from netcalc.results import recorded

#: Figures by view.
_FIGURES: dict[View, tuple[str, ...]] = {"params": ("params",), "flops": ("macs", "flops")}


@recorded("dim", "figure", "degree", "coefficient", "kind")
class LeadingTerm(NamedTuple):
    """The term `coefficient * dim**degree` that a total comes near to for large values of a size."""

    dim: str
    figure: str
    """Name of the total."""
    degree: int
    coefficient: str
    """Whole number or fraction, the other symbolic sizes being at their defaults."""
    kind: str
    """The degree in words, such as `linear in length`."""

    def __str__(self) -> str:
        """Return the term as a formula."""
        power = "" if self.degree == 0 else f"·{self.dim}{superscript(self.degree)}"
        numerator, _, denominator = self.coefficient.partition("/")
        return f"{int(numerator):,}{power}" + (f"/{int(denominator):,}" if denominator else "")


def leading_terms(total: Cost, view: View) -> Iterator[LeadingTerm]:
    """Yield the leading term of each total of a view for each size that it has as a symbol.

    Totals without a leading power, as those with logarithms of a size, are left out, and those of one term.
    """
    names = _FIGURES.get(view, (*_FIGURES["params"], *_FIGURES["flops"]) if view == "summary" else ())
    for figure in map(FIGURES.__getitem__, names):
        size = figure.of(total)
        if isinstance(size, Poly) and len([*size.monomials()]) > 1:
            yield from _of_figure(figure, size)


def _of_figure(figure: Figure, size: Dim) -> Iterator[LeadingTerm]:
    assert isinstance(size, Poly)
    symbols = sorted(size.symbols())
    defaults = {symbol.name: symbol.default for symbol in symbols if symbol.default is not None}
    for name in dict.fromkeys(symbol.name for symbol in symbols):
        found = growth(size, name, defaults)
        if found is not None:
            yield LeadingTerm(name, figure.name, found.degree, str(found.coefficient), found.kind)
