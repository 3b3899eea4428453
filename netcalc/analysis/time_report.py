"""The report of ``netcalc time``: a lower bound of the time of a pass on devices, by layer, and of a whole training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from netcalc.analysis.devices import Device
from netcalc.analysis.parallel.time import SplitTime
from netcalc.analysis.roofline import LayerBound, Limit
from netcalc.dtypes import DType
from netcalc.options import AttentionKernel, Phase
from netcalc.results import Entry, Result, recorded
from netcalc.tensor_type import TensorType

_DAY = 86_400
#: FLOPs of a day at a PFLOP/s.
_PF_DAY = 10**15 * _DAY


@recorded("tokens", "flops", "pf_days", "efficiency", "seconds", "days", "energy_kwh")
@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A whole training: steps over so many tokens."""

    tokens: int
    """Tokens of the training."""
    flops: int
    """FLOPs of the multiply-adds of all steps, 2 each."""
    efficiency: float | None
    """Share of the peak that is reached; null for the bound."""
    seconds: float
    """Time in seconds, at the efficiency or else at the bound."""
    power: int | None
    """Power of all devices in W."""

    @property
    def pf_days(self) -> float:
        """FLOPs in days at a PFLOP/s."""
        return self.flops / _PF_DAY

    @property
    def days(self) -> float:
        """Time in days."""
        return self.seconds / _DAY

    @property
    def energy_kwh(self) -> float | None:
        """Energy of the devices at their full power in kWh; null if the power is not published."""
        return None if self.power is None else self.power * self.seconds / 3.6e6


class Peak(NamedTuple):
    """Peak of all devices together."""

    dtype: str
    """Element type."""
    flops: int | None
    """FLOP/s; null if it is not published."""


@recorded("flops", "bandwidth", "ridge")
class Roofline(NamedTuple):
    """Rates that no layer exceeds: of all devices together, with a split of one device."""

    flops: int | None
    """Peak in FLOP/s; null if it is not published."""
    bandwidth: int | None
    """Bytes a second; null if it is not published."""

    @property
    def ridge(self) -> float | None:
        """FLOPs for a byte from which the peak is the limit, and below which the bandwidth is; null without both."""
        return self.flops / self.bandwidth if self.flops and self.bandwidth else None


@recorded(
    *("spec", "dtype", "checkpoint_dtype", "stored_as", "inputs", "outputs", "phase", Entry("training", "optimizer")),
    *("device", "devices", "peak", "roofline", "attention", "tokens", "flops", "read", "written", "intensity"),
    *("seconds", "limit", "roofs", "tokens_per_second", "mfu", "efficiency", "estimated_seconds"),
    *(Entry("split", optional=True), Entry("run", optional=True), "layers", "unknown", "assumptions", "notes"),
    name="time",
)
@dataclass(frozen=True)
class TimeReport(Result):
    """Lower bound of the time of a pass: layers, totals, and what they assume.

    Figures of layers are those of all their instances, so that their sums are the totals.
    """

    spec: str
    """Name of the spec."""
    about: str
    dtype: DType
    """Element type of floating-point tensors."""
    checkpoint_dtype: DType | None
    """Element type of the published checkpoint; null if the spec names none."""
    stored_as: str
    """Schemes in which the checkpoint of the model stores parameters, in words; empty for the type alone."""
    inputs: Mapping[str, TensorType]
    """Inputs by name."""
    outputs: Mapping[str, TensorType]
    """Outputs by name."""
    phase: Phase | None
    """Phase of the pass; null for a forward pass at the sizes of the spec."""
    optimizer: str | None
    """Name of the optimizer whose update is counted; null without an update."""
    device: Device
    """The device."""
    devices: int
    """Number of devices, which share all work and bytes evenly unless a split is given."""
    peak: Peak
    """Peak of all devices, by which the MFU is stated."""
    attention: AttentionKernel
    """Kernel of attention."""
    tokens: int | None
    """Tokens of a step, of all sequences, passes and replicas; null for a network without tokens."""
    samples: int | None
    layers: tuple[LayerBound, ...]
    """Layers that work or move bytes, in order of execution, of all instances and passes together; with a split those
    of one device of its slowest stage."""
    roofs: Mapping[Limit, float]
    """Seconds under each roof on its own, of all layers."""
    seconds: float
    """Lower bound of the time in seconds: the sum of the bounds of the layers; of a split, that of all devices."""
    efficiency: float | None
    """Share of the peak that is reached, as it was given."""
    run: TrainingRun | None
    """With `--tokens`: a whole training."""
    unknown: tuple[str, ...]
    """Operators whose work is not known, and is not in the bound."""
    assumptions: tuple[str, ...]
    """Assumptions of the bound, in words."""
    notes: tuple[str, ...] = ()
    """Remarks on the model."""
    depth: int | None = None
    split: SplitTime | None = None
    """With options such as `--tp`: the split over devices."""

    @property
    def flops(self) -> int:
        """Floating-point operations of the multiply-adds, 2 each; with a split those of one device."""
        return sum(layer.flops for layer in self.layers)

    @property
    def flops_of_all(self) -> int:
        """Floating-point operations of the multiply-adds of all devices, 2 each."""
        return self.flops if self.split is None else self.split.flops

    @property
    def read(self) -> int:
        """Bytes that are read."""
        return sum(layer.read for layer in self.layers)

    @property
    def written(self) -> int:
        """Bytes that are written."""
        return sum(layer.written for layer in self.layers)

    @property
    def roofline(self) -> Roofline:
        """Rates that no layer exceeds."""
        bandwidth, together = self.device.bandwidth, self.devices if self.split is None else 1
        peak = self.peak.flops if self.split is None else self.device.peaks.get(self.peak.dtype)
        return Roofline(peak, None if bandwidth is None else bandwidth * together)

    @property
    def intensity(self) -> float | None:
        """FLOPs for a byte; null without any byte."""
        moved = self.read + self.written
        return self.flops / moved if moved else None

    @property
    def limit(self) -> Limit | None:
        """Limit under which most of the time passes; the network, if what is sent takes longer than all layers."""
        if self.split is not None and self.seconds > self.split.work + self.split.fill:
            return "network"
        seconds: dict[Limit, float] = {}
        for layer in self.layers:
            if layer.limit is not None:
                seconds[layer.limit] = seconds.get(layer.limit, 0.0) + layer.seconds
        return max(seconds, key=lambda limit: seconds[limit], default=None)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens a second at the bound, which is an upper bound; null for a network without tokens."""
        return None if self.tokens is None or not self.seconds else self.tokens / self.seconds

    @property
    def mfu(self) -> float | None:
        """FLOPs at the bound as a share of the peak; null if the peak is not published."""
        if self.peak.flops is None or not self.seconds:
            return None
        return self.flops_of_all / (self.peak.flops * self.seconds)

    @property
    def estimated_seconds(self) -> float | None:
        """Time at the efficiency that was given, and at least the bound; null without one."""
        if self.efficiency is None or self.peak.flops is None:
            return None
        return max(self.flops_of_all / (self.peak.flops * self.efficiency), self.seconds)


def training_run(report: TimeReport, tokens: int, tokens_of_step: int) -> TrainingRun:
    """Return a whole training of which the report is one step of so many tokens.

    The number of steps is not rounded.
    """
    passes = Fraction(tokens, tokens_of_step)
    seconds = report.seconds if report.estimated_seconds is None else report.estimated_seconds
    power = None if report.device.power is None else report.device.power * report.devices
    return TrainingRun(tokens, int(report.flops_of_all * passes), report.efficiency, seconds * float(passes), power)
