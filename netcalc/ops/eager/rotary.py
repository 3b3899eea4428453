"""Eager execution of :mod:`netcalc.ops.rotary`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import divided
from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.rotary import RotaryEmbedding


@eager("rotary_embedding")
class RotaryEmbeddingEager(Eager):
    """x·cos + rotate(x)·sin as transformers computes it, where rotate swaps the halves and negates one of them."""

    def saves(self, op: RotaryEmbedding, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        length, rotary = call.input().shape[-2], op.rotated(call.input())
        batch = call.input(1).shape[0] if call.present(1) and call.input(1).rank > 1 else 1
        table = (op.theta, op.offset, op.scaling)
        return [back.saved_kept(name, batch, 1, length, rotary, table=table) for name in ("cos", "sin")]

    def order(self, op: RotaryEmbedding, call: EagerCall) -> Sequence[int] | None:
        return call.orders[0] if op.rotated(call.input()) == call.input().shape[-1] else None

    def backward_moments(self, op: RotaryEmbedding, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        # the gradient of the output is released when those of x·cos and of rotated·sin exist
        return (Moment((call.like("gradient of rotated"), call.like("gradient of a half"))),)

    def moments(self, op: RotaryEmbedding, call: EagerCall) -> Sequence[Moment]:
        x = call.input()
        *leading, length, features = x.shape
        rotary = op.rotated(x)
        table = [call.work(name, length, rotary) for name in ("cos", "sin")]
        part = (*leading, length, rotary)
        scaled, rotated, product = (call.work(name, *part) for name in ("x·cos", "rotated", "rotated·sin"))
        negative = call.work("negated half", *leading, length, divided(rotary, 2) or 1)
        moments = [
            Moment((*table, scaled, negative, rotated), outputs=False),
            Moment((*table, scaled, rotated, product), outputs=False),
        ]
        if rotary == features:
            return (*moments, Moment((*table, scaled, product)))
        return (*moments, Moment((*table, call.work("turned", *part))))
