"""The part of the report of ``netcalc time`` on a split over devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from netcalc.analysis.parallel.network import LinkBound
from netcalc.analysis.parallel.split import Split
from netcalc.analysis.parallel.traffic import Traffic
from netcalc.results import recorded

if TYPE_CHECKING:
    from netcalc.analysis.parallel.bounds import StepBound


@recorded("split", "stage", "work", "fill", "sending", "bubble", "traffic", "links", "flops")
class SplitTime(NamedTuple):
    """Least time of a step on the devices of a split: the longer one of their work and of what they send."""

    split: Split
    stage: int
    """Pipeline stage that is slowest, of which the layers are those of a device."""
    work: float
    """Least time of the layers of this device, of all micro-batches, in seconds."""
    fill: float
    """Least time in which it waits for the other stages, in seconds."""
    bubble: float | None
    """Idle time of the pipeline as a multiple of the time of its work; null in serving."""
    traffic: tuple[Traffic, ...]
    """Exchanges in a step of the device whose links take longest, of all micro-batches."""
    links: tuple[LinkBound, ...]
    """Traffic of this device over its links in a step, beside its work."""
    sending: float | None
    """Least time of these links in seconds; null if one of their rates is not published."""
    flops: int
    """Floating-point operations of the multiply-adds of all devices, 2 each."""


def split_time(split: Split, step: StepBound, training: bool) -> SplitTime:
    """Return the part of the report on a split."""
    bubble = split.bubble if training else None
    return SplitTime(
        split, step.stage, step.work, step.fill, bubble, step.traffic, step.links, step.sending, step.flops
    )
