"""The program of one rank under tensor parallelism: the network's own, on pieces of its tensors.

Each operation is built again on the pieces that the rank holds, so that every analysis of programs works on a rank.
Where ranks exchange data, a node stands for it that has the right sizes: an ``identity`` for a sum over ranks, a
``concat`` for gathered pieces, a ``slice`` for a piece of a whole tensor.  Bodies are built once for each state of
their inputs, so that depth costs nothing.

Megatron-LM (arXiv:1909.08053) splits so, and with ``sequence`` Korthikanti et al. (arXiv:2205.05198): between the split
regions each rank then has a part of the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from netcalc import ops
from netcalc.analysis.parallel.operators import Asked, Local, local
from netcalc.analysis.parallel.patterns import Declared, Scope, without_numbers
from netcalc.analysis.parallel.pieces import (
    Cut,
    Held,
    Kind,
    Move,
    MoveKind,
    Piece,
    RankProgram,
    RefinedError,
    RefusalError,
    divisors,
)
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.dims import integer
from netcalc.dtypes import FLOATS
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value, join
from netcalc.ir.build import build_node
from netcalc.opdef import Context, Operation

#: Last parts of the paths of low-rank adapters: the product that reduces features, and the other one.
_DOWN, _UP = ".lora_A", ".lora_B"
#: Axis of the positions in tensors (batch, positions, features).
_POSITIONS = 1


def rank_program(
    program: Program, ranks: int, declared: Declared, own: dict[str, Kind], *, sequence: bool = False
) -> RankProgram:
    """Return the program of one of so many ranks, all of which hold pieces of equal sizes.

    Args:
        program: the program of the whole network.
        ranks: number of ranks.
        declared: the ``tensor_parallel`` of a block by its name.
        own: the ``tensor_parallel`` of the spec.
        sequence: split positions between the split regions.

    Raises:
        NetcalcError: E502 for parameters that cannot be split so, with their line and the numbers of ranks that work.
        UndecidedError: E404 for a symbolic size of a tensor that is split.
    """
    cuts: dict[str, tuple[tuple[int, ...], int]] = {}
    inputs: tuple[Piece | None, ...] = (None,) * len(program.inputs)
    for _ in range(100):
        builder = _Builder(program, ranks, declared, own, cuts, sequence)
        try:
            main, outputs = builder.main(inputs)
        except RefinedError as refined:
            parts, shards = cuts.get(refined.source, ((), 0))
            cuts[refined.source] = refined.parts or parts, refined.shards or shards
            continue
        wanted = _pieces_of_caches(program, outputs)
        if wanted != inputs:
            inputs = wanted
            continue
        types = (value.known_type for value in main.inputs if value is not None)
        specs = tuple(spec._replace(type=type_) for spec, type_ in zip(program.inputs, types, strict=True))
        changed = replace(program, main=main, inputs=specs)
        return RankProgram(changed, ranks, builder.moves, builder.cuts, tuple(builder.kept), inputs, outputs)
    raise AssertionError(f"{program.name}: the split does not settle")


def _pieces_of_caches(program: Program, outputs: Sequence[Piece | None]) -> tuple[Piece | None, ...]:
    """Return the pieces of the inputs: a cache is split as the output that it becomes."""
    made = dict(zip(program.output_names, outputs, strict=True))
    names = {entry.input: entry.output for entry in program.caches.entries}
    stems = {entry.output.rpartition(".")[2]: entry.output for entry in program.caches.entries if entry.output in made}
    pieces = []
    for spec in program.inputs:
        output = names.get(spec.name)
        if output is not None and output not in made:  # an encoder's: as the decoder's own
            other = stems.get(output.rpartition(".")[2].replace("cross_", ""))
            output = other
        piece = None if output is None else made[output]
        pieces.append(None if piece is None else piece._replace(sources=frozenset()))
    return tuple(pieces)


class _Builder:
    """State of the construction: the bodies that were built, and exchanges and cuts by the identity of operations."""

    def __init__(
        self,
        program: Program,
        ranks: int,
        declared: Declared,
        own: dict[str, Kind],
        parameters: dict[str, tuple[tuple[int, ...], int]],
        sequence: bool,
    ) -> None:
        self.program = program
        self.ranks = ranks
        self.sequence = sequence
        self.moves: dict[int, Move] = {}
        self.cuts: dict[tuple[int, str], Cut] = {}
        self.kept: list[Operation] = []
        self.kinds: dict[str, Kind] = {}
        self.parameters = parameters
        self.context = Context(training=program.training, dtype=program.dtype)
        self._declared = declared
        self._own = own
        self._bodies: dict[Any, tuple[Body, tuple[Piece | None, ...]]] = {}

    def main(self, inputs: tuple[Piece | None, ...]) -> tuple[Body, tuple[Piece | None, ...]]:
        """Return the main body and the pieces of its outputs, for pieces of its inputs."""
        return self.body(self.program.main, inputs, "", Scope().inside("", self._own))

    def body(
        self, body: Body, pieces: tuple[Piece | None, ...], path: str, scope: Scope
    ) -> tuple[Body, tuple[Piece | None, ...]]:
        """Return a body on pieces of its inputs, and the pieces of its outputs."""
        inside = scope.inside(path, *self._declared(body.block, scope.home)) if path else scope
        key = id(body), pieces, path, inside.entries
        if key not in self._bodies:
            self._bodies[key] = _Lines(self, path, inside).body(body, pieces)
        return self._bodies[key]

    def moved(self, kind: MoveKind, op: Operation, piece: Piece | None, *, partial: bool, sums: int = 0) -> Operation:
        """Return an operation that stands for an exchange."""
        self.moves[id(op)] = Move(kind, piece, partial, piece is not None and not piece.sources, sums)
        self.kept.append(op)
        return op

    def refusal(self, node: OpNode, path: str, error: RefusalError) -> NetcalcError:
        """Return the error of an operation that cannot be split."""
        others = [n for n in error.divisors if n > 1]
        hint = f"--tp {', '.join(map(str, others))}" if others else "no number of ranks but 1 divides them"
        if "vocabulary" in error.reason:
            size = int(error.reason.partition(" ")[0].replace(",", ""))
            name = next((n for n, v in self.program.vars.items() if v == size), None)
            if name is not None:
                hint += f", or --set {name}={-(-size // self.ranks) * self.ranks}, which pads it"
        return NetcalcError(Diagnostic("E502", f"--tp {self.ranks}: {path}: {error.reason}", node.span, hint=hint))


class _Lines:
    """Construction of one body: its values so far, and the exchanges that several of its operations share."""

    def __init__(self, builder: _Builder, path: str, scope: Scope) -> None:
        self._builder = builder
        self._path = path
        self._scope = scope
        self._nodes: list[Node] = []
        self._held: dict[Value, Held] = {}
        self._moved: dict[Any, Value] = {}
        self._makers: dict[Value, OpNode] = {}
        self._body: Body | None = None

    def body(self, body: Body, pieces: tuple[Piece | None, ...]) -> tuple[Body, tuple[Piece | None, ...]]:
        inputs: list[Value | None] = []
        for value, piece in zip(body.inputs, pieces, strict=True):
            if value is None:
                inputs.append(None)
                continue
            made = Value(_local_type(value, piece), value.name, value.span)
            inputs.append(made)
            self._held[value] = made, piece
        self._body = body
        for node in body.nodes:
            if isinstance(node, OpNode):
                self._operation(node)
            else:
                self._call(node)
        outputs = [self._held[value] for value in body.outputs]
        made_body = Body(
            body.block,
            tuple(inputs),
            tuple(self._nodes),
            tuple(value for value, _ in outputs),
            body.checkpoint,
            body.ports,
            body.exposed,
        )
        return made_body, tuple(piece for _, piece in outputs)

    # -- operations -----------------------------------------------------------------------------------

    def _operation(self, node: OpNode) -> None:
        builder = self._builder
        source = without_numbers(join(self._path, node.name))
        pieces = tuple(None if value is None else self._held[value][1] for value in node.inputs)
        kind: Kind = "replicated"
        if node.params:
            kind = self._kind(source, node.params[0].name)
            builder.kinds[source] = kind
        owner = self._owner(node).removesuffix(_UP)  # an adapter is cut as its layer
        parts, shards = builder.parameters.get(owner, ((), 0))
        asked = Asked(node, pieces, kind, builder.ranks, owner, builder.kinds, parts, shards)
        try:
            made = local(asked)
        except RefusalError as refused:
            heads = _heads_behind(self._body, node) if kind == "heads" else None
            error = refused
            if heads is not None and heads % builder.ranks:
                error = RefusalError(f"{heads:,} heads cannot be divided by {builder.ranks}", divisors(heads))
            raise builder.refusal(node, join(self._path, node.name), error) from None
        self._add(node, made, source)

    def _kind(self, source: str, parameter: str) -> Kind:
        """Return how a parameter is split; that of an adapter follows from the layer that it is beside."""
        own = self._scope.kind(source, parameter)
        if own is None and source.endswith((_DOWN, _UP)):
            beside = self._scope.kind(source.removesuffix(_DOWN).removesuffix(_UP), parameter)
            if source.endswith(_DOWN):
                own = "rows" if beside == "rows" else None
            elif beside in ("columns", "heads", "vocabulary"):
                own = beside
        return own or "replicated"

    def _owner(self, node: OpNode) -> str:
        """Return the path, without numbers, of the operation whose parameter is used, another one if it is tied."""
        if not node.ties:
            return without_numbers(join(self._path, node.name))
        name = node.params[0].name
        tie = node.ties.get(name)
        if tie is None:
            return without_numbers(join(self._path, node.name))
        target = tie.target if tie.absolute else join(self._path, tie.target)
        return without_numbers(target.rpartition(".")[0] or target)

    def _add(self, node: OpNode, made: Local, source: str) -> None:
        builder = self._builder
        inputs = tuple(
            None if value is None else self._bring(value, piece, made.region)
            for value, piece in zip(node.inputs, made.takes, strict=True)
        )
        try:
            built = build_node(made.op, inputs, builder.context, node.name, frozen=node.frozen, span=node.span)
        except RuleError as error:
            message = f"--tp {builder.ranks}: {source}: {error.message}"
            raise NetcalcError(Diagnostic("E502", message, node.span)) from None
        builder.kept.append(made.op)
        storages = _storages(node, built)
        outputs = tuple(
            Value(value.type, old.name, old.span) for value, old in zip(built.outputs, node.outputs, strict=True)
        )
        holds = tuple(self._held[value][0] for value in node.holds if value in self._held)
        applied = built.applied
        built = replace(
            built,
            outputs=outputs,
            params=storages,
            ties=node.ties,
            computed=node.computed,
            inplace=node.inplace,
            holds=holds,
            module=node.module,
        )
        built.applied = applied
        is_partial = any(piece is not None for piece in made.takes) or made.region
        for param in node.params:
            cut = made.cuts.get(param.name, Cut())
            held_by_several = cut.piece is not None and cut.piece.shards < builder.ranks
            whole = cut.piece is None and not cut.once and any(piece is not None for piece in made.takes)
            if whole or held_by_several:
                cut = cut._replace(partial=is_partial)
            if cut != Cut():
                builder.cuts[id(made.op), param.name] = cut
        self._nodes.append(built)
        for old, value, piece in zip(node.outputs, outputs, made.gives, strict=True):
            _require_type(old, value, piece, source)
            self._held[old] = self._summed(node, value, made.sums) if made.partial else (value, piece)
            self._makers[value] = built
        if builder.sequence and node.op.name in ("embedding",) and not made.partial and made.gives == (None,):
            self._held[node.outputs[0]] = self._by_position(node.outputs[0], node)

    def _summed(self, node: OpNode, value: Value, sums: int) -> Held:
        """Return the sum of a value over ranks, or under sequence parallelism the rank's positions of it."""
        builder = self._builder
        shape = value.known_type.shape
        if not (builder.sequence and len(shape) == 3):
            op = builder.moved("reduce", _operation("identity"), None, partial=False, sums=sums)
            return self._append(op, (value,), f"{node.name}.all_reduce"), None
        piece = self._positions(node, integer(shape[_POSITIONS]))
        # sums over the ranks' pieces: new memory of the size of one
        op = _operation("unflatten", axis=_POSITIONS, sizes=(builder.ranks, -1))
        parts = self._append(op, (value,), f"{node.name}.pieces")
        op = builder.moved("reduce_scatter", _operation("sum", axis=(_POSITIONS,)), piece, partial=False)
        return self._append(op, (parts,), f"{node.name}.reduce_scatter"), piece

    def _positions(self, node: OpNode | CallNode, positions: int) -> Piece:
        ranks = self._builder.ranks
        if positions % ranks:
            message = f"--sp: {positions:,} positions cannot be divided by --tp {ranks}"
            hint = f"--tp {', '.join(map(str, divisors(positions)))}"
            raise NetcalcError(Diagnostic("E502", message, node.span, hint=hint))
        return Piece(_POSITIONS, (positions,), ranks)

    def _by_position(self, old: Value, node: OpNode) -> Held:
        value, _ = self._held[old]
        shape = value.known_type.shape
        if len(shape) != 3:
            return value, None
        piece = self._positions(node, integer(shape[_POSITIONS]))
        return self._bring(old, piece, region=True), piece

    # -- exchanges ------------------------------------------------------------------------------------

    def _bring(self, old: Value, wanted: Piece | None, region: bool) -> Value:
        """Return a value as the piece that an operation takes; ``region`` if it computes with pieces."""
        value, piece = self._held[old]
        if wanted is None and piece is None:
            return self._copied(value) if region and value.known_type.dtype in FLOATS else value
        if piece is not None and piece.same_as(wanted):
            return value
        if piece is not None:
            value = self._gathered(value, piece, partial=region)
            if wanted is None:
                return value
        assert wanted is not None
        return self._scattered(value, wanted)

    def _copied(self, value: Value) -> Value:
        """Return a whole value that operations on pieces read: the sum of the gradients that they give is its own."""
        key = value, "copy"
        if key not in self._moved:
            op = self._builder.moved("copy", _operation("identity"), None, partial=True)
            self._moved[key] = self._append(op, (value,), f"{value.name}.copy")
        return self._moved[key]

    def _gathered(self, value: Value, piece: Piece, *, partial: bool) -> Value:
        key = value, "gather", partial
        if key not in self._moved:
            op = self._builder.moved("gather", _operation("concat", axis=piece.axis), piece, partial=partial)
            self._moved[key] = self._append(op, (value,) * piece.shards, f"{value.name}.all_gather")
        return self._moved[key]

    def _scattered(self, value: Value, piece: Piece) -> Value:
        key = value, "scatter", piece[:3]
        if key not in self._moved:
            made = self._expanded(value, piece)
            if made is None:
                stop = piece.size // piece.shards
                op = _operation("slice", axis=(piece.axis,), start=(0,), stop=(stop,))
                made = self._append(
                    self._builder.moved("scatter", op, piece, partial=False), (value,), f"{value.name}.scatter"
                )
            self._moved[key] = made
        return self._moved[key]

    def _expanded(self, value: Value, piece: Piece) -> Value | None:
        """Return a piece of a value that repeats an axis of one element, repeated less often; None for others."""
        maker: Any = self._makers.get(value)
        if maker is None or maker.op.name != "expand" or len(piece.parts) > 1:
            return None
        source = maker.inputs[0]
        shape = source.known_type.shape
        if len(shape) != len(maker.op.shape) or shape[piece.axis] != 1:
            return None
        sizes = list(maker.op.shape)
        sizes[piece.axis] = piece.size // piece.shards
        op = maker.op.model_copy(update={"shape": tuple(sizes)})
        self._builder.kept.append(op)
        return self._append(op, (self._copied(source),), f"{value.name}.piece")

    def _append(self, op: Operation, inputs: Sequence[Value], name: str) -> Value:
        number = sum(node.name.partition("#")[0] == name for node in self._nodes)
        node = build_node(op, inputs, self._builder.context, name if not number else f"{name}#{number}")
        self._builder.kept.append(op)
        self._nodes.append(node)
        return node.outputs[0]

    # -- calls ----------------------------------------------------------------------------------------

    def _call(self, node: CallNode) -> None:
        path = join(self._path, without_numbers(node.instance(0)))
        pieces = [None if value is None else self._held[value][1] for value in node.inputs]
        for _ in range(4):
            body, outputs = self._builder.body(node.body, tuple(pieces), path, self._scope)
            carried = node.carried
            if not carried or all(
                a is b or (a is not None and a.same_as(b)) for a, b in zip(outputs, pieces, strict=False)
            ):
                break
            pieces[:carried] = outputs
        inputs = tuple(
            None if value is None else self._brought_to_call(value, piece)
            for value, piece in zip(node.inputs, pieces, strict=True)
        )
        made = tuple(
            Value(_local_type(value, piece), value.name, value.span)
            for value, piece in zip(node.outputs, outputs, strict=True)
        )
        holds = tuple(self._held[value][0] for value in node.holds if value in self._held)
        self._nodes.append(replace(node, body=body, inputs=inputs, outputs=made, holds=holds))
        self._held.update(zip(node.outputs, zip(made, outputs, strict=True), strict=True))

    def _brought_to_call(self, value: Value, piece: Piece | None) -> Value:
        held, own = self._held[value]
        same = own is piece or (own is not None and own.same_as(piece))
        return held if same else self._bring(value, piece, region=piece is not None)


def _operation(name: str, **attributes: Any) -> Operation:
    declared = ops.find(name)
    assert declared is not None
    return declared(**attributes)


def _local_type(value: Value, piece: Piece | None) -> Any:
    """Return the type of the piece of a value."""
    type_ = value.known_type
    if piece is None:
        return type_
    shape = list(type_.shape)
    shape[piece.axis] = integer(shape[piece.axis]) // piece.shards
    return type_.with_shape(*shape)


def _require_type(old: Value, new: Value, piece: Piece | None, source: str) -> None:
    expected = _local_type(old, piece)
    assert new.known_type.shape == expected.shape, f"{source}: {new.type} in place of {expected}"


def _heads_behind(body: Body | None, node: OpNode) -> int | None:
    """Return the number of heads into which the result of a projection is divided next; None if it is not."""
    reached = {*node.outputs}
    for other in () if body is None else body.nodes:
        if not reached.intersection(value for value in other.inputs if value is not None):
            continue
        reached.update(other.outputs)
        inner = other.body.nodes if isinstance(other, CallNode) else (other,)
        for one in inner:
            if isinstance(one, OpNode) and one.op.name == "unflatten":
                operation: Any = one.op
                type_ = one.output_types[0]
                return integer(type_.shape[operation.axis % (type_.rank - len(operation.sizes) + 1)])
    return None


def _storages(whole: OpNode, built: OpNode) -> tuple[Any, ...]:
    """Return the parameters of an operation on a rank, with their share of the bytes in which the whole are stored."""
    by_name = {param.name: param for param in whole.params}
    params = []
    for param in built.params:
        before = by_name[param.name]
        storage = before.storage
        if storage is not None and before.shape != param.shape:
            share = integer(before.elements) // integer(param.elements)
            # a scale of the whole tensor stays whole
            tensors = (t if t.bytes % share else t._replace(bytes=t.bytes // share) for t in storage.tensors)
            storage = replace(storage, tensors=tuple(tensors))
        params.append(replace(param, storage=storage, dtype=before.dtype))
    return tuple(params)
