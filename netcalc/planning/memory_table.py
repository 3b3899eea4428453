"""Memory over ranges of sizes, as a table."""

from __future__ import annotations

from typing import Any

from netcalc.analysis.memory_table import MemoryPoint, MemoryTable
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import MemoryOptions
from netcalc.planning.phases import phase_of, require_training
from netcalc.planning.points import Measured, MemoryPoints
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
_UNITS = "2k is 2,048 in these ranges, as in all sizes of data"


def memory_over(request: Request, ranges: Ranges, options: MemoryOptions) -> MemoryTable:
    """Return the memory at each combination of values.

    Args:
        request: the source and its settings, which the values replace.
        ranges: values of dims and vars.
        options: the options of ``memory``, each with a value.

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
    points = MemoryPoints(request, options)
    read = [{name: _read(value) for name, value in sizes.items()} for sizes in ranges.points]
    measured: list[Measured | MemoryPoint] = []
    refused: list[NetcalcError] = []
    for sizes in read:
        try:
            measured.append(points.measured(sizes))
        except NetcalcError as error:
            refused.append(error)
            measured.append(MemoryPoint(sizes, refused=error.diagnostics[0].message))
    complete = [each for each in measured if isinstance(each, Measured)]
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
        tuple(each.point if isinstance(each, Measured) else each for each in measured),
        (*notes, _UNITS) if ranges.has_units else tuple(notes),
    )


def _read(value: Any) -> Any:
    """Return the value of a setting that a text stands for."""
    return parse_scalar(value) if isinstance(value, str) else value
