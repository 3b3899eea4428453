"""Recurrent layers: one product for the inputs of many positions, then for each position a product with the state.

States lie as (features, batch), so that gates are contiguous and the product of a few states is weight · state.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from netcalc.arrays import Array
from netcalc.engine.graph import GraphNode, Tensor
from netcalc.engine.lower.context import LoweringContext
from netcalc.engine.lower.emission import compute_dtype
from netcalc.engine.lower.epilogue import Epilogue
from netcalc.engine.lower.gemm import emit_product
from netcalc.engine.lower.recurrent_gates import arrange_gates, part_gates
from netcalc.engine.lower.recurrent_jobs import Layer, Stretch, Weights, bind_gates, bind_projection
from netcalc.engine.lower.registry import lowering
from netcalc.engine.lower.tiling import emit_jobs
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.native.recurrent import pack, packed_rows
from netcalc.engine.step import Buffers, Job, cuts
from netcalc.engine.storage import Slot


@lowering("rnn", "lstm", "gru")
def lower_recurrent(context: LoweringContext, node: GraphNode) -> bool:
    """Emit all layers; sequences of different lengths and layer norms are left to the kernel."""
    op, layout = node.op, context.layout
    operands: dict[str, Tensor] = op.named(node.inputs)
    operand = operands["input"]
    if op.norm_groups or "lengths" in operands or compute_dtype(operand.dtype) != operand.dtype or 0 in operand.shape:
        return False
    x = layout.slot(operand)
    batched = len(operand.shape) == 3
    if not batched:
        x = x.inserted(1)
    elif op.batch_first:
        x = x.permuted((1, 0, 2))
    steps, batch, _ = x.shape
    starts, finals = _states(context, node, operands, batched)
    levels: list[list[Layer]] = []
    for number in range(op.layers):
        out = layout.temporary((steps, op.directions * op.handed_on, batch), x.dtype)
        levels.append([_layer(context, node, number, d, x, out, starts, finals) for d in range(op.directions)])
        x = out.permuted((0, 2, 1))
    if not batched:
        x = x.without(1)
    elif op.batch_first:
        x = x.permuted((1, 0, 2))
    layout.alias(node.outputs[0], x)
    for level in levels:
        _emit_level(context, node, level)
    return True


def _states(
    context: LoweringContext, node: GraphNode, operands: dict[str, Tensor], batched: bool
) -> tuple[list[Slot | None], list[Slot]]:
    """Return the slots of the initial states (None for zeros) and of the final ones, all (rows, batch, features)."""
    order = (0, 2, 1) if batched else (0, 1)
    finals = [context.layout.allocate(tensor, order) for tensor in node.outputs[1:]]
    names = [f"{state}_0" for state in node.op.states]
    starts = [context.layout.slot(operands[name]) if name in operands else None for name in names]
    if not batched:
        finals = [slot.inserted(1) for slot in finals]
        starts = [None if slot is None else slot.inserted(1) for slot in starts]
    return starts, finals


def _layer(
    context: LoweringContext,
    node: GraphNode,
    number: int,
    direction: int,
    x: Slot,
    out: Slot,
    starts: Sequence[Slot | None],
    finals: Sequence[Slot],
) -> Layer:
    """Return a layer in one direction, which writes its part of the features of ``out``."""
    op = node.op
    row = number * op.directions + direction
    start, cell_start = [*(None if slot is None else _state_row(slot, row) for slot in starts), None][:2]
    final, *cells = (_state_row(slot, row) for slot in finals)
    part = out.part(1, direction * op.handed_on, op.handed_on)
    if start is None:
        zeros = part.shape[1:]
        key = "zeros", zeros, out.dtype
        start = context.constants.derived(zeros, out.dtype, lambda: np.zeros(zeros, out.dtype), key)
    compiled = _use_compiled(context, start, *cells)
    weights = _weights(context, node, op.suffixes(number)[direction], compiled)
    return Layer(
        op=op,
        backwards=direction == 1,
        x=x,
        out=part,
        start=start,
        final=final,
        cell_start=cell_start,
        cell=cells[0] if cells else None,
        unprojected=None if weights.hr is None else context.layout.temporary((op.hidden, x.shape[1]), x.dtype),
        weights=weights,
    )


def _state_row(states: Slot, row: int) -> Slot:
    """Return one row of (rows, batch, features) as (features, batch)."""
    return states.part(0, row, 1).without(0).permuted((1, 0))


def _use_compiled(context: LoweringContext, *states: Slot) -> bool:
    """Return True if the compiled kernel takes a layer with these states: one sample, on one thread of BLAS."""
    single = all(slot.shape[1] == 1 and slot.strides[0] == slot.dtype.itemsize for slot in states)
    able = context.tuning.compiled and context.parallelism.blas_threads == 1 and blocks_fit()
    return able and single and all(slot.dtype == np.float32 for slot in states)


def _weight_rows(context: LoweringContext, op: Any, compiled: bool) -> list[tuple[int, int]]:
    """Return the ranges of rows of the jobs in the weight of the state."""
    counts = [op.gates * (end - start) for start, end in _hidden_parts(context, op)]
    return list(pairwise(accumulate([packed_rows(count) if compiled else count for count in counts], initial=0)))


def _weights(context: LoweringContext, node: GraphNode, suffix: str, compiled: bool) -> Weights:
    """Declare the weights of a layer in one direction, with gates arranged for its jobs."""
    op, constants = node.op, context.constants
    parts, weight_rows = _hidden_parts(context, op), _weight_rows(context, op, compiled)

    def fetch(name: str) -> Array:
        return constants.fetch(node, f"{name}{suffix}")

    def ih(out: Array) -> None:
        arrange_gates(op.name, fetch("weight_ih"), parts, out.T)

    def hh(out: Array) -> None:
        if not compiled:
            return arrange_gates(op.name, fetch("weight_hh"), parts, out)
        out[...] = 0
        for part, matrix_rows in zip(parts, weight_rows, strict=True):
            row = 0
            for rows, factor in part_gates(op.name, fetch("weight_hh"), part):
                pack(rows, factor, row, out[slice(*matrix_rows)])
                row += len(rows)
        return None

    def bias(out: Array) -> None:
        inputs = fetch("bias_ih")
        states = fetch("bias_hh") if has_state_bias else np.zeros_like(inputs)
        if op.name == "gru":  # the reset gate multiplies the bias of the candidate's product with the state
            states = np.append(states[: 2 * op.hidden], np.zeros_like(states[2 * op.hidden :]))
        arrange_gates(op.name, inputs + states, parts, out)

    gates = op.gates * op.hidden
    dtype = node.outputs[0].dtype
    features = constants.shape(node, f"weight_ih{suffix}")[1]
    projected = constants.has(node, f"weight_hr{suffix}")
    has_state_bias = constants.has(node, f"bias_hh{suffix}")
    bias_hn = None
    if has_state_bias and op.name == "gru":
        bias_hn = constants.derived((op.hidden, 1), dtype, lambda: fetch("bias_hh")[2 * op.hidden :, None])
    return Weights(
        ih=constants.filled((features, gates), dtype, ih),
        hh=constants.filled((weight_rows[-1][1], op.handed_on), dtype, hh),
        packed=compiled,
        hr=constants.parameter(node, f"weight_hr{suffix}") if projected else None,
        bias=constants.filled((gates,), dtype, bias) if op.bias else None,
        bias_hn=bias_hn,
    )


def _hidden_parts(context: LoweringContext, op: Any) -> list[tuple[int, int]]:
    """Return the ranges of hidden features of the jobs."""
    return cuts(op.hidden, _jobs(context, op))


def _jobs(context: LoweringContext, op: Any) -> int:
    """Return the number of jobs that share one position in time."""
    return context.parallelism.product_jobs(op.gates * op.hidden * op.handed_on)


def _emit_level(context: LoweringContext, node: GraphNode, level: Sequence[Layer]) -> None:
    """Emit a layer in its directions: for each stretch of positions the input products, then a round a position."""
    op, (steps, batch, _) = node.op, level[0].x.shape
    gates = op.gates * op.hidden
    length = max(1, min(steps, context.tuning.recurrent_elements // (batch * gates)))
    for first in range(0, steps, length):
        count = min(length, steps - first)
        stretches = []
        for layer in level:
            start = steps - first - count if layer.backwards else first
            x = context.emit.rows(node, layer.x.part(0, start, count), range(3))
            products = context.layout.temporary((count, batch, gates), layer.out.dtype)
            flat = products.reshaped((count * batch, gates))
            assert flat is not None
            epilogue = Epilogue(context, node, node.outputs[0], [], range(3), layer.weights.bias)
            emit_product(context, node, x, layer.weights.ih, flat, epilogue)
            stretches.append(Stretch(first, first + count, products))
        _emit_rounds(context, node, level, stretches)


def _emit_rounds(
    context: LoweringContext, node: GraphNode, level: Sequence[Layer], stretches: Sequence[Stretch]
) -> None:
    """Emit the rounds of a stretch: one for each position, two if the layer has a projection."""
    op, batch, dtype = node.op, level[0].x.shape[1], level[0].out.dtype
    count = stretches[0].end - stretches[0].first
    projected = level[0].unprojected is not None
    parts = _hidden_parts(context, op)
    outs: list[tuple[int, int]] = [*cuts(op.handed_on, _jobs(context, op)), *[(0, 0)] * len(parts)]
    jobs = [(layer, stretch, n) for layer, stretch in zip(level, stretches, strict=True) for n in range(len(parts))]
    most = max(end - start for start, end in parts)
    packed = any(layer.weights.packed for layer in level)
    scratch = {"gates": ((packed_rows(op.gates * most) if packed else op.gates * most) * batch, dtype)}
    if not all(layer.weights.packed for layer in level):
        scratch["hidden"] = (most * batch, dtype)

    def bind(job: tuple[Layer, Stretch, int], buffers: Buffers) -> Job:
        layer, stretch, n = job
        rows = _weight_rows(context, op, layer.weights.packed)[n]
        gates = bind_gates(layer, stretch, slice(*parts[n]), slice(*rows), buffers, context.tuning)
        if not projected:
            return gates
        projection = bind_projection(layer, stretch, slice(*outs[n]))
        return lambda turn: (projection if turn % 2 else gates)(turn // 2)

    emit_jobs(
        context,
        node,
        reads=[slot for layer in level for slot in layer.slots()] + [stretch.products for stretch in stretches],
        writes=(level[0].out,),
        jobs=jobs,
        bind=bind,
        buffers=scratch,
        rounds=count * (2 if projected else 1),
        products=True,
    )
