"""Splits of a workload over devices: those that fit, the fastest by bound first, and the fewest devices."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from netcalc.analysis.devices import Devices
from netcalc.analysis.fit.report import Memory, Need, Part, SplitFit
from netcalc.analysis.parallel.bounds import RankBounds
from netcalc.analysis.parallel.pieces import divisors
from netcalc.analysis.parallel.split import Split, SplitFigures
from netcalc.analysis.precisions import peak_type
from netcalc.analysis.training_memory import Training
from netcalc.diagnostics import NetcalcError
from netcalc.fit_options import FitOptions
from netcalc.planning.memory import training_of
from netcalc.planning.split_bounds import Kernels, rank_time
from netcalc.planning.splits import products_of, serving_figures, training_figures
from netcalc.planning.workloads import Workloads
from netcalc.request import Request

#: Numbers of tensor-parallel ranks, which exchange much and are therefore devices of one node.
_RANKS = (1, 2, 4, 8)
#: Most devices that are tried for the fewest.
_MOST = 1024
#: Bytes that any device has.
_ANY = 1 << 62


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
        self._bounds_known: dict[tuple[int, bool], RankBounds] = {}

    def over(self, devices: int) -> list[SplitFit]:
        """Return the splits over a number of devices that fit, the fastest by bound first, then the smallest."""
        fitting = [self._described(split) for split in self._possible(devices) if self._fits(split)]
        return sorted(fitting, key=lambda fit: (fit.seconds is None, fit.seconds or 0.0, fit.total))

    def fewest(self) -> SplitFit | None:
        """Return a split over the fewest devices that fits; None for more than a thousand.

        Fewer devices than those that hold the weights and states, each once, are not tried.
        """
        figures = self._of(self._ranks(1))
        held = 0 if figures is None else figures.held(self._ranks(1))
        if held <= self._memory.budget:
            need = self._workloads.need(self._workloads.batch, self._workloads.length)
            if need.total <= self._memory.budget:
                one = Split(micro_batches=self._workloads.passes)
                return SplitFit(one, need.total, 0, 0.0 if self._training else None, self._bound(one))
        least = -(-held // self._memory.budget)
        for number in range(max(least, 2), _MOST + 1) if self._may_fit else ():
            if any(map(self._fits, self._possible(number))):
                return self.over(number)[0]
        return None

    @property
    def _may_fit(self) -> bool:
        """True unless the first stage of every pipeline keeps too much, however many replicas share parameters."""
        for tp in _RANKS:
            figures = self._of(self._ranks(tp))
            for pp in () if figures is None else reversed(divisors(figures.layers) or (1,)):
                split = self._ranks(tp)._replace(pp=pp, micro_batches=self._passes(pp))
                if figures is not None and figures.stage(split, 0).activations <= self._memory.budget:
                    return True
        return False

    def _ranks(self, tp: int) -> Split:
        """Return a split over tensor-parallel ranks, which divide positions in training too."""
        return Split(tp=tp, sp=self._training is not None and tp > 1)

    def _passes(self, stages: int) -> int:
        """Return the passes before an update: as many as stages at least."""
        return 1 if self._training is None else max(self._training.accumulate, stages)

    def smallest(self, devices: int) -> SplitFit | None:
        """Return the split over a number of devices whose fullest device holds least; None if there is no split.

        Long pipelines come first, as most others are then refused by their parameters alone.
        """
        best: tuple[int, Split] | None = None
        for split in sorted(self._possible(devices), key=lambda split: -split.pp):
            figures = self._of(split)
            if figures is not None and figures.fits(split, _ANY if best is None else best[0] - 1):
                best = figures.fullest(split).total, split
        return None if best is None else self._described(best[1])

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

    def _possible(self, devices: int) -> Iterator[Split]:
        """Yield the splits over a number of devices whose stages divide the layers."""
        for tp in (ranks for ranks in _RANKS if devices % ranks == 0):
            figures = self._of(self._ranks(tp))
            if figures is None:
                continue
            rest = devices // tp
            experts = max((unit.experts_of for unit in figures.units), default=0)
            for pp in (stages for stages in divisors(figures.layers) or (1,) if rest % stages == 0):
                replicas = rest // pp
                if self._training is None:
                    if replicas == 1:
                        yield Split(tp=tp, pp=pp)
                    continue
                ep = gcd(experts, replicas) if experts else 1
                for zero in (0, 1, 3) if replicas > 1 else (0,):
                    whole = self._ranks(tp)._replace(pp=pp, micro_batches=self._passes(pp))
                    yield whole._replace(dp=replicas, ep=ep, zero=zero)

    def _fits(self, split: Split) -> bool:
        figures = self._of(split)
        return figures is not None and figures.fits(split, self._memory.budget)

    def _described(self, split: Split) -> SplitFit:
        """Return what follows from a split that divides the network."""
        figures = self._of(split)
        assert figures is not None
        fullest = figures.fullest(split)
        sent = sum(one.sent for one in figures.traffic(split, fullest.stage))
        bubble = split.bubble if figures.training else None
        return SplitFit(split, fullest.total, sent, bubble, self._bound(split))

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

    def _bound(self, split: Split) -> float | None:
        """Return the least time of a step, shared among replicas and passes, in seconds; None if it is not known.

        It is that of ``time`` with the options of the split.
        """
        bounds = self._bounds(split)
        step = None if bounds is None else bounds.step(split)
        return None if step is None or step.sending is None else step.seconds / (split.dp * split.micro_batches)

    def _bounds(self, split: Split) -> RankBounds | None:
        """Return the bounds of a rank; None for a device whose speed is not known."""
        device, key = self._device, (split.tp, split.sp)
        if device.bandwidth is None and not device.peaks:
            return None
        if key not in self._bounds_known:
            figures, products, training = self._of(split), None, self._training
            assert figures is not None
            if training is not None:
                products = products_of(self._workloads.in_phase, training, split)
            name = None if training is None else training.optimizer
            chosen = peak_type(device.peaks, None, self._options["precision"])
            kernels = Kernels(self._options["attention"], recompute=self._options["recompute"], arithmetic=chosen)
            self._bounds_known[key] = rank_time(figures, device, kernels, name, products).bounds
        return self._bounds_known[key]
