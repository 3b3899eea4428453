"""Eager execution of :mod:`netcalc.ops.attention`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from netcalc.dims import Dim, equal, integer, product
from netcalc.dtypes import DType, promote
from netcalc.ops.attention import ScaledDotProductAttention
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.backward.attention import is_fused
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager

_QUERY, _KEY, _VALUE, _MASK, _PADDING, _SINKS = range(6)


@eager("scaled_dot_product_attention")
class AttentionEager(Eager):
    """A fused kernel, which returns a log-sum-exp for each query too, or products that store all scores.

    PyTorch's kernel for the CPU takes four axes, equal features of queries, keys and values, no dropout, and one mask
    of numbers without a gradient; its result has the order of the queries in memory.  What it cannot express goes the
    other way: a soft cap, sinks, weights that are returned.  Patterns and padding are one mask.

    FlashAttention-2 knows causal masks, windows and a soft cap by itself, leaves padding out, and takes no mask.
    """

    def moments(self, op: ScaledDotProductAttention, call: EagerCall) -> Sequence[Moment]:
        if _flash(op, call):
            return (Moment((_logsumexp(call),)),)
        masks = _masks(op, call)
        if _fused(op, call):
            return (*_moments_of_masks(masks), Moment((*masks, _logsumexp(call))))
        products = _written_products if _written_out(op, call) and not op.return_weights else _products
        return (*_moments_of_masks(masks), *products(op, call, masks))

    def order(self, op: ScaledDotProductAttention, call: EagerCall) -> Sequence[int] | None:
        return call.orders[0] if _flash(op, call) or _fused(op, call) else None

    def saves(self, op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        if _flash(op, call):
            return (*_operands(op, call, back), back.saved_kept("rng_state", 2, dtype="int64"))
        if _fused(op, call) and not back.wants(_MASK):
            return (*_operands(op, call, back), *_kept_mask(op, call, back))
        if not _written_out(op, call):
            return _kept_by_math(op, call, back)
        return _kept_by_products(op, call, back)

    def backward_moments(self, op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        if _flash(op, call) or (_fused(op, call) and not back.wants(_MASK)):
            masked = call.attention != "flash" and bool(_masks(op, call))
            return (Moment(tuple(_heads(op, call)) if masked else ()),)
        # of weights and scores, and with dropout of the weights that it leaves, which are released by then
        weights = [call.work("gradient of weights", *_scores(call))]
        if not (call.training and op.dropout):
            weights.append(call.work("gradient of scores", *_scores(call)))
        return Moment((*weights, call.like("gradient of values", call.input(_VALUE))), outputs=False), Moment()


def _statistics(call: EagerCall) -> DType:
    return "float64" if call.input().dtype == "float64" else "float32"


def _logsumexp(call: EagerCall) -> Work:
    return call.work("logsumexp", *call.input().shape[:-1], dtype=_statistics(call))


def _written_out(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    """Return True if the reference writes the products out: by itself, by choice, or for what sdpa has no argument."""
    by_itself = op.composed or op.softcap is not None or op.return_weights or call.present(_SINKS)
    return by_itself or call.attention == "eager"


def _flash(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    return call.attention == "flash" and is_fused(op, call)


def _fused(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    query, key, value = (call.input(index) for index in range(3))
    same = equal(query.shape[-1], key.shape[-1]) and equal(key.shape[-1], value.shape[-1])
    four = query.rank == key.rank == value.rank == 4 and equal(query.shape[0], key.shape[0])
    heads = op.enable_gqa or equal(query.shape[1], key.shape[1])
    unusual = _written_out(op, call) or (call.training and op.dropout > 0)
    return same and four and heads and not unusual


def _hides_by_pattern(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    """Return True if pairs are hidden in a way for which PyTorch's function has no argument."""
    lower = op.causal and op.alignment == "lower_right"
    aligned = equal(call.input(_QUERY).shape[-2], call.input(_KEY).shape[-2])
    return op.window is not None or op.blocks is not None or (lower and not aligned)


def _masks(op: ScaledDotProductAttention, call: EagerCall) -> tuple[Work, ...]:
    """Return the masks that are made: one that joins several or is a pattern, and numbers in place of booleans."""
    queries, keys = call.input(0).shape[-2], call.input(1).shape[-2]
    has_mask, padding = call.present(3), call.present(4)
    pattern = op.window is not None or op.blocks is not None or (op.causal and op.alignment == "lower_right")
    made: list[Work] = []
    if has_mask and not (padding or pattern or op.causal):
        mask = call.input(3)
        return (call.work("mask in numbers", *mask.shape),) if mask.dtype == "bool" else ()
    if not (has_mask or padding or pattern):
        inner = op.causal and not _fused(op, call)  # made and released on the way
        return (call.work("mask in numbers", queries, keys),) if inner else ()
    leading = call.input(3).shape[:-2] if has_mask else (call.input(4).shape[0], 1) if padding else ()
    made.append(call.work("mask", *leading, queries, keys, dtype="bool"))
    made.append(call.work("mask in numbers", *leading, queries, keys))
    return tuple(made)


def _moments_of_masks(masks: tuple[Work, ...]) -> tuple[Moment, ...]:
    return (Moment(masks, outputs=False),) if masks else ()


def _repeats(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    """Return True if fewer heads of keys and values than of queries are repeated for the products."""
    return op.enable_gqa and not equal(call.input(_QUERY).shape[-3], call.input(_KEY).shape[-3])


def _heads(op: ScaledDotProductAttention, call: EagerCall) -> list[Work]:
    """Return keys and values with repeated heads."""
    if not _repeats(op, call):
        return []
    heads = call.input(_QUERY).shape[-3]
    operands = ("repeated keys", call.input(_KEY)), ("repeated values", call.input(_VALUE))
    return [call.work(name, *x.shape[:-3], heads, *x.shape[-2:]) for name, x in operands]


def _written_products(op: ScaledDotProductAttention, call: EagerCall, masks: tuple[Work, ...]) -> tuple[Moment, ...]:
    """Return the moments of products that are written out: scores, scaled and masked ones, weights, output."""
    held = [*masks, *_heads(op, call)]
    copies = [
        call.work(f"copy of {name}", *copy)
        for index, name in ((_QUERY, "queries"), (_KEY, "keys"))
        if not (index == _KEY and _repeats(op, call)) and (copy := call.copied(index, *_merged(call, index)))
    ]
    stages = [call.work(name, *_scores(call)) for name in ("scores", "scaled scores")]
    if masks or call.present(_MASK) or op.causal or op.softcap is not None:
        stages.append(call.work("masked scores", *_scores(call)))
    weights = call.work("weights", *_scores(call))
    moments = [Moment((*held, *copies, stages[0]), outputs=False)]
    moments += (Moment((*held, *pair), outputs=False) for pair in pairwise([*stages, weights]))
    return (*moments, Moment((*held, weights, call.like("output by position"))))


def _products(op: ScaledDotProductAttention, call: EagerCall, masks: tuple[Work, ...]) -> tuple[Moment, ...]:
    """Return the moments of the products: scaled operands, scores, masked scores, weights, output."""
    query, key = call.input(_QUERY), call.input(_KEY)
    held = [*masks, *_heads(op, call), call.like("scaled queries", query)]
    scores, masked, weights = (call.work(name, *_scores(call)) for name in ("scores", "masked scores", "weights"))
    moments = [Moment((*held, call.like("scaled keys", key), scores), outputs=False)]
    if masks or call.present(3) or op.softcap is not None:
        moments.append(Moment((*held, scores, masked), outputs=False))
    moments.append(Moment((*held, scores, weights), outputs=False))
    # weights that are returned are an output
    return (*moments, Moment(tuple(held) if op.return_weights else (*held, weights)))


# -- tensors that are kept ---------------------------------------------------------------------------


def _operands(op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall) -> tuple[Saved, ...]:
    """Return what every fused kernel keeps."""
    lse = _logsumexp(call)
    keys = (_KEY, "key"), (_VALUE, "value")
    masked = call.attention != "flash" and bool(_masks(op, call))
    return (
        back.saved_input("query", _QUERY),
        # a mask makes the reference repeat heads, which the kernel does otherwise
        *(_repeated(op, call, back, name, index) if masked else back.saved_input(name, index) for index, name in keys),
        back.saved_output("output"),
        back.saved_kept(lse.name, *lse.type.shape, dtype=lse.type.dtype),
    )


def _kept_mask(op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall) -> tuple[Saved, ...]:
    """Return the mask in numbers, which is made in each layer if the mask is one of booleans or a pattern."""
    pattern = _hides_by_pattern(op, call)
    if call.present(_MASK) and call.input(_MASK).dtype != "bool" and not (pattern or call.present(_PADDING)):
        return (back.saved_input("attn_mask", _MASK),)
    if not (call.present(_MASK) or call.present(_PADDING) or pattern):
        return ()
    query, key = call.input(_QUERY), call.input(_KEY)
    heads = call.input(_MASK).shape[-3] if call.present(_MASK) and call.input(_MASK).rank > 2 else 1
    return (back.saved_kept("attn_mask", query.shape[0], heads, query.shape[-2], key.shape[-2], dtype=query.dtype),)


def _repeated(
    op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall, name: str, index: int, *shapes: Sequence[Dim]
) -> Saved:
    """Return keys or values with repeated heads, in further shapes: a view of the input, or a copy."""
    x = call.input(index)
    *batch, heads, length, features = x.shape
    wanted = call.input(_QUERY).shape[-3]
    steps: list[Sequence[Dim]] = []
    if _repeats(op, call):
        times = integer(wanted) // integer(heads)
        steps = [
            (*batch, heads, 1, length, features),
            (*batch, heads, times, length, features),
            (*batch, wanted, length, features),
        ]
    copy = call.copied(index, *steps, *shapes)
    return back.saved_input(name, index) if copy is None else back.saved_kept(name, *copy)


def _merged(call: EagerCall, index: int) -> tuple[Sequence[Dim], ...]:
    """Return the shapes that an operand takes for a batched product: all leading axes, and these as one."""
    leading = call.outputs[0].shape[:-2]
    matrix = call.input(index).shape[-2:]
    return (*leading, *matrix), (product(leading), *matrix)


def _scores(call: EagerCall, further: int = 0) -> tuple[Dim, ...]:
    return (*call.outputs[0].shape[:-1], call.input(_KEY).shape[-2] + further)


def _masked(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    """Return True if the reference adds a mask of numbers to the scores."""
    return op.causal or call.present(_MASK) or call.present(_PADDING) or _hides_by_pattern(op, call)


def _after_softmax(
    op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall, scores: DType, operand: DType
) -> list[Saved]:
    """Return the weights, and with dropout its mask and the weights that it leaves, as far as gradients need them.

    The softmax computes in the type ``scores``, and the product with the values in the type ``operand``.
    """
    saved: list[Saved] = []
    drops = call.training and bool(op.dropout)
    returned = op.return_weights and not drops and not call.present(_SINKS)
    if back.wants(_QUERY, _KEY, _MASK, _SINKS) or not drops:
        shape = _scores(call, 1 if call.present(_SINKS) else 0)
        saved.append(back.saved_output("result", 1) if returned else back.saved_kept("result", *shape, dtype=scores))
    if drops:
        mask = call.mask_of_dropout if call.mask_of_dropout == "bool" else scores
        saved.append(back.saved_kept("other", *_scores(call), dtype=mask))
        dropped = back.saved_kept("self", *_scores(call), dtype=operand)
        saved.append(back.saved_output("self", 1) if op.return_weights else dropped)
    elif operand != scores and not returned:
        saved.append(back.saved_kept("self", *_scores(call), dtype=operand))
    return saved


def _kept_by_products(op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall) -> list[Saved]:
    """Return what is kept of q·kᵀ·scale, softmax, dropout and the product with v, as transformers writes them."""
    copy = call.copied(_QUERY, *_merged(call, _QUERY))
    saved = [back.saved_input("query", _QUERY) if copy is None else back.saved_kept("query", *copy)]
    for index, name in ((_KEY, "key"), (_VALUE, "value")):
        saved.append(_repeated(op, call, back, name, index, *_merged(call, index)))
    if op.softcap is not None:
        saved.append(back.saved_kept("tanh_result", *_scores(call)))
    if call.present(_SINKS):
        saved.append(back.saved_kept("indices", *call.outputs[0].shape[:-1], 1, dtype="int64"))
    own = call.input(_QUERY).dtype
    scores = promote(own, call.masks) if call.masks is not None and _masked(op, call) else own
    return [*saved, *_after_softmax(op, call, back, scores, own)]


def _kept_by_math(op: ScaledDotProductAttention, call: EagerCall, back: BackwardCall) -> list[Saved]:
    """Return what is kept by PyTorch's function without a fused kernel, which scales queries and keys before.

    It computes in float32 what is given in 16 bits.
    """
    heads = call.input(_QUERY).shape[-3]
    key, value = call.input(_KEY).shape, call.input(_VALUE).shape
    own = call.input(_QUERY).dtype
    wide: DType = "float32" if own in ("float16", "bfloat16") else own
    if wide == own:
        values = _repeated(op, call, back, "value", _VALUE, *_merged(call, _VALUE))
    else:
        values = back.saved_kept("value", *value[:-3], heads, *value[-2:], dtype=wide)
    saved = [
        back.saved_kept("scaled query", *call.input(_QUERY).shape, dtype=wide),
        back.saved_kept("scaled key", *key[:-3], heads, *key[-2:], dtype=wide),
        values,
    ]
    return [*saved, *_after_softmax(op, call, back, wide, wide)]
