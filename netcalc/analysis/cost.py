"""Cost of a program, by layer and by operation, under a counting convention.

The cost of a body is computed once and multiplied by its number of calls, so that the time does not depend on the
depth.  Costs are computed when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.conventions import (
    Convention,
    Counted,
    Part,
    Place,
    convention_named,
    require_backward,
    require_kernels,
)
from netcalc.analysis.conventions.quantities import Quantities
from netcalc.analysis.counting import require_unrolled
from netcalc.analysis.figures import FORWARD, FORWARD_BACKWARD, STEP, Cost, Phase, Use, Weight, Work
from netcalc.analysis.folding import Instances, folded
from netcalc.analysis.modules import by_module
from netcalc.analysis.rows import Place as RowPlace
from netcalc.analysis.rows import Ranges, Row, cut, grouped, parts_of, present
from netcalc.arguments import checked
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, Settled, UndecidedError
from netcalc.dims.settled import joined
from netcalc.expressions import ExpressionError
from netcalc.ir import Body, CallNode, Node, OpNode, Program, join, stored_bytes
from netcalc.ir.sketch import Sketch, SketchedBody
from netcalc.opdef import Context, Operation, Term

if TYPE_CHECKING:
    from netcalc.analysis.backward_work import BackwardWork
    from netcalc.analysis.exclusion import Exclusions

__all__ = ["Analysis", "Ranges", "Row", "analyze"]

_PHASES: tuple[Phase, ...] = ("forward", "backward", "update")


class _Counts(NamedTuple):
    """Cost of an operation or a body under a convention, and the operations whose work it counts in a special way."""

    convention: Convention
    cost: Cost
    uncounted: dict[str, None]
    counted_as: dict[str, str]
    unknown: dict[str, str]  # names of operations by what is not known of the forward pass, and of the backward pass
    unknown_backward: dict[str, str]
    declared: dict[tuple[str, str], None]  # operators whose figures are declared, with the origin of these
    remarks: dict[str, None]  # faults of the tool


class Analysis:
    """The costs of a program under one convention, computed on demand.

    With ``backward`` they include a backward pass, and the rows stand for its program.  Layers whose paths match the
    patterns of ``exclude`` keep their rows, and are left out of the totals.
    """

    def __init__(
        self,
        program: Program,
        convention: Convention,
        backward: BackwardWork | None = None,
        exclude: Sequence[str] = (),
    ) -> None:
        self.program = program if backward is None else backward.program
        self.convention = convention
        self.backward = backward
        self._costs: dict[int, _Counts] = {}  # of operations and bodies, unless they are kept with these
        self._shared_costs: dict[int, Cost] = {}  # of nodes whose weights are counted before
        self._bodies: dict[int, Body] = {}  # the bodies of operations, where the convention reads them
        self._context = Context(training=program.training, dtype=program.dtype)
        #: Settings that the costs of a body depend on; None if they depend on other bodies too.
        depends = backward is not None or convention.by_network
        self.settings = None if depends else (convention.name, program.training, program.dtype)
        self._quantities = Quantities(self.program) if convention.by_network else None
        self._exclude = exclude
        #: The layers that are left out of the totals, if any.
        self.exclusions = self._exclusions(exclude) if exclude else None

    def under(self, convention: str) -> Analysis:
        """Return the costs of the same layers and passes under another convention.

        Raises:
            NetcalcError: E701 if there is no such convention, or if it counts no backward passes or by a formula that
                knows no kernels, where the kernel is FlashAttention.
        """
        chosen = convention_named(convention)
        if self.backward is not None:
            require_backward(chosen)
            if self.backward.fused:
                require_kernels(chosen)
        return Analysis(self.program, chosen, self.backward, self._exclude)

    @cached_property
    def total(self) -> Cost:
        """The cost of the program, without layers that are excluded."""
        return self._total_counts.cost

    @cached_property
    def _total_counts(self) -> _Counts:
        counts = self._body(self.program.main)
        if self.program.symbolic:
            counts = counts._replace(cost=counts.cost.mapped(Settled(self.program.assumptions)))
        if self.exclusions is None:
            return counts
        return self._sum(self.exclusions.counted)._replace(cost=counts.cost + self.exclusions.cost.times(-1))

    def _exclusions(self, patterns: Sequence[str]) -> Exclusions:
        from netcalc.analysis.exclusion import Exclusions

        return Exclusions(self.program, patterns, self._instance, self._weights)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Operations whose work the convention does not count, in order of first use."""
        return tuple(self._total_counts.uncounted)

    @property
    def phases(self) -> frozenset[Phase]:
        """The parts of a step of training that are counted, and activations if the convention counts these."""
        more: set[Phase] = {"activations"} if self.convention.counts_activations else set()
        if self.backward is None:
            return FORWARD | more
        return (FORWARD_BACKWARD if self.backward.optimizer is None else STEP) | more

    @property
    def ordered_phases(self) -> tuple[Phase, ...]:
        """The parts of a step of training that are counted, in their order."""
        return tuple(phase for phase in _PHASES if phase in self.phases)

    @property
    def optimizer(self) -> str | None:
        """Name of the optimizer whose update is counted, if any."""
        chosen = None if self.backward is None else self.backward.optimizer
        return None if chosen is None else chosen.name

    @property
    def remarks(self) -> tuple[str, ...]:
        """Faults of the tool that the convention reproduces, where they change a figure."""
        return tuple(self._total_counts.remarks)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Work that is not known, in order of first use; with any, totals are at least what they are.

        That of an operator is its name, parts of it are ``MACs of`` and ``backward pass of`` one.
        """
        return (*self._total_counts.unknown, *self._total_counts.unknown_backward)

    def remarks_of(self, node: OpNode) -> tuple[str, ...]:
        """Return the faults of the tool that change the count of one operation."""
        return tuple(self._node(node).remarks)

    def knows(self, phase: Phase) -> bool:
        """Return False for a part of a step of training of which some work is not known."""
        counts = self._total_counts
        return not {"forward": counts.unknown, "backward": counts.unknown_backward}.get(phase)

    def unknown_of(self, node: OpNode) -> tuple[str, ...]:
        """Return what is not known of the work of one operation."""
        counts = self._node(node)
        return (*counts.unknown, *counts.unknown_backward)

    @cached_property
    def declared(self) -> dict[str, str]:
        """Operators whose figures a user declared, with the origin of the figures in words; empty if not given."""
        sources: dict[str, list[str]] = {}
        for operator, source in self._total_counts.declared:
            sources.setdefault(operator, []).append(source)
        return {operator: "; ".join(filter(None, texts)) for operator, texts in sources.items()}

    @cached_property
    def declared_cost(self) -> Cost:
        """The part of the cost that a user declared."""
        leaves = self.counted_leaves() if self.declared else ()
        rows = (row for row in leaves if isinstance(row.node, OpNode) and row.node.op.declared())
        return sum((row.total for row in rows), Cost())

    def counts(self, operation: str, phase: Phase = "forward") -> bool:
        """Return False for an operation whose work the convention leaves out, or of which some is not known."""
        counts = self._total_counts
        unknown = counts.unknown_backward if phase == "backward" else counts.unknown
        return operation not in self.uncounted and operation not in unknown.values()

    @property
    def counted_as(self) -> dict[str, str]:
        """The implementation whose work is counted, for each operation whose implementations differ in their work."""
        return dict(self._total_counts.counted_as)

    @cached_property
    def by_operation(self) -> dict[str, tuple[int, Cost]]:
        """The number of executions of each operation that are counted, and the cost of all of them."""
        operations: dict[str, tuple[int, Cost]] = {}
        for row in self.leaves():
            count, cost = operations.get(row.op, (0, Cost()))
            operations[row.op] = (count + row.repeat, cost + row.total)
        if self.exclusions is not None:
            for op, (times, less) in self.exclusions.by_operation.items():
                count, cost = operations[op]
                operations[op] = (count - times, cost + less.times(-1))
        return {op: (count, cost.mapped(joined)) for op, (count, cost) in operations.items() if count}

    @checked
    def rows(self, *, depth: int | None = None, unroll: bool = False) -> Iterable[Row]:
        """Return rows that add up to the totals: the operations, or with a depth the layers at that depth."""
        return self.leaves(unroll=unroll) if depth is None else self.frontier(depth, unroll=unroll)

    def leaves(self, *, unroll: bool = False) -> Iterator[Row]:
        """Yield every operation in order of execution; unless unrolled, a repeated one stands for all its instances."""
        if unroll:
            require_unrolled(self.program)
        yield from self._leaves(self.program.main, RowPlace(), 1, unroll)

    def counted_leaves(self) -> Iterator[Row]:
        """Yield the operations as :meth:`leaves` does, each with the number of instances that are not excluded."""
        for row in self.leaves():
            left_out = 0 if self.exclusions is None else self.exclusions.executions(row)
            if left_out < row.repeat:
                yield row._replace(repeat=row.repeat - left_out) if left_out else row

    def frontier(self, depth: int, *, unroll: bool = False) -> Iterator[Row]:
        """Yield rows with paths of at most ``depth`` parts; deeper rows, and all calls of a module, are summed."""
        yield from cut(self.modules(unroll=unroll), depth, 1)

    def tree(self, *, unroll: bool = False) -> tuple[Row, ...]:
        """Return the rows as a tree by path."""
        if unroll:
            require_unrolled(self.program)
        return self._tree(self.program.main, RowPlace(), unroll)

    def modules(self, *, unroll: bool = False) -> tuple[Row, ...]:
        """Return the rows as a tree by path in which all calls of a module are one row."""
        return by_module(self.tree(unroll=unroll), partial(self.tree, unroll=True))

    def node(self, node: OpNode) -> Cost:
        """Return the cost of one operation."""
        return self._node(node).cost

    def body(self, body: Body) -> Cost:
        """Return the cost of a body."""
        return self._body(body).cost

    def nodes(self, nodes: Iterable[Node]) -> Cost:
        """Return the cost of some nodes of one body, all iterations of calls included."""
        return self._sum(nodes).cost

    def parts(self, node: OpNode) -> tuple[Part, ...]:
        """Return the work of the forward pass of one operation by the term that it comes from.

        The parts add up to the MACs and FLOPs of :meth:`node`.
        """
        backward = () if self.backward is None else self.backward.terms(node)
        return self.convention.parts(node, self.terms(node), self._context.training, backward, self._place(node))

    def backward_parts(self, node: OpNode) -> tuple[Part, ...]:
        """Return the work of the backward pass of one operation by the term that it comes from, if it is counted."""
        if self.backward is None:
            return ()
        terms, place = self.backward.terms(node), self._place(node)
        forward = self.convention.counts(node, self.terms(node), self._context.training, terms, place)
        return self.convention.backward_parts(node, terms, forward, place)

    def update_parts(self, node: OpNode) -> tuple[Part, ...]:
        """Return the work of the update of the parameters of one operation by its terms, if it is counted."""
        return () if self.backward is None else self.convention.update_parts(self.backward.update(node))

    def parts_of(self, node: OpNode, phase: Phase) -> tuple[Part, ...]:
        """Return the work of one operation in a part of a step of training by the term that it comes from."""
        return {"forward": self.parts, "backward": self.backward_parts, "update": self.update_parts}[phase](node)

    def terms(self, node: OpNode, *, expected: bool = False) -> tuple[Term, ...]:
        """Return the terms of the work of one operation: all work that is executed, or the useful work only."""
        rule = node.op.expected_cost if expected else node.op.cost
        types = node.input_types, node.output_types
        try:
            return tuple(node.op.in_real_arithmetic(rule(self._context, *types), (*types[0], *types[1])))
        except UndecidedError as error:
            hint = "leave out --symbolic for the sizes of the operation"
            raise NetcalcError(Diagnostic("E404", f"{node.op.name}: {error.message}", node.span, hint=hint)) from None

    # -- costs ------------------------------------------------------------------------------------

    def _node(self, node: OpNode) -> _Counts:
        # the rule of a convention may read anything of a node
        own = self.settings is None or node.applied is None or node.ties or self.convention.has_rule(node.op.name)
        costs: dict[Any, Any] = self._costs if own or node.applied is None else node.applied.costs
        key = id(node) if own else (self.settings, node.frozen)
        counts = costs.get(key)
        if counts is None or counts.convention is not self.convention:
            try:
                counts = costs[key] = self._operation(node)
            except NetcalcError as error:  # of a figure with too many terms, which has no place yet
                raise error.at(node.span) from None
        return counts

    def _operation(self, node: OpNode) -> _Counts:
        training, op = self._context.training, node.op
        backward = () if self.backward is None else self.backward.terms(node)
        place = self._place(node)
        executed = expected = self.convention.counts(node, self.terms(node), training, backward, place)
        if type(op).expected_cost is not Operation.expected_cost:
            expected = self.convention.counts(node, self.terms(node, expected=True), training, backward, place)
        passes = self._passes(node, executed)
        work = Work(node, executed, expected)
        if passes:
            work = work._replace(backward=passes[0], update=passes[1])
        if self.convention.counts_activations:
            work = work._replace(activations=self._activations(node, place))
        cost = Cost.of(self._weights(node), work)
        return _Counts(
            self.convention,
            cost,
            {op.name: None} if executed.incomplete else {},
            self._counted_as(node, executed),
            *self._not_computed(op, executed),
            {counted.remark: None for counted in (executed, *passes) if counted.remark},
        )

    def _counted_as(self, node: OpNode, executed: Counted) -> dict[str, str]:
        """Return the implementation whose work is counted of an operation by its name, if implementations differ."""
        if node.op.counted_as is not None and not executed.incomplete:
            return {node.op.name: node.op.counted_as}
        fused = None if self.backward is None else self.backward.implementation(node)
        return {} if fused is None else {node.op.name: fused}

    def _activations(self, node: OpNode, place: Place | None) -> Dim:
        try:
            return self.convention.activations(node, self.terms(node), self._context.training, place)
        except ExpressionError as error:
            message = f"activations of {self.convention.name}: {error.message}"
            raise NetcalcError(Diagnostic(error.code, message, node.span)) from None

    def _place(self, node: OpNode) -> Place | None:
        """Return the place of an operation, if the convention reads it."""
        if not self.convention.by_place and self._quantities is None:
            return None
        return Place(self.body_of(node) if self.convention.by_place else None, self._quantities)

    def body_of(self, node: OpNode) -> Body | None:
        """Return the body that an operation belongs to."""
        if not self._bodies:
            bodies, seen = [self.program.main], set[int]()
            while bodies:
                body = bodies.pop()
                if id(body) in seen:
                    continue
                seen.add(id(body))
                self._bodies.update((id(one), body) for one in body.nodes if isinstance(one, OpNode))
                bodies += (one.body for one in body.nodes if isinstance(one, CallNode))
        return self._bodies.get(id(node))

    def _not_computed(self, op: Operation, executed: Counted) -> tuple[dict[str, str], dict[str, str], dict[Any, None]]:
        """Return what is not known of an operation's work, forward and backward, and what a user declared."""
        work = op.declared()
        if work is None:
            return {}, {}, {}
        unknown = {"": {}, "MACs": {f"MACs of {work.operator}": op.name}, "work": {work.operator: op.name}}
        backward = {} if self.backward is None else {f"backward pass of {work.operator}": op.name}
        return unknown[executed.gap], backward, {} if work.source is None else {(work.operator, work.source): None}

    def _passes(self, node: OpNode, forward: Counted) -> tuple[Counted, ...]:
        """Return the work of the backward pass of an operation and of its update, if they are counted."""
        if self.backward is None:
            return ()
        backward = self.convention.counts_backward(node, self.backward.terms(node), forward, self._place(node))
        return backward, self.convention.counts_update(self.backward.update(node))

    def _weights(self, node: OpNode) -> Iterator[tuple[Use, Weight]]:
        """Yield the parameters and buffers of an operation; a tied buffer counts only where it is declared."""
        for param in node.params:
            use: Use = "buffer" if param.is_buffer else "parameter"
            if param.name in node.ties:
                if param.is_buffer:
                    continue
                use = "tied"
            yield use, Weight(node, param, param.elements, stored_bytes(param, node, self.program.dtype))

    def _body(self, body: Body) -> _Counts:
        costs: dict[Any, Any] = self._costs if self.settings is None else body.derived
        key = id(body) if self.settings is None else (_Counts, self.settings)
        counts = costs.get(key)
        if counts is None and isinstance(body, SketchedBody) and self.settings is not None:
            counts = self._sketched(body)
        if counts is None or counts.convention is not self.convention:
            costs[key] = counts = self._sum(body.nodes)
        return counts

    def _sum(self, nodes: Iterable[Node]) -> _Counts:
        totals = _Counts(self.convention, Cost(), {}, {}, {}, {}, {}, {})
        total = totals.cost
        counted = True
        for node in nodes:
            counts = self._node(node) if isinstance(node, OpNode) else self._body(node.body)
            total += counts.cost if isinstance(node, OpNode) else self._call(node).times(node.times)
            counted = counted and (isinstance(node, OpNode) or type(node.times) is int)
            totals.uncounted.update(counts.uncounted)
            totals.counted_as.update(counts.counted_as)
            totals.unknown.update(counts.unknown)
            totals.unknown_backward.update(counts.unknown_backward)
            totals.declared.update(counts.declared)
            totals.remarks.update(counts.remarks)
        return totals._replace(cost=total if counted else total.mapped(joined))

    def _sketched(self, body: SketchedBody) -> _Counts | None:
        """Return the cost of a body, computed from its sketch; None if that is not possible."""
        if self.convention.by_place:  # the operations of a sketch have no place in the program
            return None
        derived, key = body.sketch.derived, (Analysis, self.settings)
        if key not in derived or derived[key][0] is not self.convention:
            derived[key] = self.convention, *self._function(body.sketch)
        _, function, counts = derived[key]
        if function is None:
            return None
        sketched = body.derived[_Counts, self.settings] = counts._replace(cost=Cost(function(*body.sizes)))
        return sketched  # type: ignore[no-any-return]

    def _function(self, sketch: Sketch) -> tuple[Any, _Counts | None]:
        """Return the function from sizes to the cost of a sketch, None if it fails for the example of the sketch."""
        sizes, example = sketch.example
        try:
            counts = self._body(sketch.body)
            if sketch.counted:  # calls may have no iterations: others must count in a special way as they do
                least = self._sum(sketch.nodes(sketch.times(*[1 for _ in sketch.names])))
                if list(map(repr, least[2:])) != list(map(repr, counts[2:])):
                    return None, None
            function = sketch.function(counts.cost.values)
        except (NetcalcError, ValueError):
            return None, None
        same = counts._replace(cost=Cost(function(*sizes))) == self._body(example)
        return (function, counts) if same else (None, None)

    def _call(self, node: CallNode) -> Cost:
        cost = self.body(node.body)
        return cost if node.shares is None else cost.with_tied_weights()

    def _instance(self, node: Node, shared: bool) -> Cost:
        """Return the cost of an operation, or of one iteration of a call."""
        if not shared:
            return self.node(node) if isinstance(node, OpNode) else self.body(node.body)
        if id(node) not in self._shared_costs:
            self._shared_costs[id(node)] = self._instance(node, shared=False).with_tied_weights()
        return self._shared_costs[id(node)]

    # -- rows -------------------------------------------------------------------------------------

    def _leaves(self, body: Body, place: RowPlace, repeat: int, unroll: bool) -> Iterator[Row]:
        for instances in folded(body.nodes, unroll=unroll):
            if isinstance(instances.node, OpNode):
                yield self._leaf(instances.node, place, repeat)
            else:
                yield from self._leaves(instances.node.body, place.inside(instances), repeat * instances.times, unroll)

    def _leaf(self, node: OpNode, place: RowPlace, repeat: int) -> Row:
        compute_cost = partial(self._instance, node, place.shared)
        path, title = join(place.path, node.name), join(place.title, node.name)
        inputs = present(node.inputs)
        return Row(
            path,
            title,
            node.op.name,
            inputs,
            node.outputs,
            compute_cost,
            repeat,
            node=node,
            ranges=place.ranges,
            module=node.module,
        )

    def _tree(self, body: Body, place: RowPlace, unroll: bool) -> tuple[Row, ...]:
        rows: list[tuple[tuple[str, ...], Row]] = []
        for instances in folded(body.nodes, unroll=unroll):
            row = self._leaf(instances.node, place, 1) if isinstance(instances.node, OpNode) else None
            rows.append((parts_of(instances.name), row or self._branch(instances, place, unroll)))
        return grouped(rows, place)

    def _branch(self, instances: Instances, outer: RowPlace, unroll: bool) -> Row:
        """Return the row of the instances of a call."""
        node, place = instances.node, outer.inside(instances)
        assert isinstance(node, CallNode)
        children = self._tree(node.body, place, unroll)
        inputs, op = present(node.inputs), node.body.block
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
            instances.times,
            children,
            leaf,
            instances.numbers,
            place.ranges,
            node.module,
        )


def analyze(
    program: Program,
    convention: str = "netcalc",
    *,
    backward: bool = False,
    optimizer: str | None = None,
    inputs: Iterable[str] = (),
    loss: str | None = None,
    with_loss: Program | None = None,
    exclude: Sequence[str] = (),
    fused: bool = False,
) -> Analysis:
    """Return the costs of a program under a convention.

    Args:
        program: the program.
        convention: name of the convention.
        backward: count a backward pass too.
        optimizer: name of one, to count a backward pass and an update too.
        inputs: names of inputs whose gradients the backward pass computes.
        loss, with_loss: what the backward pass starts from, as for
            :func:`~netcalc.analysis.backward_work.backward_work`.
        exclude: patterns of the paths of layers that the totals leave out.
        fused: count the backward pass of attention as FlashAttention-2 computes it.

    Raises:
        NetcalcError: E701 if there is no such convention, if it counts no backward passes, or if it counts them by a
            formula that knows no kernels; E502 for a name of an
            optimizer, an input or an output that does not exist, or for ``inputs`` and ``loss`` without a backward
            pass; E503 for a pattern that matches nothing.
    """
    chosen = convention_named(convention)
    if not backward and optimizer is None:
        if loss is not None or tuple(inputs):
            raise NetcalcError(Diagnostic("E502", "a loss and gradients of inputs are for a backward pass"))
        return Analysis(program, chosen, exclude=exclude)
    require_backward(chosen)
    if fused:
        require_kernels(chosen)
    from netcalc.analysis.backward_work import backward_work

    work = backward_work(program, inputs, optimizer, loss, with_loss, fused=fused)
    return Analysis(program, chosen, work, exclude)
