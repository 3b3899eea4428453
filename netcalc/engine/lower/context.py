"""State that lowerings share while nodes are turned into steps."""

from __future__ import annotations

from collections.abc import Hashable

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.temporaries import kernel_temporaries
from netcalc.engine.graph import Graph, GraphNode
from netcalc.engine.lower.broadcast import repeated_bytes
from netcalc.engine.lower.budget import Budget
from netcalc.engine.lower.constants import Constants
from netcalc.engine.lower.emission import Emission
from netcalc.engine.lower.joins import Joins
from netcalc.engine.lower.layout import Layout
from netcalc.engine.lower.parallelism import Parallelism
from netcalc.engine.storage import Slot, Store
from netcalc.ir import OpNode, Program


class _Temporaries:
    """Bytes that reference kernels allocate besides their results."""

    def __init__(self, program: Program) -> None:
        self._analysis = Analysis(program, CONVENTIONS["netcalc"])

    def __call__(self, node: OpNode) -> int:
        return kernel_temporaries(node, self._analysis.terms(node), self._analysis.program.dtype)


class LoweringContext:
    """Parts of a plan in the making.

    Attributes:
        nodes: all nodes, in the order of the program.
        layout: slots of tensors.
        joins: places of tensors in the results of concatenations.
        constants: parameters and arrays derived from them.
        budget: memory that transformed parameters may add.
        emit: steps, and copies into other layouts.
        temporaries: bytes that reference kernels allocate.
        parallelism: number of workers, and of the jobs of a step.
        tuning: sizes of tiles, and the algorithms that may be used.
    """

    def __init__(self, program: Program, graph: Graph, parallelism: Parallelism) -> None:
        self.nodes = graph.nodes
        self.layout = Layout()
        self.joins = Joins(graph.nodes, self.layout, parallelism.tuning.join_distance)
        self.constants = Constants(program, graph, self.layout)
        self.budget = Budget(self.constants.parameter_bytes, parallelism.tuning)
        self.emit = Emission(self.layout, parallelism)
        self.temporaries = _Temporaries(program)
        #: Bytes of arrays that steps make when they are bound to memory: of repeated vectors by the stores of their
        #: constants, of hidden scores by the node of attention.
        self.patterns: dict[Store | GraphNode, int] = {}
        #: Boolean masks of attention as numbers, by the slots of the masks.
        self.masks: dict[Hashable, Slot] = {}
        #: Sizes of tiles of Winograd's algorithm by convolution, once the first one asks for it.
        self.winograd_sides: dict[GraphNode, int] | None = None
        #: True for weights of linear layers that all operations read packed, by path, once one asks for it.
        self.packed: dict[str, bool] = {}
        #: Most bytes that the tiles of a step allocate.
        self.temporary = 0
        self.parallelism = parallelism
        self.tuning = parallelism.tuning

    def repeat(self, vector: Slot, rows: int) -> None:
        """Declare that a step combines rows with a vector, and may keep repetitions of it for long inner loops."""
        self.patterns[vector.store] = repeated_bytes(vector.elements, vector.dtype.itemsize, rows, self.tuning)

    def tile_temporaries(self, nbytes: int) -> None:
        """Declare that a step allocates so many bytes for each tile; every worker computes one at a time."""
        self.temporary = max(self.temporary, nbytes * self.parallelism.threads)
