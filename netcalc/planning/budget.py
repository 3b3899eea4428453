"""The report of ``netcalc budget``, of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from netcalc.amounts import number_in, share_in, size_in_bytes
from netcalc.analysis.budget import BudgetReport, BudgetRow, HeavyPart, heaviest, layers_of
from netcalc.analysis.cost import Analysis, analyze
from netcalc.analysis.figures import FIGURES
from netcalc.budget_options import BudgetOptions
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, integer
from netcalc.request import Request
from netcalc.spec.document import BYTE_LIMITS

if TYPE_CHECKING:
    from netcalc.analysis.memory_report import MemoryReport

#: The figure of the report of costs, by what a budget limits.
_COSTS = {"params": "params", "macs": "macs", "flops": "flops", "macts": "macts", "weights": "weight_bytes"}
_MEMORY = ("activations", "memory")
#: What a budget limits, in the order of the report.
LIMITED = (*_COSTS, *_MEMORY)


def budget_of(request: Request, options: BudgetOptions) -> BudgetReport:
    """Return the figures of a network with the limits of options, of its spec and of an earlier record.

    Raises:
        NetcalcError: as :meth:`netcalc.Network.budget` does.
    """
    if options["allow"] is not None and options["against"] is None:
        raise NetcalcError(Diagnostic("E502", "--allow says how much may be more than in the record of --against"))
    limits = _limits(request, options)
    if not limits and options["against"] is None:
        hint = "--max-params 25M, --against main.json, or budget: {params: 25M} in the spec"
        raise NetcalcError(Diagnostic("E502", "there is no budget: no option, and no section of the spec", hint=hint))
    analysis = analyze(request.program, options["convention"])
    rows = [*_limited(request, analysis, limits)]
    if options["against"] is not None:
        from netcalc.planning.budget_record import grown, read_record

        record = read_record(str(options["against"]), options["convention"])
        rows += grown(analysis, record, _share(options["allow"]))
    return BudgetReport(request.program.name, analysis.convention.name, tuple(rows))


def own_budget(request: Request) -> tuple[BudgetRow, ...]:
    """Return the figures of a network with the limits of its spec alone; work is counted as netcalc does."""
    limits = _limits(request, {})
    return tuple(_limited(request, analyze(request.program, "netcalc"), limits))


def limit_in(figure: str, value: Any, place: str) -> int:
    """Return the limit of a figure that a text or a number stands for.

    Raises:
        NetcalcError: E502 for something else; ``place`` begins its message.
    """
    text = str(value)
    limit = size_in_bytes(text) if figure in BYTE_LIMITS else number_in(text)
    if limit is None or isinstance(value, bool):
        example = "100MiB or 4096" if figure in BYTE_LIMITS else "25M, 4.1G or 1000"
        raise NetcalcError(Diagnostic("E502", f"{place} {text}: should be a number, such as {example}"))
    return limit


def _limits(request: Request, options: BudgetOptions) -> dict[str, tuple[int, str]]:
    """Return limits with their origin; options replace those of the spec."""
    declared = request.source.document.budget
    stated = {} if declared is None else {name: value for name, value in declared if value is not None}
    limits = {name: (limit_in(name, value, f"budget: {name}:"), "budget of the spec") for name, value in stated.items()}
    given: Mapping[str, Any] = options
    for name in LIMITED:
        option = f"--max-{name}"
        if given.get(f"max_{name}") is not None:
            limits[name] = (limit_in(name, given[f"max_{name}"], option), option)
    return {name: limits[name] for name in LIMITED if name in limits}


def _limited(request: Request, analysis: Analysis, limits: Mapping[str, tuple[int, str]]) -> Iterator[BudgetRow]:
    memory = _memory(request) if not limits.keys().isdisjoint(_MEMORY) else None
    for name, (limit, source) in limits.items():
        if name in _COSTS:
            figure = FIGURES[_COSTS[name]].of
            counted = integer(figure(analysis.total))
            parts = heaviest(layers_of(analysis, figure)) if counted > limit else ()
        else:
            assert memory is not None
            counted = integer(_peak(memory, name))
            parts = _held(memory, analysis, name) if counted > limit else ()
        yield BudgetRow(name, counted, limit, counted <= limit, source, parts)


def _memory(request: Request) -> MemoryReport:
    from netcalc.analysis.memory_report import memory_report

    return memory_report(request.with_caches().program, cache=("ideal",))


def _peak(memory: MemoryReport, name: str) -> Dim:
    total = memory.total()
    if memory.ideal is None or total is None:
        raise NetcalcError(
            Diagnostic("E404", "the memory of symbolic sizes has no number", hint="leave out --symbolic")
        )
    return memory.ideal.peak if name == "activations" else total


def _held(memory: MemoryReport, analysis: Analysis, name: str) -> tuple[HeavyPart, ...]:
    """Return the tensors that are live at the peak, for all memory the layers with the heaviest weights too."""
    assert memory.ideal is not None
    parts = [HeavyPart(tensor.path, "", tensor.bytes, 1) for tensor in memory.ideal.live]
    if name == "memory":
        parts += layers_of(analysis, FIGURES["weight_bytes"].of)
    return heaviest(parts)


def _share(allow: str | float | None) -> Any:
    share = 0 if allow is None else share_in(allow) if isinstance(allow, str) else allow
    if share is None or isinstance(share, bool) or share < 0:
        raise NetcalcError(Diagnostic("E502", f"--allow {allow}: should be a percentage, such as 1%"))
    return share
