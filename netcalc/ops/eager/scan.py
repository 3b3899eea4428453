"""Eager execution of :mod:`netcalc.ops.scan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.backward import declaration as backward_pass
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.scan import SelectiveScan

_INITIAL_STATE = 8


@eager("selective_scan")
class SelectiveScanEager(Eager):
    """transformers' loop over the steps: Δ·B for all of them at once, then a state for each, the first one included."""

    def saves(self, op: SelectiveScan, call: EagerCall, back: BackwardCall) -> Sequence[Saved]:
        declared = backward_pass(op)
        assert declared is not None
        saved: list[Saved] = []
        for tensor in declared.saves(op, back):
            if tensor.name == "states" and not call.present(_INITIAL_STATE):
                batch, length, *cell = tensor.type.shape
                saved.append(replace(tensor, type=tensor.type.with_shape(batch, length + 1, *cell)))
            elif tensor.name == "decay":
                saved += [tensor, replace(tensor, name="discrete_B")]
            elif tensor.name != "weighted":
                saved.append(tensor)
        return saved

    def backward_moments(self, op: SelectiveScan, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        """Return gradients of the decay and of Δ·B·x at all steps, each the sum of zeros with that of one step."""
        declared = backward_pass(op)
        assert declared is not None
        cells = next((tensor.type for tensor in declared.saves(op, back) if tensor.name == "decay"), None)
        if cells is None:
            return (Moment(),)
        return (Moment(tuple(call.like(name, cells) for name in ("decay", "weighted", "one step"))),)
