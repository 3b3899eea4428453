"""Work, sequential steps and path lengths of the layers of a network along its positions.

They are the columns of Table 1 of Vaswani et al. 2017, arXiv:1706.03762, for the layers that a spec has.  *Sequential
steps* are those that no number of processors computes at once.  The *path* of a kind of layers is the number of layers,
or of steps of a recurrence, that a signal passes between the first and the last position, if layers of this kind alone
follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.analysis.conventions import Convention
from netcalc.analysis.cost import Analysis
from netcalc.analysis.explain import Explanation, explain_program
from netcalc.analysis.rows import Row
from netcalc.analysis.working import Section, number_text
from netcalc.dims import Dim, Poly, Settled, UndecidedError, maximum, symbol, value_at
from netcalc.ir import Body, CallNode, OpNode, Program, Value
from netcalc.opdef import Context, Window, WorkingLine

_SOURCE = "Vaswani et al. 2017, arXiv:1706.03762, Table 1"


class Span(NamedTuple):
    """Positions that a layer connects: an output with those at most ``positions`` before or behind it.

    Of a layer that leaves one in ``stride`` positions they are counted from its first to its last.
    """

    positions: Dim
    stride: int = 1
    spacing: int = 1
    """Distance between the positions that it reads."""

    def connects(self, size: int) -> bool:
        """Return True if layers reach the last of so many positions from the first."""
        return self.stride > 1 or (size - 1) % self.spacing == 0

    def layers(self, size: int) -> int:
        """Return the layers behind which a position depends on the first and the last of so many."""
        count, field, jump = 0, 1, 1
        positions = value_at(self.positions, {})
        while field < size:
            if self.stride == 1:
                return -(-(size - 1) // positions)
            count, field, jump = count + 1, field + positions * jump, jump * self.stride
        return count

    def formula(self, name: str) -> str:
        """Return the formula of :meth:`layers`; ``name`` is the dim of the positions."""
        if self.stride == 1:
            positions = f"{self.positions:,}"
            return f"⌈({name} − 1)/{positions if isinstance(self.positions, int) else f'({positions})'}⌉"
        grown = f"({self.stride}^L − 1)" + (f"/{self.stride - 1}" if self.stride > 2 else "")
        return f"least L with 1 + {self.positions:,}·{grown} ≥ {name}"


#: What connects two positions: one layer, layers of a span, the steps of a recurrence, nothing (None), or not known.
_Reach: TypeAlias = Span | Literal["all", "steps", "unknown"] | None


class LayerKind(NamedTuple):
    """Layers of one operation that connect positions alike."""

    op: str
    layers: Dim
    macs: Dim
    """Multiply-adds of all of them, in symbols."""
    steps: Dim
    """Sequential steps of one of them, in symbols."""
    reach: _Reach
    """Kind of path that connects two positions."""


def explain_complexity(program: Program, name: str, size: int, convention: Convention) -> Explanation:
    """Return the working of a program in which ``name`` is the symbol of the positions, with numbers for ``size``.

    Raises:
        UndecidedError: E404 if a size depends on something else.
    """
    note = f"steps and paths as in {_SOURCE}, for layers of one kind behind each other"
    sections = _sections(program, name, size, convention)
    return explain_program(program, "complexity", sections, convention=convention.name, notes=(note,))


def _sections(program: Program, name: str, size: int, convention: Convention) -> Iterator[Section]:
    """Yield a section for each kind of layer, and one for the network."""
    kinds = list(_kinds(Analysis(program, convention).tree(), name))
    at = {name: size}
    settle = Settled(program.assumptions)
    for kind in kinds:
        layers = (
            "1 layer" if isinstance(kind.layers, int) and kind.layers == 1 else f"{number_text(kind.layers)} layers"
        )
        yield Section(f"{kind.op}: {layers}", tuple(_lines(kind._replace(macs=settle(kind.macs)), name, at)))
    total: Dim = settle(sum((kind.macs for kind in kinds), start=0))
    network = [
        _line("multiply-adds", total, at),
        WorkingLine("sequential steps", "", "", _Chain(program, at).body(program.main)),
        _connected(kinds, size),
    ]
    yield Section(f"network: {name} = {number_text(size)}", tuple(network))


def _lines(kind: LayerKind, name: str, at: dict[str, int]) -> Iterator[WorkingLine]:
    yield _line("multiply-adds", kind.macs, at)
    yield _line("sequential steps", kind.steps, at)
    label = "path from end to end"
    if kind.reach == "steps":
        yield _line(label, symbol(name), at)
    elif isinstance(kind.reach, Span) and not kind.reach.connects(at[name]):
        yield WorkingLine(label, "", "", f"none: a spacing of {kind.reach.spacing} passes over the last position")
    elif isinstance(kind.reach, Span):
        yield WorkingLine(label, kind.reach.formula(name), "", kind.reach.layers(at[name]))
    else:
        told: dict[str | None, object] = {"all": 1, "unknown": "not known", None: "none: positions are kept apart"}
        yield WorkingLine(label, "", "", told[kind.reach])


def _line(label: str, formula: Dim, at: dict[str, int]) -> WorkingLine:
    value = value_at(formula, at)
    return WorkingLine(label, "" if isinstance(formula, int) else number_text(formula), "", value)


def _needed(kind: LayerKind, size: int) -> int | None:
    """Return the layers of a kind, or its steps, that connect the first and the last position; None if none do."""
    if isinstance(kind.reach, Span):
        return kind.reach.layers(size) if kind.reach.connects(size) else None
    return {"steps": size, "all": 1}.get(kind.reach or "")


def _connected(kinds: Iterable[LayerKind], size: int) -> WorkingLine:
    """Return the shortest path of a network, by layers of one kind."""
    label = "path from end to end"
    counted = [(kind.reach, value_at(kind.layers, {}), _needed(kind, size)) for kind in kinds]
    ways = [
        needed for reach, layers, needed in counted if needed is not None and (reach == "steps" or needed <= layers)
    ]
    if ways:
        return WorkingLine(label, "", "", min(ways))
    unknown = any(kind.reach == "unknown" for kind in kinds)
    return WorkingLine(label, "", "", "not known" if unknown else "none: no kind of layers alone connects them")


def _kinds(rows: Iterable[Row], name: str) -> Iterator[LayerKind]:
    """Yield the kinds of layers with work, in order of their first layer; ``name`` is the dim of the positions."""
    found: dict[tuple[str, _Reach, str], LayerKind] = {}
    for row, times in _leaves(rows, 1):
        node, macs = row.node, row.cost.macs * times
        if not isinstance(node, OpNode) or row.cost.flops == 0:
            continue
        reach, steps = _reach(node, name), node.op.steps(node.input_types)
        if macs == 0 and reach in (None, "unknown"):
            continue
        key = node.op.name, reach, str(steps)
        before = found.get(key)
        layers: Dim = 0 if before is None else before.layers
        work: Dim = 0 if before is None else before.macs
        found[key] = LayerKind(node.op.name, layers + times, work + macs, steps, reach)
    yield from found.values()


def _leaves(rows: Iterable[Row], times: Dim) -> Iterator[tuple[Row, Dim]]:
    """Yield the rows of operations, with the number of their instances."""
    for row in rows:
        if row.children:
            yield from _leaves(row.children, times * row.repeat)
        else:
            yield row, times * row.repeat


def _along(size: Dim, name: str) -> bool:
    """Return True for a size that depends on the number of positions."""
    return isinstance(size, Poly) and name in size.names()


def _reach(node: OpNode, name: str) -> _Reach:
    """Return what connects positions in an operation, whose axes have symbolic sizes."""
    op: Any = node.op
    if _along(op.steps(node.input_types), name):
        return "unknown" if hasattr(op, "chunk") else "steps"
    if op.name == "scaled_dot_product_attention":
        return _reach_of_attention(op, node, name)
    types = [type_ for type_ in node.input_types if type_ is not None]
    try:
        reads = op.reach(types, node.output_types[0], False)
    except UndecidedError:
        return "unknown"
    if reads is None:
        return "unknown"
    widest: Span | None = None
    for type_, axes in zip(types, reads, strict=False):
        for extent, axis in zip(type_.shape, axes, strict=True):
            if not _along(extent, name):
                continue
            if axis == "all":
                return "all"
            if axis == "unknown":
                return "unknown"
            if isinstance(axis, Window) and axis.divisor > 1:
                return "unknown"
            if isinstance(axis, Window) and axis.last > axis.first:
                reached = axis.last - axis.first if axis.step > 1 else maximum(axis.last, -axis.first)
                span = Span(reached, axis.step, axis.spacing)
                widest = span if widest is None else max(widest, span, key=_reached)
    return widest


def _reached(span: Span) -> tuple[int, ...]:
    """Return what spans are compared by."""
    return value_at(span.positions, {}), span.stride, span.spacing


def _reach_of_attention(op: Any, node: OpNode, name: str) -> _Reach:
    key = node.input_types[1] or node.input_types[0]
    if key is None or not _along(key.shape[-2], name):
        return None
    if op.blocks is not None:
        return "unknown"
    bounds = () if op.window is None else (op.window,) * 2 if isinstance(op.window, int) else tuple(op.window)
    if op.window is None or op.global_tokens or any(bound is None for bound in bounds):
        return "all"
    widest = max(bounds)
    return Span(widest) if widest else None


class _Chain:
    """The longest chain of steps through a program at a size; operations without work take no step."""

    def __init__(self, program: Program, at: dict[str, int]) -> None:
        self._context = Context(training=program.training, dtype=program.dtype)
        self._at = at

    def body(self, body: Body, depths: Iterable[int] = ()) -> int:
        """Return the steps of the longest chain to an output."""
        return max(self.outputs(body, list(depths) or [0] * len(body.inputs)), default=0)

    def outputs(self, body: Body, depths: list[int]) -> list[int]:
        """Return the steps of the longest chain to each output, behind chains to the inputs."""
        values: dict[Value | None, int] = dict(zip(body.inputs, depths, strict=True))
        for node in body.nodes:
            before = [values.get(value, 0) for value in node.inputs]
            after = self._call(node, before) if isinstance(node, CallNode) else [self._operation(node, before)]
            values.update(zip(node.outputs, after if len(after) > 1 else after * len(node.outputs), strict=True))
        return [values.get(value, 0) for value in body.outputs]

    def _operation(self, node: OpNode, before: list[int]) -> int:
        works = bool(node.op.cost(self._context, node.input_types, node.output_types))
        steps = value_at(node.op.steps(node.input_types), self._at) if works else 0
        return max(before, default=0) + steps

    def _call(self, node: CallNode, before: list[int]) -> list[int]:
        """Return the chains behind a call: iterations add the same number of steps from the third on."""
        history: list[list[int]] = []
        arguments, times = list(before), value_at(node.times, self._at)
        for _ in range(min(times, 3)):
            made = self.outputs(node.body, arguments)
            history.append(made)
            arguments[: node.carried] = made[: node.carried]
        made = history[-1]
        if times <= len(history):
            return made
        rest = times - len(history)
        return [last + rest * (last - previous) for last, previous in zip(made, history[-2], strict=True)]
