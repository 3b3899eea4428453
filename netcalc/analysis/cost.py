"""Parameters and work of a program, by layer and by operation, under a counting convention.

A body is costed once and multiplied by how often it is called, so that depth costs nothing; and nothing is costed
before it is asked for, so that shapes alone cost nothing either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, partial
from typing import NamedTuple

from netcalc.analysis.conventions import CONVENTIONS, Convention
from netcalc.analysis.figures import Cost, Use, Weight, Work
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value, dtype_of, join
from netcalc.opdef import Context, Term

__all__ = ["Analysis", "Row", "analyse"]


class Row(NamedTuple):
    """One line of a report: an operation, a call, or the lines under one name.

    ``compute`` gives the cost of one instance, ``repeat`` says how many it stands for.  ``path`` is the first
    instance's; ``label`` its last part, or the range of instances.
    """

    path: str
    label: str
    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    compute: Callable[[], Cost]
    repeat: int = 1
    children: tuple[Row, ...] = ()
    node: Node | None = None

    @property
    def cost(self) -> Cost:
        """The cost of one instance."""
        return self.compute()

    @property
    def total(self) -> Cost:
        """The cost of all the instances."""
        return self.cost.times(self.repeat)


class Analysis:
    """The costs of a program under one convention, computed when asked for."""

    def __init__(self, program: Program, convention: Convention) -> None:
        self.program = program
        self.convention = convention
        self._nodes: dict[int, Cost] = {}
        self._bodies: dict[int, Cost] = {}
        self._uncounted: dict[str, None] = {}
        self._ctx = Context(training=program.training, dtype=program.dtype)

    @cached_property
    def total(self) -> Cost:
        """The whole program's cost."""
        return self._body(self.program.main)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Operations that do work which the convention does not count, in order of first use."""
        _ = self.total
        return tuple(self._uncounted)

    @cached_property
    def by_operation(self) -> dict[str, tuple[int, Cost]]:
        """For each operation: how often it is executed, and the cost of all its executions."""
        found: dict[str, tuple[int, Cost]] = {}
        for row in self.leaves():
            count, cost = found.get(row.op, (0, Cost()))
            found[row.op] = (count + row.repeat, cost + row.total)
        return found

    def rows(self, *, depth: int | None = None, unroll: bool = False) -> Iterable[Row]:
        """The rows that add up to the totals: the operations, or at a depth what stands there."""
        return self.leaves(unroll=unroll) if depth is None else self.frontier(depth, unroll=unroll)

    def leaves(self, *, unroll: bool = False) -> Iterator[Row]:
        """Every operation in order of execution; rows of repeated blocks stand for all instances unless unrolled."""
        yield from self._leaves(self.program.main, "", 1, unroll, shared=False)

    def frontier(self, depth: int, *, unroll: bool = False) -> Iterator[Row]:
        """Rows whose paths have at most ``depth`` parts, what lies deeper summed; they add up to the total."""
        yield from _cut(self.tree(unroll=unroll), depth, 1)

    def tree(self, *, unroll: bool = False) -> tuple[Row, ...]:
        """The rows as a tree by path."""
        return self._tree(self.program.main, "", unroll, shared=False)

    def node(self, node: OpNode) -> Cost:
        """The cost of one operation."""
        if id(node) not in self._nodes:
            self._nodes[id(node)] = self._cost(node)
        return self._nodes[id(node)]

    def terms(self, node: OpNode, *, expected: bool = False) -> tuple[Term, ...]:
        """The work of one operation, term by term: all that is done, or the part of use on data as expected."""
        rule = node.op.expected_cost if expected else node.op.cost
        return tuple(rule(self._ctx, node.input_types, node.output_types))

    # -- internals ----------------------------------------------------------------------------------

    def _cost(self, node: OpNode) -> Cost:
        executed = self.convention.counts(node, self.terms(node), self._ctx.training)
        if executed.incomplete:
            self._uncounted.setdefault(node.op.name)
        expected = self.convention.counts(node, self.terms(node, expected=True), self._ctx.training)
        return Cost.of(self._weights(node), Work(node, executed, expected))

    def _weights(self, node: OpNode) -> Iterator[tuple[Use, Weight]]:
        """The parameters and buffers of an operation; a buffer of another operation counts there alone."""
        for param in node.params:
            use: Use = "buffer" if param.is_buffer else "parameter"
            if param.name in node.ties:
                if param.is_buffer:
                    continue
                use = "tied"
            elements = param.elements
            yield use, Weight(node, param, elements, elements * ITEMSIZE[dtype_of(param, node, self.program.dtype)])

    def _body(self, body: Body) -> Cost:
        if id(body) not in self._bodies:
            total = Cost()
            for node in body.nodes:
                total += self.node(node) if isinstance(node, OpNode) else self._call(node).times(node.times)
            self._bodies[id(body)] = total
        return self._bodies[id(body)]

    def _call(self, node: CallNode) -> Cost:
        cost = self._body(node.body)
        return cost if node.shares is None else cost.using_weights_of_another()

    def _leaves(self, body: Body, prefix: str, repeat: int, unroll: bool, *, shared: bool) -> Iterator[Row]:
        for node in body.nodes:
            if isinstance(node, OpNode):
                yield self._leaf(node, join(prefix, node.name), repeat, shared)
                continue
            inner = shared or node.shares is not None
            for turn in range(node.times if unroll else 1):
                path = join(prefix, node.instance(turn))
                yield from self._leaves(node.body, path, repeat * (1 if unroll else node.times), unroll, shared=inner)

    def _leaf(self, node: OpNode, path: str, repeat: int, shared: bool) -> Row:
        inputs = tuple(v for v in node.inputs if v is not None)
        compute = cache(partial(self._one, node, shared))
        return Row(path, path.rpartition(".")[2], node.op.name, inputs, node.outputs, compute, repeat, (), node)

    def _one(self, node: Node, shared: bool) -> Cost:
        """The cost of an operation, or of one turn of a call."""
        cost = self.node(node) if isinstance(node, OpNode) else self._body(node.body)
        return cost.using_weights_of_another() if shared else cost

    def _tree(self, body: Body, prefix: str, unroll: bool, *, shared: bool) -> tuple[Row, ...]:
        rows: list[tuple[tuple[str, ...], Row]] = []
        for node in body.nodes:
            if isinstance(node, OpNode):
                rows.append((_parts(node.name), self._leaf(node, join(prefix, node.name), 1, shared)))
                continue
            for turn in range(node.times if unroll else 1):
                rows.append((_parts(node.instance(turn)), self._called(node, prefix, turn, unroll, shared)))
        return _grouped(rows, prefix)

    def _called(self, node: CallNode, prefix: str, turn: int, unroll: bool, shared: bool) -> Row:
        path = join(prefix, node.instance(turn))
        borrowed = shared or node.shares is not None
        children = self._tree(node.body, path, unroll, shared=borrowed)
        times = 1 if unroll else node.times
        first = path.rpartition(".")[2]
        last = node.instance(node.times - 1).rpartition(".")[2]
        label = f"{first}–{last}" if times > 1 and last != first else first
        inputs = tuple(v for v in node.inputs if v is not None)
        # a repeated operation is its own only line
        if len(children) == 1 and children[0].path == path:
            only = children[0]
            return Row(path, label, only.op, inputs, node.outputs, only.compute, times, (), only.node)
        compute = cache(partial(self._one, node, borrowed))
        return Row(path, label, node.body.block, inputs, node.outputs, compute, times, children, node)


def analyse(program: Program, convention: str = "netcalc") -> Analysis:
    """The costs of a program; NetcalcError (E701) where there is no such convention."""
    if convention not in CONVENTIONS:
        hint = did_you_mean(convention, CONVENTIONS)
        raise NetcalcError(Diagnostic("E701", f"there is no counting convention {convention!r}", hint=hint))
    return Analysis(program, CONVENTIONS[convention])


def _parts(name: str) -> tuple[str, ...]:
    return tuple(name.split(".")) if name else ("",)


def _grouped(rows: list[tuple[tuple[str, ...], Row]], prefix: str) -> tuple[Row, ...]:
    """Rows whose names share a first part become one row with children, where the part first occurs."""
    groups: dict[str, list[tuple[tuple[str, ...], Row]]] = {}
    for parts, row in rows:
        groups.setdefault(parts[0], []).append((parts, row))
    result: list[Row] = []
    for name, members in groups.items():
        if len(members) == 1 and len(members[0][0]) == 1:
            result.append(members[0][1])
            continue
        path = join(prefix, name)
        here = [(parts, row) for parts, row in members if len(parts) == 1]
        below = [(parts[1:], row) for parts, row in members if len(parts) > 1]
        children = (*(row for _, row in here), *_grouped(below, path))
        compute = cache(partial(_summed, children))
        result.append(
            Row(path, name, "sequence", members[0][1].inputs, members[-1][1].outputs, compute, 1, children, None)
        )
    return tuple(result)


def _summed(rows: Iterable[Row]) -> Cost:
    return sum((row.total for row in rows), Cost())


def _cut(rows: tuple[Row, ...], depth: int, repeat: int) -> Iterator[Row]:
    for row in rows:
        if row.children and row.path.count(".") + 1 < depth:
            yield from _cut(row.children, depth, repeat * row.repeat)
        else:
            yield row._replace(repeat=row.repeat * repeat)
