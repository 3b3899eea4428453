"""Attention and rotary embeddings, which opset 23 has as operators."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.model import Value, given
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator
from netcalc.formats.torch.operators._operands import cast
from netcalc.formats.torch.operators.concat import concatenated
from netcalc.formats.torch.operators.shape import reshaped


@operator("Attention")
def attention(call: Call) -> Any:
    """Attention of queries to keys and values by head, with past ones before the new ones."""
    for name in ("softcap", "qk_matmul_output_mode"):
        if call.attribute(name, 0):
            raise RuleError(f"attention with {name}")
    if call.has_result(3) or call.has(6):
        raise RuleError("attention that returns its scores, or with lengths of the sequences")
    flat = call.type(0).rank == 3
    heads = call.attribute("q_num_heads"), call.attribute("kv_num_heads")
    query, key, value = (call.x(place) for place in range(3))
    if flat:
        query = _by_head(call, query, heads[0])
        key, value = _by_head(call, key, heads[1]), _by_head(call, value, heads[1])
    if call.has(4) and call.has(5):
        key = concatenated(call.build, [call.x(4), key], 2)
        value = concatenated(call.build, [call.x(5), value], 2)
    mask = call.optional(3)
    causal = bool(call.attribute("is_causal", 0))
    if causal and (call.has(4) or query.type.shape[2] != key.type.shape[2]):
        raise RuleError("causal attention to earlier positions")
    if causal and mask is not None:
        mask, causal = _causal(call, mask, query, key), False
    grouped = query.type.shape[1] != key.type.shape[1]
    attributes = {"causal": causal or None, "scale": call.attribute("scale"), "enable_gqa": grouped or None}
    result = call.line("scaled_dot_product_attention", given([query, key, value, mask]), attributes)
    result = cast(call.build, result, call.type(0).dtype)
    if flat:
        joined = call.line("transpose", [result], {"axes": [1, 2]})
        result = call.line("flatten", [joined], {"start_axis": 2})
    return [result, key, value]


def _by_head(call: Call, x: Value, heads: int) -> Value:
    batch, length, width = x.type.shape
    return call.line("transpose", [reshaped(call.build, x, [batch, length, heads, width // heads])], {"axes": [1, 2]})


def _causal(call: Call, mask: Value, query: Value, key: Value) -> Value:
    """Return a mask that hides later positions too."""
    sizes = [query.type.shape[2], key.type.shape[2]]
    seen = call.line("tril", [call.build.filled(sizes, True, "bool")])
    if mask.type.dtype == "bool":
        return call.line("logical_and", [mask, seen])
    hidden = call.line("logical_not", [seen])
    zeros = call.build.filled(sizes, 0, mask.type.dtype)
    return call.line("add", [mask, call.line("masked_fill", [zeros, hidden], {"value": -float("inf")})])


@operator("RotaryEmbedding")
def rotary(call: Call) -> Value:
    """Rotation of pairs of features by tables of cosines and sines."""
    x, flat = call.x(), call.type(0).rank == 3
    if flat:
        x = _by_head(call, x, call.attribute("num_heads"))
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
    cosine, sine = tables
    turned = x if rotated == size else call.line("slice", [x], {"axis": -1, "stop": rotated})
    interleaved = bool(call.attribute("interleaved", 0))
    if interleaved:
        pairs = [call.line("slice", [turned], {"axis": -1, "start": start or None, "step": 2}) for start in (0, 1)]
    else:
        pairs = list(call.build.lines("chunk", [turned], {"chunks": 2, "axis": -1}))
    real = call.line("sub", [call.line("mul", [cosine, pairs[0]]), call.line("mul", [sine, pairs[1]])])
    imag = call.line("add", [call.line("mul", [sine, pairs[0]]), call.line("mul", [cosine, pairs[1]])])
    if interleaved:
        stacked = call.line("stack", [real, imag], {"axis": x.type.rank})
        result = call.line("flatten", [stacked], {"start_axis": x.type.rank - 1})
    else:
        result = call.line("concat", [real, imag], {"axis": -1})
    if rotated != size:
        rest = call.line("slice", [x], {"axis": -1, "start": rotated})
        result = call.line("concat", [result, rest], {"axis": -1})
    if flat:
        result = call.line("flatten", [call.line("transpose", [result], {"axes": [1, 2]})], {"start_axis": 2})
    return result
