"""Declared names with types: the variables of a spec and the arguments of a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from netcalc.dims import Poly

__all__ = ["TYPES", "Declaration", "declare_argument", "declare_variable"]

TYPES = ("int", "float", "bool", "str", "op", "list", "list[int]", "list[float]", "list[str]", "any")

_MISSING: Any = object()


class Declaration(NamedTuple):
    """A name's type, default and limits; :meth:`check` holds a value against them."""

    name: str
    type: str = "any"
    default: Any = _MISSING
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Any, ...] = ()
    about: str = ""

    @property
    def required(self) -> bool:
        """Whether a call must give it, as there is no default."""
        return self.default is _MISSING

    def check(self, value: Any) -> Any:
        """The value; ValueError saying what it should be, where it does not fit."""
        if value is None:
            if self.nullable or self.type == "any":
                return None
            raise ValueError(f"should be {_article(self.type)}, not null")
        if not _fits(value, self.type):
            raise ValueError(f"should be {_article(self.type)}, not {_shown(value)}")
        if self.choices and value not in self.choices:
            raise ValueError(f"should be one of {', '.join(map(_shown, self.choices))}, not {_shown(value)}")
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, (int, float)) and not isinstance(item, bool):
                if self.minimum is not None and item < self.minimum:
                    raise ValueError(f"should be at least {self.minimum}, not {item}")
                if self.maximum is not None and item > self.maximum:
                    raise ValueError(f"should be at most {self.maximum}, not {item}")
        return value


def declare_variable(name: str, value: Any) -> Declaration:
    """A variable from its default, or from a mapping with ``default`` and limits."""
    if isinstance(value, Mapping) and "default" in value:
        return _from_mapping(name, value)
    if isinstance(value, str) and "${" in value:
        return Declaration(name, "any", value)
    return Declaration(name, _type_of(value), value, nullable=value is None)


def declare_argument(name: str, value: Any) -> Declaration:
    """An argument from a type name (then it is required), a default, or a mapping with ``type`` and limits."""
    if isinstance(value, Mapping) and ("type" in value or "default" in value):
        return _from_mapping(name, value)
    if isinstance(value, str):
        kind, nullable = value.removesuffix("?"), value.endswith("?")
        if kind in TYPES:
            return Declaration(name, kind, None if nullable else _MISSING, nullable=nullable)
    return declare_variable(name, value)


def _from_mapping(name: str, value: Mapping[str, Any]) -> Declaration:
    unknown = set(value) - {"type", "default", "min", "max", "choices", "about"}
    if unknown:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}; there are type, default, min, max, choices, about")
    default = value.get("default", _MISSING)
    kind = value.get("type") or ("any" if default is _MISSING or _expression(default) else _type_of(default))
    nullable = isinstance(kind, str) and kind.endswith("?")
    kind = kind.removesuffix("?") if isinstance(kind, str) else kind
    if kind not in TYPES:
        raise ValueError(f"unknown type {kind!r}; there are {', '.join(TYPES)}")
    choices = value.get("choices") or ()
    if not isinstance(choices, (list, tuple)):
        raise ValueError("choices should be a list")
    for limit in ("min", "max"):
        if not _fits(value.get(limit, 0), "float"):
            raise ValueError(f"{limit} should be a number, not {_shown(value[limit])}")
    return Declaration(
        name,
        kind,
        None if nullable and default is _MISSING else default,
        nullable or default is None,
        value.get("min"),
        value.get("max"),
        tuple(choices),
        str(value.get("about") or ""),
    )


def _expression(value: Any) -> bool:
    return isinstance(value, str) and "${" in value


def _type_of(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case str():
            return "str"
        case list():
            return "list"
    return "any"


def _fits(value: Any, kind: str) -> bool:
    if kind == "any":
        return True
    if kind == "op":
        return isinstance(value, str) or (isinstance(value, Mapping) and len(value) == 1)
    if kind.startswith("list"):
        items = kind[5:-1] or "any"
        return isinstance(value, (list, tuple)) and all(_fits(item, items) for item in value)
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    if kind == "int":
        return isinstance(value, (int, Poly))
    if kind == "float":
        return isinstance(value, (int, float, Poly))
    return isinstance(value, str)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)


def _article(kind: str) -> str:
    names = {
        "int": "a whole number",
        "float": "a number",
        "bool": "true or false",
        "str": "a word",
        "op": "an operation or block, by name or as {name: arguments}",
        "list": "a list",
        "list[int]": "a list of whole numbers",
        "list[float]": "a list of numbers",
        "list[str]": "a list of words",
    }
    return names[kind]
