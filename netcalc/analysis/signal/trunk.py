"""Trunks of a program: the operations that everything from a source to an output passes, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.ir import Program
from netcalc.ops.backward import declaration

#: Number of operations that no other trunk has, from which a trunk is worth listing.
_NEW = 3


@dataclass(slots=True)
class Graph:
    """Operations in order of execution, and the tensors between them through which gradients flow.

    ``before`` has the numbers of the operations whose results each one takes; inputs of the program are −1, −2, ….
    """

    instances: list[Instance] = field(default_factory=list)
    before: list[tuple[int, ...]] = field(default_factory=list)
    ends: tuple[int, ...] = ()

    def uses(self, number: int) -> Iterator[Instance]:
        """Yield the operations that take the result of an operation, or an input of the program."""
        return (one for one, taken in zip(self.instances, self.before, strict=True) if number in taken)


@dataclass(frozen=True, slots=True)
class Trunk:
    """Numbers of operations from a source to an output; ``sums`` are those that join two branches from the source.

    ``tapped`` is True if results on the way are used elsewhere too: then gradients arrive there that have not come
    along the trunk.
    """

    numbers: tuple[int, ...]
    sums: frozenset[int]
    tapped: bool


def graph_of(program: Program) -> Graph:
    """Return the operations of a program, unrolled, with those that their gradients flow to."""
    graph = Graph()

    def step(instance: Instance, inputs: Sequence[int | None]) -> list[int]:
        node = instance.node
        declared = declaration(node.op)
        arrived = enumerate(zip(inputs, node.input_types, strict=True))
        floats = {at: n for at, (n, type_) in arrived if n is not None and type_ is not None and type_.is_float}
        flows = () if declared is None else floats.keys() - declared.constants
        graph.before.append(tuple(n for at, n in floats.items() if at in flows))
        graph.instances.append(instance)
        return [len(graph.instances) - 1] * len(instance.node.outputs)

    outputs = unroll(program, [-1 - number for number in range(len(program.inputs))], step)
    types = [value.known_type for value in program.main.outputs if value is not None]
    graph.ends = tuple(dict.fromkeys(n for n, type_ in zip(outputs, types, strict=True) if type_.is_float and n >= 0))
    return graph


def trunks(graph: Graph) -> Iterator[Trunk]:
    """Yield the trunks of a program, the longest from an input to the last output first.

    An operation is on a trunk from a source to an output if every path between them passes it, as the tree of
    post-dominators of the output says.  Where results on the way are outputs too, or are joined later, as in pyramids
    of features, the operations that all paths from an input to a later one pass are on a trunk, as the tree of
    dominators of the input says.
    """
    after: list[list[int]] = [[] for _ in graph.instances]
    for number, taken in enumerate(graph.before):
        for one in taken:
            if one >= 0:
                after[one].append(number)
    seen: set[int] = set()
    for tapped, found in ((False, _to_outputs(graph, after)), (True, _from_inputs(graph))):
        for numbers in found:
            if len(seen.union(numbers)) >= len(seen) + _NEW:
                seen.update(numbers)
                yield Trunk(numbers, _sums(graph, numbers), tapped)


def _to_outputs(graph: Graph, after: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    for end in sorted(graph.ends, reverse=True):
        following, depth = _tree(end, range(end - 1, -1, -1), after)
        sources = [number for number in depth if not any(one >= 0 for one in graph.before[number])]
        sources.sort(key=lambda number: (bool(graph.instances[number].node.inputs), depth[number]), reverse=True)
        for source in sources:
            yield tuple(_chain(source, following))


def _from_inputs(graph: Graph) -> Iterator[tuple[int, ...]]:
    for source, instance in enumerate(graph.instances):
        if instance.node.inputs and not any(one >= 0 for one in graph.before[source]):
            leading, depth = _tree(source, range(source + 1, len(graph.instances)), graph.before)
            last = max(depth, key=depth.__getitem__)
            yield tuple(_chain(last, leading))[::-1]


def _tree(root: int, others: Iterable[int], next_to: Sequence[Sequence[int]]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the parent of each operation in the tree of dominators of ``root``, and its depth in that tree.

    Args:
        root: the operation that paths begin at.
        others: the other operations, each behind those of ``next_to`` on paths from the root.
        next_to: the operations before each one on these paths.
    """
    parent, depth = {root: root}, {root: 0}
    for number in others:
        known = [one for one in next_to[number] if one in depth]
        if not known:
            continue
        common = known[0]
        for other in known[1:]:
            one = other
            while common != one:
                if depth[common] >= depth[one]:
                    common = parent[common]
                else:
                    one = parent[one]
        parent[number], depth[number] = common, depth[common] + 1
    return parent, depth


def _chain(number: int, parent: dict[int, int]) -> Iterator[int]:
    yield number
    while parent[number] != number:
        number = parent[number]
        yield number


def _sums(graph: Graph, numbers: Sequence[int]) -> frozenset[int]:
    """Return the additions of a trunk of two tensors that both depend on its source."""
    reached = {numbers[0]}
    for number in range(numbers[0] + 1, numbers[-1] + 1):
        if any(one in reached for one in graph.before[number]):
            reached.add(number)
    return frozenset(
        number
        for number in numbers
        if graph.instances[number].node.op.name == "add"
        and len(graph.before[number]) > 1
        and all(one in reached for one in graph.before[number])
    )
