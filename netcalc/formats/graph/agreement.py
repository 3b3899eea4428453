"""Proof that the document of a graph describes the same computation: equal operations on equal values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.formats.graph.model import Graph, Value, operation_named
from netcalc.ir import Program
from netcalc.opdef import Operation


def differing_outputs(graph: Graph, program: Program) -> list[str]:
    """Return the outputs that a program computes in another way than the graph of whose document it was made.

    Dead code that the program lacks is named as such.  Two values are equal if the same operation with the same
    attributes makes them of equal values and parameters; the copy of a value is equal to it.
    """
    hashes: dict[Value, int] = {value: hash(name) for name, value in graph.inputs.items()}
    for line in graph.lines:
        inputs = [None if value is None else hashes[value] for value in line.inputs]
        learned = {name: stored for name, stored in line.parameters.items() if not graph.tensors[stored.path].buffer}
        tensors = {name: graph.places[stored] for name, stored in learned.items()}
        if line.operation == "buffer":  # known by its place; its lines are no attribute before they are read
            made = hash(graph.places[line.parameters[""]])
        else:
            made = _operation_hash(operation_named(line.operation)(**line.attributes), inputs, tensors)
        hashes.update((value, _output_hash(line.operation, made, index)) for index, value in enumerate(line.outputs))

    def evaluate(instance: Instance, inputs: Sequence[int | None]) -> list[int]:
        op, owners = instance.node.op, instance.owners
        learned = {param.name for param in instance.node.params if not param.is_buffer}
        tensors = {name: owner for name, owner in owners.items() if name in learned}
        made = hash(owners[""]) if op.name == "buffer" else _operation_hash(op, inputs, tensors)
        results = [_output_hash(op.name, made, index) for index in range(len(instance.node.outputs))]
        made_by_program.update(results)
        return results

    made_by_program: set[int] = set()
    computed = unroll(program, [hash(value.name) for value in program.inputs], evaluate)
    expected = [hashes[value] for value in graph.outputs.values()]
    differing = [name for name, wanted, other in zip(graph.outputs, expected, computed, strict=True) if wanted != other]
    complete = made_by_program.issuperset(hashes[value] for value in graph.dead)
    return differing if complete else [*differing, "its dead code"]


def _output_hash(operation: str, made: int, index: int) -> int:
    return made if operation == "identity" else hash((made, index))


def _operation_hash(operation: Operation, inputs: Sequence[int | None], tensors: Mapping[str, str]) -> int:
    """Return a number for what an operation makes of values, which are numbers themselves."""
    if operation.name == "identity" and inputs[0] is not None:
        return inputs[0]
    attributes = operation.model_dump(exclude={"init"})
    numbers = tuple(inputs)
    while numbers and numbers[-1] is None:
        numbers = numbers[:-1]
    return hash((operation.name, repr(attributes), numbers, tuple(sorted(tensors.items()))))
