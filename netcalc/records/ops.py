"""Records of ``ops``: the list of operations and blocks, and the page of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict

from netcalc.opdef import Port
from netcalc.records import schema_id
from netcalc.records.values import plain
from netcalc.reference.blocks import BlockReference
from netcalc.reference.operations import AttributeReference, OperationReference

__all__ = [
    "BlockRecord",
    "OperationRecord",
    "OperationsRecord",
    "block_record",
    "operation_record",
    "operations_record",
]


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


class ListedBlock(TypedDict):
    """The reference of a shipped block."""

    name: str
    about: str
    source: str
    inputs: list[PortRecord]
    outputs: list[PortRecord]
    arguments: list[AttributeRecord]
    requirements: list[str]
    """Conditions on arguments and inputs."""
    file: str
    """Place among the files of netcalc."""


class BlockRecord(ListedBlock):
    """The page of one block."""

    schema: str


class OperationRecord(ListedOperation):
    """The page of one operation."""

    schema: str


class OperationsRecord(TypedDict):
    """All operations and shipped blocks, or those that were selected."""

    schema: str
    operations: list[ListedOperation]
    blocks: list[ListedBlock]


def operation_record(operation: OperationReference) -> OperationRecord:
    """Return the record of one operation's page."""
    return {"schema": schema_id("operation"), **_listed(operation)}


def block_record(block: BlockReference) -> BlockRecord:
    """Return the record of one block's page."""
    return {"schema": schema_id("block"), **_block(block)}


def operations_record(operations: Iterable[OperationReference], blocks: Iterable[BlockReference]) -> OperationsRecord:
    """Return the record of a list of operations and blocks."""
    return {
        "schema": schema_id("ops"),
        "operations": [_listed(operation) for operation in operations],
        "blocks": [_block(block) for block in blocks],
    }


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
        "attributes": list(map(_attribute, operation.attributes)),
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


def _block(block: BlockReference) -> ListedBlock:
    return {
        "name": block.name,
        "about": block.about,
        "source": block.source,
        "inputs": [_port(port) for port in block.inputs],
        "outputs": [_port(port) for port in block.outputs],
        "arguments": list(map(_attribute, block.arguments)),
        "requirements": list(block.requirements),
        "file": block.file,
    }


def _attribute(attribute: AttributeReference) -> AttributeRecord:
    return {
        "name": attribute.name,
        "type": attribute.type,
        "required": attribute.required,
        "default": plain(attribute.default),
        "description": attribute.description,
    }
