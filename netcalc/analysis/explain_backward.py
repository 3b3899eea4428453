"""The working behind a backward pass: derivatives, saved tensors, and the work of products and updates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.analysis.backward_work import BackwardWork
from netcalc.analysis.cost import Analysis
from netcalc.analysis.rows import Row
from netcalc.analysis.working import Section, counted_steps, term_steps
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import OpNode
from netcalc.opdef import WorkingLine
from netcalc.ops.backward import NO_GRADIENT, Saved, Source


def backward_sections(analysis: Analysis, row: Row, node: OpNode) -> Iterator[Section]:
    """Yield the sections of the backward pass of an operation; none if it is not counted."""
    convention, backward = analysis.convention, analysis.backward
    if backward is None:
        return
    yield Section("derivatives", tuple(_derivatives(backward.derivatives(node))))
    flow = backward.flow.of(node)
    yield Section("gradients", tuple(_gradients(node, flow.wanted)))
    yield Section(
        "saved", tuple(_saved(backward.saved(node))), "tensors that the forward pass keeps, as PyTorch names them"
    )
    if not flow.wanted:
        return
    cost, terms = row.cost, backward.terms(node)
    yield Section("backward work", tuple(term_steps(terms)))
    work = cost.macs_backward, cost.flops_backward
    rule = "; ".join((f"{convention.name}: {convention.about}", *analysis.remarks_of(node)))
    steps = counted_steps(convention, row.repeat, work, terms, analysis.backward_parts(node))
    yield Section("backward counted", tuple(steps), rule)
    if backward.optimizer is not None:
        updates = backward.update(node)
        updated = [*_formulas(backward, node), *term_steps(updates), WorkingLine("FLOPs", "", "", cost.flops_update)]
        yield Section("update", tuple(updated) if updates else (), backward.optimizer.source)


def _derivatives(lines: Sequence[str]) -> Iterator[WorkingLine]:
    for line in lines:
        name, equals, formula = line.partition(" = ")
        yield WorkingLine(name, formula, "", "") if equals else WorkingLine("", line, "", "")


def _gradients(node: OpNode, wanted: frozenset[Source]) -> Iterator[WorkingLine]:
    names = [_name(node, source) for source in sorted(wanted, key=lambda source: (isinstance(source, str), source))]
    reason = NO_GRADIENT.get(node.op.name)
    nothing = f"none: {reason}" if reason else "none is needed, or none arrives"
    yield WorkingLine("computed", ", ".join(names) or nothing, "", "")


def _name(node: OpNode, source: Source) -> str:
    if isinstance(source, str):
        return source or "value"
    ports = node.op.inputs
    port = ports[min(source, len(ports) - 1)]
    return f"{port.name} {source}" if port.variadic else port.name


def _saved(tensors: Sequence[Saved]) -> Iterator[WorkingLine]:
    origins = {"input": "an input", "output": "an output", "parameter": "a parameter", "kept": "kept for this"}
    for saved in tensors:
        size = saved.type.elements * ITEMSIZE[saved.type.dtype]
        text = f"{saved.type} {saved.type.dtype}, {origins[saved.kind]}"
        yield WorkingLine(f"{saved.name}: bytes", text, "", size)


def _formulas(backward: BackwardWork, node: OpNode) -> Iterator[WorkingLine]:
    for part in backward.formulas(node):
        yield WorkingLine(part.role, part.formula, "", "")
