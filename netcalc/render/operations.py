"""The operation reference, generated from the declarations: a list, and a page for each operation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from typing import Any

from netcalc import ops
from netcalc.dims import Poly
from netcalc.ir.build import infer
from netcalc.opdef import Context, Operation, Port
from netcalc.render.numbers import shapes_text
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.table import Column, Row, Table
from netcalc.render.table_markdown import table_markdown

__all__ = [
    "about",
    "operation_markdown",
    "operation_page",
    "operation_record",
    "operations_data",
    "operations_table",
]


def about(declared: type[Operation]) -> str:
    """Return the first line of an operation's documentation."""
    return cleandoc(declared.__doc__ or "").partition("\n")[0]


def operation_record(declared: type[Operation]) -> dict[str, Any]:
    """Return an operation's page as plain data."""
    example = declared.example
    return {
        "name": declared.name,
        "family": ops.family(declared.name),
        "about": about(declared),
        "details": cleandoc(declared.__doc__ or "").partition("\n")[2].strip(),
        "source": declared.reference,
        "inputs": [_port(port) for port in declared.inputs],
        "outputs": [_port(port) for port in declared.outputs],
        "shorthand": declared.shorthand,
        "attributes": list(_attributes(declared)),
        "shape_rule": declared.shape_rule,
        "param_rule": declared.param_rule,
        "cost_rule": declared.cost_rule,
        "example": {"line": _line(declared), "shapes": _shapes(declared), "attributes": _plain(example.attrs)},
    }


def operations_table(declared: Sequence[type[Operation]]) -> Table:
    """The operations in a list."""
    columns = [Column("operation", "name"), Column("family", priority=10), Column("description", "prose")]
    return Table(columns, [Row([op.name, ops.family(op.name), about(op)]) for op in declared])


def operations_data(declared: Sequence[type[Operation]]) -> Table:
    """The operations with their rules."""
    fields = ("name", "family", "about", "source", "shape_rule", "param_rule", "cost_rule")
    rows = [
        Row([op.name, ops.family(op.name), about(op), op.reference, op.shape_rule, op.param_rule, op.cost_rule])
        for op in declared
    ]
    return Table([Column(field) for field in fields], rows)


def operation_page(declared: type[Operation]) -> Page:
    """The page of an operation: description, rules, attributes and an example."""
    record = operation_record(declared)
    yield Paragraph([Line(f": {record['about']}", record["name"])])
    for block in filter(None, record["details"].split("\n\n")):
        lines = block.split("\n")
        itemised = any(line[:1] in " -*" for line in lines)
        yield Paragraph([Line(line) for line in lines] if itemised else [Line(" ".join(lines))])
    facts = [*_facts(record), ("example", f"- {record['example']['line']}"), ("", record["example"]["shapes"])]
    yield Table([Column("fact"), Column("text", "prose")], [Row(fact) for fact in facts], header=False)
    if record["attributes"]:
        columns = [
            Column("attribute", "name"),
            Column("type", "prose"),
            Column("default", "prose"),
            Column("description", "prose"),
        ]
        yield Table(columns, [Row(row) for row in _attribute_rows(record)])
    else:
        yield Paragraph([Line("", "no attributes", "dim")])


def operation_markdown(declared: type[Operation], level: int = 3) -> Iterator[str]:
    """Yield the page as the lines of a Markdown section."""
    record = operation_record(declared)
    yield f"{'#' * level} `{record['name']}`"
    yield ""
    yield record["about"]
    if record["details"]:
        yield ""
        yield record["details"].replace("``", "`")
    yield ""
    for label, text in _facts(record):
        yield f"- {label}: {text}"
    yield ""
    if record["attributes"]:
        columns = [Column("attribute"), Column("type"), Column("default"), Column("description")]
        rows = [Row([f"`{row[0]}`", *row[1:]]) for row in _attribute_rows(record)]
        yield from table_markdown(Table(columns, rows))
    else:
        yield "No attributes."
    yield ""
    yield f"Example: `- {record['example']['line']}` takes {record['example']['shapes']}."


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "inputs", ", ".join(map(_port_text, record["inputs"])) or "none"
    if len(record["outputs"]) != 1:
        yield "outputs", ", ".join(map(_port_text, record["outputs"]))
    yield "shapes", record["shape_rule"]
    yield "parameters", record["param_rule"]
    yield "work", record["cost_rule"]
    yield "source", record["source"]
    if record["shorthand"]:
        yield "shorthand", f"{record['name']}: {record['shorthand'].upper()}"


def _attribute_rows(record: Mapping[str, Any]) -> Iterator[list[str]]:
    for item in record["attributes"]:
        default = "required" if item["required"] else json.dumps(item["default"], ensure_ascii=False)
        yield [item["name"], item["type"], default, item["description"]]


def _port(port: Port) -> dict[str, Any]:
    return {"name": port.name, "optional": port.optional, "variadic": port.variadic}


def _port_text(port: Mapping[str, Any]) -> str:
    kind = " (optional)" if port["optional"] else " (one or more)" if port["variadic"] else ""
    return f"{port['name']}{kind}"


def _attributes(declared: type[Operation]) -> Iterator[dict[str, Any]]:
    schema = declared.model_json_schema()
    for name, field in declared.model_fields.items():
        yield {
            "name": name,
            "type": _type_text(schema["properties"][name], schema.get("$defs", {})),
            "required": field.is_required(),
            "default": None if field.is_required() else _plain(field.get_default(call_default_factory=True)),
            "description": field.description or "",
        }


def _type_text(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return a JSON Schema in words: ``int ≥ 1 or 2 of int ≥ 1``."""
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
    limits = [
        f"{sign} {schema[key]}"
        for key, sign in (
            ("minimum", "≥"),
            ("exclusiveMinimum", ">"),
            ("maximum", "≤"),
            ("exclusiveMaximum", "<"),
        )
        if key in schema
    ]
    return " and ".join([f"{name} {limits[0]}", *limits[1:]]) if limits else name


def _line(declared: type[Operation]) -> str:
    """The example as a line of a spec."""
    attrs = _plain(declared.example.attrs)
    if not attrs:
        return declared.name
    inside = ", ".join(f"{name}: {_flow(value)}" for name, value in attrs.items())
    return f"{declared.name}: {{{inside}}}"


def _flow(value: Any) -> str:
    """A value in YAML's flow style."""
    if isinstance(value, str) and value.replace("_", "a").isalnum() and value not in ("null", "true", "false"):
        return value
    return json.dumps(value, ensure_ascii=False)


def _shapes(declared: type[Operation]) -> str:
    """Return the example's input and output shapes, computed by the shape rule."""
    example = declared.example
    types = example.types()
    outputs = infer(declared(**example.attrs), types, Context())
    return f"{shapes_text(types) or 'nothing'} → {shapes_text(outputs)}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Poly) else value
