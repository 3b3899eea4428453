"""The typed result of ``netcalc fit``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from netcalc.analysis.fit.edge import Edge
from netcalc.analysis.parallel.split import Split
from netcalc.dtypes import DType
from netcalc.options import Phase
from netcalc.results import Entry, Result, recorded


class Part(NamedTuple):
    """A kind of memory."""

    name: str
    bytes: int


class Need(NamedTuple):
    """Memory of a workload by what it holds, in bytes."""

    parts: tuple[Part, ...]

    @property
    def total(self) -> int:
        """Bytes of all parts."""
        return sum(part.bytes for part in self.parts)

    def with_weights(self, weights: int | None) -> Need:
        """Return the need with weights of other bytes; the same for None."""
        if weights is None:
            return self
        return Need(tuple(part._replace(bytes=weights) if part.name == "weights" else part for part in self.parts))

    def of(self, name: str) -> int:
        """Return the bytes of a part; 0 if there is none of the name."""
        return sum(part.bytes for part in self.parts if part.name == name)


class Workload(NamedTuple):
    """Sizes that an answer is for."""

    phase: Phase | None
    """Null for a forward pass as the sizes say."""
    batch: int | None
    """Sequences or examples at a time; null for a network without a batch."""
    length: int | None
    """Positions of each; null for a network without positions."""


class Memory(NamedTuple):
    """Memory that there is."""

    device: str
    """Name, or bytes as they were given."""
    title: str
    number: int
    """Number of devices."""
    bytes: int
    """Bytes of one device."""
    reserve: int
    """Bytes of one device that are left to the framework and to fragmentation."""

    flash: int | None = None
    """Bytes of a memory that is only read, which holds the weights; null if there is none."""

    @property
    def budget(self) -> int:
        """Bytes of one device that a network may fill."""
        return self.bytes - self.reserve

    def left_by(self, need: Need) -> int:
        """Return the bytes that a need leaves, or that are missing if it is below 0, where these are fewest."""
        if self.flash is None:
            return self.budget - need.total
        held = need.of("weights")
        return min(self.flash - held, self.budget - need.total + held)


class SchemeFit(NamedTuple):
    """A form of the weights, and what it leaves."""

    scheme: str
    weights: int
    """Bytes of parameters and buffers."""
    total: int
    """Bytes of the workload."""
    fits: bool
    length: Edge | None
    """Most positions that fit; null for a network without positions."""


@recorded("options", "devices", "total", "sent", "bubble", "seconds")
class SplitFit(NamedTuple):
    """A split over devices, and what follows from it."""

    split: Split
    total: int
    """Bytes of the fullest device."""
    sent: int
    """Bytes that this device sends in a step."""
    bubble: float | None
    """Idle time of the pipeline as a multiple of the time of its work; null in serving."""
    seconds: float | None
    """Least time of a step, shared among replicas and passes; null if a figure of the device is not known."""

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.split.devices

    @property
    def options(self) -> str:
        """The split as options of ``memory``."""
        numbers = self.split._asdict()
        parts = [f"--{name} {numbers[name]}" for name in ("tp", "pp", "dp", "ep") if numbers[name] > 1]
        if self.split.sp:
            parts.append("--sp")
        if self.split.zero:
            parts.append(f"--zero {self.split.zero}")
        if self.split.micro_batches > 1:
            parts.append(f"--accumulate {self.split.micro_batches}")
        return " ".join(parts)


class PlacementFit(NamedTuple):
    """A placement on one device and its host that fits the device."""

    options: str
    """The placement as an option of ``memory``."""
    device: int
    """Bytes on the device."""
    host: int
    """Bytes in the memory of the host."""


class DeviceFit(NamedTuple):
    """A device, and if the workload fits it."""

    memory: Memory
    fits: bool
    margin: int
    """Bytes that are left, or that are missing if it is below 0."""
    devices: int | None
    """Devices whose memories together are large enough; null for a device with a flash."""


@recorded(
    *("spec", "dtype", "stored_as", "precision", "workload", Entry("need", "need.parts"), Entry("total", "need.total")),
    *("memory", "fits", "margin", "split", "largest_batch", "largest_length", "fewest", "splits", "placement"),
    *("schemes", "devices", "assumptions"),
    name="fit",
)
@dataclass(frozen=True, slots=True)
class FitReport(Result):
    """Answer to the question if a workload fits, with what decides it."""

    spec: str
    about: str
    dtype: DType
    """Element type of floating-point tensors."""
    stored_as: str
    """Schemes in which parameters are stored, in words; empty for the type alone."""
    precision: str | None
    """Element types of training; null for those of the model."""
    workload: Workload
    need: Need
    memory: Memory | None = None
    """Null without the option --device."""
    largest_batch: Edge | None = None
    """Largest batch at this length; null for a network without a batch, with --micro-batch, or without --device."""
    largest_length: Edge | None = None
    """Most positions at this batch; null for a network without positions, or without --device."""
    split: SplitFit | None = None
    """The split that the need is for, with several devices."""
    fewest: SplitFit | None = None
    """A split over the fewest devices, where one is not enough; null if a thousand are not, or without --device."""
    splits: tuple[SplitFit, ...] = ()
    """Splits over the devices that fit, the fastest by bound first."""
    placement: PlacementFit | None = None
    """A placement with the host, of a network that decodes and does not fit one device alone."""
    schemes: tuple[SchemeFit, ...] = ()
    """Other forms of the weights, the largest first."""
    devices: tuple[DeviceFit, ...] = ()
    """Common devices, without the option --device."""
    assumptions: tuple[str, ...] = ()

    @property
    def fits(self) -> bool | None:
        """True if the workload fits; null without the option --device."""
        return None if self.margin is None else self.margin >= 0

    @property
    def margin(self) -> int | None:
        """Bytes that are left, or missing if it is below 0; null without the option --device."""
        return None if self.memory is None else self.memory.left_by(self.need)
