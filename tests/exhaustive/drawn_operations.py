"""Specs of one operation, drawn from its declared attributes and the input types of its example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from netcalc import ops
from netcalc.dtypes import FLOATS, INTEGERS
from netcalc.opdef import Operation
from netcalc.tensor_type import TensorType
from tests.exhaustive.variations import optional_inputs

__all__ = ["drawn_spec"]

#: Operators of other libraries without a rule.
_NOT_RUN = ("unknown",)
_NAMES = sorted(set(ops.every()) - set(_NOT_RUN))
_SIZES = (1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 12)
_WHOLES = (0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, -1, -1, -2, -3)
_EXTREMES = (7, 11, 64, 1000, -100, 2**31, 2**63, 10**12, 10**30, -(10**30))
_NUMBERS = (0.0, 0.5, 1.0, 2.0, -1.0, 0.1, 0.9, 1e-5, 3, -0.5)
_EXTREME_NUMBERS = (1e-30, 1e30, -1e30, 1e308, float("inf"), float("-inf"), float("nan"), -0.0)
_TEXTS = ("relu", "gelu", "silu", "tanh", "same", "valid", "ones", "normal(std=0.02)", "x")
_RANGES: tuple[list[float] | None, ...] = (None, None, [-2, 2], [0, 1], [0.25, 0.75], [-8, 8])
_WHOLE_RANGES: tuple[list[int] | None, ...] = (None, None, None, [0, 2], [0, 1], [-3, 4], [0, 100])


def drawn_spec(rng: Random) -> dict[str, Any]:
    """Return a spec of one operation on small inputs; some are refused, since attributes and shapes do not fit."""
    declared = ops.every()[rng.choice(_NAMES)]
    types = _types(declared, rng)
    inputs: dict[str, Any] = {}
    passed: list[str | None] = []
    for number, type_ in enumerate(types):
        passed.append(None if type_ is None else f"x{number}")
        if type_ is not None:
            inputs[f"x{number}"] = _input(type_, rng)
    line: dict[str, Any] = {declared.name: _attributes(declared, rng)}
    if None in passed:
        line["from"] = {port.name: name for port, name in zip(declared.inputs, passed, strict=False) if name}
    elif passed:
        line["from"] = passed
    floats = next((t.dtype for t in types if t is not None and t.dtype in FLOATS), "float32")
    return {"netcalc": 1, "dtype": floats, "inputs": inputs, "layers": [line]}


def _input(type_: TensorType, rng: Random) -> dict[str, Any]:
    declared: dict[str, Any] = {"shape": list(type_.shape), "dtype": type_.dtype}
    range_ = rng.choice(_RANGES) if type_.dtype in FLOATS else rng.choice(_WHOLE_RANGES)
    if range_ is None and type_.dtype in INTEGERS and rng.random() < 0.5:
        range_ = [0, 3]
    return declared if range_ is None or type_.dtype == "bool" else {**declared, "range": range_}


# -- shapes and element types -----------------------------------------------------------------------


def _types(declared: type[Operation], rng: Random) -> list[TensorType | None]:
    types: list[TensorType | None] = list(declared.example.types())
    others = list(optional_inputs(declared, types)) if rng.random() < 0.4 else []
    if others:
        types = list(rng.choice(others))
    sizes = {size: rng.choice(_SIZES) for type_ in types if type_ is not None for size in type_.shape}
    kept = rng.random() < 0.4
    if rng.random() < 0.04:
        sizes[rng.choice([*sizes, 0])] = rng.choice((0, 0, 33, 10**12, 10**30))
    axes = rng.choice((0, 0, 0, 0, 0, 0, -1, 1))
    floats = rng.choice(("float32", "float32", "float32", "float64", "float16", "bfloat16"))
    drawn: list[TensorType | None] = []
    for type_ in types:
        if type_ is None:
            drawn.append(None)
            continue
        shape = [size if kept else sizes[size] for size in type_.shape]
        if rng.random() < 0.04 and shape:  # of one input only
            shape[rng.randrange(len(shape))] = rng.choice(_SIZES)
        shape = shape[1:] if axes < 0 else [rng.choice(_SIZES)] * axes + shape
        drawn.append(TensorType(tuple(shape), _dtype(type_, floats, rng)))
    return drawn


def _dtype(type_: TensorType, floats: Any, rng: Random) -> Any:
    if rng.random() < 0.04:
        return rng.choice(sorted((*FLOATS, *INTEGERS, "bool")))
    if type_.dtype in INTEGERS and rng.random() < 0.2:
        return "int32"
    return floats if type_.dtype in FLOATS else type_.dtype


# -- attributes -------------------------------------------------------------------------------------


def _attributes(declared: type[Operation], rng: Random) -> dict[str, Any]:
    """Return attributes: those of the example, of which some are drawn, and some others."""
    schema = _schema(declared.name)
    attrs = dict(declared.example.attrs)
    own = rng.choice((0.1, 0.3, 0.6))
    for name, property_ in schema.get("properties", {}).items():
        if rng.random() < (own if name not in attrs else 0.4):
            attrs[name] = _value(property_, schema.get("$defs", {}), rng)
    return attrs


@cache
def _schema(name: str) -> Mapping[str, Any]:
    return ops.every()[name].model_json_schema()


def _value(schema: Mapping[str, Any], defs: Mapping[str, Any], rng: Random) -> Any:
    """Return a value of a JSON schema; now and then of none."""
    if "$ref" in schema:
        return _value(defs[schema["$ref"].rpartition("/")[2]], defs, rng)
    if "anyOf" in schema:
        return _value(rng.choice(schema["anyOf"]), defs, rng)
    if "enum" in schema or "const" in schema:
        return rng.choice(schema["enum"]) if "enum" in schema else schema["const"]
    kind = schema.get("type", "array")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        kind = rng.choice(kind)
    if kind == "array":
        least = schema.get("minItems", 0)
        count = rng.randint(least, min(schema.get("maxItems", 4), max(least, 4)))
        items = schema.get("items", {"type": "number"})
        return [_value(items, defs, rng) for _ in range(count)]
    if kind == "object":
        return _object(schema, defs, rng)
    return {"integer": _whole, "number": _number, "boolean": _truth, "string": _text, "null": _null}[kind](schema, rng)


def _object(schema: Mapping[str, Any], defs: Mapping[str, Any], rng: Random) -> Any:
    if "properties" not in schema:
        return rng.choice(({"leaky_relu": {"slope": 0.1}}, {"gelu": {"approximate": "tanh"}}))
    required = schema.get("required", ())
    return {
        name: _value(inner, defs, rng)
        for name, inner in schema["properties"].items()
        if name in required or rng.random() < 0.4
    }


def _whole(schema: Mapping[str, Any], rng: Random) -> int:
    number = rng.choice(_EXTREMES if rng.random() < 0.06 else _WHOLES)
    return max(number, schema.get("minimum", number)) if rng.random() < 0.97 else number


def _number(schema: Mapping[str, Any], rng: Random) -> float:
    return rng.choice(_EXTREME_NUMBERS if rng.random() < 0.1 else _NUMBERS)


def _truth(schema: Mapping[str, Any], rng: Random) -> bool:
    return rng.random() < 0.5


def _text(schema: Mapping[str, Any], rng: Random) -> str:
    return rng.choice(_TEXTS)


def _null(schema: Mapping[str, Any], rng: Random) -> None:
    return None
