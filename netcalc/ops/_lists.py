"""Types of attributes that hold one number or a list of numbers."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from netcalc.limits import MAX_RANK
from netcalc.models import AfterValidator, BeforeValidator, WithJsonSchema
from netcalc.opdef import Size, whole_number


def listed(value: Any) -> Any:
    """Return a list as a tuple, and a single value as a tuple of one."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def per_axis(value: Any) -> Any:
    """Return a list with an item for each axis as a tuple; ValueError if no tensor has that many."""
    values = listed(value)
    if len(values) > MAX_RANK:
        raise ValueError(f"has {len(values):,} items, and a tensor at most {MAX_RANK} axes")
    return values


def _schema(**item: Any) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item}]})


def _some(value: Any) -> Any:
    """Return a list with at least one number as a tuple."""
    values = listed(value)
    if not len(values):
        raise ValueError("should have at least one number")
    return values


def _extent(value: Any) -> Any:
    return value if type(value) is int and value == -1 else whole_number(value, least=0)


def _one_free(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    if sizes.count(-1) > 1:
        raise ValueError("should leave at most one size open with -1")
    return sizes


_Extent = Annotated[Any, BeforeValidator(_extent)]
_Count = Annotated[Any, BeforeValidator(partial(whole_number, least=0))]

#: A whole number of any sign, which may be symbolic.
Whole = Annotated[Any, BeforeValidator(partial(whole_number, least=None)), WithJsonSchema({"type": "integer"})]

Sizes = Annotated[tuple[Size, ...], BeforeValidator(per_axis), _schema(type="integer", minimum=1)]
Counts = Annotated[tuple[_Count, ...], BeforeValidator(listed), _schema(type="integer", minimum=0)]
Wholes = Annotated[tuple[Whole, ...], BeforeValidator(listed), _schema(type="integer")]
#: Sizes, any of which may be -1.
Extents = Annotated[tuple[_Extent, ...], BeforeValidator(per_axis), _schema(type="integer", minimum=-1)]
#: Sizes, one of which may be -1.
Shape = Annotated[
    tuple[_Extent, ...], BeforeValidator(per_axis), AfterValidator(_one_free), _schema(type="integer", minimum=-1)
]
Axes = Annotated[tuple[int, ...], BeforeValidator(per_axis), _schema(type="integer")]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_some), _schema(type="number")]
