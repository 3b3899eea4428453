"""Attention and rotary embeddings, which opset 23 has as operators."""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.concat import concatenated
from netcalc.formats.graph.lines.expand import broadcast_shape, expanded
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
    call.attribute("softmax_precision")  # netcalc's is at least that of float32
    pattern, lengths = _pattern(call, query, key, past)
    inputs = (query, key, value)
    if call.has_result(3):
        result, scores = _written_out(call, inputs, _mask(call, query, key, past, pattern, lengths))
    else:
        scores, result = None, _whole(call, inputs, past, pattern, lengths)
    result = cast(call.build, result, call.type(0).dtype)
    if flat:
        joined = call.line("transpose", [result], {"axes": [1, 2]})
        result = call.line("flatten", [joined], {"start_axis": 2})
    return [result, key, value, scores]


def _by_head(call: Call, x: Value, heads: int) -> Value:
    batch, length, width = x.type.shape
    return call.line("transpose", [reshaped(call.build, x, [batch, length, heads, width // heads])], {"axes": [1, 2]})


class _Pattern(NamedTuple):
    """Keys that a position may see: at most so many before and after it, None for all of them."""

    left: int | None
    right: int | None

    @property
    def attributes(self) -> dict[str, Any]:
        """Return the attributes of attention with this pattern."""
        if self.left is None and self.right == 0:
            return {"causal": True}
        return {} if self == (None, None) else {"window": [self.left, self.right]}


def _pattern(call: Call, query: Value, key: Value, past: Any) -> tuple[_Pattern, Value | None]:
    """Return the pattern of a layer, and the lengths of the sequences in memory, which may be longer."""
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    sides = [None if side < 0 else int(side) for side in (left, right)]
    if call.attribute("is_causal", 0):
        sides[1] = 0
    return _Pattern(*sides), call.optional(6)


def _whole(
    call: Call, inputs: tuple[Value, Value, Value], past: Any, pattern: _Pattern, lengths: Value | None
) -> Value:
    """Return attention as one operation, whose pattern is an attribute where it depends on no data."""
    query, key, _ = inputs
    queries, keys = query.type.shape[2], key.type.shape[2]
    cap = call.attribute("softcap", 0.0)
    attributes = {
        "scale": call.attribute("scale"),
        "softcap": cap or None,
        "enable_gqa": query.type.shape[1] != key.type.shape[1] or None,
    }
    hidden = None
    if pattern != (None, None) and lengths is None and past in (0, keys - queries):
        attributes |= pattern.attributes
        attributes["alignment"] = "lower_right" if past != 0 else None
        pattern = _Pattern(None, None)
    elif pattern == (None, None) and lengths is not None:
        hidden, lengths = call.line("logical_not", [_within(call, lengths, keys)]), None
    mask = _mask(call, query, key, past, pattern, lengths)
    return call.line("scaled_dot_product_attention", given([*inputs, mask, hidden]), attributes)


def _mask(call: Call, query: Value, key: Value, past: Any, pattern: _Pattern, lengths: Value | None) -> Value | None:
    """Return the mask of attention: the one that is given, without the keys that a pattern or a length hides."""
    keys = key.type.shape[2]
    mask = call.optional(3)
    if mask is not None and mask.type.shape[-1] != keys:
        padding = {"padding": [[0, keys - mask.type.shape[-1]]]}
        number = None if mask.type.dtype == "bool" else -inf
        mask = call.line("pad", [mask], {**padding, "value": number})
    seen = _seen(call, query, keys, past, pattern, lengths)
    if seen is None or mask is None:
        return mask if seen is None else seen
    if mask.type.dtype == "bool":
        return call.line("logical_and", [mask, seen])
    shape = broadcast_shape([mask.type.shape, seen.type.shape])
    hidden = call.line("logical_not", [seen])
    return call.line("masked_fill", [expanded(call.build, mask, shape), hidden], {"value": -inf})


def _seen(call: Call, query: Value, keys: Any, past: Any, pattern: _Pattern, lengths: Value | None) -> Value | None:
    """Return which keys a position sees, (queries, keys), or (batch, 1, queries, keys) by lengths; None for all."""
    queries = query.type.shape[2]
    limits: list[Value] = []
    if lengths is not None:
        limits.append(reshaped(call.build, _within(call, lengths, keys), [lengths.type.shape[0], 1, 1, keys]))
    if pattern == (None, 0) and lengths is None:
        return call.line("tril", [call.build.filled([queries, keys], True, "bool")], {"diagonal": past or None})
    if pattern != (None, None):
        row = call.line("unsqueeze", [call.line("arange", [], {"stop": queries})], {"axis": 1})
        if lengths is not None:
            first = call.line("sub", [cast(call.build, lengths, "int64")], {"value": queries})
            row = call.line("add", [row, reshaped(call.build, first, [lengths.type.shape[0], 1, 1, 1])])
        elif past != 0:
            row = call.line("add", [row], {"value": past})
        distance = call.line("sub", [row, call.line("arange", [], {"stop": keys})])
        if pattern.left is not None:
            limits.append(call.line("less_equal", [distance], {"value": pattern.left}))
        if pattern.right is not None:
            limits.append(call.line("greater_equal", [distance], {"value": -pattern.right}))
    return reduce(lambda a, b: call.line("logical_and", [a, b]), limits) if limits else None


def _within(call: Call, lengths: Value, keys: Any) -> Value:
    """Return which positions lie within sequences of some lengths, (batch, keys)."""
    places = call.line("arange", [], {"stop": keys})
    count = call.line("unsqueeze", [cast(call.build, lengths, "int64")], {"axis": 1})
    return call.line("less", [places, count])


def _written_out(call: Call, inputs: tuple[Value, Value, Value], mask: Value | None) -> tuple[Value, Value]:
    """Return attention with its scores as a result, as they are after one of the steps."""
    query, key, value = inputs
    cap, mode = call.attribute("softcap", 0.0), call.attribute("qk_matmul_output_mode", 0)
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
    if mask is None:
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
