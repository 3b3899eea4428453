"""Selection by masks, triangles, and one-hot vectors."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import DType, result_type
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.creation import filled
from netcalc.formats.torch.operators.operands import cast


@operator("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def where(build: Builder, condition: Value, input: Value | Any, other: Value | Any) -> Value:
    operands = (input, other)
    tensors = [(value.type.dtype, value.type.rank) for value in operands if isinstance(value, Value)]
    dtype = result_type(tensors, *(value for value in operands if not isinstance(value, Value)))
    mask = cast(build, condition, "bool")
    if isinstance(other, Value) and not isinstance(input, Value) and dtype == other.type.dtype:
        return build.line("masked_fill", [other, mask], {"value": input})
    chosen = [value if isinstance(value, Value) else filled(build, (), value, dtype) for value in operands]
    return build.line("where", [mask, *chosen])


@operator("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(build: Builder, input: Value, mask: Value, value: Value | Any) -> Value:
    if not isinstance(value, Value):
        return build.line("masked_fill", [input, cast(build, mask, "bool")], {"value": value})
    return chosen(build, mask, value, input, input.type.dtype)


def chosen(build: Builder, mask: Value, input: Value, other: Value, dtype: DType) -> Value:
    """Return ``input`` where the mask is true, ``other`` elsewhere, in an element type."""
    operands = [cast(build, value, dtype) for value in (input, other)]
    return build.line("where", [cast(build, mask, "bool"), *operands])


@operator("aten.tril.default")
def tril(build: Builder, input: Value, diagonal: int) -> Value:
    return build.line("tril", [input], {"diagonal": diagonal or None})


@operator("aten.triu.default")
def triu(build: Builder, input: Value, diagonal: int) -> Value:
    return build.line("triu", [input], {"diagonal": diagonal or None})


@operator("aten.one_hot.default")
def one_hot(build: Builder, input: Value, num_classes: Any) -> Value:
    if num_classes == -1:
        raise RuleError("one_hot without a number of classes: the shape of the result depends on values")
    return build.line("one_hot", [input], {"num_classes": num_classes})


@operator(
    *("aten.nonzero.default", "aten.nonzero_numpy.default", "aten.argwhere.default", "aten.where.default"),
    *("aten.masked_select.default", "aten._unique2.default", "aten.unique_consecutive.default"),
    *("aten.unique_dim.default", "aten.bincount.default"),
)
def by_values(build: Builder, **_: Any) -> Value:
    raise RuleError("the shape of the result depends on values")


@operator("aten.item.default", "aten._local_scalar_dense.default")
def item(build: Builder, input: Value) -> Value:
    raise RuleError("a number that is read from a tensor depends on values")
