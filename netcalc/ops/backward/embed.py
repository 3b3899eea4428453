"""Backward passes of :mod:`netcalc.ops.embed`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.embed import Embedding, EmbeddingBag


class _TableBackward(Backward):
    def differs(self, op: Embedding | EmbeddingBag) -> str:
        return "the limit on the norm of rows is no part of the gradient" if op.max_norm is not None else ""

    def untrained_row(self, op: Embedding | EmbeddingBag) -> int | None:
        return op.padding_idx


@backward("embedding")
class EmbeddingBackward(_TableBackward):
    """Sum of the gradients of each row of the table; the row of ``padding_idx`` has none.

    As in PyTorch the limit on the norm of rows is no part of the gradient.
    """

    rule = ("∂L/∂W[i] = Σ ∂L/∂y, over the positions with id i; times scale if set",)

    def saves(self, op: Embedding, call: BackwardCall) -> Sequence[Saved]:
        return (call.saved_input("indices"),)

    def cost(self, op: Embedding, call: BackwardCall) -> Sequence[Term]:
        elements = {"ids": call.input().elements, "embedding_dim": op.embedding_dim}
        scale = [] if op.scale is None else [Term.of("mul", "scale", **elements)]
        return (*scale, Term.of("add", "sum of rows", **elements))


@backward("embedding_bag")
class EmbeddingBagBackward(_TableBackward):
    """Sum of the gradients of the bags in which a row is; for a maximum only of those in which it is the largest."""

    rule = (
        "∂L/∂W[i] = Σ ∂L/∂y of each bag with id i; times the sample's weight, divided by the bag's size for a mean",
        "∂L/∂weight of a sample = ∂L/∂y·W[i]",
    )

    def saves(self, op: EmbeddingBag, call: BackwardCall) -> Sequence[Saved]:
        saved: list[Saved] = []
        bags, features = call.outputs[0].shape
        if op.mode == "max":
            return (call.saved_kept("result3", bags, features, dtype="int64"),)
        saved.append(call.saved_input("indices"))
        if call.present(1):
            saved.append(call.saved_input("offsets", 1))
        if op.mode == "mean":
            saved.append(call.saved_kept("result2", bags, dtype="int64"))
        if call.present(2) and call.wants("weight"):
            saved.append(call.saved_input("per_sample_weights", 2))
        if call.wants(2):
            saved.append(call.saved_parameter("weight", "weight"))
        return saved

    def cost(self, op: EmbeddingBag, call: BackwardCall) -> Sequence[Term]:
        bags, features = call.outputs[0].shape
        ids = call.input().elements
        each = {"ids": ids, "embedding_dim": features}
        if op.mode == "max":
            return (Term.of("add", "sum of rows", bags=bags, embedding_dim=features),)
        work: list[Term] = []
        if op.mode == "mean":
            work.append(Term.of("div", "mean", bags=bags, embedding_dim=features))
        if call.wants("weight"):
            work += [Term.of("mul", "per-sample weights", **each)] if call.present(2) else []
            work.append(Term.of("add", "sum of rows", **each))
        if call.wants(2):
            work += [*op.norm_terms(ids), Term.of("mul", "gradient of per-sample weights", **each)]
            work.append(Term.of("add", "gradient of per-sample weights", ids=ids, sums=op.embedding_dim - 1))
        return work
