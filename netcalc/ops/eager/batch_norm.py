"""Eager execution of :mod:`netcalc.ops.batch_norm`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ops.backward import BackwardCall
from netcalc.ops.batch_norm import BatchNorm, FrozenBatchNorm, InstanceNorm
from netcalc.ops.eager import Eager, EagerCall, Moment, eager


@eager("batch_norm")
class BatchNormEager(Eager):
    """The kernel returns the statistics of the batch if it uses them, and empty tensors otherwise."""

    def moments(self, op: BatchNorm, call: EagerCall) -> Sequence[Moment]:
        if not op.own_statistics(call.training, given=call.present(3)):
            return (Moment(),)
        channels = call.input().shape[1]
        return (Moment((call.work("mean", channels), call.work("rstd", channels))),)

    def backward_moments(self, op: BatchNorm, call: EagerCall, back: BackwardCall) -> Sequence[Moment]:
        return (Moment((call.like("normalized gradient"),)),)


@eager("instance_norm")
class InstanceNormEager(Eager):
    """A batch norm of one sample with batch·channels channels, for which parameters are repeated."""

    def moments(self, op: InstanceNorm, call: EagerCall) -> Sequence[Moment]:
        batch, channels = call.input().shape[:2]
        vectors = [param.name for param in call.params if param.shape == (channels,)]
        vectors += [port.name for index, port in enumerate(op.inputs) if index and call.present(index)]
        repeated = [call.work(name, batch * channels) for name in vectors]
        statistics = [call.work(name, batch * channels) for name in ("mean", "rstd")]
        return (Moment((*repeated, *(statistics if op.own_statistics(call.training, given=call.present(3)) else ()))),)


@eager("frozen_batch_norm")
class FrozenBatchNormEager(Eager):
    """Scale and shift of the channels, and the scaled input."""

    def moments(self, op: FrozenBatchNorm, call: EagerCall) -> Sequence[Moment]:
        channels = call.input().shape[1]
        return (Moment((call.work("scale", channels), call.work("shift", channels), call.like("scaled"))),)
