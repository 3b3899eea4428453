"""Linear maps and embeddings, and the choice between parameters and computed weights that all layers share."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator

#: Element type of the tables of embeddings, whose inputs have no floating-point type.
_TABLE = "float32"


def learned(build: Builder, value: Value, dtype: str) -> bool:
    """Return True if a value can be a learned parameter of an operation that computes in this type.

    A buffer cannot: as a weight of a layer it would count as a parameter.
    """
    stored = value.stored
    return stored is not None and value.type.dtype == dtype and not build.graph.tensors[stored.path].buffer


def weighted(
    build: Builder, operation: str, input: Value, weight: Value, bias: Value | None, attributes: dict[str, Any]
) -> Value:
    """Add an operation with a weight and a bias, each of which is a learned parameter or computed."""
    dtype = input.type.dtype
    inputs: list[Value | None] = [input]
    parameters = {}
    for name, value in (("weight", weight), ("bias", bias)):
        given = value is not None and not learned(build, value, dtype)
        inputs.append(value if given else None)
        if not given:
            parameters[name] = value
    while inputs[-1] is None:
        inputs.pop()
    if bias is None:
        attributes = {**attributes, "bias": False}
    return build.line(operation, inputs, attributes, parameters)


def plain(sizes: Any) -> Any:
    """Return sizes as one number where they are equal."""
    listed = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes]
    return listed[0] if listed and all(size == listed[0] for size in listed) else listed


def unless(sizes: Any, default: Any) -> Any:
    """Return sizes, as one number where they are equal; None for the default."""
    found = plain(sizes)
    return None if found == default or found == [] else found


@operator("aten.linear.default")
def linear(build: Builder, input: Value, weight: Value, bias: Value | None) -> Value:
    if len(weight.type.shape) == 1:  # y = x·w, without an axis of outputs
        product = build.line("matmul", [input, weight])
        return product if bias is None else build.line("add", [product, bias])
    return weighted(build, "linear", input, weight, bias, {"out": weight.type.shape[0]})


@operator("aten.bilinear.default")
def bilinear(build: Builder, input1: Value, input2: Value, weight: Value, bias: Value | None) -> Value:
    dtype = input1.type.dtype
    if not all(value is None or learned(build, value, dtype) for value in (weight, bias)):
        raise RuleError("a bilinear map with a computed weight or bias")
    attributes = {"out": weight.type.shape[0], "bias": None if bias is not None else False}
    return build.line("bilinear", [input1, input2], attributes, {"weight": weight, "bias": bias})


@operator("aten.embedding.default")
def embedding(
    build: Builder, weight: Value, indices: Value, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Value:
    if not learned(build, weight, _TABLE):
        return rows_of(build, weight, indices)
    rows, features = weight.type.shape
    attributes = {
        "num_embeddings": rows,
        "embedding_dim": features,
        "padding_idx": padding_idx if padding_idx >= 0 else None,
        **_limit(build, weight),
    }
    return build.line("embedding", [indices], attributes, {"weight": weight})


@operator("aten.embedding_renorm_.default")
def embedding_renorm(build: Builder, input: Value, indices: Value, max_norm: float, norm_type: float) -> Value:
    """Note the limit, which is an attribute of the look-up that follows."""
    if not learned(build, input, _TABLE):
        raise RuleError("a limit of the norms of a computed table")
    assert input.stored is not None
    build.limits[input.stored] = (max_norm, norm_type)
    return input


def _limit(build: Builder, weight: Value) -> dict[str, Any]:
    """Return the attributes for the largest norm of a table's rows, if it has one."""
    if weight.stored not in build.limits:
        return {}
    max_norm, norm_type = build.limits[weight.stored]
    return {"max_norm": max_norm, "norm_type": None if norm_type == 2 else norm_type}


def rows_of(build: Builder, table: Value, indices: Value) -> Value:
    """Return the rows of a computed table at indices of any shape."""
    sizes = list(indices.type.shape)
    if len(sizes) == 1:
        return build.line("index_select", [table, indices], {"axis": 0})
    if not sizes:
        row = build.line("index_select", [table, build.line("unsqueeze", [indices], {"axis": 0})], {"axis": 0})
        return build.line("squeeze", [row], {"axis": 0})
    flat = build.line("flatten", [indices], {"start_axis": 0})
    rows = build.line("index_select", [table, flat], {"axis": 0})
    return build.line("unflatten", [rows], {"axis": 0, "sizes": [-1, *sizes[1:]]})


@operator(
    "aten.embedding_bag.default",
    "aten.embedding_bag.padding_idx",
    "aten._embedding_bag.default",
    "aten._embedding_bag_forward_only.default",
)
def embedding_bag(
    build: Builder,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Value | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> tuple[Value | None, ...]:
    if not learned(build, weight, _TABLE):
        raise RuleError("embedding_bag with a computed table")
    rows, features = weight.type.shape
    attributes = {
        "num_embeddings": rows,
        "embedding_dim": features,
        "padding_idx": None if padding_idx is None or padding_idx < 0 else padding_idx,
        "mode": ("sum", None, "max")[mode],
        "include_last_offset": include_last_offset or None,
        **_limit(build, weight),
    }
    result = build.line("embedding_bag", [indices, offsets, per_sample_weights], attributes, {"weight": weight})
    return result, None, None, None  # the others are for the gradient


@operator("aten._weight_norm.default")
def weight_norm(build: Builder, v: Value, g: Value, dim: int) -> Value:
    """Direction v/‖v‖ times length g; the norm is over all axes but ``dim``, or over all where it is -1."""
    rank = len(v.type.shape)
    others = None if dim == -1 else [axis for axis in range(rank) if axis != dim]
    norm = build.line("vector_norm", [v], {"axis": others, "keepdim": True})
    return build.line("mul", [v, build.line("div", [g, norm])])
