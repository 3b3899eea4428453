"""Bounds of time of the splits of a request, from the figures of a rank and the roofs of a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from netcalc.analysis.cost import Analysis, analyze
from netcalc.analysis.devices import Device, Devices
from netcalc.analysis.parallel.bounds import RankBounds
from netcalc.analysis.parallel.pieces import RankProgram
from netcalc.analysis.parallel.split import SplitFigures
from netcalc.analysis.recomputation import recomputation
from netcalc.analysis.roofline import Roofs
from netcalc.analysis.traffic import Share, Traffic
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir.loss import LOSS
from netcalc.options import AttentionKernel, PeakType


class Kernels(NamedTuple):
    """The way in which operations are executed."""

    attention: AttentionKernel = "sdpa-cpu"
    unfused: bool = False
    winograd: bool = False
    recompute: str = "none"
    arithmetic: PeakType | None = None
    """Element type whose peak counts for all products; None for that of each tensor."""


class RankTime(NamedTuple):
    """Bounds of the splits of a rank, and what they are made of."""

    bounds: RankBounds
    analysis: Analysis
    roofs: Callable[[int], Roofs]


def rank_time(
    figures: SplitFigures, device: Device, kernels: Kernels, optimizer: str | None, rank: RankProgram | None = None
) -> RankTime:
    """Return the bounds of the splits that figures of a rank are for.

    Args:
        figures: the figures of memory and exchanges.
        device: one of the devices.
        kernels: the way in which operations are executed.
        optimizer: name of the one whose update is counted.
        rank: the program whose work is counted, where that is not the one of the figures: products under autocast.

    Raises:
        NetcalcError: E502 for a recomputation that does not exist.
    """
    rank = rank or figures.rank
    assert rank is not None
    program = rank.program
    analysis = analyze(program)
    if figures.training:
        has_loss = LOSS in program.output_names
        loss, with_loss = (LOSS, program) if has_loss else (None, None)
        analysis = analyze(program, backward=True, optimizer=optimizer, loss=loss, with_loss=with_loss)
    again = recomputation(kernels.recompute)
    held = integer(analysis.total.weight_bytes)
    inputs = sum(integer(spec.type.elements) * ITEMSIZE[spec.type.dtype] for spec in program.inputs)

    @cache
    def efforts(share: Share) -> Traffic:
        return Traffic(analysis, kernels.attention, kernels.unfused, kernels.winograd, again, share)

    @cache
    def roofs(parts: int) -> Roofs:
        return Roofs(Devices(device), (held + inputs) // parts, program.dtype, kernels.arithmetic)

    rank = replace(rank, program=analysis.program)
    return RankTime(RankBounds(figures, rank, efforts, roofs, device), analysis, roofs)
