"""The comparisons of a verification with independent statements, as its options ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from netcalc.ir import Program
from netcalc.run_options import ParameterOptions
from netcalc.verification.compared import Comparison
from netcalc.verification.conventions import Conventions
from netcalc.verification.definitions import UNSEEN, Definitions
from netcalc.verification.gradient_values import GradientValues
from netcalc.verification.initial_values import InitialValues
from netcalc.verification.report import VerifyReport
from netcalc.verification.saved_tensors import SavedTensors


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Comparisons of values; None or empty where they are not asked for.

    ``each`` are made of every operation as it is executed.
    """

    definitions: Definitions | None = None
    conventions: Conventions | None = None
    gradients: GradientValues | None = None
    each: Sequence[Comparison] = ()

    @classmethod
    def of(cls, program: Program, seed: int, parameters: ParameterOptions, *, values: bool, backward: bool) -> Self:
        """Return the comparisons for these options."""
        if not values:
            return cls()
        drawn = parameters.get("weights") is None
        each: list[Comparison] = []
        if drawn:
            each.append(InitialValues(program, seed, parameters.get("init", "default")))
        gradients = GradientValues(program, seed) if backward else None
        if gradients is not None:
            each += [gradients, SavedTensors(program, seed)]
        return cls(Definitions(program, seed, drawn=drawn), Conventions(program), gradients, each)

    def completed(self, report: VerifyReport) -> VerifyReport:
        """Return a report with the counts and gaps of the comparisons."""
        if self.definitions is None or self.conventions is None:
            return report
        gaps = [*report.gaps, *self.definitions.gaps]
        gaps += [gap for comparison in self.each for gap in comparison.gaps]
        gaps += self.conventions.gaps
        counts = () if self.gradients is None else self.gradients.counts
        return replace(report, gaps=tuple(gaps), values=self.definitions.counts, gradients=counts, unseen=UNSEEN)
