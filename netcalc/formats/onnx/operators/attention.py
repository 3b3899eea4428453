"""Attention and rotary embeddings, which opset 23 has as operators."""

from __future__ import annotations

from math import inf
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.concat import concatenated
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.softmax import safe_softmax
from netcalc.formats.graph.model import Value, given
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator


@operator("Attention")
def attention(call: Call) -> Any:
    """Attention of queries to keys and values by head, with past ones before the new ones."""
    flat = call.type(0).rank == 3
    heads = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    query, key, value = (call.x(place) for place in range(3))
    if flat:
        query = _by_head(call, query, heads[0])
        key, value = _by_head(call, key, heads[1]), _by_head(call, value, heads[1])
    past: Any = 0
    if call.has(4) and call.has(5):
        past = call.shape(4)[2]
        key = concatenated(call.build, [call.x(4), key], 2)
        value = concatenated(call.build, [call.x(5), value], 2)
    for name in ("left_window_size", "right_window_size", "softmax_precision"):
        if call.attribute(name, -1) not in (-1, 1, 0) or (
            name != "softmax_precision" and call.attribute(name, -1) >= 0
        ):
            raise RuleError(f"attention with {name}")
    if call.has(6):
        raise RuleError("attention with lengths of the sequences")
    mask, causal = _mask(call, query, key, past)
    cap = call.attribute("softcap", 0.0)
    mode = call.attribute("qk_matmul_output_mode", 0)
    if cap or call.has_result(3):
        result, scores = _written_out(call, (query, key, value), mask, cap, mode, causal=causal)
    else:
        grouped = query.type.shape[1] != key.type.shape[1]
        attributes = {"causal": causal or None, "scale": call.attribute("scale"), "enable_gqa": grouped or None}
        scores = None
        result = call.line("scaled_dot_product_attention", given([query, key, value, mask]), attributes)
    result = cast(call.build, result, call.type(0).dtype)
    if flat:
        joined = call.line("transpose", [result], {"axes": [1, 2]})
        result = call.line("flatten", [joined], {"start_axis": 2})
    return [result, key, value, scores]


def _by_head(call: Call, x: Value, heads: int) -> Value:
    batch, length, width = x.type.shape
    return call.line("transpose", [reshaped(call.build, x, [batch, length, heads, width // heads])], {"axes": [1, 2]})


def _mask(call: Call, query: Value, key: Value, past: Any) -> tuple[Value | None, bool]:
    """Return the mask of attention, in which later positions are hidden, or True for a causal one without a mask."""
    mask = call.optional(3)
    sizes = [query.type.shape[2], key.type.shape[2]]
    if mask is not None and mask.type.shape[-1] != sizes[1]:
        raise RuleError("a mask of fewer keys than there are")
    if not call.attribute("is_causal", 0):
        return mask, False
    if mask is None and sizes[0] == sizes[1] and past == 0:
        return None, True
    seen = call.line("tril", [call.build.filled(sizes, True, "bool")], {"diagonal": past or None})
    if mask is None:
        return seen, False
    if mask.type.dtype == "bool":
        return call.line("logical_and", [mask, seen]), False
    hidden = call.line("logical_not", [seen])
    zeros = call.build.filled(sizes, 0, mask.type.dtype)
    return call.line("add", [mask, call.line("masked_fill", [zeros, hidden], {"value": -inf})]), False


def _written_out(
    call: Call, inputs: tuple[Value, Value, Value], mask: Value | None, cap: float, mode: int, *, causal: bool
) -> tuple[Value, Value]:
    """Return attention with scores that are limited by a tangent, or that are a result: of the step of ``mode``."""
    query, key, value = inputs
    repeats = query.type.shape[1] // key.type.shape[1]
    if repeats != 1:
        key, value = (call.line("repeat_interleave", [x], {"repeats": repeats, "axis": 1}) for x in (key, value))
    size = query.type.shape[-1]
    scale = call.attribute("scale")
    if scale is None:
        if not isinstance(size, int):
            raise RuleError("a symbolic number of features")
        scale = size**-0.5
    product = call.line("matmul", [query, call.line("transpose", [key], {"axes": [-2, -1]})])
    scores = capped = call.line("mul", [product], {"value": scale})
    if cap:
        capped = call.line("tanh", [call.line("div", [scores], {"value": cap})])
        capped = call.line("mul", [capped], {"value": cap})
    if causal:
        hidden = call.line("triu", [call.build.filled(scores.type.shape[-2:], True, "bool")], {"diagonal": 1})
        masked = call.line("masked_fill", [capped, hidden], {"value": -inf})
    elif mask is None:
        masked = capped
    elif mask.type.dtype == "bool":
        masked = call.line("masked_fill", [capped, call.line("logical_not", [mask])], {"value": -inf})
    else:
        masked = call.line("add", [capped, mask])
    weights = call.line("softmax", [masked]) if masked is capped else safe_softmax(call.build, masked, -1, None)
    shown = (scores, capped, masked, weights)[mode]
    return call.line("matmul", [weights, value]), shown


@operator("RotaryEmbedding")
def rotary(call: Call) -> Value:
    """Rotation of pairs of features by tables of cosines and sines."""
    x, flat = call.x(), call.type(0).rank == 3
    heads = call.attribute("num_heads")
    if flat:
        x = _by_head(call, x, heads)
    size = x.type.shape[-1]
    rotated = call.attribute("rotary_embedding_dim", 0) or size
    if not isinstance(rotated, int):
        raise RuleError("rotation of a symbolic number of features")
    tables = []
    for place in (1, 2):
        table = call.x(place)
        if call.has(3):
            table = call.line("index", [table, call.x(3)], {"axis": 0})
        tables.append(call.line("unsqueeze", [table], {"axis": 1}))
    turned = x if rotated == size else call.line("slice", [x], {"axis": -1, "stop": rotated})
    result = _rotated(call, turned, tables[0], tables[1])
    if rotated != size:
        rest = call.line("slice", [x], {"axis": -1, "start": rotated})
        result = call.line("concat", [result, rest], {"axis": -1})
    if flat:
        result = call.line("flatten", [call.line("transpose", [result], {"axes": [1, 2]})], {"start_axis": 2})
    return result


def _rotated(call: Call, x: Value, cosine: Value, sine: Value) -> Value:
    """Return pairs of features, neighbors or of both halves, rotated."""
    interleaved = bool(call.attribute("interleaved", 0))
    if interleaved:
        first, second = (call.line("slice", [x], {"axis": -1, "start": start or None, "step": 2}) for start in (0, 1))
    else:
        first, second = call.build.lines("chunk", [x], {"chunks": 2, "axis": -1})
    real = call.line("sub", [call.line("mul", [cosine, first]), call.line("mul", [sine, second])])
    imag = call.line("add", [call.line("mul", [sine, first]), call.line("mul", [cosine, second])])
    if not interleaved:
        return call.line("concat", [real, imag], {"axis": -1})
    stacked = call.line("stack", [real, imag], {"axis": x.type.rank})
    return call.line("flatten", [stacked], {"start_axis": x.type.rank - 1})
