"""JSON Schemas (2020-12) of the records, derived from the classes of results and the declared figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from netcalc.analysis import (
    budget,
    checks,
    closed_forms,
    compare,
    differences,
    explain,
    exported,
    graph,
    laws,
    memory_report,
    memory_table,
    pipeline,
    reconciliation,
    reported,
    scaling,
    solution,
    sweep_report,
    time_report,
)
from netcalc.analysis import page as report_page
from netcalc.analysis.compare import COMPARED, Compared
from netcalc.analysis.figures import FIGURES, STEP, Figure, View, layer_fields
from netcalc.analysis.fit import report as fit
from netcalc.analysis.signal import report as signal
from netcalc.analysis.summary import Summary
from netcalc.dims import Dim
from netcalc.engine import gradients, rounding, run
from netcalc.records import errors
from netcalc.reference import blocks, codes, model_types, spec_list, specs
from netcalc.reference.blocks import BlockReference
from netcalc.reference.operations import OperationReference
from netcalc.reproduction import report as reproduction
from netcalc.training import comparison as training_comparison
from netcalc.training import result as training
from netcalc.verification import agreement, reference_outputs
from netcalc.verification import report as verification
from netcalc.weights import content, report
from tests.generators.type_schema import Schema, TypeSchemas

_VIEWS: tuple[View, ...] = ("shapes", "params", "flops", "summary")
#: Modules of the classes that name their records.
_MODULES = (
    *(
        budget,
        report_page,
        checks,
        compare,
        explain,
        exported,
        scaling,
        solution,
        sweep_report,
        closed_forms,
        graph,
        laws,
        memory_report,
        memory_table,
        pipeline,
        differences,
        reconciliation,
        reported,
        time_report,
        signal,
        gradients,
        rounding,
    ),
    *(
        fit,
        run,
        errors,
        blocks,
        codes,
        model_types,
        spec_list,
        specs,
        reproduction,
        training,
        training_comparison,
        agreement,
        reference_outputs,
        verification,
        content,
        report,
    ),
)
#: Classes of the records, by name.
_CLASSES: Mapping[str, type] = {
    **{
        name: kind
        for module in _MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and isinstance(name := vars(kind).get("record_name"), str)
    },
    **dict.fromkeys(_VIEWS, Summary),
    "operation": OperationReference,
    "block": BlockReference,
}


def record_schema(name: str) -> Schema:
    """Return the schema of a record by its name in :data:`~netcalc.records.VERSIONS`; KeyError for another name."""
    types = TypeSchemas()
    schema = types.record(name, _CLASSES[name])
    if name in _VIEWS:
        _add_view(schema, types, name)
    if name == "compare":
        _add_comparison(schema, types)
    return schema


def _add_view(schema: Schema, types: TypeSchemas, view: View) -> None:
    """Add the figures of a view to the schema of a summary, and leave out the fields that it has not."""
    totals = [figure for figure in FIGURES.values() if figure.total_in(view)]
    _add_figures(schema["properties"]["totals"], totals, types.of(Dim))
    layer, fields = types.definitions["Layer"], layer_fields(view, STEP)
    optional = ("receptive_field", "calls") if view == "shapes" else ("calls",)
    layer["properties"] = {name: text for name, text in layer["properties"].items() if name in (*fields, *optional)}
    layer["required"] = [name for name in layer["properties"] if name not in optional]
    _add_figures(layer, [FIGURES[name] for name in fields if name in FIGURES], types.of(Dim))
    if view != "shapes":
        del types.definitions["AxisField"]
    if view != "summary":
        del types.definitions["Sizes"]
    always = {"convention": view not in ("shapes", "params"), "totals": bool(totals), "sizes": view == "summary"}
    for name, present in always.items():
        if present:
            schema["required"].append(name)
        else:
            del schema["properties"][name]


def _add_comparison(schema: Schema, types: TypeSchemas) -> None:
    """Add the figures to the schema of a comparison."""
    values, match, layer = types.of(Compared), types.definitions["Match"], types.definitions["Layer"]
    totals = [figure for figure in FIGURES.values() if figure.total_in("compare")]
    _add_figures(schema["properties"]["totals"], totals, values)
    _add_figures(types.definitions["OperationMatch"], COMPARED, values)
    _add_figures(match["properties"]["difference"], COMPARED, types.of(tuple[Dim, ...]))
    layer["required"] = ["op", "inputs", "outputs"]
    layer["properties"] = {name: layer["properties"][name] for name in layer["required"]}
    _add_figures(layer, COMPARED, types.of(Dim))
    del types.definitions["AxisField"]


def _add_figures(schema: Schema, figures: Iterable[Figure], value: Schema) -> None:
    """Add figures to the schema of an object.

    A part is optional, since a record omits it if it equals the whole, and so is the work beyond a forward pass.
    """
    schema["additionalProperties"] = False
    for figure in figures:
        schema.setdefault("properties", {})[figure.name] = {**value, "description": figure.about}
        if figure.part_of is None and figure.phase == "forward":
            schema.setdefault("required", []).append(figure.name)
