"""JSON Schema of the spec language, generated from the document models and the declared operations."""

from __future__ import annotations

from typing import Any

from netcalc import ops
from netcalc.opdef import Operation
from netcalc.spec.document import Document
from netcalc.spec.line_syntax import MODIFIERS
from netcalc.spec.shipped import shipped_blocks

_EXPRESSION = {"$ref": "#/$defs/expression"}
_LINES = {"type": "array", "items": {"$ref": "#/$defs/line"}}
_TEXT = {"type": "string"}
_CONDITION = {"anyOf": [{"type": "boolean"}, _TEXT]}

#: Schema of each modifier.
_MODIFIERS: dict[str, dict[str, Any]] = {
    "name": _TEXT,
    "from": {
        "anyOf": [
            _TEXT,
            {"type": "array", "items": {"type": ["string", "null"]}},
            {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        ]
    },
    "as": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
    "repeat": {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            _TEXT,
            {
                "type": "object",
                "properties": {
                    "times": {"anyOf": [{"type": "integer", "minimum": 0}, _TEXT]},
                    "each": {"anyOf": [{"type": "array"}, _TEXT]},
                    "as": _TEXT,
                    "index": _TEXT,
                    "start": {"anyOf": [{"type": "integer", "minimum": 0}, _TEXT]},
                    "take": {
                        "type": "object",
                        "additionalProperties": {
                            "anyOf": [_TEXT, {"type": "array", "items": {"type": ["string", "null"]}}]
                        },
                    },
                    "collect": {
                        "type": "object",
                        "additionalProperties": {
                            "anyOf": [
                                {"const": "list"},
                                {
                                    "type": "object",
                                    "properties": {"stack": {"type": "integer"}},
                                    "required": ["stack"],
                                    "additionalProperties": False,
                                },
                            ]
                        },
                    },
                },
                "oneOf": [{"required": ["times"]}, {"required": ["each"]}],
                "additionalProperties": False,
            },
        ]
    },
    "share": _CONDITION,
    "when": _CONDITION,
    "tie": {"anyOf": [_TEXT, {"type": "object", "additionalProperties": _TEXT}]},
    "module": _TEXT,
    "inline": _CONDITION,
    "lora": {
        "anyOf": [
            {"type": "integer", "minimum": 1},
            _TEXT,
            {
                "type": "object",
                "properties": {
                    "rank": {"anyOf": [{"type": "integer", "minimum": 1}, _TEXT]},
                    "alpha": {"anyOf": [{"type": "number", "minimum": 0}, _TEXT]},
                    "rank_stabilized": _CONDITION,
                    "dropout": {"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, _TEXT]},
                },
                "required": ["rank"],
                "additionalProperties": False,
            },
        ]
    },
    "freeze": _CONDITION,
    "eager": {
        "type": "object",
        "properties": {
            "inplace": {"anyOf": [{"type": "boolean"}, _TEXT]},
            "holds": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
        },
        "additionalProperties": False,
    },
}


def spec_schema() -> dict[str, Any]:
    """Return the schema of a spec file (JSON Schema 2020-12)."""
    document = _without_titles(Document.model_json_schema())
    definitions = document.pop("$defs")
    document["properties"]["layers"] = {**_LINES, "description": "the network: one operation or block in each line"}
    for part in ("BlockDecl", "LossDecl"):
        definitions[part]["properties"]["layers"] |= _LINES
    patch = definitions["PatchDecl"]["properties"]
    patch["replace"] |= {"$ref": "#/$defs/line"}
    patch["insert"] |= _LINES
    for key in ("replace", "insert"):
        patch[key].pop("anyOf")
    definitions["expression"] = {
        "type": "string",
        "pattern": r"\$\{[^}]*\}",
        "description": "an expression over dims, vars, arguments and values: ${channels // 2}",
    }
    operations = {}
    for name, declared in ops.every().items():
        schema = operation_schema(declared)
        definitions |= {part: _with_expressions(model) for part, model in schema.pop("$defs", {}).items()}
        operations[name] = schema
    definitions["line"] = _line_schema(operations)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:netcalc:spec:1",
        "title": "netcalc spec",
        **document,
        "$defs": definitions,
    }


def operation_schema(declared: type[Operation]) -> dict[str, Any]:
    """Return the schema of an operation's arguments: attributes and branches, or the value of its shorthand."""
    model = _without_titles(declared.model_json_schema())
    properties = {name: _or_expression(schema) for name, schema in model["properties"].items()}
    if declared.lines_attribute is not None:
        properties[declared.lines_attribute] |= {"anyOf": [_LINES, {"type": "null"}]}
    required = model.get("required", [])
    full: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": _LINES,  # branches
    }
    if required:
        full["required"] = required
    forms = [full]
    if declared.shorthand is not None:
        forms.append(properties[declared.shorthand])
    if not required:
        forms.append({"type": "null"})
    if declared.inputs and declared.inputs[0].variadic:
        forms.append({"type": "array", "items": _LINES})
    schema = {"description": _first_line(declared), "anyOf": forms}
    return schema | ({"$defs": model["$defs"]} if "$defs" in model else {})


def _line_schema(operations: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a line: a name, or a mapping with an operation or block and modifiers."""
    blocks = {name: {"description": "a block shipped with netcalc"} for name in shipped_blocks()}
    modifiers = {name: {"description": text, **_MODIFIERS[name]} for name, text in MODIFIERS.items()}
    sequence = {"description": "a group of lines", **_LINES}
    return {
        "anyOf": [
            {"enum": [*operations, *blocks]},
            {"type": "string", "description": "a block of this spec"},
            {
                "type": "object",
                "properties": {**modifiers, **operations, **blocks, "sequence": sequence},
                "minProperties": 1,
            },
        ]
    }


def _or_expression(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema extended to allow an expression in place of the value and of every part of it."""
    around = {key: value for key, value in schema.items() if key in ("description", "default")}
    inner = {key: value for key, value in schema.items() if key not in around}
    choices = inner["anyOf"] if set(inner) == {"anyOf"} else [inner]
    return {**around, "anyOf": [*map(_with_expressions, choices), _EXPRESSION]}


def _with_expressions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema extended to allow an expression in place of every part of the value."""
    schema = dict(schema)
    if "items" in schema:
        schema["items"] = _or_expression(schema["items"])
    if "properties" in schema:
        schema["properties"] = {name: _or_expression(part) for name, part in schema["properties"].items()}
    return schema


def _without_titles(schema: Any) -> Any:
    """Return the schema without the titles that pydantic derives from field names."""
    if isinstance(schema, dict):
        return {k: _without_titles(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    return [_without_titles(item) for item in schema] if isinstance(schema, list) else schema


def _first_line(declared: type[Operation]) -> str:
    return (declared.__doc__ or "").strip().partition("\n")[0]
