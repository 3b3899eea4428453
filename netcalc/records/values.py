"""Values that several records use: counts, shapes and tensor types."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

from typing_extensions import TypedDict

from netcalc.dims import Dim, Poly
from netcalc.models import Model
from netcalc.opdef import Operation
from netcalc.tensor_type import TensorType

__all__ = ["Count", "Shape", "TensorRecord", "attribute", "count", "plain", "shape", "shapes", "tensor"]

#: A whole number, or the formula of a count that depends on a symbolic dim.
Count: TypeAlias = int | str
Shape: TypeAlias = list[Count]


class TensorRecord(TypedDict):
    """The type of a tensor."""

    shape: Shape
    dtype: str


def count(value: Dim) -> Count:
    """Return a count as JSON."""
    return value if isinstance(value, int) else str(value)


def shape(sizes: Iterable[Dim]) -> Shape:
    """Return a shape as JSON."""
    return [count(size) for size in sizes]


def shapes(types: Iterable[TensorType]) -> list[Shape]:
    """Return the shapes of tensors as JSON."""
    return [shape(type_.shape) for type_ in types]


def tensor(type_: TensorType) -> TensorRecord:
    """Return the type of a tensor as JSON."""
    return {"shape": shape(type_.shape), "dtype": type_.dtype}


def attribute(value: Any) -> Any:
    """Return an attribute as JSON; an operation is its name, or a mapping from its name to what is set."""
    if isinstance(value, Operation):
        given = {
            name: attribute(getattr(value, name))
            for name, field in type(value).model_fields.items()
            if getattr(value, name) != field.default
        }
        return {value.name: given} if given else value.name
    if isinstance(value, Model):
        return {name: attribute(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, (list, tuple)):
        return [attribute(item) for item in value]
    return plain(value)


def plain(value: Any) -> Any:
    """Return a value of an expression or a run with JSON types.

    A tensor type is its record.  Text stands for what JSON cannot hold: formulas, and numbers that are complex,
    infinite or NaN.
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, TensorType):
        return tensor(value)
    if isinstance(value, (Poly, complex)) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value
