"""Memory at sizes: weights, caches and activations, without the rest of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import convention_named, element_type
from netcalc.analysis.caches.layers import applied_to, kept_by, reserved
from netcalc.analysis.memory_table import MemoryPoint
from netcalc.analysis.stored_weights import StoredWeights, stored_weights
from netcalc.analysis.walk import parameters
from netcalc.arguments import texts
from netcalc.dims import integer
from netcalc.formats.counted_files import CountedFiles, counted_files
from netcalc.ir import Program
from netcalc.options import MemoryOptions, Phase
from netcalc.planning.memory import training_of
from netcalc.planning.phases import has_all_logits, phase_of, request_in_phase
from netcalc.planning.training import training_step
from netcalc.request import Request

_ALL = "logits of all positions; --phase prefill counts those of the last one, as servers do"


class Measured(NamedTuple):
    """A point, with the program and the remarks behind it."""

    point: MemoryPoint
    program: Program
    notes: tuple[str, ...]


class MemoryPoints:
    """Measurement of points, with the headers of files read once for parameters of the same shapes."""

    def __init__(self, request: Request, options: MemoryOptions) -> None:
        self._request = request
        self._options = options
        self._files: dict[object, CountedFiles] = {}
        self._has_no_files = False
        self._element = None if options["cache_dtype"] is None else element_type(options["cache_dtype"])
        self._conventions = [convention_named(name) for name in texts(options["cache"]) or ("ideal",)]
        self.phase: Phase | None = phase_of(options["phase"], options["training"])

    def measured(self, sizes: Mapping[str, Any]) -> Measured:
        """Return the memory at sizes.

        Raises:
            NetcalcError: for sizes that the network does not have, and as for the whole table.
        """
        return self.measured_of(self._request.with_settings(sizes), sizes)

    def measured_of(self, request: Request, sizes: Mapping[str, Any]) -> Measured:
        """Return the memory of a request that has the sizes already.

        Raises:
            NetcalcError: as :meth:`measured` does.
        """
        request, remarks = request_in_phase(request, self.phase, self._options["logits"])
        if self.phase == "training":
            return self._trained(request, sizes, remarks)
        files, others = self._counted(request)
        if files is not None:
            request = request.with_open_storage()
        program = request.program
        point = self.point_of(program, stored_weights(program) if files is None else files.stored, sizes)
        every = (_ALL,) if self.phase is None and has_all_logits(request) else ()
        return Measured(point, program, (*program.notes, *every, *remarks, *others))

    def point_of(self, program: Program, stored: Iterable[StoredWeights], sizes: Mapping[str, Any]) -> MemoryPoint:
        """Return the memory of a program outside of training, with its weights as they are stored."""
        weights = buffers = 0
        for group in stored:
            if group.role == "buffers":
                buffers += integer(group.bytes)
            else:
                weights += integer(group.bytes)
        rules = applied_to(program, self._conventions)
        kept = kept_by(program, self._element, rules)
        caches = {rule.name: integer(reserved(kept, rule)) for rule in rules}
        peak = beside_caches(program).peak
        totals = {name: weights + buffers + size + peak for name, size in caches.items()}
        return MemoryPoint(sizes, weights, buffers, caches, peak, totals=totals)

    def _trained(self, request: Request, sizes: Mapping[str, Any], remarks: tuple[str, ...]) -> Measured:
        """Return the memory of a step of training, by what it holds at its peak."""
        files, others = self._counted(request)
        if files is not None:
            request = request.with_open_storage()
        step = training_step(request, training_of(self._options), self._options["micro_batch"])
        stored = stored_weights(step.program) if files is None else files.stored
        weights = sum(integer(group.bytes) for group in stored if group.role != "buffers")
        buffers = sum(integer(group.bytes) for group in stored if group.role == "buffers")
        memory, peak = step.memory, step.memory.peak
        point = MemoryPoint(
            sizes,
            weights,
            buffers,
            gradients=peak.gradients,
            states=memory.held,
            saved=peak.kept,
            temporaries=peak.temporaries,
            totals={"training": weights + buffers + memory.total},
        )
        return Measured(point, request.program, (*request.program.notes, *remarks, *others))

    def _counted(self, request: Request) -> CountedFiles:
        """Return the weights in the model's files, whose headers count as long as parameters have the same shapes."""
        if request.model is None or self._has_no_files:
            return CountedFiles()
        program = request.with_open_storage().program
        shapes = tuple((one.path, one.param.shape, one.dtype) for one in parameters(program))
        if shapes not in self._files:
            self._files[shapes] = counted_files(request, configuration=self._options["bytes_from"] == "configuration")
            self._has_no_files = self._files[shapes] == CountedFiles()
        return self._files[shapes]
