"""Cost of a program, by layer and by operation, under a counting convention.

The cost of a body is computed once and multiplied by its number of calls, so that the time does not depend on the
depth.  Costs are computed when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, partial
from typing import NamedTuple

from netcalc.analysis.conventions import Convention, convention_named
from netcalc.analysis.figures import Cost, Use, Weight, Work
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value, dtype_of, join
from netcalc.opdef import Context, Term

__all__ = ["Analysis", "Row", "analyse"]


class Row(NamedTuple):
    """A line of a report: an operation, a call, or all lines under one name.

    ``path`` is the path of the first instance.  ``label`` is the last part of the path, or a range of instances.
    ``compute_cost`` returns the cost of one instance, and ``repeat`` is the number of instances.
    """

    path: str
    label: str
    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    compute_cost: Callable[[], Cost]
    repeat: int = 1
    children: tuple[Row, ...] = ()
    node: Node | None = None

    @property
    def cost(self) -> Cost:
        """The cost of one instance."""
        return self.compute_cost()

    @property
    def total(self) -> Cost:
        """The cost of all instances."""
        return self.cost.times(self.repeat)


class Analysis:
    """The costs of a program under one convention, computed on demand."""

    def __init__(self, program: Program, convention: Convention) -> None:
        self.program = program
        self.convention = convention
        self._node_costs: dict[int, Cost] = {}
        self._body_costs: dict[int, Cost] = {}
        self._uncounted: dict[str, None] = {}
        self._context = Context(training=program.training, dtype=program.dtype)

    @cached_property
    def total(self) -> Cost:
        """The cost of the whole program."""
        return self._body(self.program.main)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Operations whose work the convention does not count, in order of first use."""
        _ = self.total
        return tuple(self._uncounted)

    @cached_property
    def by_operation(self) -> dict[str, tuple[int, Cost]]:
        """The number of executions of each operation, and the cost of all of them."""
        operations: dict[str, tuple[int, Cost]] = {}
        for row in self.leaves():
            count, cost = operations.get(row.op, (0, Cost()))
            operations[row.op] = (count + row.repeat, cost + row.total)
        return operations

    def rows(self, *, depth: int | None = None, unroll: bool = False) -> Iterable[Row]:
        """Return rows that add up to the totals: the operations, or with a depth the layers at that depth."""
        return self.leaves(unroll=unroll) if depth is None else self.frontier(depth, unroll=unroll)

    def leaves(self, *, unroll: bool = False) -> Iterator[Row]:
        """Yield every operation in order of execution; unless unrolled, a repeated one stands for all its instances."""
        yield from self._leaves(self.program.main, "", 1, unroll, shared=False)

    def frontier(self, depth: int, *, unroll: bool = False) -> Iterator[Row]:
        """Yield rows with paths of at most ``depth`` parts; deeper rows are summed."""
        yield from _cut(self.tree(unroll=unroll), depth, 1)

    def tree(self, *, unroll: bool = False) -> tuple[Row, ...]:
        """Return the rows as a tree by path."""
        return self._tree(self.program.main, "", unroll, shared=False)

    def node(self, node: OpNode) -> Cost:
        """Return the cost of one operation."""
        if id(node) not in self._node_costs:
            self._node_costs[id(node)] = self._operation(node)
        return self._node_costs[id(node)]

    def terms(self, node: OpNode, *, expected: bool = False) -> tuple[Term, ...]:
        """Return the terms of the work of one operation: all work that is executed, or the useful work only."""
        rule = node.op.expected_cost if expected else node.op.cost
        return tuple(rule(self._context, node.input_types, node.output_types))

    # -- costs ------------------------------------------------------------------------------------

    def _operation(self, node: OpNode) -> Cost:
        training = self._context.training
        executed = self.convention.counts(node, self.terms(node), training)
        if executed.incomplete:
            self._uncounted.setdefault(node.op.name)
        expected = self.convention.counts(node, self.terms(node, expected=True), training)
        return Cost.of(self._weights(node), Work(node, executed, expected))

    def _weights(self, node: OpNode) -> Iterator[tuple[Use, Weight]]:
        """Yield the parameters and buffers of an operation; a tied buffer counts only where it is declared."""
        for param in node.params:
            use: Use = "buffer" if param.is_buffer else "parameter"
            if param.name in node.ties:
                if param.is_buffer:
                    continue
                use = "tied"
            elements = param.elements
            yield use, Weight(node, param, elements, elements * ITEMSIZE[dtype_of(param, node, self.program.dtype)])

    def _body(self, body: Body) -> Cost:
        if id(body) not in self._body_costs:
            total = Cost()
            for node in body.nodes:
                total += self.node(node) if isinstance(node, OpNode) else self._call(node).times(node.times)
            self._body_costs[id(body)] = total
        return self._body_costs[id(body)]

    def _call(self, node: CallNode) -> Cost:
        cost = self._body(node.body)
        return cost if node.shares is None else cost.with_tied_weights()

    def _instance(self, node: Node, shared: bool) -> Cost:
        """Return the cost of an operation, or of one iteration of a call."""
        cost = self.node(node) if isinstance(node, OpNode) else self._body(node.body)
        return cost.with_tied_weights() if shared else cost

    # -- rows -------------------------------------------------------------------------------------

    def _leaves(self, body: Body, prefix: str, repeat: int, unroll: bool, *, shared: bool) -> Iterator[Row]:
        for node in body.nodes:
            if isinstance(node, OpNode):
                yield self._leaf(node, join(prefix, node.name), repeat, shared)
                continue
            inner = shared or node.shares is not None
            inner_repeat = repeat if unroll else repeat * node.times
            for index in range(node.times if unroll else 1):
                path = join(prefix, node.instance(index))
                yield from self._leaves(node.body, path, inner_repeat, unroll, shared=inner)

    def _leaf(self, node: OpNode, path: str, repeat: int, shared: bool) -> Row:
        compute_cost = cache(partial(self._instance, node, shared))
        label = path.rpartition(".")[2]
        return Row(path, label, node.op.name, _used_inputs(node), node.outputs, compute_cost, repeat, (), node)

    def _tree(self, body: Body, prefix: str, unroll: bool, *, shared: bool) -> tuple[Row, ...]:
        rows: list[tuple[tuple[str, ...], Row]] = []
        for node in body.nodes:
            if isinstance(node, OpNode):
                rows.append((_parts(node.name), self._leaf(node, join(prefix, node.name), 1, shared)))
                continue
            for index in range(node.times if unroll else 1):
                rows.append((_parts(node.instance(index)), self._branch(node, prefix, index, unroll, shared)))
        return _grouped(rows, prefix)

    def _branch(self, node: CallNode, prefix: str, index: int, unroll: bool, shared: bool) -> Row:
        """Return the row of one instance of a call, or of all of them."""
        path = join(prefix, node.instance(index))
        shared = shared or node.shares is not None
        children = self._tree(node.body, path, unroll, shared=shared)
        times = 1 if unroll else node.times
        first = path.rpartition(".")[2]
        last = node.instance(node.times - 1).rpartition(".")[2]
        label = f"{first}–{last}" if times > 1 and last != first else first
        inputs = _used_inputs(node)
        # a repeated operation is a single line
        if len(children) == 1 and children[0].path == path:
            only = children[0]
            return Row(path, label, only.op, inputs, node.outputs, only.compute_cost, times, (), only.node)
        compute_cost = cache(partial(self._instance, node, shared))
        return Row(path, label, node.body.block, inputs, node.outputs, compute_cost, times, children, node)


def analyse(program: Program, convention: str = "netcalc") -> Analysis:
    """Return the costs of a program under a convention.

    Raises:
        NetcalcError: E701 if there is no such convention.
    """
    return Analysis(program, convention_named(convention))


def _used_inputs(node: Node) -> tuple[Value, ...]:
    """Return the inputs of a node without optional inputs that are absent."""
    return tuple(value for value in node.inputs if value is not None)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(name.split(".")) if name else ("",)


def _grouped(rows: list[tuple[tuple[str, ...], Row]], prefix: str) -> tuple[Row, ...]:
    """Return rows in which those whose names share a first part are the children of one row."""
    groups: dict[str, list[tuple[tuple[str, ...], Row]]] = {}
    for parts, row in rows:
        groups.setdefault(parts[0], []).append((parts, row))
    result: list[Row] = []
    for name, members in groups.items():
        if len(members) == 1 and len(members[0][0]) == 1:
            result.append(members[0][1])
            continue
        path = join(prefix, name)
        here = [row for parts, row in members if len(parts) == 1]
        below = [(parts[1:], row) for parts, row in members if len(parts) > 1]
        children = (*here, *_grouped(below, path))
        inputs, outputs = members[0][1].inputs, members[-1][1].outputs
        result.append(Row(path, name, "sequence", inputs, outputs, cache(partial(_sum, children)), 1, children))
    return tuple(result)


def _sum(rows: Iterable[Row]) -> Cost:
    return sum((row.total for row in rows), Cost())


def _cut(rows: tuple[Row, ...], depth: int, repeat: int) -> Iterator[Row]:
    """Yield the rows at a depth, and operations above it; ``repeat`` is the product of the enclosing repeats."""
    for row in rows:
        if row.children and row.path.count(".") + 1 < depth:
            yield from _cut(row.children, depth, repeat * row.repeat)
        else:
            yield row._replace(repeat=row.repeat * repeat)
