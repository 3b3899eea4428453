"""Memory over ranges of sizes: weights, caches and activations at each point, without the rest of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import convention_named, element_type
from netcalc.analysis.caches.layers import applied_to, kept_by, reserved
from netcalc.analysis.memory_table import MemoryPoint, MemoryTable
from netcalc.analysis.stored_weights import stored_weights
from netcalc.analysis.walk import parameters
from netcalc.arguments import texts
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.formats.counted_files import CountedFiles
from netcalc.ir import Program
from netcalc.options import MemoryOptions, Phase
from netcalc.planning.memory import memory_of, require_training
from netcalc.planning.phases import has_all_logits, phase_of, request_in_phase
from netcalc.planning.split_options import is_split
from netcalc.ranges import Ranges
from netcalc.request import Request
from netcalc.spec.yaml_document import parse_scalar

#: Options that speak of one point, with what they lack at several.
_OF_ONE_POINT = {
    "tokens_in": "the tokens that fit a budget",
    "engine": "the memory of NumPy's engine",
    "depth": "layers",
    **dict.fromkeys(("gpu_layers", "experts_on", "companion", "draft"), "places"),
}
_ALL = "logits of all positions; --phase prefill counts those of the last one, as servers do"
_UNITS = "2k is 2,048 in these ranges, as in all sizes of data"


class _Measured(NamedTuple):
    """A point, with the program and the remarks behind it."""

    point: MemoryPoint
    program: Program
    notes: tuple[str, ...]


def memory_over(
    request: Request, ranges: Ranges, options: MemoryOptions, files_of: Callable[[Request, bool], CountedFiles]
) -> MemoryTable:
    """Return the memory at each combination of values.

    Args:
        request: the source and its settings, which the values replace.
        ranges: values of dims and vars.
        options: the options of ``memory``, each with a value.
        files_of: the bytes of weights in the model's files, of a request, or without the files.

    Raises:
        NetcalcError: as :func:`~netcalc.planning.memory.memory_of` does if no point can be computed; E404 for symbolic
            sizes, E502 for an option that speaks of one point.
    """
    for name, what in _OF_ONE_POINT.items():
        if options.get(name) not in (None, (), []):
            raise NetcalcError(Diagnostic("E502", f"--{name.replace('_', '-')} with --over: a table has not {what}"))
    if phase_of(options["phase"], options["training"]) != "training":
        require_training(options)
    if is_split(options):
        raise NetcalcError(Diagnostic("E502", "--over with --tp and the like: a table has one device"))
    symbol = next((name for name in request.symbolic if name not in ranges.values), None)
    if symbol is not None:
        raise NetcalcError(Diagnostic("E404", f"--over: {symbol} is a symbol", hint=f"--set {symbol}=NUMBER"))
    points = _Points(request, options, files_of)
    read = [{name: _read(value) for name, value in sizes.items()} for sizes in ranges.points]
    measured: list[_Measured | MemoryPoint] = []
    refused: list[NetcalcError] = []
    for sizes in read:
        try:
            measured.append(points.measured(sizes))
        except NetcalcError as error:
            refused.append(error)
            measured.append(MemoryPoint(sizes, refused=error.diagnostics[0].message))
    complete = [each for each in measured if isinstance(each, _Measured)]
    if not complete:
        raise refused[0]
    program = complete[0].program
    notes = dict.fromkeys(note for each in complete for note in each.notes)
    return MemoryTable(
        program.name,
        program.about,
        program.dtype,
        program.checkpoint_dtype,
        program.stored_as,
        points.phase,
        {name: tuple(map(_read, values)) for name, values in ranges.values.items()},
        tuple(complete[0].point.totals),
        tuple(each.point if isinstance(each, _Measured) else each for each in measured),
        (*notes, _UNITS) if ranges.has_units else tuple(notes),
    )


def _read(value: Any) -> Any:
    """Return the value of a setting that a text stands for."""
    return parse_scalar(value) if isinstance(value, str) else value


class _Points:
    """Measurement of points, with the headers of files read once for parameters of the same shapes."""

    def __init__(
        self, request: Request, options: MemoryOptions, files_of: Callable[[Request, bool], CountedFiles]
    ) -> None:
        self._request = request
        self._options = options
        self._files_of = files_of
        self._files: dict[object, CountedFiles] = {}
        self._has_no_files = False
        self._element = None if options["cache_dtype"] is None else element_type(options["cache_dtype"])
        self._conventions = [convention_named(name) for name in texts(options["cache"]) or ("ideal",)]
        self.phase: Phase | None = phase_of(options["phase"], options["training"])

    def measured(self, sizes: Mapping[str, Any]) -> _Measured:
        """Return the memory at sizes.

        Raises:
            NetcalcError: for sizes that the network does not have, and as for the whole table.
        """
        if self.phase == "training":
            return self._trained(sizes)
        request, remarks = request_in_phase(self._request.with_settings(sizes), self.phase, self._options["logits"])
        files, others = self._counted(request)
        if files is not None:
            request = request.with_open_storage()
        program = request.program
        stored = stored_weights(program) if files is None else files.stored
        weights = sum(integer(group.bytes) for group in stored if group.role != "buffers")
        buffers = sum(integer(group.bytes) for group in stored if group.role == "buffers")
        rules = applied_to(program, self._conventions)
        kept = kept_by(program, self._element, rules)
        caches = {rule.name: integer(reserved(kept, rule)) for rule in rules}
        peak = beside_caches(program).peak
        totals = {name: weights + buffers + size + peak for name, size in caches.items()}
        point = MemoryPoint(sizes, weights, buffers, caches, peak, totals=totals)
        every = (_ALL,) if self.phase is None and has_all_logits(request) else ()
        return _Measured(point, program, (*program.notes, *every, *remarks, *others))

    def _trained(self, sizes: Mapping[str, Any]) -> _Measured:
        """Return the memory of a step of training, of its whole report."""
        request = self._request.with_settings(sizes)
        report = memory_of(request, self._options, lambda _: self._counted(request))
        assert report.training is not None and report.trained is not None
        point = MemoryPoint(
            sizes,
            integer(report.weights),
            integer(report.buffers),
            gradients=report.training.peak.gradients,
            states=report.training.held,
            saved=report.training.peak.kept,
            temporaries=report.training.peak.temporaries,
            totals={"training": report.trained},
        )
        return _Measured(point, request.with_open_storage().program, report.notes)

    def _counted(self, request: Request) -> CountedFiles:
        """Return the weights in the model's files, whose headers count as long as parameters have the same shapes."""
        if request.model is None or self._has_no_files:
            return CountedFiles()
        program = request.with_open_storage().program
        shapes = tuple((one.path, one.param.shape, one.dtype) for one in parameters(program))
        if shapes not in self._files:
            self._files[shapes] = self._files_of(request, self._options["bytes_from"] == "configuration")
            self._has_no_files = self._files[shapes] == CountedFiles()
        return self._files[shapes]
