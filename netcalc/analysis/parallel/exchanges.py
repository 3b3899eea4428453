"""Data that ranks exchange in a unit: bytes by collective, forward and backward, each body counted once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from netcalc.analysis.parallel.pieces import Move, RankProgram
from netcalc.dims import integer, product
from netcalc.dtypes import FLOATS, ITEMSIZE
from netcalc.ir import CallNode, Node, OpNode, Value, dtype_of

if TYPE_CHECKING:
    from netcalc.analysis.gradient_flow import GradientFlow

Collective: TypeAlias = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "point-to-point"]
#: Pass in which data are exchanged; gradients of parameters once for all passes of a step.
When: TypeAlias = Literal["forward", "backward", "update"]


class Exchange(NamedTuple):
    """A collective over the ranks of a group, of tensors of ``size`` bytes when they are whole."""

    when: When
    collective: Collective
    ranks: int
    size: int

    @property
    def all_sent(self) -> int:
        """Bytes that all ranks send together, by a ring or pairwise: each byte once, twice for a sum on all ranks."""
        twice = 2 if self.collective == "all-reduce" else 1
        return twice * (self.ranks - 1) * self.size


#: Number of exchanges of each kind.
Exchanges: TypeAlias = Counter[Exchange]


def exchanges(rank: RankProgram, nodes: Iterable[Node], flow: GradientFlow | None = None) -> Exchanges:
    """Return what ranks under tensor parallelism exchange at nodes of a rank's program.

    With the ``flow`` of gradients, whose program has the nodes, only gradients that are wanted are exchanged: the first
    layers of a network with frozen parameters need none of their inputs.
    """
    return _Counting(rank, flow).nodes(tuple(nodes))


class _Counting:
    def __init__(self, rank: RankProgram, flow: GradientFlow | None) -> None:
        self._rank = rank
        self._flow = flow
        self._bodies: dict[int, Exchanges] = {}

    def nodes(self, nodes: tuple[Node, ...]) -> Exchanges:
        total: Exchanges = Counter()
        for node in nodes:
            if isinstance(node, CallNode):
                if id(node.body) not in self._bodies:
                    self._bodies[id(node.body)] = self.nodes(node.body.nodes)
                for exchange, times in self._bodies[id(node.body)].items():
                    total[exchange] += times * node.times
            else:
                move = self._rank.move(node)
                wanted = None if self._flow is None else self._flow.of(node).wanted
                if move is not None:
                    found = _of_move(move, node, self._rank.ranks)
                    total.update(one for one in found if wanted is None or wanted or one.when != "backward")
                if wanted is None or wanted:
                    total.update(self._of_parameters(node))
        return total

    def _of_parameters(self, node: OpNode) -> list[Exchange]:
        """Return the sums of gradients of parameters that several ranks hold, of which each has a part."""
        found = []
        for param in node.params:
            cut = self._rank.cut(node, param.name)
            if not (cut.partial and param.trainable) or node.frozen or param.name in node.ties:
                continue
            ranks = self._rank.ranks if cut.piece is None else self._rank.ranks // cut.piece.shards
            dtype = dtype_of(param, node, self._rank.program.dtype)
            if dtype in FLOATS:
                found.append(Exchange("update", "all-reduce", ranks, integer(param.elements) * ITEMSIZE[dtype]))
        return found


def _of_move(move: Move, node: OpNode, ranks: int) -> list[Exchange]:
    """Return what is exchanged at a node, in both passes."""
    before, after = _bytes(node.inputs[0]), _bytes(node.outputs[0])
    shards = ranks if move.piece is None else move.piece.shards
    if move.kind == "copy":
        return [Exchange("backward", "all-reduce", ranks, before)]
    if move.kind == "reduce":
        return [Exchange("forward", "all-reduce", ranks, move.sums or before)]
    if move.kind == "gather":
        whole = [Exchange("forward", "all-gather", shards, after)]
        return whole + ([Exchange("backward", "reduce-scatter", shards, after)] if move.partial else [])
    if move.kind == "scatter":
        return [Exchange("backward", "all-gather", shards, before)] if _has_gradient(node) else []
    return [Exchange("forward", "reduce-scatter", ranks, before), Exchange("backward", "all-gather", ranks, before)]


def _has_gradient(node: OpNode) -> bool:
    value = node.inputs[0]
    return value is not None and value.known_type.dtype in FLOATS


def _bytes(value: Value | None) -> int:
    assert value is not None
    type_ = value.known_type
    return integer(product(type_.shape)) * ITEMSIZE[type_.dtype]
