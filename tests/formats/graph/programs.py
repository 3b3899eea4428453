"""Graphs of shipped specs, unrolled, as an importer of a foreign format would find them."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance, parameters
from netcalc.formats.graph.model import Graph, Line, ModuleCall, Stored, StoredTensor, Value
from netcalc.ir import Program
from netcalc.tensor_type import TensorType


def graph_of(program: Program) -> Graph:
    """Return the graph of a program: every operation for itself, in modules that follow from its path."""
    graph = Graph(program.name)
    for parameter in parameters(program):
        if not parameter.tied:
            type_ = TensorType(parameter.param.shape, parameter.dtype)
            graph.tensors[parameter.path] = StoredTensor(
                type_,
                buffer=parameter.param.is_buffer,
                trainable=parameter.param.trainable and not parameter.frozen,
                persistent=getattr(parameter.param, "persistent", True),
            )
    graph.inputs = {value.name: Value(value.type, value.name) for value in program.main.inputs}

    def evaluate(instance: Instance, inputs: Sequence[Value | None]) -> tuple[Value, ...]:
        node = instance.node
        outputs = tuple(Value(value.type, node.op.name) for value in node.outputs)
        parts = instance.path.split(".")[:-1]
        scope = tuple(ModuleCall(".".join(parts[: n + 1]), 0, _kind(parts[n])) for n in range(len(parts)))
        held = {name: Stored(owner) for name, owner in instance.owners.items()}
        attributes = node.op.model_dump(exclude_defaults=True, exclude={"init", "computed"})
        if node.op.name == "buffer":
            attributes["shape"] = list(node.outputs[0].type.shape)
        graph.lines.append(Line(node.op.name, attributes, tuple(inputs), outputs, scope, held))
        return outputs

    results = unroll(program, list(graph.inputs.values()), evaluate)
    graph.outputs = dict(zip(program.output_names, results, strict=True))
    return graph


def _kind(name: str) -> str:
    return name.rstrip("0123456789").title() or "Layer"
