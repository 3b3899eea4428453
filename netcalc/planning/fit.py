"""The answer of ``netcalc fit``: if a workload fits devices, and the largest that does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from netcalc.analysis.devices import Devices, device_named
from netcalc.analysis.fit.edge import Edge, Line, largest, line_through
from netcalc.analysis.fit.report import DeviceFit, FitReport, Memory, Need, Part, SchemeFit
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.fit_options import FitOptions
from netcalc.ir import Program
from netcalc.planning.defaults import common_devices, reserve_of
from netcalc.planning.devices import devices_of
from netcalc.planning.fit_placement import best_placement
from netcalc.planning.fit_splits import Splits
from netcalc.planning.schemes import stored_in
from netcalc.planning.workloads import Workloads
from netcalc.request import Request


class Answer(NamedTuple):
    """An answer, and the memory that it follows from."""

    report: FitReport
    program: Program
    """The program of the workload, in training of one pass."""
    need: Callable[[int | None, int | None], Need]
    """Memory of the fullest device at a batch and a length; NetcalcError for sizes that are not possible."""
    step: int = 1
    """Number that lengths are multiples of."""
    batch_step: int | None = None
    """Number that batches are multiples of; None if the memory does not depend on the batch."""


def fit_of(request: Request, options: FitOptions) -> FitReport:
    """Return the report of an answer.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.fit` does.
    """
    return answer_of(request, options).report


def answer_of(request: Request, options: FitOptions) -> Answer:
    """Return if the workload of complete options fits their device, or which of the common ones it fits.

    Args:
        request: the source and its settings.
        options: the options of ``fit``, each with a value.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.fit` does.
    """
    device = options["device"]
    chosen = None if device is None else devices_of(device)
    workloads = Workloads(request, options)
    if chosen is not None and chosen.number > 1:
        return _over_devices(workloads, options, chosen)
    need = workloads.need(workloads.batch, workloads.length)
    report = _report(workloads, options, workloads.program, need, workloads.notes)
    if chosen is None:
        return Answer(
            replace(report, devices=tuple(_common(need, options["reserve"]))), workloads.program, workloads.need
        )
    memory, remark = _memory(chosen, options["reserve"])
    report = replace(report, memory=memory, assumptions=(*report.assumptions, remark))
    search = _Search(workloads, memory, workloads.need)
    has_room = report.fits or memory.flash is not None
    is_plain = not (request.quantize or request.prune or report.stored_as or workloads.trains)
    report = replace(
        report,
        largest_batch=search.batch(),
        largest_length=search.length(),
        fewest=None if has_room else Splits(workloads, options, memory, chosen).fewest(),
        placement=None if has_room else best_placement(workloads, options, memory),
        schemes=tuple(_schemes(workloads, search, memory)) if is_plain else (),
    )
    return Answer(report, workloads.program, workloads.need, batch_step=workloads.batch_step)


def _report(workloads: Workloads, options: FitOptions, program: Program, need: Need, notes: Sequence[str]) -> FitReport:
    """Return the answer for a need, without anything about devices."""
    return FitReport(
        program.name,
        program.about,
        program.dtype,
        program.stored_as or ", ".join(workloads.request.quantize),
        options["precision"],
        workloads.workload,
        need,
        assumptions=(*workloads.assumptions, *notes),
    )


def _over_devices(workloads: Workloads, options: FitOptions, chosen: Devices) -> Answer:
    """Return the answer for several devices: that of the fastest split which fits, or of the smallest one.

    Raises:
        NetcalcError: E502 if no split has so many devices; as for one device.
    """
    memory, remark = _memory(chosen, options["reserve"])
    splits, program = Splits(workloads, options, memory, chosen), workloads.in_phase.program
    fitting = splits.over(memory.number)
    best = fitting[0] if fitting else splits.smallest(memory.number)
    if best is None:
        workloads.need(workloads.batch, workloads.length)  # for what is wrong without any split
        message = f"--device {memory.device}:{memory.number}: no split of {program.name} has so many devices"
        raise NetcalcError(Diagnostic("E502", message, hint="a multiple of 2, 4 or 8 devices; memory --tp says why"))
    step = best.split.tp if best.split.sp else 1
    remarks = [remark, "the batch is that of each replica", "1, 2, 4 or 8 tensor-parallel ranks"]
    if best.split.micro_batches > workloads.passes:
        remarks.append(f"a pipeline passes as much {best.split.micro_batches} times")
    if step > 1 and workloads.length is not None:
        remarks.append(f"--sp divides positions among {step} ranks: lengths are multiples of it")

    def need_at(batch: int | None, length: int | None) -> Need:
        return splits.need(best.split, batch, length)

    search = _Search(workloads, memory, need_at, step)
    need = need_at(workloads.batch, workloads.length)
    report = replace(
        _report(workloads, options, program, need, (*program.notes, *remarks)),
        memory=memory,
        split=best,
        largest_batch=search.batch(),
        largest_length=search.length(),
        fewest=splits.fewest(),
        splits=tuple(fitting),
    )
    return Answer(report, program, need_at, step, workloads.batch_step)


class _Search:
    """Edges of workloads in a memory; lengths are multiples of ``step``."""

    def __init__(
        self,
        workloads: Workloads,
        memory: Memory,
        need: Callable[[int | None, int | None], Need],
        step: int = 1,
    ) -> None:
        self._workloads = workloads
        self._memory = memory
        self._need = need
        self._step = step

    def batch(self) -> Edge | None:
        """Return the largest batch at the length of the workload; None where the memory does not depend on it."""
        here, length, step = self._workloads.batch, self._workloads.length, self._workloads.batch_step
        if here is None or step is None:
            return None
        return self._edge(lambda batch: self._need(batch, length), here, step)

    def length(self) -> Edge | None:
        """Return the most positions at the batch of the workload; None for a network without positions."""
        here = self._workloads.length
        return None if here is None else self._length(here, None)

    def lengths(self, weights: Sequence[int]) -> Mapping[int, Edge]:
        """Return the most positions by the bytes of the weights, the fewest first; nothing for a network without any.

        Where all lengths that were tried lie on a line, up to the longest, so do those between.
        """
        here = self._workloads.length
        if here is None:
            return {}
        edges: dict[int, Edge] = {}
        for size in weights:
            line = self._line(self._workloads.batch) if edges else None
            at = None if line is None else line.last_within(self._memory.left_by(Need((Part("weights", size),))))
            edges[size] = self._length(here, size) if at is None else Edge(at)
        return edges

    def _length(self, here: int, weights: int | None) -> Edge:
        batch = self._workloads.batch
        return self._edge(lambda length: self._need(batch, length).with_weights(weights), here, self._step)

    def _line(self, batch: int | None) -> Line | None:
        """Return the line on which memory beside the weights grows with the length; None if it is none."""
        beside = {
            length: need.total - need.of("weights") for length, need in self._workloads.known_lengths(batch).items()
        }
        return line_through(beside)

    def _edge(self, need: Callable[[int], Need], here: int, step: int) -> Edge:
        """Return the largest multiple of a step that fits; the search goes from step to step."""
        left: dict[int, int] = {}
        reasons: dict[int, str] = {}

        def fits(number: int) -> bool:
            if number not in left and number not in reasons:
                try:
                    left[number] = self._memory.left_by(need(number * step))
                except NetcalcError as error:
                    reasons[number] = error.diagnostics[0].message
            return number in left and left[number] >= 0

        def guess(low: int, high: int | None) -> int | None:
            """Return where the line through two known numbers leaves nothing."""
            if high is not None and high in left and low in left:
                first, last = low, high
            else:
                nearest = sorted(left, key=lambda number: (abs(number - low), number))[:2]
                if len(nearest) < 2:
                    return None
                first, last = sorted(nearest)
            spent = left[first] - left[last]
            return first + left[first] * (last - first) // spent if spent > 0 else None

        number = largest(fits, guess, max(here // step, 1))
        return Edge(None) if number is None else Edge(number * step, reasons.get(number + 1, ""))


def _memory(chosen: Devices, reserve: str | int | None) -> tuple[Memory, str]:
    """Return the memory of devices, and a remark on what is reserved.

    Raises:
        NetcalcError: E502 for a device without memory, or a reserve that leaves nothing.
    """
    device = chosen.device
    if device.memory is None:
        hint = "its file has no memory"
        raise NetcalcError(Diagnostic("E502", f"--device {device.name}: the memory is not known", hint=hint))
    reserved, remark = reserve_of(device, reserve)
    return Memory(device.name, device.title, chosen.number, device.memory, reserved, device.flash), remark


def _common(need: Need, reserve: str | int | None) -> Iterator[DeviceFit]:
    """Yield common devices, the smallest first."""
    chosen = [device_named(name) for name in common_devices()]
    for device in sorted(chosen, key=lambda device: device.memory or 0):
        memory, _ = _memory(Devices(device), reserve)
        left = memory.left_by(need)
        yield DeviceFit(memory, left >= 0, left, -(-need.total // memory.budget))


def _schemes(workloads: Workloads, search: _Search, memory: Memory) -> Iterator[SchemeFit]:
    """Yield other forms of the weights, the largest first."""
    need = workloads.need(workloads.batch, workloads.length)
    smaller = [form for form in stored_in(workloads.program) if form[1] < need.of("weights")]
    lengths = search.lengths(sorted({weights for _, weights in smaller}))
    for scheme, weights in sorted(smaller, key=lambda form: -form[1]):
        total = need.with_weights(weights)
        yield SchemeFit(scheme, weights, total.total, memory.left_by(total) >= 0, lengths.get(weights))
