"""Records of ``ops``: the list of operations, and the page of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict

from netcalc.analysis.reference import OperationReference
from netcalc.opdef import Port
from netcalc.records import schema_id

__all__ = ["OperationRecord", "OperationsRecord", "operation_record", "operations_record"]


class PortRecord(TypedDict):
    """An input or output of an operation."""

    name: str
    optional: bool
    variadic: bool
    """True if it takes one or more tensors."""


class AttributeRecord(TypedDict):
    """An attribute of an operation."""

    name: str
    type: str
    required: bool
    default: Any
    """Default value; null for a required attribute."""
    description: str


class ExampleRecord(TypedDict):
    """An example of the operation."""

    line: str
    """The example as a line of a spec."""
    shapes: str
    """Shapes of its inputs and outputs."""
    attributes: dict[str, Any]


class ListedOperation(TypedDict):
    """The reference of an operation."""

    name: str
    family: str
    about: str
    details: str
    source: str
    """Source of the rules."""
    inputs: list[PortRecord]
    outputs: list[PortRecord]
    shorthand: str | None
    """The attribute that a bare value sets."""
    attributes: list[AttributeRecord]
    shape_rule: str
    param_rule: str
    cost_rule: str
    example: ExampleRecord


class OperationRecord(ListedOperation):
    """The page of one operation."""

    schema: str


class OperationsRecord(TypedDict):
    """All operations, or those that were selected."""

    schema: str
    operations: list[ListedOperation]


def operation_record(operation: OperationReference) -> OperationRecord:
    """Return the record of one operation's page."""
    return {"schema": schema_id("operation"), **_listed(operation)}


def operations_record(operations: Iterable[OperationReference]) -> OperationsRecord:
    """Return the record of a list of operations."""
    return {"schema": schema_id("ops"), "operations": [_listed(operation) for operation in operations]}


def _listed(operation: OperationReference) -> ListedOperation:
    return {
        "name": operation.name,
        "family": operation.family,
        "about": operation.about,
        "details": operation.details,
        "source": operation.source,
        "inputs": [_port(port) for port in operation.inputs],
        "outputs": [_port(port) for port in operation.outputs],
        "shorthand": operation.shorthand,
        "attributes": [
            {
                "name": attribute.name,
                "type": attribute.type,
                "required": attribute.required,
                "default": attribute.default,
                "description": attribute.description,
            }
            for attribute in operation.attributes
        ],
        "shape_rule": operation.shape_rule,
        "param_rule": operation.param_rule,
        "cost_rule": operation.cost_rule,
        "example": {
            "line": operation.example_line,
            "shapes": operation.example_shapes,
            "attributes": dict(operation.example),
        },
    }


def _port(port: Port) -> PortRecord:
    return {"name": port.name, "optional": port.optional, "variadic": port.variadic}
