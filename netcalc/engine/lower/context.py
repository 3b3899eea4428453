"""State that lowerings share while nodes are turned into steps."""

from __future__ import annotations

from netcalc.engine.graph import Graph
from netcalc.engine.lower.budget import Budget
from netcalc.engine.lower.constants import Constants
from netcalc.engine.lower.emission import Emission
from netcalc.engine.lower.layout import Layout
from netcalc.engine.lower.parallelism import Parallelism
from netcalc.ir import Program

__all__ = ["LoweringContext"]


class LoweringContext:
    """Parts of a plan in the making.

    Attributes:
        layout: slots of tensors.
        constants: parameters and arrays derived from them.
        budget: memory that transformed parameters may add.
        emit: steps, and copies into other layouts.
        parallelism: number of workers, and of the jobs of a step.
        tuning: sizes of tiles, and the algorithms that may be used.
    """

    def __init__(self, program: Program, graph: Graph, parallelism: Parallelism) -> None:
        self.layout = Layout()
        self.constants = Constants(program, graph, self.layout)
        self.budget = Budget(self.constants.parameter_bytes, parallelism.tuning)
        self.emit = Emission(self.layout, parallelism)
        self.parallelism = parallelism
        self.tuning = parallelism.tuning
