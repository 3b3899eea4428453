"""Networks that are really split: every rank runs its program on pieces of the parameters, forward and backward.

Ranks are threads that exchange arrays around a ring.  Outputs and gradients must equal those of the whole network, and
the bytes that are sent those that are predicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from netcalc.analysis.gradient_flow import gradient_flow
from netcalc.analysis.parallel.exchanges import exchanges
from netcalc.analysis.parallel.pieces import Cut, Move, Piece, RankProgram
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import Array
from netcalc.ir import Body, CallNode, Node, Program
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Key, Record, Tape, added
from netcalc.numerics.vjps import Back, Gradients, apply_vjp
from netcalc.opdef import Param
from netcalc.ops.arithmetic import Mul
from netcalc.verification.rings import Ring


@dataclass(frozen=True, slots=True)
class SplitRun:
    """Results of a network, or of one that is split: outputs by name, gradients of parameters by path.

    ``sent`` are the bytes that all ranks together send, by collective and pass.
    """

    outputs: Mapping[str, Array]
    gradients: Mapping[str, Array]
    sent: Mapping[tuple[str, str], int] = field(default_factory=dict)


def whole_run(program: Program, arrays: Sequence[Array | None], seeds: Mapping[str, Array]) -> SplitRun:
    """Return outputs of the whole network, and gradients for gradients of the outputs by name."""
    parameters = Parameters(program)
    tape = Tape(program, parameters.fetch, lambda path: True, frozenset(), _rng(), run_operation)
    outputs = tape.run(arrays)
    named = dict(zip(program.output_names, (one.array for one in outputs), strict=True))
    starts = added(outputs, [seeds.get(name) if one.wanted else None for name, one in zip(named, outputs, strict=True)])
    gradients = {key: array for key, array in tape.backward(starts) if isinstance(key, str)}
    return SplitRun(named, gradients)


def split_run(
    program: Program, rank: RankProgram, arrays: Sequence[Array | None], seeds: Mapping[str, Array]
) -> SplitRun:
    """Return outputs and gradients of a network that is split, put together again, and the bytes that were sent.

    Args:
        program: the whole network, whose parameters are drawn and cut.
        rank: the program of a rank.
        arrays: whole inputs, in order.
        seeds: gradients of the outputs, by name.
    """
    rank = _with_results(rank)
    parameters = Parameters(program)
    whole = {
        instance.owners[param.name]: np.asarray(parameters.fetch(instance, param))
        for instance in instances(program)
        for param in instance.node.params
    }
    ring = Ring(rank.ranks)
    ranks = [_Rank(number, rank, ring, whole) for number in range(rank.ranks)]
    ring.run(lambda number: ranks[number].run(arrays, seeds))
    outputs = {
        name: _joined([one.outputs[name] for one in ranks], piece)
        for name, piece in zip(rank.program.output_names, rank.outputs, strict=True)
    }
    gradients = {
        path: _joined([one.gradients[path] for one in ranks], ranks[0].cuts[path].piece) for path in ranks[0].gradients
    }
    return SplitRun(outputs, gradients, dict(ring.sent))


def predicted_bytes(rank: RankProgram) -> dict[tuple[str, str], int]:
    """Return the bytes that all ranks together send, by collective and pass, without a run."""
    total: Counter[tuple[str, str]] = Counter()
    flow = gradient_flow(rank.program)
    for exchange, times in exchanges(rank, flow.program.main.nodes, flow).items():
        groups = rank.ranks // exchange.ranks
        total[exchange.collective, exchange.when] += exchange.all_sent * times * groups
    return {key: size for key, size in total.items() if size}


def _with_results(rank: RankProgram) -> RankProgram:
    """Return the program of a rank whose exchanges have results of their own, where it has another name of a value."""
    moves, kept = dict(rank.moves), list(rank.kept)
    bodies: dict[int, Body] = {}

    def changed(body: Body) -> Body:
        if id(body) not in bodies:
            bodies[id(body)] = replace(body, nodes=tuple(map(renewed, body.nodes)))
        return bodies[id(body)]

    def renewed(node: Node) -> Node:
        if isinstance(node, CallNode):
            return replace(node, body=changed(node.body))
        move = rank.move(node)
        if move is None or move.kind not in ("copy", "reduce"):
            return node
        op = Mul(value=1)
        kept.append(op)
        moves[id(op)] = move
        return replace(node, op=op)

    program = replace(rank.program, main=changed(rank.program.main))
    return replace(rank, program=program, moves=moves, kept=tuple(kept))


class _Rank:
    """Rank of a split network: its tensors, and its part in every exchange."""

    def __init__(self, number: int, rank: RankProgram, ring: Ring, whole: Mapping[str, Array]) -> None:
        self.number = number
        self.outputs: dict[str, Array] = {}
        self.gradients: dict[str, Array] = {}
        self.cuts: dict[str, Cut] = {}
        self._rank = rank
        self._ring = ring
        self._whole = whole

    def run(self, arrays: Sequence[Array | None], seeds: Mapping[str, Array]) -> None:
        """Run both passes, and sum up gradients of which each rank has a part."""
        program = self._rank.program
        own = [None if a is None else self._own(a, piece) for a, piece in zip(arrays, self._rank.inputs, strict=True)]
        tape = Tape(program, self._fetch, lambda path: True, frozenset(), _rng(), self._forward)
        outputs = tape.run(own)
        self.outputs = dict(zip(program.output_names, (np.array(one.array) for one in outputs), strict=True))
        starts = [
            self._own(seeds[name], piece) if one.wanted and name in seeds else None
            for name, one, piece in zip(self.outputs, outputs, self._rank.outputs, strict=True)
        ]
        gradients: dict[Key, Array] = dict(tape.backward(added(outputs, starts), self._product))
        for path in sorted(key for key in gradients if isinstance(key, str)):
            self.gradients[path] = self._summed(path, gradients[path])

    def _summed(self, path: str, gradient: Array) -> Array:
        cut = self.cuts[path]
        if not cut.partial:
            return gradient
        ranks = self._rank.ranks
        shards = 1 if cut.piece is None else cut.piece.shards
        alike = [[n for n in range(ranks) if n * shards // ranks == shard] for shard in range(shards)]
        return self._ring.all_reduce(self.number, gradient, "update", alike)

    def _fetch(self, instance: Instance, param: Param) -> Array:
        owner = instance.owners[param.name]
        cut = self._rank.cut(instance.node, param.name)
        if owner not in self.cuts or cut.partial:
            self.cuts[owner] = cut
        array = self._whole[owner]
        if cut.once and self.number:
            return np.zeros_like(array)  # a bias behind a sum: the first rank adds it
        return self._own(array, cut.piece)

    # -- operations -----------------------------------------------------------------------------------

    def _forward(
        self, instance: Instance, run: Run, arrays: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[Array, ...]:
        move = self._rank.move(instance.node)
        if move is not None:
            assert arrays[0] is not None
            return (np.array(self._moved(move, np.asarray(arrays[0]))),)
        first = self._first_row(instance)
        if first is None:
            return run_operation(instance, run, arrays, params)
        ids, rows = np.asarray(arrays[0]) - first, len(params["weight"])
        inside = (ids >= 0) & (ids < rows)
        (found,) = run_operation(instance, run, (np.where(inside, ids, 0),), params)
        return (np.where(inside[..., None], found, 0).astype(found.dtype),)

    def _moved(self, move: Move, array: Array) -> Array:
        ranks, ring, piece = self._all, self._ring, move.piece
        if move.kind == "copy":
            return array
        if move.kind == "reduce":
            return ring.all_reduce(self.number, array, "forward", ranks)
        assert piece is not None
        if move.kind == "gather":
            return self._gathered(array, piece, "forward")
        if move.kind == "scatter":
            return self._own(array, piece)
        return ring.reduce_scatter(self.number, list(np.moveaxis(array, piece.axis, 0)), "forward", ranks)

    def _product(self, record: Record, back: Back, arrived: tuple[Array | None, ...]) -> Gradients:
        node = record.instance.node
        move = self._rank.move(node)
        gradient = arrived[0]
        if move is not None:
            assert gradient is not None
            made = self._moved_back(move, np.asarray(gradient))
            # a gathered value is one input several times
            return {source: made if source == 0 else np.zeros_like(made) for source in record.wanted}
        first = self._first_row(record.instance)
        if first is None:
            return apply_vjp(node.op, back, arrived)
        assert gradient is not None
        table = np.zeros([int(size) for size in record.types["weight"].shape], gradient.dtype)
        ids = np.asarray(next(iter(record.saved.values()))) - first
        inside = (ids >= 0) & (ids < len(table))
        np.add.at(table, ids[inside], self._scale(node.op) * gradient[inside])
        return {"weight": table}

    def _moved_back(self, move: Move, gradient: Array) -> Array:
        ring, piece, ranks = self._ring, move.piece, self._all
        if move.kind == "copy":
            return ring.all_reduce(self.number, gradient, "backward", ranks)
        if move.kind == "reduce":
            return gradient
        assert piece is not None
        if move.kind == "gather":
            if not move.partial:
                return self._own(gradient, piece)
            pieces = [_piece(gradient, piece, shard) for shard in range(piece.shards)]
            return ring.reduce_scatter(self.number, pieces, "backward", self._across(piece))
        if move.kind == "scatter":
            return self._gathered(gradient, piece, "backward")
        return np.stack(ring.all_gather(self.number, gradient, "backward", ranks), piece.axis)

    # -- pieces ---------------------------------------------------------------------------------------

    @property
    def _all(self) -> list[list[int]]:
        return [list(range(self._rank.ranks))]

    def _across(self, piece: Piece) -> list[list[int]]:
        """Return the groups of ranks that together hold each shard once."""
        ranks, same = self._rank.ranks, self._rank.ranks // piece.shards
        return [list(range(first, ranks, same)) for first in range(same)]

    def _own(self, array: Array, piece: Piece | None) -> Array:
        if piece is None:
            return array
        return _piece(array, piece, self.number * piece.shards // self._rank.ranks)

    def _gathered(self, array: Array, piece: Piece, label: str) -> Array:
        pieces = self._ring.all_gather(self.number, array, label, self._across(piece))
        return _of_shards(pieces, piece)

    def _first_row(self, instance: Instance) -> int | None:
        """Return the first row of a table that is divided by rows; None for another operation."""
        node = instance.node
        cut = self._rank.cut(node, "weight")
        if node.op.name != "embedding" or cut.piece is None or cut.piece.axis:
            return None
        return self.number * (cut.piece.size // cut.piece.shards)

    @staticmethod
    def _scale(op: object) -> float:
        return float(getattr(op, "scale", None) or 1.0)


def _piece(array: Array, piece: Piece, shard: int) -> Array:
    """Return a shard of an array: of each part of the axis an equal share."""
    shares = []
    first = 0
    for size in piece.parts:
        each = size // piece.shards
        shares.append(np.take(array, range(first + shard * each, first + (shard + 1) * each), axis=piece.axis))
        first += size
    return np.concatenate(shares, axis=piece.axis)


def _of_shards(shards: Sequence[Array], piece: Piece) -> Array:
    """Return the whole array of its shards."""
    bounds = np.cumsum([size // piece.shards for size in piece.parts])[:-1]
    parts = [np.split(shard, bounds, axis=piece.axis) for shard in shards]
    return np.concatenate([shard[number] for number in range(len(piece.parts)) for shard in parts], axis=piece.axis)


def _joined(arrays: Sequence[Array], piece: Piece | None) -> Array:
    """Return a whole array of the pieces of all ranks, which agree where they hold the same."""
    if piece is None:
        for array in arrays[1:]:
            np.testing.assert_allclose(array, arrays[0], rtol=1e-9, atol=1e-12)
        return arrays[0]
    same = len(arrays) // piece.shards
    return _of_shards(arrays[::same], piece)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)
