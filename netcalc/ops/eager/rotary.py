"""Eager execution of :mod:`netcalc.ops.rotary`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.dims import divided
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.rotary import RotaryEmbedding


@eager("rotary_embedding")
class RotaryEmbeddingEager(Eager):
    """x·cos + rotate(x)·sin as transformers computes it, where rotate swaps the halves and negates one of them."""

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
