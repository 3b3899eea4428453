"""JSON Schemas of classes: the objects that :mod:`netcalc.records.writing` writes of their values.

The type of a field is the type of the attribute, and its description the docstring of the attribute or property.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from textwrap import dedent
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from netcalc.dims import Poly
from netcalc.models import Model
from netcalc.records.writing import REFERENCE, VERSIONS, entries, schema_id
from netcalc.results import NESTED, Entry, Real

Schema: TypeAlias = dict[str, Any]

_SIMPLE: Mapping[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Fraction: "number",
    str: "string",
    Poly: "string",
    NoneType: "null",
}
_NULL = {"type": "null"}


def _head_schemas(name: str | None, schema: Schema | None = None) -> Mapping[str, Schema]:
    """Return the schemas of the first fields of a record, of which a nested one has the name as any text."""
    if name is None:
        return {}
    head = {"schema": schema or {"type": "string"}}
    return head if name in REFERENCE else {**head, "netcalc": {"description": "Version of netcalc.", "type": "string"}}


class TypeSchemas:
    """Schemas of types, with ``definitions`` of the classes that they refer to."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._classes: dict[str, type] = {}

    def record(self, name: str, kind: type) -> Schema:
        """Return the schema of the record of a class."""
        schema = self.object(kind, _head_schemas(name, {"const": schema_id(name)}))
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"netcalc {name} record, version {VERSIONS[name]}",
            **({"$defs": self.definitions} if self.definitions else {}),
            **schema,
        }

    def object(self, kind: type, head: Mapping[str, Schema]) -> Schema:
        """Return the schema of the objects of a class, which begin with the fields of ``head``."""
        declared = entries(kind) or ()
        return {
            "description": _description(kind.__doc__),
            "properties": {**head, **{entry.name: self._field(kind, entry) for entry in declared}},
            "required": [*head, *(entry.name for entry in declared if not entry.optional)],
            "type": "object",
            "additionalProperties": False,
        }

    def of(self, hint: Any) -> Schema:
        """Return the schema of a type; TypeError for one whose values have no JSON."""
        origin, arguments = get_origin(hint), get_args(hint)
        if hint is Any:
            return {}
        if hint == Real:
            return self.of(float | str)
        if origin is Annotated and NESTED in arguments:
            return {"properties": {"schema": {"type": "string"}}, "required": ["schema"], "type": "object"}
        if origin is Annotated:
            return self.of(arguments[0])
        if hint in _SIMPLE:
            return {"type": _SIMPLE[hint]}
        if origin in (Union, UnionType):
            return _any_of(map(self.of, arguments))
        if origin is Literal:  # a further one of several values keeps the version of a record
            return {"type": "string", **({"const": arguments[0]} if len(arguments) == 1 else {})}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"additionalProperties": self.of(arguments[1]) or True, "type": "object"}
        if isinstance(origin, type) and issubclass(origin, Iterable):
            return {"items": self.of(arguments[0]), "type": "array"}
        if not isinstance(hint, type) or entries(hint) is None:
            raise TypeError(f"values of {hint} have no JSON")
        return self._reference(hint)

    def _reference(self, kind: type) -> Schema:
        name = kind.__name__
        if self._classes.setdefault(name, kind) is not kind:
            raise TypeError(f"a record has two classes of the name {name}")
        if name not in self.definitions:
            self.definitions[name] = {}  # first, since it may refer to itself
            self.definitions[name] = self.object(kind, _head_schemas(getattr(kind, "record_name", None)))
        return {"$ref": f"#/$defs/{name}"}

    def _field(self, kind: type, entry: Entry) -> Schema:
        hint, about = _attribute(kind, entry.attribute or entry.name)
        if entry.by is not None:
            hint = Mapping[str, get_args(hint)[0]]  # type: ignore[misc]
        schema = self.of(hint)
        if entry.optional:
            schema = _any_of(choice for choice in schema.get("anyOf", [schema]) if choice != _NULL)
        return {**schema, "description": _description(about)} if about else schema


def _attribute(kind: type, path: str) -> tuple[Any, str | None]:
    """Return the type of an attribute and its docstring."""
    name, _, rest = path.partition(".")
    value = inspect.getattr_static(kind, name, None)
    if isinstance(value, (property, cached_property, FunctionType)):
        function = value.func if isinstance(value, cached_property) else getattr(value, "fget", value)
        hint, about = _hints(function)["return"], value.__doc__
    else:
        hint = _hints(kind)[name]
        about = next((text for base in kind.__mro__ if (text := _docstrings(base).get(name))), None)
        if issubclass(kind, Model):
            about = kind.model_fields[name].description
    return _attribute(hint, rest) if rest else (hint, about)


def _hints(declared: Any) -> dict[str, Any]:
    return get_type_hints(declared, localns=_checked_names(declared.__module__), include_extras=True)


@cache
def _checked_names(module: str) -> dict[str, Any]:
    """Return the names that a module imports for type checking only."""
    names: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), names)
    return names


@cache
def _docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings below the attributes of a class."""
    if kind.__module__ == "builtins":
        return {}
    (declared,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(declared, ast.ClassDef)
    return {
        field.target.id: text.value.value
        for field, text in pairwise(declared.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def _description(text: str | None) -> str:
    """Return the first paragraph of a docstring, without the markup of Sphinx."""
    paragraph = " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split()).replace("Return a", "A", 1)
    return re.sub(r":\w+:`~?(?:[^`]*\.)?([^`]*)`", r"`\1`", paragraph.replace("``", "`"))


def _any_of(schemas: Iterable[Schema]) -> Schema:
    """Return the schema of values of any of some types, each once."""
    choices: list[Schema] = []
    for schema in schemas:
        choices += [choice for choice in schema.get("anyOf", [schema]) if choice not in choices]
    return choices[0] if len(choices) == 1 else {"anyOf": choices}
