"""Embeddings, and one-hot vectors."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import with_unused

#: Element type of the tables of embeddings, whose inputs have no floating-point type.
_TABLE = "float32"


@operator("aten.embedding.default")
def embedding(build: Builder, weight: Value, indices: Value, padding_idx: int, **gradient: bool) -> Value:
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
    input = _attached(build, input)
    if not learned(build, input, _TABLE):
        raise RuleError("a limit of the norms of a computed table")
    assert input.stored is not None
    build.limits[input.stored] = (max_norm, norm_type)
    return input


def _attached(build: Builder, table: Value) -> Value:
    """Return the stored tensor whose elements a detached table shares, and leave out the lines that only detach it.

    Any other table is returned as it is.
    """
    line = build.maker(table)
    source = line.inputs[0] if line is not None and line.operation == "detach" else None
    reader = None if source is None else build.maker(source)
    if source is None or reader is None or reader.operation != "parameter":
        return table
    stored = reader.parameters[""]
    for made in (line, reader):
        if build.graph.lines[-1] is made:
            build.undo(len(build.graph.lines) - 1)
    return Value(source.type, source.hint, stored)


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
@with_unused
def embedding_bag(
    build: Builder,
    weight: Value,
    indices: Value,
    offsets: Value,
    mode: int,
    per_sample_weights: Value | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
    **gradient: bool,
) -> Value:
    if not learned(build, weight, _TABLE):
        if padding_idx is not None and padding_idx >= 0:
            raise RuleError("embedding_bag with a computed table and ids that are ignored")
        return _bags_of(build, rows_of(build, weight, indices), offsets, mode, per_sample_weights)
    rows, features = weight.type.shape
    attributes = {
        "num_embeddings": rows,
        "embedding_dim": features,
        "padding_idx": None if padding_idx is None or padding_idx < 0 else padding_idx,
        "mode": ("sum", None, "max")[mode],
        "include_last_offset": include_last_offset or None,
        **_limit(build, weight),
    }
    return build.line("embedding_bag", [indices, offsets, per_sample_weights], attributes, {"weight": weight})


def _bags_of(build: Builder, rows: Value, offsets: Value, mode: int, weights: Value | None) -> Value:
    """Return the sums, means or maxima of rows, in bags of as many rows as the step of a range of offsets."""
    line, (count,) = build.maker(offsets), offsets.type.shape
    attributes = line.attributes if line is not None and line.operation == "arange" else {}
    size = attributes.get("step", 1)
    if not attributes or attributes.get("start", 0) != 0 or count * size != rows.type.shape[0]:
        raise RuleError("embedding_bag with a computed table and bags of several sizes")
    if weights is not None:
        rows = build.line("mul", [rows, build.line("unsqueeze", [weights], {"axis": 1})])
    bags = build.line("unflatten", [rows], {"axis": 0, "sizes": [-1, size]})
    return build.line(("sum", "mean", "max")[mode], [bags], {"axis": 1})


@operator("aten.one_hot.default")
def one_hot(build: Builder, input: Value, num_classes: Any) -> Value:
    if num_classes == -1:
        raise RuleError("one_hot without a number of classes: the shape of the result depends on values")
    return build.line("one_hot", [input], {"num_classes": num_classes})
