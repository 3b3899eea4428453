"""Cost of a program, by layer and by operation, under a counting convention.

The cost of a body is computed once and multiplied by its number of calls, so that the time does not depend on the
depth.  Costs are computed when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, partial
from typing import NamedTuple, TypeAlias

from netcalc.analysis.conventions import Convention, convention_named
from netcalc.analysis.counting import require_unrolled
from netcalc.analysis.figures import Cost, Use, Weight, Work
from netcalc.analysis.folding import Instances, Numbers, folded
from netcalc.api_arguments import checked
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import UndecidedError
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value, dtype_of, join
from netcalc.opdef import Context, Term

__all__ = ["Analysis", "Ranges", "Row", "analyse"]

#: Numbers of the instances that a row stands for, with the path before the number, from the outermost level.
Ranges: TypeAlias = tuple[tuple[str, Numbers], ...]


class Row(NamedTuple):
    """A line of a report: an operation, a call, or all lines under one name.

    ``path`` is the path of the first instance, and ``title`` the path with the numbers of all instances.
    ``compute_cost`` returns the cost of one instance, and ``repeat`` is the number of instances.  ``numbers`` are those
    of the row's own level, and ``ranges`` those of all levels, with the path before the number.
    """

    path: str
    title: str
    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    compute_cost: Callable[[], Cost]
    repeat: int = 1
    children: tuple[Row, ...] = ()
    node: Node | None = None
    numbers: Numbers | None = None
    ranges: Ranges = ()

    @property
    def label(self) -> str:
        """The last part of the title."""
        return self.title.rpartition(".")[2]

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
        self._shared_costs: dict[int, Cost] = {}  # of nodes whose weights are counted before
        self._uncounted: dict[str, None] = {}
        self._counted_as: dict[str, str] = {}
        self._unknown: dict[str, str] = {}  # names of operations by what does unknown work
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

    @property
    def unknown(self) -> tuple[str, ...]:
        """Operators whose work is not known, in order of first use; with any, totals are at least what they are."""
        _ = self.total
        return tuple(self._unknown)

    def counts(self, operation: str) -> bool:
        """Return False for an operation whose work the convention leaves out, or is not known."""
        return operation not in self.uncounted and operation not in self._unknown.values()

    @property
    def counted_as(self) -> dict[str, str]:
        """The implementation whose work is counted, for each operation whose implementations differ in their work."""
        _ = self.total
        return dict(self._counted_as)

    @cached_property
    def by_operation(self) -> dict[str, tuple[int, Cost]]:
        """The number of executions of each operation, and the cost of all of them."""
        operations: dict[str, tuple[int, Cost]] = {}
        for row in self.leaves():
            count, cost = operations.get(row.op, (0, Cost()))
            operations[row.op] = (count + row.repeat, cost + row.total)
        return operations

    @checked
    def rows(self, *, depth: int | None = None, unroll: bool = False) -> Iterable[Row]:
        """Return rows that add up to the totals: the operations, or with a depth the layers at that depth."""
        return self.leaves(unroll=unroll) if depth is None else self.frontier(depth, unroll=unroll)

    def leaves(self, *, unroll: bool = False) -> Iterator[Row]:
        """Yield every operation in order of execution; unless unrolled, a repeated one stands for all its instances."""
        if unroll:
            require_unrolled(self.program)
        yield from self._leaves(self.program.main, _Place(), 1, unroll)

    def frontier(self, depth: int, *, unroll: bool = False) -> Iterator[Row]:
        """Yield rows with paths of at most ``depth`` parts; deeper rows are summed."""
        yield from _cut(self.tree(unroll=unroll), depth, 1)

    def tree(self, *, unroll: bool = False) -> tuple[Row, ...]:
        """Return the rows as a tree by path."""
        if unroll:
            require_unrolled(self.program)
        return self._tree(self.program.main, _Place(), unroll)

    def node(self, node: OpNode) -> Cost:
        """Return the cost of one operation."""
        if id(node) not in self._node_costs:
            try:
                self._node_costs[id(node)] = self._operation(node)
            except NetcalcError as error:  # of a figure with too many terms, which has no place yet
                raise error.at(node.span) from None
        return self._node_costs[id(node)]

    def terms(self, node: OpNode, *, expected: bool = False) -> tuple[Term, ...]:
        """Return the terms of the work of one operation: all work that is executed, or the useful work only."""
        rule = node.op.expected_cost if expected else node.op.cost
        try:
            return tuple(rule(self._context, node.input_types, node.output_types))
        except UndecidedError as error:
            hint = "leave out --symbolic for the sizes of the operation"
            raise NetcalcError(Diagnostic("E404", f"{node.op.name}: {error.message}", node.span, hint=hint)) from None

    # -- costs ------------------------------------------------------------------------------------

    def _operation(self, node: OpNode) -> Cost:
        training = self._context.training
        executed = self.convention.counts(node, self.terms(node), training)
        operator = node.op.unknown_work()
        if operator is not None:
            self._unknown[operator] = node.op.name
        if executed.incomplete:
            self._uncounted.setdefault(node.op.name)
        elif node.op.counted_as is not None:
            self._counted_as[node.op.name] = node.op.counted_as
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
        if not shared:
            return self.node(node) if isinstance(node, OpNode) else self._body(node.body)
        if id(node) not in self._shared_costs:
            self._shared_costs[id(node)] = self._instance(node, shared=False).with_tied_weights()
        return self._shared_costs[id(node)]

    # -- rows -------------------------------------------------------------------------------------

    def _leaves(self, body: Body, place: _Place, repeat: int, unroll: bool) -> Iterator[Row]:
        for found in folded(body.nodes, unroll=unroll):
            if isinstance(found.node, OpNode):
                yield self._leaf(found.node, place, repeat)
            else:
                yield from self._leaves(found.node.body, place.inside(found), repeat * found.times, unroll)

    def _leaf(self, node: OpNode, place: _Place, repeat: int) -> Row:
        compute_cost = partial(self._instance, node, place.shared)
        path, title = join(place.path, node.name), join(place.title, node.name)
        inputs = _used_inputs(node)
        return Row(
            path, title, node.op.name, inputs, node.outputs, compute_cost, repeat, node=node, ranges=place.ranges
        )

    def _tree(self, body: Body, place: _Place, unroll: bool) -> tuple[Row, ...]:
        rows: list[tuple[tuple[str, ...], Row]] = []
        for found in folded(body.nodes, unroll=unroll):
            row = self._leaf(found.node, place, 1) if isinstance(found.node, OpNode) else None
            rows.append((_parts(found.name), row or self._branch(found, place, unroll)))
        return _grouped(rows, place)

    def _branch(self, found: Instances, outer: _Place, unroll: bool) -> Row:
        """Return the row of the instances of a call."""
        node, place = found.node, outer.inside(found)
        assert isinstance(node, CallNode)
        children = self._tree(node.body, place, unroll)
        inputs, op = _used_inputs(node), node.body.block
        compute_cost: Callable[[], Cost] = partial(self._instance, node, place.shared)
        leaf: Node | None = node
        # a repeated operation is a single line
        if len(children) == 1 and children[0].path == place.path:
            only = children[0]
            op, compute_cost, leaf, children = only.op, only.compute_cost, only.node, ()
        return Row(
            place.path,
            place.title,
            op,
            inputs,
            node.results,
            compute_cost,
            found.times,
            children,
            leaf,
            found.numbers,
            place.ranges,
        )


class _Place(NamedTuple):
    """Position of the traversal: path and title of the enclosing layer, and True if its weights are counted before."""

    path: str = ""
    title: str = ""
    ranges: Ranges = ()
    shared: bool = False

    def inside(self, found: Instances) -> _Place:
        """Return the position inside instances of a call."""
        ranges = self.ranges
        if found.numbers is not None and found.times > 1:
            ranges = (*ranges, (join(self.path, found.named("")), found.numbers))
        shared = self.shared or (isinstance(found.node, CallNode) and found.node.shares is not None)
        return _Place(join(self.path, found.name), join(self.title, found.label), ranges, shared)

    def below(self, name: str) -> _Place:
        """Return the position below a part of a path."""
        return self._replace(path=join(self.path, name), title=join(self.title, name))


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


def _grouped(rows: list[tuple[tuple[str, ...], Row]], place: _Place) -> tuple[Row, ...]:
    """Return rows in which those whose names share a first part are the children of one row."""
    groups: dict[str, list[tuple[tuple[str, ...], Row]]] = {}
    for parts, row in rows:
        groups.setdefault(parts[0], []).append((parts, row))
    result: list[Row] = []
    for name, members in groups.items():
        if len(members) == 1 and len(members[0][0]) == 1:
            result.append(members[0][1])
            continue
        inside = place.below(name)
        here = [row for parts, row in members if len(parts) == 1]
        below = [(parts[1:], row) for parts, row in members if len(parts) > 1]
        children = (*here, *_grouped(below, inside))
        inputs, outputs = members[0][1].inputs, members[-1][1].outputs
        cost = cache(partial(_sum, children))
        result.append(
            Row(inside.path, inside.title, "sequence", inputs, outputs, cost, 1, children, ranges=place.ranges)
        )
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
