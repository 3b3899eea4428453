"""Eager execution of :mod:`netcalc.ops.attention`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import equal
from netcalc.dtypes import DType
from netcalc.ops.attention import ScaledDotProductAttention
from netcalc.ops.eager import Eager, EagerCall, Moment, Work, eager


@eager("scaled_dot_product_attention")
class AttentionEager(Eager):
    """The fused kernel for the CPU, which returns a log-sum-exp for each query too, or products that store all scores.

    The kernel takes four axes, equal features of queries, keys and values, and one mask of numbers; its result has the
    order of the queries in memory.  What it cannot express goes the other way: a soft cap, sinks, weights that are
    returned.  Patterns and padding are one mask.
    """

    def moments(self, op: ScaledDotProductAttention, call: EagerCall) -> Sequence[Moment]:
        masks = _masks(op, call)
        if _fused(op, call):
            lse = call.work("logsumexp", *call.input().shape[:-1], dtype=_statistics(call))
            return (*_moments_of_masks(masks), Moment((*masks, lse)))
        return (*_moments_of_masks(masks), *_products(op, call, masks))

    def order(self, op: ScaledDotProductAttention, call: EagerCall) -> Sequence[int] | None:
        return call.orders[0] if _fused(op, call) else None


def _statistics(call: EagerCall) -> DType:
    return "float64" if call.input().dtype == "float64" else "float32"


def _fused(op: ScaledDotProductAttention, call: EagerCall) -> bool:
    query, key, value = (call.input(index) for index in range(3))
    same = equal(query.shape[-1], key.shape[-1]) and equal(key.shape[-1], value.shape[-1])
    four = query.rank == key.rank == value.rank == 4 and equal(query.shape[0], key.shape[0])
    heads = op.enable_gqa or equal(query.shape[1], key.shape[1])
    unusual = op.softcap is not None or op.return_weights or call.present(5) or (call.training and op.dropout > 0)
    return same and four and heads and not unusual


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


def _products(op: ScaledDotProductAttention, call: EagerCall, masks: tuple[Work, ...]) -> tuple[Moment, ...]:
    """Return the moments of the products: scaled operands, scores, masked scores, weights, output."""
    query, key, value = (call.input(index) for index in range(3))
    held = [*masks]
    if op.enable_gqa and not equal(query.shape[-3], key.shape[-3]):
        heads = query.shape[-3]
        held += (
            call.work(name, *x.shape[:-3], heads, *x.shape[-2:])
            for name, x in (("repeated keys", key), ("repeated values", value))
        )
    held.append(call.like("scaled queries", query))
    shape = (*call.outputs[0].shape[:-1], key.shape[-2])
    scores, masked, weights = (call.work(name, *shape) for name in ("scores", "masked scores", "weights"))
    moments = [Moment((*held, call.like("scaled keys", key), scores), outputs=False)]
    if masks or call.present(3) or op.softcap is not None:
        moments.append(Moment((*held, scores, masked), outputs=False))
    moments.append(Moment((*held, scores, weights), outputs=False))
    # weights that are returned are an output
    return (*moments, Moment(tuple(held) if op.return_weights else (*held, weights)))
