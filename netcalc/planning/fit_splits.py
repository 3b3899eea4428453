"""Splits of a workload over devices: those that fit, the fastest by bound first, and the fewest devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from math import gcd
from typing import Any

from netcalc.analysis.devices import Devices
from netcalc.analysis.fit.report import Memory, Need, Part, SplitFit
from netcalc.analysis.parallel.network import link_bounds, network_roof
from netcalc.analysis.parallel.split import Split, SplitFigures, Traffic
from netcalc.analysis.training_memory import Training
from netcalc.arguments import options_of
from netcalc.diagnostics import NetcalcError
from netcalc.fit_options import FitOptions
from netcalc.options import TimeOptions
from netcalc.planning.memory import training_of
from netcalc.planning.splits import serving_figures, training_figures
from netcalc.planning.time import time_of
from netcalc.planning.workloads import Workloads
from netcalc.request import Request

#: Numbers of tensor-parallel ranks, which exchange much and are therefore devices of one node.
_RANKS = (1, 2, 4, 8)
#: Devices of a node.
_NODE = 8
#: Numbers of devices that are tried for the fewest.
_NUMBERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


class Splits:
    """Splits of a workload over equal devices.

    Serving splits tensors and layers.  Training has replicas too, each of which takes the batch of the workload, and
    ZeRO's stages; pipelines have at least as many micro-batches as stages.
    """

    def __init__(self, workloads: Workloads, options: FitOptions, memory: Memory, chosen: Devices) -> None:
        self._workloads = workloads
        self._options = options
        self._memory = memory
        self._device = chosen.device
        self._training: Training | None = training_of(workloads.memory_options) if workloads.trains else None
        self._figures: dict[int, SplitFigures | None] = {}  # by tensor-parallel ranks

    def over(self, devices: int) -> list[SplitFit]:
        """Return the splits over a number of devices that fit, the fastest by bound first, then the smallest."""
        fitting = [fit for fit in self._all(devices) if fit.total <= self._memory.budget]
        return sorted(fitting, key=lambda fit: (fit.seconds is None, fit.seconds or 0.0, fit.total))

    def fewest(self) -> SplitFit | None:
        """Return a split over the fewest devices that fits; None for more than a thousand."""
        for number in _NUMBERS:
            if fits := self.over(number):
                return fits[0]
        return None

    def need(self, split: Split, batch: int | None, length: int | None) -> Need:
        """Return what the fullest device of a split holds, at a batch and a length of each replica.

        Raises:
            NetcalcError: for sizes that the network does not have, or that the split does not divide.
        """
        is_workload = (batch, length) == (self._workloads.batch, self._workloads.length)
        figures = self._of(split) if is_workload else None
        if figures is None:
            figures = self._counted(self._workloads.at(batch, length), split)
        stage = figures.fullest(split)
        held = {
            "weights": stage.weights + stage.gathered,
            "caches and states": stage.caches,
            "gradients": stage.gradients,
            "optimizer": stage.states,
            ("activations" if self._training is None else "saved for backward"): stage.activations,
        }
        return Need(tuple(Part(name, size) for name, size in held.items() if size or name == "weights"))

    def smallest(self, devices: int) -> SplitFit | None:
        """Return the split over a number of devices whose fullest device holds least; None if there is no split."""
        return min(self._all(devices), key=lambda fit: fit.total, default=None)

    def _all(self, devices: int) -> Iterator[SplitFit]:
        for tp in _RANKS:
            if devices % tp:
                continue
            for pp in range(1, devices // tp + 1):
                if devices // tp % pp:
                    continue
                replicas = devices // tp // pp
                if self._training is None:
                    if replicas == 1:
                        yield from self._fit(Split(tp=tp, pp=pp))
                    continue
                passes = max(self._training.accumulate, pp)
                for zero in (0, 1, 3) if replicas > 1 else (0,):
                    ep = self._expert_ranks(tp, replicas)
                    split = Split(tp=tp, pp=pp, dp=replicas, ep=ep, sp=tp > 1, zero=zero, micro_batches=passes)
                    yield from self._fit(split)

    def _expert_ranks(self, tp: int, replicas: int) -> int:
        """Return the replicas among which experts are divided: as many as divide them."""
        figures = self._of(Split(tp=tp, sp=tp > 1))
        experts = 0 if figures is None else max((unit.experts_of for unit in figures.units), default=0)
        return gcd(experts, replicas) if experts else 1

    def _fit(self, split: Split) -> Iterator[SplitFit]:
        figures = self._of(split)
        if figures is None:
            return
        try:
            fullest = figures.fullest(split)
            traffic = figures.traffic(split, fullest.stage)
        except NetcalcError:  # layers, experts or replicas that it does not divide
            return
        sent = sum(one.sent for one in traffic)
        bubble = split.bubble if figures.training else None
        yield SplitFit(split, fullest.total, sent, bubble, self._bound(split, traffic, bubble))

    def _of(self, split: Split) -> SplitFigures | None:
        """Return the figures of a rank; None if a tensor cannot be split so."""
        if split.tp not in self._figures:
            try:
                found = self._counted(self._workloads.in_phase, split)
            except NetcalcError:
                self._figures[split.tp] = None
            else:
                self._figures[split.tp] = found
        return self._figures[split.tp]

    def _counted(self, request: Request, split: Split) -> SplitFigures:
        if self._training is None:
            cache, dtype = self._options["cache"], self._options["cache_dtype"]
            return serving_figures(request, split, cache=cache, cache_dtype=dtype)
        return training_figures(request, self._training._replace(accumulate=split.micro_batches), split)

    def _bound(self, split: Split, traffic: Iterable[Traffic], bubble: float | None) -> float | None:
        """Return the least time of a step for each replica's batch, in seconds; None if a figure is not known.

        Work is shared by tensor-parallel ranks, and by stages where micro-batches follow each other; what a device
        sends over its links takes its time beside that.
        """
        seconds = self._single
        waiting = network_roof(link_bounds(traffic, self._device, _NODE))
        if seconds is None or waiting is None:
            return None
        shared = split.tp * (split.pp if bubble is not None else 1)
        work = seconds * split.micro_batches / shared * (1 + (bubble or 0.0))
        return max(work, waiting) / (split.dp * split.micro_batches)

    @cached_property
    def _single(self) -> float | None:
        """The bound of a pass on one device; None for a device whose speed is not known."""
        if self._device.is_budget:
            return None
        given: dict[str, Any] = {name: option.default for name, option in options_of(TimeOptions).items()}
        given |= {name: value for name, value in self._options.items() if name in ("device", "training", "attention")}
        given["phase"] = None if self._training is None else "training"
        try:
            report = time_of(self._workloads.in_phase, TimeOptions(**given))  # type: ignore[typeddict-item]
        except NetcalcError:
            return None
        return report.seconds * report.devices
