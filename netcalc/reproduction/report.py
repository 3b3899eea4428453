"""Results of ``netcalc reproduce``: published figures beside those that netcalc computes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from netcalc.results import Real, Result, recorded

#: Verdict on a figure: equal in all printed digits; different for a reason that is stated; a result that is only
#: quoted; or different without a reason, or with one that is out of date.
Verdict: TypeAlias = Literal["reproduced", "explained", "quoted", "differs"]


class Working(NamedTuple):
    """Value from which a figure is computed."""

    name: str
    """Name in the formula."""
    value: Real
    formula: str
    """The field of the result of the command, or an expression of other values; empty for a number of the source."""
    command: str
    """The command whose result has the value; empty if there is none."""
    about: str
    """Remark; stated for a number of the source."""


class PublishedFigure(NamedTuple):
    """A published figure, and what netcalc computes in its place."""

    figure: str
    """Name of the figure: paper or spec, and figure."""
    models: tuple[str, ...]
    """Names of the specs from which it is computed."""
    what: str
    """The quantity in words."""
    printed: str
    computed: str
    """The computed figure as the printed one is written, with up to two digits more; empty if it is quoted."""
    value: Real | None
    """The computed figure in a unit without prefix; null if it is quoted."""
    tolerance: Real | None
    """Half of the last printed digit in this unit; null if it is quoted."""
    convention: str
    """Counting convention of the figure, or the quantity that is computed."""
    verdict: Verdict
    reason: str
    """Reason of a difference, or a remark."""
    where: str
    """Table, figure or section of the source."""
    source: str
    formula: str
    """Expression that gives the figure."""
    working: tuple[Working, ...]
    """Values of this expression."""


@recorded("ok", "reproduced", "explained", "quoted", "differing", "figures", name="reproduce")
@dataclass(frozen=True, slots=True)
class Reproduction(Result):
    """Published figures beside computed ones."""

    figures: tuple[PublishedFigure, ...]

    @property
    def ok(self) -> bool:
        """True if each figure is reproduced, quoted, or differs for a reason that is stated."""
        return not self.differing

    @property
    def reproduced(self) -> int:
        """Number of figures that are reproduced in all printed digits."""
        return self._counts["reproduced"]

    @property
    def explained(self) -> int:
        """Number of figures that differ for a reason that is stated."""
        return self._counts["explained"]

    @property
    def quoted(self) -> int:
        """Number of results that are only quoted."""
        return self._counts["quoted"]

    @property
    def differing(self) -> int:
        """Number of figures that differ without a reason, or with one that is out of date."""
        return self._counts["differs"]

    @property
    def _counts(self) -> Counter[str]:
        return Counter(figure.verdict for figure in self.figures)
