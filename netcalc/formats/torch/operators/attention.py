"""Attention, and layers of transformers that are fused for inference."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import UNUSED
from netcalc.formats.torch.operators.linear import linear
from netcalc.formats.torch.operators.norm import layer_norm


@operator("aten.scaled_dot_product_attention.default")
def attention(
    build: Builder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Value:
    attributes = {
        "causal": is_causal or None,
        "scale": scale,
        "dropout": dropout_p or None,
        "enable_gqa": enable_gqa or None,
    }
    inputs = [query, key, value] if attn_mask is None else [query, key, value, attn_mask]
    return build.line("scaled_dot_product_attention", inputs, attributes)


@operator(
    "aten._scaled_dot_product_attention_math.default",
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_cudnn_attention.default",
    "aten._scaled_dot_product_fused_attention_overrideable.default",
)
def fused_attention(
    build: Builder,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    attn_mask: Value | None = None,
    attn_bias: Value | None = None,
    enable_gqa: bool = False,
    **unused: Any,
) -> tuple[Value | None, ...]:
    mask = attn_bias if attn_mask is None else attn_mask
    return attention(build, query, key, value, mask, dropout_p, is_causal, scale, enable_gqa), *UNUSED


@operator("aten._native_multi_head_attention.default")
def native_multi_head_attention(
    build: Builder,
    query: Value,
    key: Value,
    value: Value,
    embed_dim: int,
    num_head: int,
    qkv_weight: Value,
    qkv_bias: Value,
    proj_weight: Value,
    proj_bias: Value,
    mask: Value | None,
    need_weights: bool,
    average_attn_weights: bool,
    mask_type: int | None,
) -> tuple[Value | None, ...]:
    if query is not key or key is not value or need_weights:
        raise RuleError("fused attention of different inputs, or with its weights as a result")
    return _self_attention(build, query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type), None


def _self_attention(
    build: Builder,
    x: Value,
    heads: int,
    qkv_weight: Value,
    qkv_bias: Value,
    proj_weight: Value,
    proj_bias: Value,
    mask: Value | None,
    mask_type: int | None,
) -> Value:
    projected = linear(build, x, qkv_weight, qkv_bias)
    parts = build.line("unflatten", [projected], {"axis": -1, "sizes": [3, heads, -1]})
    by_head = build.line("permute", [parts], {"axes": [2, 0, 3, 1, 4]})
    inputs: list[Value | None] = [build.line("select", [by_head], {"axis": 0, "index": part}) for part in range(3)]
    if mask is not None:
        inputs += _masks(build, mask, mask_type)
    result = build.line("scaled_dot_product_attention", inputs)
    joined = build.line("flatten", [build.line("transpose", [result], {"axes": [1, 2]})], {"start_axis": 2})
    return linear(build, joined, proj_weight, proj_bias)


def _masks(build: Builder, mask: Value, kind: int | None) -> list[Value | None]:
    """Return the inputs for a mask that is true where a query may not attend, for all samples or for padding (1)."""
    if mask.type.dtype != "bool":
        raise RuleError(f"fused attention with a mask of {mask.type.dtype}")
    return [None, mask] if kind == 1 else [build.line("logical_not", [mask])]


@operator("aten._transformer_encoder_layer_fwd.default")
def transformer_encoder_layer(
    build: Builder,
    src: Value,
    embed_dim: int,
    num_heads: int,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    mask: Value | None,
    mask_type: int | None,
    **weights: Value,
) -> Value:
    def attended(x: Value) -> Value:
        parameters: Any = {name: weights[name] for name in ("qkv_weight", "qkv_bias", "proj_weight", "proj_bias")}
        return _self_attention(build, x, num_heads, mask=mask, mask_type=mask_type, **parameters)

    def fed_forward(x: Value) -> Value:
        hidden = linear(build, x, weights["ffn_weight_1"], weights["ffn_bias_1"])
        active = build.line("gelu" if use_gelu else "relu", [hidden])
        return linear(build, active, weights["ffn_weight_2"], weights["ffn_bias_2"])

    result = src
    for number, branch in ((1, attended), (2, fed_forward)):
        affine = weights[f"norm_weight_{number}"], weights[f"norm_bias_{number}"]
        if norm_first:
            normal = layer_norm(build, result, [embed_dim], *affine, eps, False)
            result = build.line("add", [result, branch(normal)])
        else:
            total = build.line("add", [result, branch(result)])
            result = layer_norm(build, total, [embed_dim], *affine, eps, False)
    return result
