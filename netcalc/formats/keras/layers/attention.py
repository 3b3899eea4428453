"""Attention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

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


class _Shown(NamedTuple):
    """The keys that queries of a layer see.

    Attributes:
        mask: true for the pairs that a call lets attend, (batch or 1, heads or 1, queries, keys); None for all.
        keys: true for the keys that are no padding, (batch, keys); None if all are.
        causal: True if later keys are hidden.
        window: number of keys on each side, the query's own among them; None for all.
    """

    mask: Value | None
    keys: Value | None
    causal: bool
    window: int | None = None


def _inputs(call: Call) -> tuple[Operand, Operand, Operand]:
    query, value = call.operand(0, "query"), call.operand(1, "value")
    key = call.argument(2, "key", value)
    if not isinstance(key, Operand) or any(one.rank != 3 for one in (query, value, key)):
        raise RuleError(_ONLY_THREE)
    if not all(isinstance(one.shape[-1], int) for one in (query, value, key)):
        raise RuleError("a number of features that is open")
    return query, value, key


def _together(call: Call, masks: Iterable[Value | None]) -> Value | None:
    """Return what all masks show; None without any."""
    present = list(dict.fromkeys(mask for mask in masks if mask is not None))
    return present[0] if len(present) == 1 else call.line("logical_and", present) if present else None


def _shown(call: Call, place: int, keys: Value | None) -> _Shown:
    """Return what queries see by the arguments of a call, its settings, and a mask of keys."""
    given_mask, causal = call.argument(place, "attention_mask"), call.argument(99, "use_causal_mask", False)
    if not isinstance(causal, bool) or (given_mask is not None and not isinstance(given_mask, Operand)):
        raise RuleError("masks of other kinds are not supported")
    window = call.integer("sliding_window") if call.get("sliding_window") is not None else None
    mask = None
    if given_mask is not None:
        mask = cast(call.build, call.last(given_mask), "bool")
        while mask.type.rank < 4:
            mask = call.line("unsqueeze", [mask], {"axis": 1 if mask.type.rank > 2 else 0})
    return _Shown(mask, keys, causal, window)


def _by_heads(call: Call, groups: dict[str, str], sizes: tuple[int, int, int], grouped: int | None = None) -> Any:
    """Return the result of attention in heads, and with it the weights if the call asks for them.

    Args:
        call: the call.
        groups: places of the projections in the file.
        sizes: number of heads, of features of a query in a head, and of a value.
        grouped: number of heads of keys and values, if it is a setting.
    """
    query, value, key = _inputs(call)
    (heads, size, value_size), few = sizes, grouped or sizes[0]
    call.get("flash_attention")
    call.argument(3, "query_mask")  # results of queries that are padding count for nothing
    masks = [call.mask(one, f"{name}_mask") for name, one in (("value", value), ("key", key))]
    projections, shown = _Heads(call, groups), _shown(call, 6, _together(call, masks))
    gate = None
    if call.flag("use_gate"):
        gate = call.line("sigmoid", [projections.split("gate", query, heads, value_size)])
    inputs = [
        projections.split("query", query, heads, size),
        projections.split("key", key, few, size),
        projections.split("value", value, few, value_size),
    ]
    wanted = call.argument(98, "return_attention_scores", False)
    if not isinstance(wanted, bool):
        raise RuleError("its argument 'return_attention_scores' should be true or false")
    result, *weights = _attended(call, inputs, shown, call.number("dropout", 0.0), grouped=few != heads, weights=wanted)
    if gate is not None:
        result = call.line("mul", [result, gate])
    features = _features(call, query)
    return [
        Operand(projections.joined(result, heads, value_size, features), mask=call.mask(query, "query_mask")),
        *map(Operand, weights),
    ]


@layer("MultiHeadAttention")
def multi_head_attention(call: Call) -> Any:
    heads, size = call.integer("num_heads"), call.integer("key_dim")
    value_size = call.integer("value_dim") if call.get("value_dim") is not None else size
    call.without("attention_axes", [1])
    groups = {name: f"{name}_dense" for name in ("query", "key", "value", "output")}
    groups["gate"] = "_gate_dense"
    return _by_heads(call, groups, (heads, size, value_size))


def _features(call: Call, query: Operand) -> int:
    shape = call.get("output_shape")
    shape = shape[0] if isinstance(shape, list) and len(shape) == 1 else shape
    if shape is not None and type(shape) is not int:
        raise RuleError("an output_shape of several axes is not supported")
    return int(query.shape[-1]) if shape is None else shape


@layer("GroupedQueryAttention", "GroupQueryAttention")
def grouped_query_attention(call: Call) -> Any:
    size, heads = call.integer("head_dim"), call.integer("num_query_heads")
    groups = {name: f"_{name}_dense" for name in ("query", "key", "value", "output", "gate")}
    return _by_heads(call, groups, (heads, size, size), call.integer("num_key_value_heads"))


def _attended(
    call: Call,
    inputs: list[Value],
    shown: _Shown,
    dropout: float,
    *,
    scale: float | None = None,
    grouped: bool = False,
    weights: bool = False,
) -> tuple[Value, ...]:
    """Return the result of attention to what is shown, and the weights if they are asked for."""
    lengths = [inputs[place].type.shape[-2] for place in (0, 1)]
    if shown.causal and lengths[0] != lengths[1]:
        raise RuleError("a causal mask over sequences of different lengths is not supported")
    attributes: dict[str, Any] = {
        "causal": shown.causal or None,
        "window": None if shown.window is None else [shown.window - 1, 0 if shown.causal else shown.window - 1],
        "dropout": dropout or None,
        "scale": scale,
        "enable_gqa": grouped or None,
        "return_weights": weights or None,
    }
    mask, padding = shown.mask, None
    if shown.keys is not None and inputs[0].type.rank > 3:
        padding = call.line("logical_not", [shown.keys])
    elif shown.keys is not None:  # without heads
        keys = call.line("unsqueeze", [shown.keys], {"axis": 1})
        mask = keys if mask is None else call.line("logical_and", [mask, keys])
    masked = given([*inputs, mask, padding])
    return call.build.lines("scaled_dot_product_attention", masked, attributes)


def _sequences(call: Call) -> tuple[Operand, Operand, Operand]:
    """Return query, value and key of a layer of attention without projections."""
    operands = call.operands(0, "inputs", least=2)
    if len(operands) > 3 or any(operand.rank != 3 for operand in operands):
        raise RuleError(_ONLY_THREE)
    if call.argument(98, "return_attention_scores", False):
        raise RuleError("scores of attention as a result are not supported")
    masks = call.argument(1, "mask", [None] * len(operands))
    if not isinstance(masks, list) or len(masks) > len(operands):
        raise RuleError("its argument 'mask'")
    for place, mask in enumerate(masks):
        if isinstance(mask, Operand):
            own = operands[place]
            operands[place] = Operand(own.value, own.first, cast(call.build, call.last(mask), "bool"))
        elif mask is not None:
            raise RuleError("its argument 'mask'")
    query, value, *rest = operands
    return query, value, rest[0] if rest else value


@layer("Attention")
def attention(call: Call) -> Operand:
    query, value, key = _sequences(call)
    mode, rate = call.choice("score_mode", ("dot", "concat"), "dot"), call.number("dropout", 0.0)
    scale = call.weight("scale", "scale", ()) if call.flag("use_scale") else None
    shown = _shown(call, 97, value.mask)
    x = call.last(query)
    if mode == "dot":
        x = x if scale is None else call.line("mul", [x, scale])
        result, *_ = _attended(call, [x, call.last(key), call.last(value)], shown, rate, scale=1.0)
        return _of_queries(call, query, result)
    weight = call.weight("concat_score_weight", "concat_score_weight", ())
    scores = call.line("sum", [call.line("tanh", [_pairs(call, x, call.last(key), scale)])], {"axis": -1})
    return _of_queries(call, query, _weighted_sum(call, call.line("mul", [scores, weight]), value, shown, rate))


@layer("AdditiveAttention")
def additive_attention(call: Call) -> Operand:
    query, value, key = _sequences(call)
    call.get("score_mode")
    rate = call.number("dropout", 0.0)
    terms = call.line("tanh", [_pairs(call, call.last(query), call.last(key), None)])
    if call.flag("use_scale", True):
        terms = call.line("mul", [terms, call.weight("scale", "scale", (query.shape[-1],))])
    scores = call.line("sum", [terms], {"axis": -1})
    return _of_queries(call, query, _weighted_sum(call, scores, value, _shown(call, 97, value.mask), rate))


def _of_queries(call: Call, query: Operand, result: Value) -> Operand:
    """Return a result with zeros for the queries that are padding."""
    if query.mask is not None:
        steps = call.line("unsqueeze", [cast(call.build, query.mask, result.type.dtype)], {"axis": -1})
        result = call.line("mul", [result, steps])
    return Operand(result, mask=query.mask)


def _pairs(call: Call, query: Value, key: Value, scale: Value | None) -> Value:
    """Return the sum of every query with every key."""
    apart = [call.line("unsqueeze", [x], {"axis": axis}) for x, axis in ((query, 2), (key, 1))]
    pairs = call.line("add", apart)
    return pairs if scale is None else call.line("mul", [pairs, scale])


def _weighted_sum(call: Call, scores: Value, value: Operand, shown: _Shown, rate: float) -> Value:
    if shown.causal:
        raise RuleError("a causal mask of such attention is not supported")
    if shown.keys is not None:
        hidden = call.line("unsqueeze", [call.line("logical_not", [shown.keys])], {"axis": 1})
        scores = call.line("masked_fill", [scores, hidden], {"value": -1e9})
    weights = call.line("softmax", [scores])
    if rate:
        weights = call.line("dropout", [weights], {"p": rate})
    return call.line("matmul", [weights, call.last(value)])
