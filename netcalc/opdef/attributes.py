"""Attributes of an operation: their types and descriptions."""

from functools import partial
from typing import Annotated, Any

from netcalc.dims import Poly, at_least
from netcalc.limits import MAX_POSITION, MAX_SIZE_BITS
from netcalc.models import BeforeValidator, Field, WithJsonSchema


def whole_number(value: Any, *, least: int | None = 1, most: int | None = None) -> Any:
    """Return ``value``, a whole number from ``least`` to ``most`` or a symbolic size; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, Poly)):
        raise ValueError("should be a whole number")
    if isinstance(value, int) and value.bit_length() > MAX_SIZE_BITS:
        raise ValueError(f"should have at most {MAX_SIZE_BITS} bits")
    if least is not None and not at_least(value, least):
        raise ValueError(f"should be at least {least}")
    if most is not None and isinstance(value, int) and value > most:
        raise ValueError(f"should be at most {most:,}")
    return value


#: A size of at least 1, which may be symbolic.
Size = Annotated[Any, BeforeValidator(whole_number), WithJsonSchema({"type": "integer", "minimum": 1, "title": "size"})]

#: A size that may be 0 or symbolic.
SizeOrZero = Annotated[
    Any, BeforeValidator(partial(whole_number, least=0)), WithJsonSchema({"type": "integer", "minimum": 0})
]


def position(value: Any) -> Any:
    """Return ``value``, a position from 0 on or a symbolic size; ValueError for anything else."""
    return whole_number(value, least=0, most=MAX_POSITION)


#: A position, or a distance between two, that may be 0 or symbolic.
Position = Annotated[
    Any, BeforeValidator(position), WithJsonSchema({"type": "integer", "minimum": 0, "maximum": int(MAX_POSITION)})
]


def _spatial(value: Any, *, axes: int, least: int) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != axes:
            raise ValueError(f"should be one number or {axes}, one for each axis")
        return tuple(whole_number(item, least=least) for item in value)
    return (whole_number(value, least=least),) * axes


def Spatial(axes: int, least: int = 1) -> Any:  # noqa: N802 - reads as a type in declarations
    """Return the type of an attribute with one whole number for each of ``axes`` axes, or one for all of them."""
    number = {"type": "integer", "minimum": least}
    schema = {"anyOf": [number, {"type": "array", "items": number, "minItems": axes, "maxItems": axes}]}
    return Annotated[
        tuple[Any, ...], BeforeValidator(partial(_spatial, axes=axes, least=least)), WithJsonSchema(schema)
    ]


def attr(description: str, *, default: Any = ..., **constraints: Any) -> Any:
    """Declare an attribute: its description, its default (required without one), and pydantic's constraints."""
    return Field(default, description=description, validate_default=default is not ..., **constraints)
