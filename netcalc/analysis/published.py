"""Counts of figures that sources print for a network, at their settings and without the layers that they leave out."""

from __future__ import annotations

from netcalc.analysis.cost import Analysis, analyze
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.document import Published
from netcalc.spec.library import Loaded

#: Convention by which published figures are counted: products alone, without biases, norms and activations.
CONVENTION = "torch"


class PublishedCounts:
    """Counts of published figures of a spec, each analysis made once.

    Args:
        loaded: the spec.
        program: its program at the default sizes.
    """

    def __init__(self, loaded: Loaded, program: Program) -> None:
        self._loaded, self._program = loaded, program
        self._analyses: dict[str, Analysis] = {}

    def of(self, published: Published) -> int | None:
        """Return the count of a figure; None for a quoted result.

        Raises:
            NetcalcError: errors of its settings; E503 for a pattern of layers that matches none.
        """
        if published.quoted:
            return None
        key = f"{published.set} {published.exclude}"
        if key not in self._analyses:
            program = self._program
            if published.set:
                program = elaborate(self._loaded, published.set, dtype=program.dtype)
            self._analyses[key] = analyze(program, CONVENTION, exclude=published.excluded)
        return integer(getattr(self._analyses[key].total, published.figure))
