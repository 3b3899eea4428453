"""The report of a split: memory of the fullest device, stages, and what a device sends in a step."""

from __future__ import annotations

from dataclasses import dataclass

from netcalc.analysis.parallel.split import Split, SplitFigures, StageMemory
from netcalc.analysis.parallel.traffic import Traffic


@dataclass(frozen=True, slots=True)
class SplitReport:
    """A split of a network over devices, of which the fullest is described."""

    split: Split
    devices: int
    """Number of devices."""
    fullest: StageMemory
    """Memory of the fullest device, in bytes."""
    stages: tuple[StageMemory, ...]
    """Memory of a device of each pipeline stage."""
    traffic: tuple[Traffic, ...]
    """Exchanges of the fullest device in a step, of all micro-batches."""
    bubble: float | None
    """Idle time of the pipeline as a multiple of the time of its work; null in serving."""


def split_report(figures: SplitFigures, split: Split) -> SplitReport:
    """Return the report of a split.

    Raises:
        NetcalcError: E502 for a split that does not divide layers, experts or replicas.
    """
    stages = figures.stages(split)
    fullest = max(stages, key=lambda stage: (stage.total, -stage.stage))
    traffic = tuple(figures.traffic(split, fullest.stage))
    return SplitReport(
        split, split.devices, fullest, tuple(stages), traffic, split.bubble if figures.training else None
    )
