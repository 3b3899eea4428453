"""Attention."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.weights import weighted
from netcalc.formats.graph.model import Value, given
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.held import Form
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.operand import Operand

_ONLY_THREE = "inputs of other than three axes are not supported"


class _Heads:
    """Projections of a layer of attention to heads, and back."""

    def __init__(self, call: Call, groups: dict[str, str]) -> None:
        self.call, self.groups = call, groups
        self.has_bias = call.flag("use_bias", True)

    def split(self, name: str, operand: Operand, heads: int, size: int) -> Value:
        """Return an input projected to heads, (batch, heads, length, size)."""
        call, features = self.call, operand.shape[-1]
        path, inner = f"{call.around.path}.{name}", self.groups[name]
        form = Form((1, 2, 0), shape=(heads * size, int(features)))
        weight = call.weight("weight", "kernel", (features, heads, size), form, inner=inner, path=path)
        bias = None
        if self.has_bias:
            form = Form(shape=(heads * size,))
            bias = call.weight("bias", "bias", (heads, size), form, inner=inner, path=path)
        result = weighted(call.build, "linear", call.last(operand), weight, bias, {"out": heads * size})
        parts = call.line("unflatten", [result], {"axis": -1, "sizes": [heads, -1]})
        return call.line("transpose", [parts], {"axes": [1, 2]})

    def joined(self, value: Value, heads: int, size: int, features: int) -> Value:
        """Return the results of all heads, projected to features."""
        call = self.call
        path, inner = f"{call.around.path}.output", self.groups["output"]
        form = Form((2, 0, 1), shape=(features, heads * size))
        weight = call.weight("weight", "kernel", (heads, size, features), form, inner=inner, path=path)
        bias = call.weight("bias", "bias", (features,), inner=inner, path=path) if self.has_bias else None
        turned = call.line("transpose", [value], {"axes": [1, 2]})
        flat = call.line("flatten", [turned], {"start_axis": 2})
        return weighted(call.build, "linear", flat, weight, bias, {"out": features})


def _inputs(call: Call) -> tuple[Operand, Operand, Operand]:
    query, value = call.operand(0, "query"), call.operand(1, "value")
    key = call.argument(2, "key", value)
    if not isinstance(key, Operand) or any(one.rank != 3 for one in (query, value, key)):
        raise RuleError(_ONLY_THREE)
    if not all(isinstance(one.shape[-1], int) for one in (query, value, key)):
        raise RuleError("a number of features that is open")
    if any(one.mask is not None for one in (query, value, key)):
        call.note(f"{call.layer.name} takes steps of padding, which Keras hides, for steps like others")
    return query, value, key


def _mask(call: Call, place: int, rank: int = 4) -> tuple[Value | None, bool]:
    """Return the mask that a call gives, for all heads, and True for one that hides later positions."""
    given_mask, causal = call.argument(place, "attention_mask"), call.argument(99, "use_causal_mask", False)
    if call.argument(98, "return_attention_scores", False):
        raise RuleError("scores of attention as a result are not supported")
    if not isinstance(causal, bool) or (given_mask is not None and not isinstance(given_mask, Operand)):
        raise RuleError("masks of other kinds are not supported")
    if given_mask is None:
        return None, causal
    if causal:
        raise RuleError("a causal mask beside another one is not supported")
    mask = cast(call.build, call.last(given_mask), "bool")
    while mask.type.rank < rank:
        mask = call.line("unsqueeze", [mask], {"axis": 1 if mask.type.rank > 2 else 0})
    return mask, False


@layer("MultiHeadAttention")
def multi_head_attention(call: Call) -> Operand:
    query, value, key = _inputs(call)
    heads, size = call.integer("num_heads"), call.integer("key_dim")
    value_size = call.integer("value_dim") if call.get("value_dim") is not None else size
    call.without("use_gate", False)
    call.without("sliding_window")
    call.without("attention_axes", [1])
    call.get("flash_attention")
    groups = {name: f"{name}_dense" for name in ("query", "key", "value", "output")}
    projections = _Heads(call, groups)
    mask, causal = _mask(call, 3)
    inputs = [
        projections.split("query", query, heads, size),
        projections.split("key", key, heads, size),
        projections.split("value", value, heads, value_size),
    ]
    result = _attended(call, inputs, mask, causal, call.number("dropout", 0.0))
    return Operand(projections.joined(result, heads, value_size, _features(call, query)), mask=query.mask)


def _features(call: Call, query: Operand) -> int:
    shape = call.get("output_shape")
    shape = shape[0] if isinstance(shape, list) and len(shape) == 1 else shape
    if shape is not None and type(shape) is not int:
        raise RuleError("an output_shape of several axes is not supported")
    return int(query.shape[-1]) if shape is None else shape


@layer("GroupedQueryAttention", "GroupQueryAttention")
def grouped_query_attention(call: Call) -> Operand:
    query, value, key = _inputs(call)
    size, heads = call.integer("head_dim"), call.integer("num_query_heads")
    few = call.integer("num_key_value_heads")
    call.without("use_gate", False)
    call.without("sliding_window")
    call.get("flash_attention")
    groups = {name: f"_{name}_dense" for name in ("query", "key", "value", "output")}
    projections = _Heads(call, groups)
    mask, causal = _mask(call, 3)
    inputs = [
        projections.split("query", query, heads, size),
        projections.split("key", key, few, size),
        projections.split("value", value, few, size),
    ]
    result = _attended(call, inputs, mask, causal, call.number("dropout", 0.0), grouped=few != heads)
    return Operand(projections.joined(result, heads, size, int(query.shape[-1])), mask=query.mask)


def _attended(
    call: Call,
    inputs: list[Value],
    mask: Value | None,
    causal: bool,
    dropout: float,
    *,
    scale: float | None = None,
    grouped: bool = False,
) -> Value:
    lengths = [inputs[place].type.shape[-2] for place in (0, 1)]
    if causal and lengths[0] != lengths[1]:
        raise RuleError("a causal mask over sequences of different lengths is not supported")
    attributes: dict[str, Any] = {
        "causal": causal or None,
        "dropout": dropout or None,
        "scale": scale,
        "enable_gqa": grouped or None,
    }
    return call.line("scaled_dot_product_attention", given([*inputs, mask]), attributes)


def _sequences(call: Call) -> tuple[Value, Value, Value]:
    """Return query, value and key of a layer of attention without projections."""
    operands = call.operands(0, "inputs", least=2)
    if len(operands) > 3 or any(operand.rank != 3 for operand in operands):
        raise RuleError(_ONLY_THREE)
    if call.argument(1, "mask") is not None and any(one is not None for one in call.argument(1, "mask")):
        raise RuleError("masks of its inputs are not supported")
    query, value, *rest = (call.last(operand) for operand in operands)
    return query, value, rest[0] if rest else value


@layer("Attention")
def attention(call: Call) -> Operand:
    query, value, key = _sequences(call)
    mode, rate = call.choice("score_mode", ("dot", "concat"), "dot"), call.number("dropout", 0.0)
    scale = call.weight("scale", "scale", ()) if call.flag("use_scale") else None
    _, causal = _mask(call, 97)
    if mode == "dot":
        query = query if scale is None else call.line("mul", [query, scale])
        return Operand(_attended(call, [query, key, value], None, causal, rate, scale=1.0))
    weight = call.weight("concat_score_weight", "concat_score_weight", ())
    scores = call.line("sum", [call.line("tanh", [_pairs(call, query, key, scale)])], {"axis": -1})
    return Operand(_weighted_sum(call, call.line("mul", [scores, weight]), value, causal, rate))


@layer("AdditiveAttention")
def additive_attention(call: Call) -> Operand:
    query, value, key = _sequences(call)
    call.get("score_mode")
    rate = call.number("dropout", 0.0)
    terms = call.line("tanh", [_pairs(call, query, key, None)])
    if call.flag("use_scale", True):
        terms = call.line("mul", [terms, call.weight("scale", "scale", (query.type.shape[-1],))])
    _, causal = _mask(call, 97)
    return Operand(_weighted_sum(call, call.line("sum", [terms], {"axis": -1}), value, causal, rate))


def _pairs(call: Call, query: Value, key: Value, scale: Value | None) -> Value:
    """Return the sum of every query with every key."""
    apart = [call.line("unsqueeze", [x], {"axis": axis}) for x, axis in ((query, 2), (key, 1))]
    pairs = call.line("add", apart)
    return pairs if scale is None else call.line("mul", [pairs, scale])


def _weighted_sum(call: Call, scores: Value, value: Value, causal: bool, rate: float) -> Value:
    if causal:
        raise RuleError("a causal mask of such attention is not supported")
    weights = call.line("softmax", [scores])
    if rate:
        weights = call.line("dropout", [weights], {"p": rate})
    return call.line("matmul", [weights, value])
