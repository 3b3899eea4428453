"""Eager execution of :mod:`netcalc.ops.norm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.ops.backward import BackwardCall, Saved
from netcalc.ops.backward._statistics import wide_dtype
from netcalc.ops.eager import Eager, EagerCall, Moment, eager
from netcalc.ops.norm import GroupNorm, LayerNorm, LocalResponseNorm, Normalize, RMSNorm


def _shape_of_statistics(op: LayerNorm | RMSNorm, call: EagerCall) -> tuple[Any, ...]:
    """Return the shape of the statistics, with axes of size 1 left out."""
    count = len(op.normalized_shape) if op.normalized_shape is not None else op.axes or 1
    return call.input().shape[: call.input().rank - count]


@eager("layer_norm")
class LayerNormEager(Eager):
    """The kernel returns mean and reciprocal standard deviation too."""

    def moments(self, op: LayerNorm, call: EagerCall) -> Sequence[Moment]:
        shape = _shape_of_statistics(op, call)
        return (Moment((call.work("mean", *shape), call.work("rstd", *shape))),)


@eager("group_norm")
class GroupNormEager(Eager):
    """The kernel returns mean and reciprocal standard deviation of each group too."""

    def moments(self, op: GroupNorm, call: EagerCall) -> Sequence[Moment]:
        shape = call.input().shape[0], op.groups
        return (Moment((call.work("mean", *shape), call.work("rstd", *shape))),)


@eager("rms_norm")
class RMSNormEager(Eager):
    """Squares, their means, the input times the reciprocal root, and that times the weight."""

    def order(self, op: RMSNorm, call: EagerCall) -> Sequence[int] | None:
        return call.orders[0]

    def saves(self, op: RMSNorm, call: EagerCall, back: BackwardCall) -> Sequence[Saved] | None:
        if not back.wants(0):
            return None
        x = call.input()
        wide = wide_dtype(x)
        widened = x.dtype != wide
        each = (*x.shape[: -op.count], *(1,) * op.count)
        saved = [back.saved_kept("self", *x.shape, dtype=wide) if widened else back.saved_input("self")]
        saved.append(back.saved_kept("result", *each, dtype=wide))
        if not (call.has_param("weight") or call.present(1)):
            return saved
        saved.append(back.saved_kept("normalized", *x.shape, dtype=wide if op.offset else x.dtype))
        if op.offset:
            saved.append(back.saved_kept("weight", *x.shape[-op.count :], dtype=wide))
        else:
            saved.append(back.saved_input("weight", 1) if call.present(1) else back.saved_parameter("weight", "weight"))
        return saved

    def moments(self, op: RMSNorm, call: EagerCall) -> Sequence[Moment]:
        shape = _shape_of_statistics(op, call)
        mean, rstd = call.work("mean", *shape), call.work("rstd", *shape)
        first = Moment((call.like("squares"), mean, rstd), outputs=False)
        if not (call.has_param("weight") or call.present(1)):
            return first, Moment((rstd,))
        return first, Moment((rstd, call.like("normalized")))

    def backward_moments(self, op: RMSNorm, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        wide = call.work("gradient of squares", *call.input().shape, dtype=wide_dtype(call.input()))
        if not back.wants(0):
            return (Moment((wide,)),)
        weighted = call.has_param("weight") or call.present(1)
        # the gradient of the output and the normalized input are released by then
        return (Moment((wide,) * (2 if weighted else 3)),)


@eager("local_response_norm")
class LocalResponseNormEager(Eager):
    """Squares, padded squares, their mean, the divisor before and after each step, and the quotient."""

    def moments(self, op: LocalResponseNorm, call: EagerCall) -> Sequence[Moment]:
        batch, channels, *spatial = call.input().shape
        padded = call.work("padded", batch, channels + op.size - 1, *spatial)
        squares, mean, step = call.like("squares"), call.like("mean"), call.like("divisor")
        growing = (squares, padded), (padded, mean), (mean, step, step)
        return *(Moment(tensors, outputs=False) for tensors in growing), Moment((step,))


@eager("normalize")
class NormalizeEager(Eager):
    """The norm, and the norm that is at least eps."""

    def moments(self, op: Normalize, call: EagerCall) -> Sequence[Moment]:
        axes = {axis % call.input().rank for axis in op.axis}
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(call.input().shape))
        norm, divisor = call.work("norm", *shape), call.work("divisor", *shape)
        return Moment((norm, divisor), False), Moment((divisor,))
