"""The task of a writer of a format: a network, a file and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from netcalc.analysis.exported import WrittenWeights
from netcalc.ir import Program
from netcalc.request import Request


class Job(NamedTuple):
    """A network to write to a file, with the options of ``export``.

    ``weights`` are those of ``--weights``, opened.
    """

    request: Request
    program: Program
    path: str
    options: Mapping[str, Any]
    weights: Any = None

    @property
    def written_weights(self) -> WrittenWeights:
        """Origin of the weights that are written."""
        return "stored" if self.weights is not None else "drawn" if self.options["draw"] else "none"
