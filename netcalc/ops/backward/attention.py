"""Backward pass of :mod:`netcalc.ops.attention`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from netcalc.dims import Dim, equal, product
from netcalc.opdef import Context, Term
from netcalc.ops.attention import ScaledDotProductAttention
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._broadcast import summing
from netcalc.tensor_type import TensorType

_QUERY, _KEY, _VALUE, _MASK, _SINKS = 0, 1, 2, 3, 5
#: Features of a head beyond which FlashAttention-2 has no kernel.
_FUSED_FEATURES = 256


@backward("scaled_dot_product_attention")
class AttentionBackward(Backward):
    """Eager attention, as PyTorch's math path: the weights P are kept, and four matrix products go back."""

    rule = (
        "∂L/∂V = Pᵀ·g",
        "∂L/∂P = g·Vᵀ",
        "∂L/∂S = P⊙(∂L/∂P − Σ_keys P⊙∂L/∂P), for the scores S with mask",
        "∂L/∂mask = ∂L/∂S, summed to its shape",
        "∂L/∂Q = scale·∂L/∂S·K",
        "∂L/∂K = scale·∂L/∂Sᵀ·Q",
    )

    fused_rule = (
        "P = exp(S − log-sum-exp), computed again from Q and K",
        "Σ_keys P⊙∂L/∂P = Σ_features g⊙O, for the output O",
    )
    fused_kernel = "FlashAttention-2 in the backward pass, which computes the scores again: 5 products for 4"

    def derivatives(self, op: ScaledDotProductAttention) -> tuple[str, ...]:
        rules = [*self.rule]
        if op.softcap is not None:
            rules.insert(4, "with t = tanh(S/c) of softcap c, ∂L/∂S is multiplied by 1 − t² before Q and K")
        if op.dropout:
            rules.insert(2, "dropped weights: ∂L/∂P⊙mask/(1 − p)")
        return tuple(rules)

    def saves(self, op: ScaledDotProductAttention, call: BackwardCall) -> Sequence[Saved]:
        drops = call.training and bool(op.dropout)
        saved: list[Saved] = []
        if call.wants(_KEY):
            saved.append(call.saved_input("query", _QUERY))
        if call.wants(_QUERY):
            saved.append(call.saved_input("key", _KEY))
        inner = _needs_softmax(call)
        if inner:
            saved.append(call.saved_input("value", _VALUE))
        sinks = call.present(_SINKS)
        if inner or not drops:
            if op.return_weights and not drops and not sinks:
                saved.append(call.saved_output("result", 1))
            else:
                saved.append(call.saved_kept("result", *_kept_shape(op, call, 1 if sinks else 0)))
        if drops and inner:
            saved.append(call.saved_kept("result1", *_kept_shape(op, call, 0), dtype="bool"))
        if drops and call.wants(_VALUE):
            # what multiplies the values is the weights after dropout
            weights = call.saved_kept("self", *_kept_shape(op, call, 0))
            saved.append(call.saved_output("self", 1) if op.return_weights else weights)
        if op.softcap is not None and call.wants(_QUERY, _KEY):
            saved.append(call.saved_kept("tanh_result", *_kept_shape(op, call, 0)))
        return saved

    def cost(self, op: ScaledDotProductAttention, call: BackwardCall) -> Sequence[Term]:
        work: list[Term] = []
        _, result = _leading_axes(op, call)
        value = call.input(_VALUE)
        if call.wants(_VALUE) and call.given[0]:
            work.append(
                Term.of("mac", "gradient of value", **result, **_computed_pairs(op, call), value_dim=value.shape[-1])
            )
            work += summing(_like(op, call, 1, value.shape[-2], value.shape[-1]), value, "gradient of value")
        if _needs_softmax(call):
            work += self._weights(op, call)
        if call.wants(_QUERY, _KEY, _MASK):
            work += self._scores(op, call)
        return work

    def is_fused(self, op: ScaledDotProductAttention, call: BackwardCall) -> bool:
        return is_fused(op, call)

    def fused_saves(self, op: ScaledDotProductAttention, call: BackwardCall) -> Sequence[Saved]:
        """Return operands, output and the log-sum-exp of each query."""
        operands = (("query", _QUERY), ("key", _KEY), ("value", _VALUE))
        scores, _ = _axes(op, call)
        statistics = call.saved_kept("logsumexp", *scores, _lengths(call)[0], dtype="float32")
        return (*(call.saved_input(*operand) for operand in operands), call.saved_output("result"), statistics)

    def fused_cost(self, op: ScaledDotProductAttention, call: BackwardCall) -> Sequence[Term]:
        """Return the work of the backward pass of FlashAttention-2.

        It computes the scores and the weights P again, with the log-sum-exp of each query that the forward pass keeps,
        and the sums that the softmax takes of the output O (arXiv:2307.08691, Algorithm 2).
        """
        work = self.cost(op, call)
        if not work:
            return work
        scores, result = _leading_axes(op, call)
        pairs = _computed_pairs(op, call)
        each: dict[str, Any] = {**scores, **pairs}
        again = [Term.of("mac", "scores again", **each, head_dim=call.input(_QUERY).shape[-1])]
        if op.scale != 1:
            again.append(Term.of("mul", "scale again", **each))
        if op.softcap is not None:
            again += (Term.of(kind, "softcap again", **each) for kind in ("div", "transcendental", "mul"))
        again += (Term.of(kind, "softmax again", **each) for kind in ("add", "transcendental"))
        if call.training and op.dropout:
            again += (Term.of("compare", "dropout mask again", **each), Term.of("mul", "dropout again", **each))
        if not _needs_softmax(call):
            return (*again, *work)
        queries, features = _lengths(call)[0], call.input(_VALUE).shape[-1]
        sums = (
            Term.of("mul", "sums of the output", **result, queries=queries, value_dim=features),
            Term.of("add", "sums of the output", **result, queries=queries, others=features - 1),
        )
        # the sums of the weights in eager attention, and the product of which they are
        replaced = {("mul", "softmax"): 1, ("add", "softmax sum"): 1}
        rest = []
        for term in work:
            if replaced.pop((term.kind, term.role), 0) == 0:
                rest.append(term)
        return (*again, *sums, *rest)

    def _weights(self, op: ScaledDotProductAttention, call: BackwardCall) -> Iterator[Term]:
        """Yield the work from the gradient of the output to the sums that the softmax takes."""
        scores, result = _leading_axes(op, call)
        pairs = _computed_pairs(op, call)
        rows = op.kept(*_lengths(call)).rows if op.sparse else _lengths(call)[0]
        if call.given[0]:
            value_dim = call.input(_VALUE).shape[-1]
            yield Term.of("mac", "gradient of weights", **result, **pairs, value_dim=value_dim)
            if scores != result:
                extra = product(result.values()) - product(scores.values())
                yield Term.of("add", "gradient of weights", extra=extra, **pairs)
            if len(call.given) > 1 and call.given[1]:
                yield Term.of("add", "gradient of weights", **scores, **pairs)
        if call.training and op.dropout:
            yield Term.of("mul", "dropout", **scores, **pairs)
        yield Term.of("mul", "softmax", **scores, **pairs)
        yield Term.of("add", "softmax sum", **scores, others=product(pairs.values()) - rows)
        if call.wants(_SINKS):
            yield Term.of("mul", "gradient of sinks", **scores, rows=rows)
            heads = scores["heads"]
            yield Term.of("add", "gradient of sinks", sums=product(scores.values()) * rows - heads)
            yield Term.of("add", "sign of the gradient of sinks", heads=heads)

    def _scores(self, op: ScaledDotProductAttention, call: BackwardCall) -> Iterator[Term]:
        """Yield the work from the gradient of the weights to the gradients of mask, query and key."""
        scores, _ = _leading_axes(op, call)
        pairs = _computed_pairs(op, call)
        each: dict[str, Any] = {**scores, **pairs}
        yield Term.of("add", "softmax", **each)
        yield Term.of("mul", "softmax", **each)
        if call.wants(_MASK):
            yield from summing(_like(op, call, 0, *_lengths(call)), call.input(_MASK), "gradient of mask")
        if not call.wants(_QUERY, _KEY):
            return
        if op.softcap is not None:
            yield Term.of("mul", "softcap", **each, times=2)
            yield Term.of("add", "softcap", **each)
        if op.scale != 1:
            yield Term.of("mul", "scale", **each)
        for name, index in (("query", _QUERY), ("key", _KEY)):
            if call.wants(index):
                x = call.input(index)
                yield Term.of("mac", f"gradient of {name}", **each, head_dim=x.shape[-1])
                yield from summing(_like(op, call, 0, *x.shape[-2:]), x, f"gradient of {name}")


class Attended(Protocol):
    """A call of attention: types of its inputs, in a forward or a backward pass."""

    def input(self, index: int = 0) -> TensorType:
        """Return the type of an input that is present."""

    def present(self, index: int) -> bool:
        """Return True if there is an input at this position."""


def is_fused(op: ScaledDotProductAttention, call: Attended) -> bool:
    """Return True for attention that FlashAttention-2 computes.

    It knows causal masks, windows and a soft cap, leaves padding out, and takes no mask.
    """
    query, key, value = (call.input(index) for index in range(3))
    same = equal(query.shape[-1], key.shape[-1]) and equal(key.shape[-1], value.shape[-1])
    mask = call.present(_MASK) and call.input(_MASK).dtype != "bool"
    unusual = op.composed or op.return_weights or call.present(_SINKS) or mask or op.blocks is not None
    features = query.shape[-1]
    fits = same and not (isinstance(features, int) and features > _FUSED_FEATURES) and query.rank == 4
    return fits and not unusual


def _needs_softmax(call: BackwardCall) -> bool:
    """Return True if a gradient is wanted that goes through the softmax."""
    return call.wants(_QUERY, _KEY, _MASK, _SINKS)


def _lengths(call: BackwardCall) -> tuple[Dim, Dim]:
    return call.input(_QUERY).shape[-2], call.input(_KEY).shape[-2]


def _axes(op: ScaledDotProductAttention, call: BackwardCall) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """Return the axes before the last two, of the scores and of the output."""
    return op.leading(Context(), call.input(_QUERY), call.input(_KEY), call.input(_VALUE))


def _leading_axes(op: ScaledDotProductAttention, call: BackwardCall) -> tuple[dict[str, Dim], dict[str, Dim]]:
    """Return the axes before the last two as factors, of the scores and of the output."""
    scores, result = _axes(op, call)
    return _sizes_by_name(scores), _sizes_by_name(result)


def _sizes_by_name(axes: tuple[Dim, ...]) -> dict[str, Dim]:
    return {"batch": product(axes[:-1]), "heads": product(axes[-1:])}


def _computed_pairs(op: ScaledDotProductAttention, call: BackwardCall) -> dict[str, Dim]:
    """Return the number of pairs of queries and keys that are computed, as factors."""
    queries, keys = _lengths(call)
    return {"pairs": op.kept(queries, keys).pairs} if op.sparse else {"queries": queries, "keys": keys}


def _like(op: ScaledDotProductAttention, call: BackwardCall, which: int, *last: Dim) -> TensorType:
    """Return a type with the leading axes of the scores (0) or of the output (1)."""
    return TensorType((*_axes(op, call)[which], *last))


def _kept_shape(op: ScaledDotProductAttention, call: BackwardCall, sink: int) -> tuple[Dim, ...]:
    """Return the shape of what is kept for each pair, and for the sink of each query."""
    queries, keys = _lengths(call)
    scores, _ = _axes(op, call)
    if not op.sparse:
        return (*scores, queries, keys + sink)
    computed = op.kept(queries, keys)
    return (*scores, computed.pairs + sink * computed.rows)
