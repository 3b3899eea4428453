"""Normalization of a sample by its own statistics, and similarity of normalized vectors."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.affine import normed
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused
from netcalc.formats.torch.operators.expand import broadcast_tensors


@operator("aten.layer_norm.default")
def layer_norm(
    build: Builder,
    input: Value,
    normalized_shape: list[Any],
    weight: Value | None,
    bias: Value | None,
    eps: float,
    **_: Any,
) -> Value:
    attributes = {"axes": unless_default(len(normalized_shape), 1), "eps": unless_default(eps, 1e-5)}
    return normed(build, "layer_norm", input, (weight, bias), attributes)


@operator("aten.rms_norm.default")
def rms_norm(
    build: Builder, input: Value, normalized_shape: list[Any], weight: Value | None, eps: float | None
) -> Value:
    attributes = {"axes": unless_default(len(normalized_shape), 1), "eps": eps}
    return normed(build, "rms_norm", input, (weight, None), attributes)


@operator("aten.group_norm.default")
def group_norm(
    build: Builder, input: Value, num_groups: int, weight: Value | None, bias: Value | None, eps: float, **_: Any
) -> Value:
    attributes = {"groups": num_groups, "eps": unless_default(eps, 1e-5)}
    return normed(build, "group_norm", input, (weight, bias), attributes)


@operator("aten.native_group_norm.default")
@with_unused
def native_group_norm(build: Builder, group: int, **call: Any) -> Value:
    return group_norm(build, num_groups=group, **call)


operator("aten.native_layer_norm.default")(with_unused(layer_norm))
operator("aten._fused_rms_norm.default")(with_unused(rms_norm))


@operator("aten.cosine_similarity.default")
def cosine_similarity(build: Builder, x1: Value, x2: Value, dim: int, eps: float) -> Value:
    attributes = {"axis": None if dim == 1 else dim, "eps": None if eps == 1e-12 else eps}
    units = [build.line("normalize", [x], attributes) for x in broadcast_tensors(build, [x1, x2])]
    return build.line("sum", [build.line("mul", units)], {"axis": dim})
