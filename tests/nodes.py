"""Single operations as nodes and as programs, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.ir import Body, InputSpec, OpNode, Program, Value
from netcalc.ir.build import build_node
from netcalc.opdef import Context, Operation
from netcalc.tensor_type import TensorType


def node_of(op: Operation, types: Sequence[TensorType | None], ctx: Context | None = None) -> OpNode:
    """Return a node of the operation on inputs of these types; ports beyond ``types`` have no input."""
    missing = 0 if any(port.variadic for port in op.inputs) else len(op.inputs) - len(types)
    inputs = [None if type_ is None else Value(type_, f"in{n}") for n, type_ in enumerate([*types, *[None] * missing])]
    return build_node(op, inputs, ctx or Context(), "op")


def example_node(declared: type[Operation], ctx: Context | None = None) -> OpNode:
    """Return the node of the example of an operation's reference page."""
    return node_of(declared.model_validate(declared.example.attrs), declared.example.types(), ctx)


def program_of(node: OpNode) -> Program:
    """Return a program of one node; integer inputs are 0 or 1, which every example accepts as ids."""
    values = tuple(value for value in node.inputs if value is not None)
    types = [value.known_type for value in values]
    inputs = tuple(
        InputSpec(value.name, type_, 0, 2 if type_.dtype.startswith("int") else 1)
        for value, type_ in zip(values, types, strict=True)
    )
    names = tuple(f"out{n}" for n in range(len(node.outputs)))
    return Program(node.op.name, Body("main", values, (node,), node.outputs), inputs, names)
