"""Attention, and layers of transformers that are fused for inference."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.softmax import safe_softmax
from netcalc.formats.graph.model import Value, given
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused
from netcalc.formats.torch.operators.creation import filled
from netcalc.formats.torch.operators.dropout import dropped
from netcalc.formats.torch.operators.linear import linear
from netcalc.formats.torch.operators.norm import layer_norm
from netcalc.formats.torch.operators.softmax import softmax


@operator("aten.scaled_dot_product_attention.default")
def attention(
    build: Builder, query: Value, key: Value, value: Value, attn_mask: Value | None = None, **settings: Any
) -> Value:
    dropout = settings["dropout_p"]
    if dropout and not build.graph.training:
        return _drawn_attention(build, query, key, value, attn_mask, **settings)
    attributes = {
        "causal": settings["is_causal"] or None,
        "scale": settings["scale"],
        "dropout": dropout or None,
        "enable_gqa": settings.get("enable_gqa") or None,
    }
    return build.line("scaled_dot_product_attention", given([query, key, value, attn_mask]), attributes)


def _drawn_attention(
    build: Builder, query: Value, key: Value, value: Value, mask: Value | None, **settings: Any
) -> Value:
    """Add attention that drops weights in inference too, which the operation does in training alone."""
    size, scale = query.type.shape[-1], settings["scale"]
    if settings.get("enable_gqa"):
        raise RuleError("attention of grouped queries with dropout in inference")
    if scale is None:
        if not isinstance(size, int):
            raise RuleError("attention of a symbolic number of features with dropout in inference")
        scale = size**-0.5
    turned = build.line("transpose", [key], {"axes": [-2, -1]})
    scores = build.line("matmul", [query, turned])
    scores = build.line("mul", [scores], {"value": scale})
    if settings["is_causal"]:
        hidden = build.line("triu", [filled(build, scores.type.shape[-2:], True, "bool")], {"diagonal": 1})
        scores = build.line("masked_fill", [scores, hidden], {"value": -inf})
    if mask is not None and mask.type.dtype == "bool":
        scores = build.line("masked_fill", [scores, build.line("logical_not", [mask])], {"value": -inf})
    elif mask is not None:
        scores = build.line("add", [scores, mask])
    weights = softmax(build, scores, -1, None) if mask is None else safe_softmax(build, scores, -1, None)
    return build.line("matmul", [dropped(build, weights, settings["dropout_p"]), value])


@operator(
    "aten._scaled_dot_product_attention_math.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_cudnn_attention.default",
    "aten._scaled_dot_product_fused_attention_overrideable.default",
)
@with_unused
def fused_attention(build: Builder, attn_bias: Value | None = None, **call: Any) -> Value:
    return attention(build, **({"attn_mask": attn_bias} | call))


@operator("aten._native_multi_head_attention.default")
@with_unused
def native_multi_head_attention(
    build: Builder, query: Value, key: Value, value: Value, num_head: int, need_weights: bool, **layer: Any
) -> Value:
    if query is not key or key is not value or need_weights:
        raise RuleError("fused attention of different inputs, or with its weights as a result")
    return _self_attention(build, query, num_head, layer)


def _self_attention(build: Builder, x: Value, heads: int, layer: Mapping[str, Any]) -> Value:
    """Add attention of a sequence to itself, with the weights and the mask of a fused layer."""
    projected = linear(build, x, layer["qkv_weight"], layer["qkv_bias"])
    parts = build.line("unflatten", [projected], {"axis": -1, "sizes": [3, heads, -1]})
    by_head = build.line("permute", [parts], {"axes": [2, 0, 3, 1, 4]})
    inputs: list[Value | None] = [build.line("select", [by_head], {"axis": 0, "index": part}) for part in range(3)]
    if layer["mask"] is not None:
        inputs += _masks(build, layer["mask"], layer["mask_type"])
    result = build.line("scaled_dot_product_attention", inputs)
    joined = build.line("flatten", [build.line("transpose", [result], {"axes": [1, 2]})], {"start_axis": 2})
    return linear(build, joined, layer["proj_weight"], layer["proj_bias"])


def _masks(build: Builder, mask: Value, kind: int | None) -> list[Value | None]:
    """Return the inputs for a mask that is true where a query may not attend, for all samples or for padding (1)."""
    if mask.type.dtype != "bool":
        raise RuleError(f"fused attention with a mask of {mask.type.dtype}")
    return [None, mask] if kind == 1 else [build.line("logical_not", [mask])]


@operator("aten._transformer_encoder_layer_fwd.default")
def transformer_encoder_layer(build: Builder, src: Value, num_heads: int, norm_first: bool, **layer: Any) -> Value:
    def attended(x: Value) -> Value:
        return _self_attention(build, x, num_heads, layer)

    def fed_forward(x: Value) -> Value:
        hidden = linear(build, x, layer["ffn_weight_1"], layer["ffn_bias_1"])
        active = build.line("gelu" if layer["use_gelu"] else "relu", [hidden])
        return linear(build, active, layer["ffn_weight_2"], layer["ffn_bias_2"])

    def normal(x: Value, number: int) -> Value:
        affine = layer[f"norm_weight_{number}"], layer[f"norm_bias_{number}"]
        return layer_norm(build, x, [layer["embed_dim"]], *affine, layer["eps"])

    result = src
    for number, branch in ((1, attended), (2, fed_forward)):
        if norm_first:
            result = build.line("add", [result, branch(normal(result, number))])
        else:
            result = normal(build.line("add", [result, branch(result)]), number)
    return result
