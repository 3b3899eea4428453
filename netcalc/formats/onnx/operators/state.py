"""Layers that carry a state along a sequence: causal convolution, linear attention and caches."""

from __future__ import annotations

from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.concat import concatenated
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call, front
from netcalc.formats.onnx.operators import operator

#: Most steps of a recurrence that are written out.
_MOST_STEPS = 1024


@operator("CausalConvWithState")
def causal_convolution(call: Call) -> Any:
    """Convolution of each channel with what came before, and the last inputs, which are before the next ones."""
    channels, _, kernel = call.shape(1)
    before = kernel - 1
    if call.has(3):
        x = concatenated(call.build, [call.x(3), call.x()], 2)
    else:
        x = call.line("pad", [call.x()], {"padding": [[before, 0]]}) if before else call.x()
    attributes = {"out": channels, "kernel": kernel, "groups": channels}
    result = weighted(call.build, "conv1d", x, call.x(1), call.optional(2), attributes)
    if call.attribute("activation", "none") != "none":
        result = call.line("silu", [result])
    if not call.has_result(1):
        return result
    length = x.type.shape[2]
    return [result, call.line("slice", [x], {"axis": 2, "start": length - before, "stop": length})]


@operator("TensorScatter")
def tensor_scatter(call: Call) -> Value:
    """A cache in which consecutive positions are replaced, from one on that each sequence of the batch has."""
    rank = call.type(0).rank
    axis = front(call.attribute("axis", -2), rank)
    count, size = call.shape(1)[axis], call.shape(0)[axis]
    place = call.line("arange", [], {"stop": count})
    if call.has(2):
        first = call.line("unsqueeze", [cast(call.build, call.x(2), "int64")], {"axis": 1})
        place = call.line("add", [first, place])
    if call.attribute("mode", "linear") == "circular":
        place = call.line("remainder", [place], {"value": size})
    order = [0, axis, *(other for other in range(1, rank) if other != axis)]
    cache, update = (permuted(call.build, call.x(number), order) for number in (0, 1))
    sequence = call.line("unsqueeze", [call.line("arange", [], {"stop": call.shape(0)[0]})], {"axis": 1})
    result = call.line("index_put", [cache, update, sequence, place], {"axis": [0, 1]})
    return permuted(call.build, result, [order.index(place) for place in range(rank)])


class _Sequence(NamedTuple):
    """The tensors of linear attention, in float32: (batch, length, heads, features) each, with beta of one feature."""

    query: Value
    key: Value
    value: Value
    decay: Value | None
    beta: Value | None
    state: Value


@operator("LinearAttention")
def linear_attention(call: Call) -> Any:
    """A state of products of keys and values, which decays and is corrected by a rule, and is read by queries.

    The gated delta rule with one decay for a head is an operation; other rules are written out step by step.
    """
    rule = call.attribute("update_rule", "gated_delta")
    call.attribute("chunk_size")  # for the speed alone
    heads, groups = call.attribute("kv_num_heads"), call.attribute("q_num_heads") // call.attribute("kv_num_heads")
    dtype, batch = call.type(0).dtype, call.shape(0)[0]
    query, key, value = (_by_head(call, place, count) for place, count in ((0, heads * groups), (1, heads), (2, heads)))
    decay = _by_head(call, 4, heads) if "gated" in rule else None
    beta = _by_head(call, 5, call.shape(5)[2]) if "delta" in rule else None
    features, width = key.type.shape[3], value.type.shape[3]
    if call.has(3):
        kind, state = call.type(3).dtype, cast(call.build, call.x(3), "float32")
    else:
        kind, state = dtype, call.build.filled([batch, heads, features, width], 0, "float32")
    if not isinstance(features, int):
        raise RuleError("a symbolic number of features")
    scale = call.attribute("scale", 0.0) or features**-0.5
    tensors = _Sequence(query, key, value, decay, beta, state)
    one_decay = decay is not None and decay.type.shape[3] == 1
    if beta is not None and groups == 1 and (decay is None or one_decay):
        result, last = _as_operation(call, tensors, scale * features**0.5)
    else:
        result, last = _written_out(call, tensors, groups, scale)
    flat = call.line("flatten", [result], {"start_axis": 2})
    return [cast(call.build, flat, dtype), cast(call.build, last, kind)]


def _by_head(call: Call, place: int, heads: Dim) -> Value:
    """Return an input with an axis of heads, in float32."""
    batch, length, width = call.shape(place)
    return cast(call.build, reshaped(call.build, call.x(place), [batch, length, heads, width // heads]), "float32")


def _as_operation(call: Call, tensors: _Sequence, factor: float) -> tuple[Value, Value]:
    """Return the output and the last state of the gated delta rule, whose scale is 1/√features."""
    query, key, value, decay, beta, state = tensors
    shape = value.type.shape[:3]
    assert beta is not None
    if beta.type.shape[2] != shape[2]:
        beta = call.line("expand", [beta], {"shape": [*shape, 1]})
    rates = call.build.filled(shape, 0, "float32") if decay is None else reshaped(call.build, decay, shape)
    if abs(factor - 1) > 1e-6:
        query = call.line("mul", [query], {"value": factor})
    inputs = [query, key, value, rates, reshaped(call.build, beta, shape), state]
    output, last = call.build.lines("gated_delta_rule", inputs)
    return output, last


def _written_out(call: Call, tensors: _Sequence, groups: int, scale: float) -> tuple[Value, Value]:
    """Return the output and the last state of a rule, step by step."""
    line, length = call.line, tensors.query.type.shape[1]
    if not isinstance(length, int) or length > _MOST_STEPS:
        raise RuleError(f"linear attention of its own kind over {length} steps")
    state, outputs = tensors.state, []
    for step in range(length):
        query, key, value, decay, beta = (
            None if x is None else line("select", [x], {"axis": 1, "index": step}) for x in tensors[:5]
        )
        assert query is not None and key is not None and value is not None
        if decay is not None:
            state = line("mul", [state, line("unsqueeze", [line("exp", [decay])], {"axis": -1})])
        if beta is not None:
            row = line("unsqueeze", [key], {"axis": 2})
            held = line("squeeze", [line("matmul", [row, state])], {"axis": 2})
            value = line("mul", [beta, line("sub", [value, held])])
        column = line("unsqueeze", [key], {"axis": 3})
        state = line("add", [state, line("mul", [column, line("unsqueeze", [value], {"axis": 2})])])
        # queries of one state are the rows of a matrix
        batch, heads, features = key.type.shape
        rows = reshaped(call.build, query, [batch, heads, groups, features])
        outputs.append(
            reshaped(call.build, line("matmul", [rows, state]), [batch, heads * groups, state.type.shape[3]])
        )
    return line("mul", [line("stack", outputs, {"axis": 1})], {"value": scale}), state
