"""The reference of operations as typed data, read from their declarations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any, NamedTuple

from netcalc import ops
from netcalc.dims import Poly
from netcalc.opdef import Operation, Port
from netcalc.reference.examples import ExampleReference, operation_example


class Listed(NamedTuple):
    """An operation or block in the list of the reference."""

    name: str
    family: str
    about: str
    source: str
    details: str = ""


class AttributeReference(NamedTuple):
    """An attribute of an operation, or an argument of a block."""

    name: str
    type: str
    required: bool
    default: Any
    """Default value; null for a required attribute."""
    description: str


class OperationReference(NamedTuple):
    """The page of one operation."""

    name: str
    family: str
    about: str
    details: str
    source: str
    """Source of the rules."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    shorthand: str | None
    """The attribute that a bare value sets."""
    attributes: tuple[AttributeReference, ...]
    shape_rule: str
    param_rule: str
    cost_rule: str
    example: ExampleReference


def listed_operation(op: type[Operation]) -> Listed:
    """Return an operation as an entry of a list."""
    return Listed(op.name, ops.family(op.name), about(op), op.reference, cleandoc(op.__doc__ or ""))


def about(declared: type[Operation]) -> str:
    """Return the first line of an operation's documentation."""
    return cleandoc(declared.__doc__ or "").partition("\n")[0]


def reference(declared: type[Operation]) -> OperationReference:
    """Return the reference of an operation."""
    return OperationReference(
        declared.name,
        ops.family(declared.name),
        about(declared),
        cleandoc(declared.__doc__ or "").partition("\n")[2].strip(),
        declared.reference,
        declared.inputs,
        declared.outputs,
        declared.shorthand,
        tuple(_attributes(declared)),
        declared.shape_rule,
        declared.param_rule,
        declared.cost_rule,
        operation_example(declared),
    )


def _attributes(declared: type[Operation]) -> Iterator[AttributeReference]:
    schema = declared.model_json_schema()
    for name, field in declared.model_fields.items():
        required = field.is_required()
        yield AttributeReference(
            name,
            _type_text(schema["properties"][name], schema.get("$defs", {})),
            required,
            None if required else _plain(field.get_default(call_default_factory=True)),
            field.description or "",
        )


def _type_text(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return the type that a JSON Schema describes as text: ``int ≥ 1 or 2 of int ≥ 1``."""
    if "$ref" in schema:
        return _type_text(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_text(choice, definitions) for choice in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(_type_text({"type": name}, definitions) for name in kind)
    if kind == "array":
        item = _type_text(schema.get("items", {}), definitions)
        least, most = schema.get("minItems"), schema.get("maxItems")
        count = f"{least} of " if least == most and least is not None else "list of "
        return count + (f"({item})" if " or " in item else item)
    name = {"integer": "int", "number": "float", "boolean": "bool", "string": "text", "null": "null"}.get(kind, kind)
    limits = [f"{sign} {schema[key]}" for key, sign in _LIMITS.items() if key in schema]
    return " and ".join([f"{name} {limits[0]}", *limits[1:]]) if limits else name


_LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def _plain(value: Any) -> Any:
    """Return a value with JSON types: dictionaries, lists, numbers and text."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Poly) else value
