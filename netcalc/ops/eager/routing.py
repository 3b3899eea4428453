"""Eager execution of :mod:`netcalc.ops.routing`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.backward import declaration as backward_pass
from netcalc.ops.eager import Eager, EagerCall, eager
from netcalc.ops.routing import Experts, TopKRouter


@eager("top_k_router")
class RouterEager(Eager):
    """Scores, the largest of them, and their quotient by the sum, of which the numerators are kept too."""

    def saves(self, op: TopKRouter, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        declared = backward_pass(op)
        assert declared is not None
        numerators = [back.saved_kept("numerators", *call.outputs[0].shape)] if op.normalize else []
        return [*declared.saves(op, back), *numerators]


@eager("experts")
class ExpertsEager(Eager):
    """A grouped product over the pairs of tokens and experts, sorted by expert: their order, back, and their tokens."""

    def saves(self, op: Experts, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        declared = backward_pass(op)
        assert declared is not None
        pairs = product(call.input(1).shape)
        orders = [back.saved_kept(name, pairs, dtype="int64") for name in ("order", "inverse", "token")]
        return [*declared.saves(op, back), *orders, back.saved_kept("offsets", op.experts, dtype="int32")]
