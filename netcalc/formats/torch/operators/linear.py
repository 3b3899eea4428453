"""Linear maps, convolutions and embeddings."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


def weighted(
    build: Builder, operation: str, input: Value, weight: Value, bias: Value | None, attributes: dict[str, Any]
) -> Value:
    """Add an operation with a weight and a bias, each of which is a stored tensor or computed."""
    given = [value if value is not None and value.stored is None else None for value in (weight, bias)]
    parameters = {
        name: value
        for name, value in (("weight", weight), ("bias", bias))
        if value is not None and value.stored is not None
    }
    inputs = [input, *given] if any(value is not None for value in given) else [input]
    if bias is None:
        attributes["bias"] = False
    return build.line(operation, inputs, attributes, parameters)


@operator("aten.linear.default")
def linear(build: Builder, input: Value, weight: Value, bias: Value | None) -> Value:
    if len(weight.type.shape) == 1:  # y = x·w, without an axis of outputs
        return build.line("matmul", [input, weight])
    return weighted(build, "linear", input, weight, bias, {"out": weight.type.shape[0]})


@operator(
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv3d.default",
    "aten.conv1d.padding",
    "aten.conv2d.padding",
    "aten.conv3d.padding",
)
def convolution(
    build: Builder,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Value:
    axes = len(weight.type.shape) - 2
    attributes = {
        "out": weight.type.shape[0],
        "kernel": plain(weight.type.shape[2:]),
        "stride": unless(stride, 1),
        "padding": unless(padding, 0),
        "dilation": unless(dilation, 1),
        "groups": None if groups == 1 else groups,
    }
    return weighted(build, f"conv{axes}d", input, weight, bias, attributes)


@operator("aten.embedding.default")
def embedding(
    build: Builder, weight: Value, indices: Value, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Value:
    rows, features = weight.type.shape
    if weight.stored is None:
        return build.line("index_select", [weight, indices], {"axis": 0})
    attributes = {"num_embeddings": rows, "embedding_dim": features}
    return build.line("embedding", [indices], attributes, {"weight": weight})


def plain(sizes: Any) -> Any:
    """Return sizes as one number where they are equal."""
    listed = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    return listed[0] if all(size == listed[0] for size in listed) else listed


def unless(sizes: Any, default: Any) -> Any:
    """Return sizes, as one number where they are equal; None for the default."""
    if isinstance(sizes, str):
        return sizes
    found = plain(sizes)
    return None if found == default or found == [] else found
