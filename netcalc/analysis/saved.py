"""Tensors that a forward pass saves for its backward pass, and the memory that they hold.

Memory is counted by storage: a tensor that several operations save counts once, and a view with the memory that it is a
view of.  Parameters and buffers are saved too, and take no memory beyond their own.

Under ``ideal`` execution each operation is one kernel, which keeps what its backward pass declares; netcalc's own tape
keeps these tensors.  Under ``eager`` execution it is what PyTorch keeps, where an operation may be several kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.analysis.activations.execution import Execution
from netcalc.analysis.activations.peaks import EXECUTIONS, ExecutionName
from netcalc.analysis.layout import Layout, Storage
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.dtypes import FLOATS
from netcalc.ir import OpNode, Program, dtype_of
from netcalc.ops.backward import BackwardCall, Saved, Source, declaration
from netcalc.options import AttentionKernel


class SavedTensor(NamedTuple):
    """A tensor that the operation at ``path`` saves, and the memory that it lies in."""

    path: str
    op: str
    saved: Saved
    storage: Storage


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of the forward pass: where it lies, and True if its gradient is wanted."""

    layout: Layout
    wanted: bool


def saved_tensors(
    program: Program, execution: ExecutionName = "ideal", attention: AttentionKernel = "sdpa-cpu"
) -> list[SavedTensor]:
    """Return the tensors that a forward pass saves for the gradients of all parameters that are trained.

    They are in order of execution, repeats unrolled.  The sizes of the program must be numbers.  ``attention`` is the
    kernel of attention under eager execution.

    Raises:
        UndecidedError: if a size is symbolic.
        NetcalcError: E603 for a program with too many operations to go through one by one.
    """
    saved: list[SavedTensor] = []
    rules = EXECUTIONS[execution](program.training, attention)
    tables: dict[tuple[str, Saved], Storage] = {}

    def evaluate(instance: Instance, values: Sequence[_Value | None]) -> list[_Value]:
        tensors, outputs = _evaluated(program, rules, tables, instance, values)
        saved.extend(tensors)
        return outputs

    unroll(program, [_Value(Layout.new(spec.type), False) for spec in program.inputs], evaluate)
    return saved


def saved_bytes(tensors: Iterable[SavedTensor]) -> int:
    """Return the bytes of the distinct memory that saved tensors hold, without parameters and buffers."""
    storages = {id(tensor.storage): tensor.storage for tensor in tensors}
    return sum(storage.nbytes for storage in storages.values() if not storage.parameter)


def _evaluated(
    program: Program,
    rules: Execution,
    tables: dict[tuple[str, Saved], Storage],
    instance: Instance,
    values: Sequence[_Value | None],
) -> tuple[list[SavedTensor], list[_Value]]:
    """Return what an operation saves, and its results."""
    node, training = instance.node, program.training
    sources: set[Source] = {number for number, value in enumerate(values) if value is not None and value.wanted}
    sources |= {
        param.name
        for param in node.params
        if param.trainable and not node.frozen and dtype_of(param, node, program.dtype) in FLOATS
    }
    layouts = [None if value is None else value.layout for value in values]
    outputs = rules.results(node, layouts)
    declared = declaration(node.op) if sources else None
    if declared is None:
        return [], [_Value(layout, False) for layout in outputs]
    every = (True,) * len(outputs)
    call = BackwardCall(node.input_types, node.output_types, node.params, frozenset(sources), every, training)
    flows = declared.differentiable(node.op, call)
    tensors = [
        SavedTensor(instance.path, node.op.name, saved, storage_of(node, saved, layouts, outputs, tables))
        for saved in rules.saves(node, layouts, call)
    ]
    return tensors, [
        _Value(layout, flow and type_.dtype in FLOATS)
        for layout, flow, type_ in zip(outputs, flows, node.output_types, strict=True)
    ]


def storage_of(
    node: OpNode,
    saved: Saved,
    inputs: Sequence[Layout | None],
    outputs: Sequence[Layout],
    tables: dict[tuple[str, Saved], Storage],
) -> Storage:
    """Return the memory of a tensor that an operation saves: of an input or result, of a parameter, or its own."""
    # autograd copies what an operation needs and overwrites
    first = inputs[0] if inputs else None
    overwritten = node.inplace and saved.kind == "input" and first is not None and outputs[0].storage is first.storage
    if saved.kind in ("input", "output") and not overwritten:
        layout = (inputs if saved.kind == "input" else outputs)[saved.index]
        assert layout is not None
        return layout.storage
    new = Layout.new(saved.type, parameter=saved.kind == "parameter").storage
    return new if saved.table is None else tables.setdefault((node.op.name, saved), new)
