"""Operations on pieces: which pieces of its inputs an operation takes, and which pieces of its results it gives.

An operation that is not known here takes whole tensors, which ranks gather before it: that is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

from netcalc.analysis.parallel.pieces import Cut, Kind, Piece, RefinedError, RefusalError, divisors
from netcalc.dims import integer
from netcalc.ir import OpNode
from netcalc.opdef import Operation
from netcalc.tensor_type import TensorType


class Local(NamedTuple):
    """An operation on a rank: its attributes, the pieces that it takes and gives, and the cuts of its parameters.

    ``partial`` is True if its results are sums over ranks, ``region`` if it works on pieces, so that a rank computes a
    part of the gradient of a whole input only.  ``sums`` are the bytes that are summed where these are not the results.
    """

    op: Operation
    takes: tuple[Piece | None, ...]
    gives: tuple[Piece | None, ...]
    cuts: Mapping[str, Cut] = {}
    partial: bool = False
    region: bool = False
    sums: int = 0


class Asked(NamedTuple):
    """An operation of the whole network: the pieces of its inputs, how its parameters are split, over how many ranks.

    ``source`` is the path of the operation without numbers, ``parts`` and ``shards`` how its parameter is cut.
    """

    node: OpNode
    pieces: tuple[Piece | None, ...]
    kind: Kind
    ranks: int
    source: str
    kinds: Mapping[str, Kind]
    parts: tuple[int, ...] = ()
    shards: int = 0

    @property
    def types(self) -> tuple[TensorType | None, ...]:
        """Types of the whole inputs."""
        return self.node.input_types

    def sizes(self, number: int = 0) -> tuple[int, ...]:
        """Return the sizes of a whole input."""
        type_ = self.types[number]
        assert type_ is not None
        return tuple(map(integer, type_.shape))

    @property
    def result(self) -> tuple[int, ...]:
        """The sizes of the first whole result."""
        return tuple(map(integer, self.node.output_types[0].shape))

    def none(self) -> Local:
        """Return the operation on whole tensors."""
        return Local(self.node.op, (None,) * len(self.pieces), (None,) * len(self.node.outputs))

    def along(self, piece: Piece, *, op: Operation | None = None, gives: Piece | None = None) -> Local:
        """Return the operation on a piece of its first input, with whole other inputs."""
        others = (None,) * (len(self.pieces) - 1)
        outputs = tuple(piece if gives is None else gives for _ in self.node.outputs)
        return Local(op or self.node.op, (piece, *others), outputs, region=True)


#: Bytes of an element of a loss: Megatron-LM computes it in float32 (core/tensor_parallel/cross_entropy.py).
_LOSS_BYTES = 4

#: A rule of an operation.
Rule: TypeAlias = Callable[[Asked], Local]

_RULES: dict[str, Rule] = {}


def local(asked: Asked) -> Local:
    """Return the operation as a rank runs it.

    Raises:
        RefusalError: for a split that is not possible.
        RefinedError: for a parameter that has to be cut otherwise.
    """
    op = asked.node.op
    rule = _RULES.get(op.name)
    if rule is not None:
        return rule(asked)
    if all(piece is None for piece in asked.pieces):
        return asked.none()
    if op.combines or op.name in ("where", "masked_fill"):
        return _broadcast(asked)
    if op.elementwise or op.no_op_in_inference or op.name in ("cast", "dropout", "identity"):
        piece = asked.pieces[0]
        return asked.none() if piece is None else asked.along(piece)
    return asked.none()


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return add


def _own(asked: Asked, axis: int, *sizes: int, what: str) -> Piece:
    """Return the piece of a result that a parameter of the operation gives."""
    parts, shards = asked.parts or sizes, asked.shards or asked.ranks
    if any(size % shards for size in parts):
        raise RefusalError(f"{_listed(parts)} {what} cannot be divided by {shards}", divisors(*parts))
    return Piece(axis, parts, shards, frozenset((asked.source,)))


def _listed(sizes: Sequence[int]) -> str:
    return " + ".join(f"{size:,}" for size in sizes)


@_rule("linear")
def _linear(asked: Asked) -> Local:
    op: Any = asked.node.op
    whole, out = asked.sizes(), asked.result[-1]
    last = len(whole) - 1
    piece = asked.pieces[0]
    others = (None,) * (len(asked.pieces) - 1)
    if asked.kind in ("columns", "heads", "vocabulary"):
        what = "rows of the vocabulary" if asked.kind == "vocabulary" else "columns"
        result = _own(asked, last, out, what=what)
        cut = Cut(result.at(0))
        size = result.size // result.shards
        changed = op.model_copy(update={"out": size})
        return Local(changed, (None, *others), (result,), {"weight": cut, "bias": cut}, region=True)
    if asked.kind == "rows":
        if whole[-1] % asked.ranks:
            raise RefusalError(f"{whole[-1]:,} rows cannot be divided by {asked.ranks}", divisors(whole[-1]))
        wanted = piece if piece is not None and piece.axis == last and len(piece.parts) == 1 else None
        if wanted is not None and wanted.shards != asked.ranks:
            wanted = None
        wanted = wanted or Piece(last, (whole[-1],), asked.ranks, frozenset((asked.source,)))
        cuts = {"weight": Cut(wanted.at(1)), "bias": Cut(once=True)}
        return Local(op.model_copy(), (wanted, *others), (None,), cuts, partial=True, region=True)
    if piece is None or piece.axis == last:
        return asked.none()
    return asked.along(piece, op=op.model_copy())


@_rule("linear_weight")
def _linear_weight(asked: Asked) -> Local:
    if asked.kind not in ("columns", "heads"):
        return asked.none()
    op: Any = asked.node.op
    result = _own(asked, 0, asked.result[0], what="columns")
    changed = op.model_copy(update={"out": result.size // result.shards})
    return Local(changed, (), (result,), {"weight": Cut(result)}, region=True)


@_rule("embedding")
def _embedding(asked: Asked) -> Local:
    op: Any = asked.node.op
    if asked.kind == "vocabulary":
        rows = integer(op.num_embeddings)
        cut = _own(asked, 0, rows, what="rows of the vocabulary")
        changed = op.model_copy(update={"num_embeddings": rows // cut.shards, "padding_idx": None})
        return Local(changed, (None,), (None,), {"weight": Cut(cut)}, partial=True, region=True)
    if asked.kind in ("columns", "heads"):
        result = _own(asked, len(asked.result) - 1, asked.result[-1], what="columns")
        changed = op.model_copy(update={"embedding_dim": result.size // result.shards})
        return Local(changed, (None,), (result,), {"weight": Cut(result.at(1))}, region=True)
    return asked.none()


@_rule("parameter")
def _parameter(asked: Asked) -> Local:
    if asked.kind not in ("columns", "heads", "vocabulary"):
        return asked.none()
    op: Any = asked.node.op
    what = "rows of the vocabulary" if asked.kind == "vocabulary" else "elements"
    result = _own(asked, 0, asked.result[0], what=what)
    shape = (result.size // result.shards, *op.shape[1:])
    name = asked.node.params[0].name
    return Local(op.model_copy(update={"shape": shape}), (), (result,), {name: Cut(result)}, region=True)


@_rule("t5_position_bias")
def _position_bias(asked: Asked) -> Local:
    if asked.kind != "heads":
        return asked.none()
    op: Any = asked.node.op
    axis = len(asked.result) - 3
    result = _own(asked, axis, integer(op.num_heads), what="heads")
    changed = op.model_copy(update={"num_heads": result.size // result.shards})
    cuts = {param.name: Cut(result.at(1)) for param in asked.node.params if param.trainable}
    return Local(changed, (None,) * len(asked.pieces), (result,), cuts, region=True)


@_rule("experts")
def _experts(asked: Asked) -> Local:
    op: Any = asked.node.op
    if asked.kind != "experts":
        return asked.none()
    hidden, ranks = integer(op.hidden), asked.ranks
    if hidden % ranks:
        raise RefusalError(f"{hidden:,} hidden units of an expert cannot be divided by {ranks}", divisors(hidden))
    wide = (hidden,) if not op.gated else (2 * hidden,) if op.interleaved else (hidden, hidden)
    first = Piece(1, wide, ranks)
    cuts = {}
    for param in asked.node.params:
        if param.name == "down_proj":
            cuts[param.name] = Cut(Piece(2, (hidden,), ranks), experts=0)
        elif param.name == "down_proj_bias":
            cuts[param.name] = Cut(experts=0, once=True)
        else:
            cuts[param.name] = Cut(first, experts=0)
    changed = op.model_copy(update={"hidden": hidden // ranks})
    return Local(changed, (None, None, None), (None,), cuts, partial=True, region=True)


@_rule("unflatten")
def _unflatten(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece = asked.pieces[0]
    if piece is None:
        return asked.none()
    rank = len(asked.sizes())
    axis = op.axis % rank
    if piece.axis != axis:
        shift = len(op.sizes) - 1 if piece.axis > axis else 0
        return asked.along(piece, gives=piece.at(piece.axis + shift))
    first = asked.result[axis]
    if len(piece.parts) > 1:
        return asked.none()
    if first % piece.shards:
        for source in sorted(piece.sources):
            is_heads = asked.kinds.get(source) == "heads"
            if is_heads and piece.shards == asked.ranks and asked.ranks % first == 0:
                raise RefinedError(source, shards=first)
        raise RefusalError(f"{first:,} heads cannot be divided by {piece.shards}", divisors(first))
    sizes = tuple(op.sizes)
    if sizes[0] != -1:
        sizes = (first // piece.shards, *sizes[1:])
    return asked.along(piece, op=op.model_copy(update={"sizes": sizes}), gives=piece.at(axis, first))


@_rule("flatten")
def _flatten(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, whole = asked.pieces[0], asked.sizes()
    if piece is None:
        return asked.none()
    start, end = op.start_axis % len(whole), op.end_axis % len(whole)
    if piece.axis < start:
        return asked.along(piece)
    if piece.axis > end:
        return asked.along(piece, gives=piece.at(piece.axis - (end - start)))
    if prod(whole[start : piece.axis]) != 1 or len(piece.parts) > 1:
        return asked.none()
    return asked.along(piece, gives=piece.at(start, prod(whole[start : end + 1])))


@_rule("transpose", "permute")
def _permuted(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, rank = asked.pieces[0], len(asked.sizes())
    if piece is None:
        return asked.none()
    order = list(range(rank))
    axes = [axis % rank for axis in op.axes]
    if op.name == "permute":
        order = axes
    else:
        order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    return asked.along(piece, gives=piece.at(order.index(piece.axis)))


@_rule("unsqueeze", "squeeze", "select")
def _with_axis(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, rank = asked.pieces[0], len(asked.sizes())
    if piece is None:
        return asked.none()
    if op.name == "unsqueeze":
        return asked.along(piece, gives=piece.at(piece.axis + (op.axis % (rank + 1) <= piece.axis)))
    if op.axis is None:
        return asked.none()
    removed = {axis % rank for axis in ((op.axis,) if isinstance(op.axis, int) else op.axis)}
    if piece.axis in removed:
        return asked.none()
    return asked.along(piece, gives=piece.at(piece.axis - sum(axis < piece.axis for axis in removed)))


@_rule("split", "chunk")
def _split(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, rank = asked.pieces[0], len(asked.sizes())
    if piece is None:
        return asked.none()
    axis = op.axis % rank
    if piece.axis != axis:
        return asked.along(piece)
    sizes = tuple(integer(type_.shape[axis]) for type_ in asked.node.output_types)
    if piece.parts != sizes:
        if len(piece.sources) == 1 and len(piece.parts) == 1 and piece.shards == asked.ranks:
            raise RefinedError(next(iter(piece.sources)), parts=sizes)
        return asked.none()
    changed = op
    if op.name == "split":
        pieces = tuple(size // piece.shards for size in sizes) if isinstance(op.sizes, (tuple, list)) else None
        changed = op.model_copy(update={"sizes": pieces or sizes[0] // piece.shards})
    gives = tuple(piece.at(axis, size) for size in sizes)
    return Local(changed, (piece,), gives, region=True)


@_rule("slice", "softmax", "cumsum", "mean", "sum", "index_select", "gather", "flip", "roll")
def _along_an_axis(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, rank = asked.pieces[0], len(asked.sizes())
    if piece is None or op.axis is None:
        return asked.none()
    axes = {axis % rank for axis in ((op.axis,) if isinstance(op.axis, int) else op.axis)}
    keeps = len(asked.result) == rank
    if piece.axis in axes or not keeps or any(piece is not None for piece in asked.pieces[1:]):
        return asked.none()
    return asked.along(piece)


@_rule("rms_norm", "layer_norm")
def _norm(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, rank = asked.pieces[0], len(asked.sizes())
    trailing = len(op.normalized_shape) if op.normalized_shape is not None else op.axes or 1
    if piece is None or piece.axis >= rank - trailing:
        return asked.none()
    return asked.along(piece, op=op.model_copy())


@_rule("learned_positions", "sinusoidal_positions")
def _positions(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece = asked.pieces[0]
    if piece is None or not op.add or piece.axis == len(asked.sizes()) - 1:
        return asked.none()
    return asked.along(piece, op=op.model_copy())


@_rule("rotary_embedding")
def _rotary(asked: Asked) -> Local:
    piece, rank = asked.pieces[0], len(asked.sizes())
    return asked.none() if piece is None or piece.axis >= rank - 2 else asked.along(piece)


@_rule("expand")
def _expand(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece, whole = asked.pieces[0], asked.sizes()
    if piece is None or len(piece.parts) > 1:
        return asked.none()
    shift = len(op.shape) - len(whole)
    sizes = list(op.shape)
    place = piece.axis + shift
    if sizes[place] != -1:
        sizes[place] = piece.size // piece.shards
    return asked.along(piece, op=op.model_copy(update={"shape": tuple(sizes)}), gives=piece.at(place))


@_rule("cross_entropy")
def _loss(asked: Asked) -> Local:
    """Megatron's loss of a split vocabulary: ranks sum maxima, sums of exponentials and the logits of the labels."""
    piece, whole = asked.pieces[0], asked.sizes()
    axis = 1 if len(whole) > 1 else 0
    others = asked.types[1:]
    if piece is None or piece.axis != axis or len(piece.parts) > 1 or any(t is not None and t.is_float for t in others):
        return asked.none()
    rows = prod(whole) // whole[axis]
    takes = (piece, *(None for _ in others))
    return Local(asked.node.op, takes, (None,), partial=True, region=True, sums=3 * rows * _LOSS_BYTES)


@_rule("concat")
def _concat(asked: Asked) -> Local:
    op: Any = asked.node.op
    piece = next((piece for piece in asked.pieces if piece is not None), None)
    if piece is None or piece.axis == op.axis % len(asked.sizes()):
        return asked.none()
    return Local(op, (piece,) * len(asked.pieces), (piece,), region=True)


@_rule("key_value_cache")
def _cache(asked: Asked) -> Local:
    piece = next((piece for piece in asked.pieces if piece is not None), None)
    if piece is None or piece.axis >= len(asked.sizes()) - 2:
        return asked.none()
    takes = tuple(None if type_ is None else piece for type_ in asked.types)
    return Local(asked.node.op, takes, (piece,) * len(asked.node.outputs), region=True)


def _broadcast(asked: Asked) -> Local:
    """Return an operation on tensors that are broadcast against each other."""
    rank = len(asked.result)
    found = next((n, piece) for n, piece in enumerate(asked.pieces) if piece is not None)
    axis = found[1].axis + rank - len(asked.sizes(found[0]))
    piece = found[1].at(axis)
    if piece.size != asked.result[axis]:
        return asked.none()
    whole = [n for n, type_ in enumerate(asked.types) if type_ is not None and asked.pieces[n] is None]
    if piece.sources and axis == rank - 1 and any(asked.sizes(n) == asked.result for n in whole):
        return asked.none()  # a residual stays whole
    takes: list[Piece | None] = []
    for type_ in asked.types:
        if type_ is None:
            takes.append(None)
            continue
        own = axis - (rank - type_.rank)
        takes.append(piece.at(own) if own >= 0 and integer(type_.shape[own]) != 1 else None)
    return Local(asked.node.op, tuple(takes), (piece,), region=True)


@_rule("matmul")
def _matmul(asked: Asked) -> Local:
    rank = len(asked.result)
    found = next(((n, piece) for n, piece in enumerate(asked.pieces) if piece is not None), None)
    if found is None:
        return asked.none()
    axis = found[1].axis + rank - len(asked.sizes(found[0]))
    if axis >= rank - 2 or found[1].size != asked.result[axis]:
        return asked.none()
    return _broadcast(asked)


@_rule("scaled_dot_product_attention")
def _attention(asked: Asked) -> Local:
    node = asked.node
    query = asked.pieces[0]
    whole = asked.sizes()
    axis = len(whole) - 3
    if query is None or query.axis != axis or len(node.outputs) > 1:
        return asked.none()
    if query.sources and query.shards != asked.ranks:
        heads, groups = whole[axis], query.shards
        reason = f"{heads:,} heads" if heads % asked.ranks else f"{groups} groups of heads in one projection"
        raise RefusalError(f"{reason} cannot be divided by {asked.ranks}", divisors(heads, groups))
    takes: list[Piece | None] = [query]
    for number in (1, 2):
        type_ = asked.types[number] if number < len(asked.types) else None
        if type_ is None:
            takes.append(None)
            continue
        heads, held = integer(type_.shape[axis]), asked.pieces[number]
        if held is not None and held.axis == axis:
            takes.append(held)
        elif heads == 1:
            takes.append(None)
        elif heads % query.shards == 0:
            takes.append(query.at(axis, heads))
        else:
            return asked.none()
    for number in range(3, len(asked.types)):
        takes.append(_of_scores(asked, number, query))
    return Local(node.op, tuple(takes), (query,), region=True)


def _of_scores(asked: Asked, number: int, query: Piece) -> Piece | None:
    """Return the piece of a mask, or of sinks, that goes with a piece of the queries; None for all of it."""
    type_ = asked.types[number]
    if type_ is None:
        return None
    if asked.node.op.inputs[number].name == "sinks":
        return query.at(0)
    own = type_.rank - 3
    is_by_head = asked.node.op.inputs[number].name == "attn_mask" and own >= 0
    return query.at(own) if is_by_head and integer(type_.shape[own]) != 1 else None
