"""JSON data of classes, and their schemas, from one declaration."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import jsonschema
import pytest

from netcalc.dims import Dim, symbol
from netcalc.ops import find
from netcalc.records.writing import record, written
from netcalc.results import Entry, Real, recorded
from netcalc.tensor_type import TensorType
from tests.generators.type_schema import TypeSchemas


class Part(NamedTuple):
    """A part.

    With a second paragraph.
    """

    name: str
    size: Dim
    """Size of the ``part``."""


@recorded(
    *(Entry("title", "name"), Entry("first", "parts.name"), "total"),
    *(Entry("parts", by="name"), Entry("note", optional=True), "kind", "ratio"),
)
@dataclass(frozen=True)
class Whole:
    """Parts together."""

    name: str
    parts: Parts
    note: str | None = None
    kind: Literal["a", "b"] = "a"
    ratio: Real = math.inf
    hidden: Any = None

    def total(self) -> int:
        """Return a number of parts."""
        return len(self.parts)


class Parts(tuple[Part, ...]):
    """Parts, and the name of the first."""

    @property
    def name(self) -> str:
        """Name of the first part."""
        return self[0].name


def schema(kind: type) -> dict[str, Any]:
    types = TypeSchemas()
    return {**types.object(kind, {}), "$defs": types.definitions}


def test_a_class_declares_its_object() -> None:
    parts = Parts([Part("p", 2), Part("q", symbol("n"))])
    data = written(Whole("w", parts))
    assert data == {
        "title": "w",
        "first": "p",
        "total": 2,
        "parts": {"p": {"name": "p", "size": 2}, "q": {"name": "q", "size": "n"}},
        "kind": "a",
        "ratio": "inf",
    }
    assert list(data) == ["title", "first", "total", "parts", "kind", "ratio"]
    assert written(Whole("w", parts, "text"))["note"] == "text"


def test_values_have_json_types() -> None:
    values = (1, True, None, "a", 0.5, math.nan, 1j, symbol("n") * 2, Fraction(1, 2), {"k": (1,)}, frozenset({1}))
    expected = [1, True, None, "a", 0.5, "nan", "1j", "2*n", 0.5, {"k": [1]}, [1]]
    assert written(values) == expected
    assert written(TensorType((2, symbol("n")), "int8")) == {"shape": [2, "n"], "dtype": "int8"}
    linear, relu = find("linear"), find("relu")
    assert linear is not None
    assert relu is not None
    assert written({"op": linear(out=3), "activation": relu()}) == {"op": {"linear": {"out": 3}}, "activation": "relu"}


def test_the_schema_follows_from_hints_and_docstrings() -> None:
    class_schema = schema(Part)
    assert class_schema["description"] == "A part."
    assert class_schema["properties"] == {
        "name": {"type": "string"},
        "size": {"anyOf": [{"type": "integer"}, {"type": "string"}], "description": "Size of the `part`."},
    }
    assert class_schema["required"] == ["name", "size"]


@recorded(name="memory")
class Nested(NamedTuple):
    """A record within a record."""

    parts: Mapping[str, tuple[Part, ...]]
    other: Nested | None = None


def test_a_record_may_hold_another() -> None:
    data = record(Nested({"a": (Part("p", 1),)}, Nested({})))
    assert data["schema"] == data["other"]["schema"] == "netcalc/memory/1"
    types = TypeSchemas()
    check = jsonschema.Draft202012Validator(types.record("memory", Nested))
    check.validate(json.loads(json.dumps(data)))
    assert not check.is_valid({**data, "other": {"parts": {}, "other": None}})


def test_rows_may_be_replaced() -> None:
    assert record(Nested({"a": ()}), parts={"b": [Part("q", 3)]})["parts"] == {"b": [{"name": "q", "size": 3}]}


def test_a_type_without_json_is_an_error() -> None:
    class Wrong(NamedTuple):
        value: object

    with pytest.raises(TypeError, match="have no JSON"):
        schema(Wrong)
    with pytest.raises(TypeError, match="no record of"):
        record(Wrong(1))
