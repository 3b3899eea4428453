"""Means and standard deviations of the outputs of layers, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.ir import CallNode, Program
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.tape import Variable
from netcalc.numerics.trace import Tracer, TraceRow
from netcalc.training.result import WatchedLayer


class Watcher:
    """Statistics of the outputs whose path matches a pattern, in the forward pass of every step.

    Args:
        program: the program.
        patterns: patterns of paths, as those of traces.

    Raises:
        NetcalcError: E503, with every pattern that matches nothing in the program.
    """

    def __init__(self, program: Program, patterns: Sequence[str]) -> None:
        self._tracer = Tracer(program, patterns, option="--watch")
        self._steps: dict[str, list[TraceRow]] = {}

    def forward(
        self, instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[Array, ...]:
        """Run one operation; record its outputs if its path matches."""
        outputs = run_operation(instance, run, inputs, params)
        self._tracer.record(instance.path, instance.node, outputs, inputs, params)
        return outputs

    def leave(self, path: str, call: CallNode, outputs: Sequence[Variable]) -> None:
        """Record the outputs of an iteration of a call if its path matches."""
        self._tracer.record_call(path, call, [variable.array for variable in outputs])

    def end_step(self) -> None:
        """Add what was recorded as the statistics of one step."""
        for row in {row.path: row for row in self._tracer.rows}.values():
            self._steps.setdefault(row.path, []).append(row)
        self._tracer.rows.clear()

    @property
    def layers(self) -> tuple[WatchedLayer, ...]:
        """The outputs in the order of execution."""
        return tuple(
            WatchedLayer(
                path, rows[0].op, rows[0].shape, tuple(row.mean for row in rows), tuple(row.std for row in rows)
            )
            for path, rows in self._steps.items()
        )
