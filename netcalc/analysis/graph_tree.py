"""The tree of boxes behind a graph, and the edges between its leaves.

Rows of a report are a tree by names.  A picture shows a part of it as one box or one group only if it is executed as
one: layers under one name that others lie between are parts of the group around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from netcalc.analysis.cost import Analysis
from netcalc.analysis.folding import Instances, folded
from netcalc.analysis.graph import GraphEdge, GraphGroup, GraphNode, GraphReport, Kind, kind_of
from netcalc.analysis.rows import Row
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, claimed
from netcalc.graph_options import GraphOptions
from netcalc.ir import Body, CallNode, OpNode, Value, join
from netcalc.tensor_type import TensorType

#: Boxes that a picture may have if no depth is asked for.
MAX_BOXES = 40
#: Figures that boxes can have.
FIGURES = ("params", "macs")


def graph_of(analysis: Analysis, options: GraphOptions) -> GraphReport:
    """Return the graph of a network.

    Without a depth it has as many levels as give at most :data:`MAX_BOXES` boxes.

    Raises:
        NetcalcError: E502 for unknown figures.
    """
    tree, program, total = GraphTree(analysis), analysis.program, analysis.total
    show, levels, depth = _figures(options["show"]), tree.levels, options["depth"]
    if depth is None:
        depth = next((level for level in range(levels, 1, -1) if tree.boxes(level) <= MAX_BOXES), 1)
    nodes, groups, edges = tree.opened(depth)
    return GraphReport(
        program.name,
        analysis.convention.name,
        min(depth, levels),
        levels,
        options["direction"],
        show,
        program.input_types,
        program.output_types,
        total.params,
        total.macs,
        nodes,
        groups,
        edges,
        analysis.unknown or None,
        analysis.uncounted or None,
        tuple(map(claimed, program.assumptions)) or None,
    )


def _figures(text: str) -> tuple[str, ...]:
    """Return the figures that are named; NetcalcError (E502) for others."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if names == ("none",):
        return ()
    for name in names:
        if name not in FIGURES:
            message = f"the figures to show should be params, macs, both or none, not {name!r}"
            raise NetcalcError(Diagnostic("E502", message, hint="write params,macs"))
    return names


class _Item:
    """A box or a group: a row, an input or an output (without a row); the root has neither."""

    def __init__(self, title: str, row: Row | None = None, kind: Kind = "block", parent: _Item | None = None) -> None:
        self.title, self.row, self.kind, self.parent = title, row, kind, parent
        self.children: list[_Item] = []
        self.order = self.last = -1  # of the first executions of the first and the last leaf

    @property
    def is_sequence(self) -> bool:
        """True for layers under one name, which are not executed as one."""
        return bool(self.children) and self.row is not None and self.row.node is None

    def around(self) -> Iterator[_Item]:
        """Yield the item and those around it, the root last."""
        item: _Item | None = self
        while item is not None:
            yield item
            item = item.parent

    def move(self, parent: _Item) -> None:
        """Make the item a child of another one."""
        if self.parent is not None:
            self.parent.children.remove(self)
        self.parent = parent
        parent.children.append(self)

    def dissolve(self) -> None:
        """Put the children in place of the item."""
        assert self.parent is not None
        place = self.parent.children.index(self)
        self.parent.children[place : place + 1] = self.children
        for child in self.children:
            child.parent = self.parent


class GraphTree:
    """Boxes and groups of a network, and the edges between its operations, inputs and outputs."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._root = _Item("")
        self._leaves: dict[str, _Item] = {}  # by path
        self._edges: dict[tuple[_Item, _Item, TensorType], None] = {}
        self._executed = 0
        self._add(analysis.tree(), self._root)
        self._connect()
        self._hoist()
        self._measure(self._root)
        self._simplify(self._root)

    # -- items --------------------------------------------------------------------------------------

    def _add(self, rows: Iterable[Row], parent: _Item) -> None:
        for row in rows:
            item = _Item(row.title, row, "block" if row.children else kind_of(row.op), parent)
            parent.children.append(item)
            if row.children:
                self._add(row.children, item)
            else:
                self._leaves[row.path] = item

    def _end(self, name: str, kind: Kind) -> _Item:
        """Add an input or an output."""
        item = _Item(name, None, kind, self._root)
        self._root.children.append(item)
        self._execute(item)
        return item

    def _execute(self, leaf: _Item) -> None:
        if leaf.order < 0:
            leaf.order = leaf.last = self._executed
            self._executed += 1

    # -- edges --------------------------------------------------------------------------------------

    def _connect(self) -> None:
        program = self._analysis.program
        computed: dict[Value, _Item] = {}
        for name, value in zip(program.input_types, program.main.inputs, strict=True):
            item = self._end(name, "input")
            if value is not None:
                computed[value] = item
        self._connect_body(program.main, "", computed)
        for name, value in zip(program.output_names, program.main.outputs, strict=False):
            self._edge(computed.get(value), self._end(name, "output"), value.known_type)

    def _connect_body(self, body: Body, path: str, computed: dict[Value, _Item]) -> None:
        """Add the edges of a body at a path; ``computed`` has the leaf of each value, and takes those of the body."""
        firsts = _by_body(folded(body.nodes))
        for node in body.nodes:
            place = join(path, _first_of(node, firsts))
            leaf = self._leaves.get(place)
            if leaf is None:
                assert isinstance(node, CallNode), f"{place} has no row"
                inner = {
                    own: computed[value]
                    for own, value in zip(node.body.inputs, node.inputs, strict=True)
                    if own is not None and value is not None and value in computed
                }
                self._connect_body(node.body, place, inner)
                results = zip(node.outputs, node.body.outputs, strict=True)
                computed.update({value: inner[own] for value, own in results if own in inner})
                continue
            self._execute(leaf)
            for value in node.inputs:
                if value is not None:
                    self._edge(computed.get(value), leaf, value.known_type)
            computed.update(dict.fromkeys(node.outputs, leaf))

    def _edge(self, source: _Item | None, target: _Item, type_: TensorType) -> None:
        if source is not None:
            self._edges[source, target, type_] = None

    # -- shape of the tree --------------------------------------------------------------------------

    def _hoist(self) -> None:
        """Move leaves without inputs out of names whose layers do not read them, as embeddings added outside."""
        targets: dict[_Item, list[_Item]] = {}
        for source, target, _ in self._edges:
            targets.setdefault(source, []).append(target)
        reading = {target for _, target, _ in self._edges}
        for leaf in self._leaves.values():
            assert leaf.parent is not None
            outer = leaf.parent
            while outer.is_sequence and targets.get(leaf) and leaf not in reading:
                if any(outer in target.around() for target in targets[leaf]):
                    break
                assert outer.parent is not None
                outer = outer.parent
            if outer is not leaf.parent:
                leaf.move(outer)

    def _measure(self, item: _Item) -> None:
        """Set the order of items, and sort children by it; items without children left are dropped."""
        if item.row is None and item.parent is not None:
            return
        for child in item.children:
            self._measure(child)
        item.children = [child for child in item.children if child.order >= 0]
        item.children.sort(key=lambda child: child.order)
        if item.children:
            item.order, item.last = item.children[0].order, max(child.last for child in item.children)

    def _simplify(self, item: _Item) -> None:
        """Dissolve layers under one name that others lie between, and levels with a single item each."""
        while (tangled := self._tangled(item)) is not None:
            tangled.dissolve()
        item.children.sort(key=lambda child: child.order)
        for child in [*item.children]:
            while child.is_sequence and len(child.children) == 1:
                only = child.children[0]
                child.dissolve()
                child = only
            while len(child.children) == 1 and child.children[0].is_sequence:
                child.children[0].dissolve()
            self._simplify(child)

    def _tangled(self, item: _Item) -> _Item | None:
        """Return the layers under one name to dissolve first, or None if all are executed as one."""
        if not any(child.is_sequence for child in item.children):
            return None
        after: dict[_Item, set[_Item]] = {child: set() for child in item.children}
        for source, target, _ in self._edges:
            if source.order < target.order:
                pair = _children_of(item, source, target)
                if pair is not None:
                    after[pair[0]].add(pair[1])
        cycle = _cycle(after)
        return max(
            (child for child in cycle if child.is_sequence), key=lambda child: child.last - child.order, default=None
        )

    # -- pictures -----------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """The depth at which every group is opened."""
        return _levels(self._root) - 1

    def boxes(self, depth: int) -> int:
        """Return the number of boxes at a depth."""
        return _boxes(self._root, depth + 1)

    def opened(self, depth: int) -> tuple[tuple[GraphNode, ...], tuple[GraphGroup, ...], tuple[GraphEdge, ...]]:
        """Return the boxes in order of execution, the groups and the edges at a depth."""
        nodes: list[GraphNode] = []
        groups: list[GraphGroup] = []
        boxes: dict[_Item, int] = {}

        def draw(parent: _Item, group: str | None, level: int, repeat: int) -> None:
            for item in parent.children:
                figures = self._figures(item)
                times = 1 if item.row is None else item.row.repeat
                common = figures, times, times * repeat
                if item.children and level < depth:
                    identity = f"g{len(groups)}"
                    groups.append(_group(item, identity, group, common, level + 1))
                    draw(item, identity, level + 1, times * repeat)
                else:
                    boxes.update(dict.fromkeys(_leaves(item), len(nodes)))
                    nodes.append(_node(item, f"n{len(nodes)}", group, common))

        draw(self._root, None, 1, 1)
        return _in_order(nodes, groups, boxes, self._edges)

    def _figures(self, item: _Item) -> tuple[Dim, Dim | None]:
        """Return the parameters and the MACs of one instance; None for those that are not known."""
        if item.row is None:
            return 0, 0
        if item.is_sequence:  # some of its layers may stand elsewhere
            parts = [(*self._figures(child), child.row.repeat) for child in item.children if child.row is not None]
            params = sum((params * times for params, _, times in parts), 0)
            if any(macs is None for _, macs, _ in parts):
                return params, None
            return params, sum((macs * times for _, macs, times in parts if macs is not None), 0)
        cost = item.row.cost
        return cost.params, cost.macs if self._known(item.row) else None

    def _known(self, row: Row) -> bool:
        if self._analysis.knows("forward"):
            return True
        if row.children:
            return all(map(self._known, row.children))
        return not isinstance(row.node, OpNode) or not self._analysis.unknown_of(row.node)


def _by_body(rows: Iterable[Instances]) -> Mapping[tuple[int, str], list[Instances]]:
    """Return the numbered instances by the body and the name of their calls."""
    result: dict[tuple[int, str], list[Instances]] = {}
    for instances in rows:
        if isinstance(instances.node, CallNode) and instances.numbers is not None:
            result.setdefault((id(instances.node.body), instances.node.name), []).append(instances)
    return result


def _first_of(node: OpNode | CallNode, firsts: Mapping[tuple[int, str], list[Instances]]) -> str:
    """Return the name of the first of the equal instances to which those of a node belong."""
    if isinstance(node, OpNode) or node.start is None:
        return node.name
    for instances in firsts[id(node.body), node.name]:
        if instances.numbers is not None and node.start in instances.numbers:
            return instances.name
    return node.instance(0)


def _children_of(item: _Item, source: _Item, target: _Item) -> tuple[_Item, _Item] | None:
    """Return the children of an item that an edge joins; None if it is no edge between children."""
    ends = []
    for end in (source, target):
        child = next((child for child, parent in pairwise(end.around()) if parent is item), None)
        if child is None:
            return None
        ends.append(child)
    return (ends[0], ends[1]) if ends[0] is not ends[1] else None


def _cycle(after: Mapping[_Item, set[_Item]]) -> list[_Item]:
    """Return items that lie on or between cycles: those that are left if ends are taken away again and again."""
    left = {item: set(following) for item, following in after.items()}
    while True:
        entered = {target for following in left.values() for target in following}
        ends = [item for item, following in left.items() if not following or item not in entered]
        if not ends:
            return list(left)
        for item in ends:
            del left[item]
        for following in left.values():
            following.difference_update(ends)


def _levels(item: _Item) -> int:
    return 1 + max(map(_levels, item.children), default=0)


def _boxes(item: _Item, depth: int) -> int:
    if item.kind in ("input", "output"):
        return 0
    return sum(_boxes(child, depth - 1) for child in item.children) if item.children and depth > 1 else 1


def _leaves(item: _Item) -> Iterator[_Item]:
    if not item.children:
        yield item
    for child in item.children:
        yield from _leaves(child)


def _name(item: _Item) -> str:
    """The title without the parts that it shares with that of the group around it."""
    outer = () if item.parent is None else item.parent.title.split(".")
    parts = item.title.split(".")
    shared = 0
    while shared < min(len(outer), len(parts) - 1) and outer[shared] == parts[shared]:
        shared += 1
    return ".".join(parts[shared:])


_Common = tuple[tuple[Dim, Dim | None], int, int]


def _node(item: _Item, identity: str, group: str | None, common: _Common) -> GraphNode:
    figures, times, repeat = common
    path, op = (item.title, item.kind) if item.row is None else (item.row.path, item.row.op)
    return GraphNode(identity, path, _name(item), op, item.kind, group, *figures, times, repeat)


def _group(item: _Item, identity: str, group: str | None, common: _Common, opened_at: int) -> GraphGroup:
    figures, times, repeat = common
    assert item.row is not None
    return GraphGroup(identity, item.row.path, _name(item), item.row.op, group, *figures, times, repeat, opened_at)


def _in_order(
    nodes: Sequence[GraphNode],
    groups: Sequence[GraphGroup],
    boxes: Mapping[_Item, int],
    edges: Iterable[tuple[_Item, _Item, TensorType]],
) -> tuple[tuple[GraphNode, ...], tuple[GraphGroup, ...], tuple[GraphEdge, ...]]:
    """Return nodes in order of execution, renamed by it, and the edges between them, each once."""
    first: dict[int, int] = {}
    for leaf, box in boxes.items():
        first[box] = min(leaf.order, first.get(box, leaf.order))
    places = {box: place for place, box in enumerate(sorted(first, key=lambda box: first[box]))}
    ordered = [node for _, node in sorted(enumerate(nodes), key=lambda numbered: places[numbered[0]])]
    joined: dict[tuple[int, int, TensorType], None] = {}
    for source, target, type_ in edges:
        pair = places[boxes[source]], places[boxes[target]]
        if pair[0] != pair[1]:
            joined[(*pair, type_)] = None
    return (
        tuple(node._replace(id=f"n{place}") for place, node in enumerate(ordered)),
        tuple(groups),
        tuple(
            GraphEdge(f"n{source}", f"n{target}", type_, source > target)
            for source, target, type_ in sorted(joined, key=lambda edge: (edge[1], edge[0]))
        ),
    )
