"""The types of attributes that take one value, or a list of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from netcalc.opdef import Size

__all__ = ["Axes", "Numbers", "Sizes"]


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _schema(**one: Any) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one}]})


Sizes = Annotated[tuple[Size, ...], BeforeValidator(_listed), _schema(type="integer", minimum=1)]
Axes = Annotated[tuple[int, ...], BeforeValidator(_listed), _schema(type="integer")]
Numbers = Annotated[tuple[float, ...], BeforeValidator(_listed), _schema(type="number")]
