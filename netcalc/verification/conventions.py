"""Counting conventions, held against counts of the executed kernels by the tools' own formulas.

Each distinct operation is counted under every convention from the shapes of its arrays and the work that its kernel
tallied (:mod:`~netcalc.verification.figure_references.conventions`), and so is each distinct product of a backward
pass.  The totals, and the list of operations that a tool does not count, follow from the operations that ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis, analyze
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array, dtype_name
from netcalc.dims import Dim, integer
from netcalc.dtypes import COMPLEX
from netcalc.ir import OpNode, Program
from netcalc.numerics.tape import Record
from netcalc.opdef import Term
from netcalc.verification.figure_references.conventions import COUNTED, Count, Executed, count, count_backward
from netcalc.verification.references import Attributes
from netcalc.verification.report import Gap, InstanceCheck


class Conventions:
    """Comparison of what conventions count of a program with what runs."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._conventions = {name: CONVENTIONS[name] for name in COUNTED}
        self._analyses = {name: Analysis(program, convention) for name, convention in self._conventions.items()}
        self._runs: dict[OpNode, Executed | None] = {}
        self._counts: dict[OpNode, dict[str, Count]] = {}
        self._products: dict[tuple[Any, ...], Count | None] = {}
        self._totals: dict[str, Counter[str]] = {name: Counter() for name in COUNTED}
        self._backward: Counter[str] = Counter()
        self._uncounted: dict[str, set[str]] = {name: set() for name in COUNTED}
        self._gaps: dict[Gap, None] = {}

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Operations whose work was not counted anew."""
        return tuple(self._gaps)

    def checks(
        self,
        instance: Instance,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
        outputs: Sequence[Array],
        work: Mapping[str, int],
    ) -> Iterator[InstanceCheck]:
        """Yield the checks of an executed operation; none if it was compared before."""
        node = instance.node
        if node not in self._runs:
            run = self._runs[node] = self._executed(node, inputs, params, outputs, work)
            counts = {} if run is None else {name: count(name, run) for name in COUNTED}
            self._counts[node] = {name: found for name, found in counts.items() if found is not None}
            for name, found in self._counts[node].items():
                cost = self._analyses[name].node(node)
                yield from _compared(instance, f"by {name}", (cost.macs, cost.flops), found)
        for name, found in self._counts[node].items():
            self._totals[name].update(macs=found.macs, flops=found.flops)
            if not found.flops and any(work.values()):
                self._uncounted[name].add(node.op.name)

    def product(
        self, record: Record, given: tuple[bool, ...], terms: Sequence[Term], work: Mapping[str, int]
    ) -> Iterator[InstanceCheck]:
        """Yield the checks of a product of a backward pass, whose ``work`` was tallied; none if it was compared before.

        Args:
            record: the operation on the tape.
            given: for each output True if a gradient arrived.
            terms: the work that the operation declares for it.
            work: the work by kind.
        """
        node, run = record.instance.node, self._runs.get(record.instance.node)
        key = node, record.wanted, given
        if key not in self._products:
            self._products[key] = None
            for name, convention in self._conventions.items():
                if convention.backward is None or run is None:
                    continue
                counted = convention.counts_backward(node, terms)
                found = count_backward(name, run, work, record.wanted)
                if found is None:
                    continue
                if name == "torch":
                    self._products[key] = found
                yield from _compared(record.instance, f"by {name}, backward", (counted.macs, counted.flops), found)
                forward = count(name, run, record.wanted)
                if forward is not None:
                    own = convention.counts(node, self._analyses[name].terms(node), self._program.training, terms)
                    what = f"by {name}, before a product"
                    yield from _compared(record.instance, what, (own.macs, own.flops), forward)
        counted_by_torch = self._products[key]
        if counted_by_torch is not None:
            self._backward.update(macs=counted_by_torch.macs, flops=counted_by_torch.flops)

    def totals(self) -> Iterator[InstanceCheck]:
        """Yield the checks of the work of the whole forward pass."""
        for name, analysis in self._analyses.items() if not self._gaps else ():
            total, counted = analysis.total, self._totals[name]
            figures = Count(counted["macs"], counted["flops"])
            yield from _compared(None, f"by {name}", (total.macs, total.flops), figures)
            predicted, executed = (
                ", ".join(sorted(names)) or "none" for names in (analysis.uncounted, self._uncounted[name])
            )
            yield InstanceCheck(None, f"counted by {name}: left out", predicted, executed)

    def backward_totals(self) -> Iterator[InstanceCheck]:
        """Yield the check of the work of the whole backward pass as torch counts it, which counts no additions."""
        if self._gaps:
            return
        total = analyze(self._program, "torch", backward=True).total
        figures = Count(self._backward["macs"], self._backward["flops"])
        yield from _compared(None, "by torch, backward", (total.macs_backward, total.flops_backward), figures)

    # -- internals ----------------------------------------------------------------------------------

    def _executed(
        self,
        node: OpNode,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
        outputs: Sequence[Array],
        work: Mapping[str, int],
    ) -> Executed | None:
        """Return what ran; None, with a gap, for work that is not counted anew."""
        arrays = [*inputs, *params.values(), *outputs]
        is_complex = any(array is not None and dtype_name(array.dtype) in COMPLEX for array in arrays)
        if is_complex or node.op.declared() is not None:
            reason = "complex numbers" if is_complex else "it is declared"
            self._gaps[Gap(f"work of {node.op.name} by conventions", reason)] = None
            return None
        op = Attributes(node.op, training=self._program.training, dtype=self._program.dtype)
        given = [None if array is None else array.shape for array in inputs]
        shapes = {name: array.shape for name, array in params.items()}
        return Executed(op, given, shapes, [array.shape for array in outputs], dict(work))


def _compared(instance: Instance | None, by: str, predicted: tuple[Dim, Dim], found: Count) -> Iterator[InstanceCheck]:
    for figure, number, executed in zip(("MACs", "FLOPs"), map(integer, predicted), found, strict=True):
        if number or executed:
            yield InstanceCheck(instance, f"counted {by}: {figure}", number, executed)
