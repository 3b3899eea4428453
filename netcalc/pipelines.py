"""Networks of the parts of a pipeline, and their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from netcalc.analysis.conventions import convention_named
from netcalc.analysis.pipeline import PartFigures, PipelinePart, PipelineSummary
from netcalc.arguments import texts
from netcalc.diagnostics import NetcalcError
from netcalc.formats import check_found, load_model
from netcalc.formats.diffusers.pipeline import read_pipeline
from netcalc.formats.reading import Reading
from netcalc.network import Network
from netcalc.options import PipelineOptions
from netcalc.request import Request
from netcalc.several import assignments_of_each, own_settings, settings_of_each

T = TypeVar("T")


def summarized(pipeline: str, options: PipelineOptions, reading: Reading) -> PipelineSummary:
    """Return the figures of a pipeline; ``reading`` has the settings of all parts.

    Raises:
        NetcalcError: see :func:`netcalc.summarize_pipeline`.
    """
    convention = convention_named(options["convention"]).name
    found, values = read_pipeline(pipeline, reading.max_size), reading.settings
    models = {part.name: part.model for part in found.parts if part.model is not None}
    problems: dict[str, NetcalcError] = {}
    sources = _each(
        models,
        lambda name: load_model(models[name], reading._replace(settings=own_settings(values, name))),
        problems,
    )
    if not problems:
        check_found(reading.ignore, (field for source in sources.values() for field in source.ignored))
    settings = settings_of_each(values, sources, [*models], "part")
    schemes = {name: assignments_of_each(texts(options[name]), [*models], "part") for name in ("quantize", "prune")}

    def counted(name: str) -> PipelinePart:
        changes: dict[str, Any] = {option: chosen[name] for option, chosen in schemes.items()}
        source, model = sources[name], models[name]
        network = Network(
            Request(source, settings[name], mode=options["mode"], dtype=options["dtype"], model=model, **changes)
        )
        cost = network.cost(convention)
        figures = PartFigures(cost.params, cost.macs, cost.flops, cost.weight_bytes)
        return replace(parts[name], dtype=network.program.dtype, inputs=network.inputs, figures=figures)

    parts = {part.name: PipelinePart(part.name, part.library, part.kind, part.model) for part in found.parts}
    parts |= _each(sources, counted, problems)
    parts |= {name: replace(parts[name], problem=error.diagnostics[-1].message) for name, error in problems.items()}
    diagnostics = tuple(problem for error in problems.values() for problem in error.diagnostics)
    return PipelineSummary(found.name, found.kind, convention, tuple(parts.values()), diagnostics)


def _each(names: Iterable[str], made: Callable[[str], T], problems: dict[str, NetcalcError]) -> Mapping[str, T]:
    """Return what a function makes of each name; errors are added to the problems."""
    results = {}
    for name in names:
        try:
            results[name] = made(name)
        except NetcalcError as error:
            problems[name] = error
    return results
