"""JSON Schemas (2020-12) of the records, derived from their typed dictionaries and the declared figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter

from netcalc.analysis.compare import COMPARED
from netcalc.analysis.explain import Explanation
from netcalc.analysis.figures import FIGURES, STEP, Figure, View
from netcalc.analysis.memory_report import MemoryReport
from netcalc.analysis.signal.report import SignalComparison, SignalReport
from netcalc.analysis.summary import layer_fields
from netcalc.engine.gradients import GradientResult
from netcalc.engine.rounding import RoundingResult
from netcalc.engine.run import RunResult
from netcalc.records import VERSIONS, schema_id
from netcalc.records.compare import ComparisonRecord
from netcalc.records.errors import ErrorsRecord
from netcalc.records.model_types import ModelTypesRecord
from netcalc.records.ops import BlockRecord, OperationRecord, OperationsRecord
from netcalc.records.specs import SpecRecord, SpecsRecord
from netcalc.records.summary import SummaryRecord
from netcalc.records.type_schema import Schema, record_of
from netcalc.reference.codes import CodeReference
from netcalc.training.result import TrainingResult
from netcalc.verification.agreement import Agreement
from netcalc.verification.report import VerifyReport
from netcalc.weights.content import CheckpointContent
from netcalc.weights.report import WeightsReport

__all__ = ["record_schema"]

_COUNT: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}]}


def record_schema(name: str) -> Schema:
    """Return the schema of a record by its name in :data:`~netcalc.records.VERSIONS`; KeyError for another name."""
    if name in _CLASSES:
        return record_of(name, _CLASSES[name])
    schema = _SCHEMAS[name]()
    schema["properties"]["schema"] = {"const": schema_id(name)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"netcalc {name} record, version {VERSIONS[name]}",
        **_closed(schema),
    }


def _schema_of(record: type) -> Schema:
    """Return the schema of a typed dictionary; the docstring below a field is its description."""
    cast("Any", record).__pydantic_config__ = ConfigDict(use_attribute_docstrings=True)
    return TypeAdapter(record).json_schema()


def _view(view: View) -> Schema:
    """Return the schema of ``shapes``, ``params``, ``flops`` or ``summary``."""
    schema = _schema_of(SummaryRecord)
    totals = [figure for figure in FIGURES.values() if figure.total_in(view)]
    _add_figures(schema, "TotalsRecord", totals, _COUNT)
    layer = schema["$defs"]["LayerRecord"]
    fields = layer_fields(view, STEP)
    receptive_field = layer["properties"]["receptive_field"]
    layer["properties"] = {name: text for name, text in layer["properties"].items() if name in fields}
    layer["required"] = list(layer["properties"])
    if view == "shapes":
        layer["properties"]["receptive_field"] = receptive_field
    else:
        del schema["$defs"]["AxisFieldRecord"]
    _add_figures(schema, "LayerRecord", [FIGURES[name] for name in fields if name in FIGURES], _COUNT)
    optional = {"convention": view not in ("shapes", "params"), "totals": bool(totals)}
    for name, present in optional.items():
        if present:
            schema["required"].append(name)
        else:
            del schema["properties"][name]
    return schema


def _comparison() -> Schema:
    schema = _schema_of(ComparisonRecord)
    values = {"$ref": "#/$defs/ComparedValues"}
    totals = [figure for figure in FIGURES.values() if figure.total_in("compare")]
    _add_figures(schema, "ComparedTotals", totals, values)
    _add_figures(schema, "ComparedOperation", COMPARED, values)
    _add_figures(schema, "ComparedLayer", COMPARED, _COUNT)
    _add_figures(schema, "ComparedDifference", COMPARED, {"type": "array", "items": _COUNT})
    return schema


def _add_figures(schema: Schema, definition: str, figures: Iterable[Figure], value: Schema) -> None:
    """Add figures to a definition.

    A part is optional, since a record omits it if it equals the whole, and so is the work beyond a forward pass.
    """
    target = schema["$defs"][definition]
    for figure in figures:
        target["properties"][figure.name] = {**value, "description": figure.about}
        if figure.part_of is None and figure.phase == "forward":
            target.setdefault("required", []).append(figure.name)


def _closed(schema: Any) -> Any:
    """Return the schema without additional properties, and without the titles that pydantic derives from names."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(closed.get("properties"), dict) and closed.get("type") == "object":
        closed["additionalProperties"] = False
    return closed


_CLASSES: Mapping[str, type] = {
    vars(kind)["record_name"]: kind
    for kind in (
        Agreement,
        CheckpointContent,
        CodeReference,
        Explanation,
        GradientResult,
        MemoryReport,
        RoundingResult,
        RunResult,
        SignalComparison,
        SignalReport,
        TrainingResult,
        VerifyReport,
        WeightsReport,
    )
}

_SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "shapes": partial(_view, "shapes"),
    "params": partial(_view, "params"),
    "flops": partial(_view, "flops"),
    "summary": partial(_view, "summary"),
    "compare": _comparison,
    "specs": partial(_schema_of, SpecsRecord),
    "spec-page": partial(_schema_of, SpecRecord),
    "model-types": partial(_schema_of, ModelTypesRecord),
    "ops": partial(_schema_of, OperationsRecord),
    "operation": partial(_schema_of, OperationRecord),
    "block": partial(_schema_of, BlockRecord),
    "errors": partial(_schema_of, ErrorsRecord),
}
