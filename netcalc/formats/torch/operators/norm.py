"""Normalisation."""

from __future__ import annotations

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.batch_norm.default")
def batch_norm(
    build: Builder,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Value:
    attributes = {
        "eps": None if eps == 1e-5 else eps,
        "momentum": None if momentum == 0.1 else momentum,
        "affine": None if weight is not None else False,
        "bias": False if weight is not None and bias is None else None,
        "track_running_stats": None if running_mean is not None else False,
    }
    parameters = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    return build.line("batch_norm", [input], attributes, parameters)


@operator("aten.layer_norm.default")
def layer_norm(
    build: Builder,
    input: Value,
    normalized_shape: list[int],
    weight: Value | None,
    bias: Value | None,
    eps: float,
    cudnn_enable: bool,
) -> Value:
    attributes = {
        "axes": None if len(normalized_shape) == 1 else len(normalized_shape),
        "eps": None if eps == 1e-5 else eps,
        "affine": None if weight is not None else False,
        "bias": False if weight is not None and bias is None else None,
    }
    return build.line("layer_norm", [input], attributes, {"weight": weight, "bias": bias})
