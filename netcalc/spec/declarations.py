"""Declarations of names with types and limits: the vars of a spec and the arguments of a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from netcalc.diagnostics import written
from netcalc.dims import Poly

TYPES = ("int", "float", "bool", "str", "op", "list", "list[int]", "list[float]", "list[str]", "any")

_MISSING: Any = object()
#: Between the types of a name that may have one of several.
_OR = " | "


class Declaration(NamedTuple):
    """Type, default and limits of a name; :meth:`check` validates a value."""

    name: str
    type: str = "any"
    default: Any = _MISSING
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Any, ...] = ()
    about: str = ""
    formerly: tuple[str, ...] = ()  # earlier names

    @property
    def required(self) -> bool:
        """True if there is no default, so that a call must give a value."""
        return self.default is _MISSING

    def check(self, value: Any) -> Any:
        """Return the value; ValueError with what it should be if it does not fit."""
        if value is None:
            if self.nullable or self.type == "any":
                return None
            raise ValueError(f"should be {_described_type(self.type)}, not null")
        if not _fits(value, self.type):
            raise ValueError(f"should be {_described_type(self.type)}, not {written(value, quoted=True)}")
        if self.choices and value not in self.choices:
            listed = self.type.startswith("list") and not any(isinstance(each, (list, tuple)) for each in self.choices)
            wrong = next((item for item in value if item not in self.choices), None) if listed else value
            if wrong is not None:
                choices = ", ".join(written(choice, quoted=True) for choice in self.choices)
                raise ValueError(f"should be one of {choices}, not {written(wrong, quoted=True)}")
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, (int, float)) and not isinstance(item, bool):
                if self.minimum is not None and item < self.minimum:
                    raise ValueError(f"should be at least {self.minimum}, not {item}")
                if self.maximum is not None and item > self.maximum:
                    raise ValueError(f"should be at most {self.maximum}, not {item}")
        return value

    def accepts(self, value: Any) -> bool:
        """Return True for a value that fits."""
        try:
            self.check(value)
        except ValueError:
            return False
        return True


def declare_variable(name: str, value: Any) -> Declaration:
    """Return the declaration of a var: its default, or a mapping with ``default``, limits and former names."""
    if isinstance(value, Mapping) and "default" in value:
        return _from_mapping(name, value)
    if _is_expression(value):
        return Declaration(name, "any", value)
    return Declaration(name, _type_of(value), value, nullable=value is None)


def former_names(value: Any) -> tuple[str, ...]:
    """Return the earlier names under ``formerly`` in a declaration whose values are the same; none if malformed."""
    return tuple(item for item in _formerly(value) or () if isinstance(item, str))


def replacement(name: str, declared: Mapping[str, Any]) -> str | None:
    """Return the hint for an earlier name whose values had another meaning, from the declarations; None for others."""
    hints = [
        f"{new!r} is in its place: {item[name]}"
        for new, value in declared.items()
        for item in _formerly(value) or ()
        if isinstance(item, Mapping) and name in item
    ]
    return "; ".join(hints) or None


def earlier_names(value: Any) -> tuple[str, ...]:
    """Return all names under ``formerly`` in a declaration, those whose values had another meaning too."""
    return tuple(name for item in _formerly(value) or () for name in ((item,) if isinstance(item, str) else item))


def _formerly(value: Any) -> list[str | Mapping[str, str]] | None:
    """Return the entries under ``formerly`` in a declaration: names, or hints by name; None if they are malformed."""
    entries = value.get("formerly", []) if isinstance(value, Mapping) and value.keys() & {"default", "type"} else []
    named = (item.items() if isinstance(item, Mapping) else [(item, "")] for item in entries or ())
    is_valid = isinstance(entries, list) and all(
        isinstance(part, str) for item in named for pair in item for part in pair
    )
    return entries if is_valid else None


def declare_argument(name: str, value: Any) -> Declaration:
    """Return the declaration of an argument: a type (then it is required), a default, or a mapping with limits."""
    if isinstance(value, Mapping) and ("type" in value or "default" in value):
        return _from_mapping(name, value)
    if isinstance(value, str):
        type_, nullable = value.removesuffix("?"), value.endswith("?")
        if type_ in TYPES:
            return Declaration(name, type_, None if nullable else _MISSING, nullable=nullable)
    return declare_variable(name, value)


def _from_mapping(name: str, value: Mapping[str, Any]) -> Declaration:
    unknown = set(value) - {"type", "default", "min", "max", "choices", "about", "formerly"}
    if unknown:
        keys = "type, default, min, max, choices, about, formerly"
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}; the keys are {keys}")
    if _formerly(value) is None:
        raise ValueError("formerly should be a list of names, or of {name: text}")
    default = value.get("default", _MISSING)
    type_ = value.get("type") or ("any" if default is _MISSING or _is_expression(default) else _type_of(default))
    names = type_ if isinstance(type_, (list, tuple)) else [type_]
    nullable = any(isinstance(each, str) and each.endswith("?") for each in names)
    names = [each.removesuffix("?") if isinstance(each, str) else each for each in names]
    unknown_type = next((each for each in names if each not in TYPES), None)
    if unknown_type is not None:
        raise ValueError(f"unknown type {unknown_type!r}; the types are {', '.join(TYPES)}")
    type_ = _OR.join(names)
    choices = value.get("choices") or ()
    if not isinstance(choices, (list, tuple)):
        raise ValueError("choices should be a list")
    for limit in ("min", "max"):
        if not _fits(value.get(limit, 0), "float"):
            raise ValueError(f"{limit} should be a number, not {written(value[limit], quoted=True)}")
    return Declaration(
        name,
        type_,
        None if nullable and default is _MISSING else default,
        nullable or default is None,
        value.get("min"),
        value.get("max"),
        tuple(choices),
        str(value.get("about") or ""),
        former_names(value),
    )


def _is_expression(value: Any) -> bool:
    return isinstance(value, str) and "${" in value


def _type_of(value: Any) -> str:
    kinds = (bool, int, float, str, list)  # true and false are whole numbers too
    return next((kind.__name__ for kind in kinds if isinstance(value, kind)), "any")


def _fits(value: Any, type_: str) -> bool:
    if _OR in type_:
        return any(_fits(value, each) for each in type_.split(_OR))
    if type_ == "any":
        return True
    if type_ == "op":
        return isinstance(value, str) or (isinstance(value, Mapping) and len(value) == 1)
    if type_.startswith("list"):
        items = type_[5:-1] or "any"
        return isinstance(value, (list, tuple)) and all(_fits(item, items) for item in value)
    if type_ == "bool" or isinstance(value, bool):
        return type_ == "bool" and isinstance(value, bool)
    if type_ == "int":
        return isinstance(value, (int, Poly))
    if type_ == "float":
        return isinstance(value, (int, float, Poly))
    return isinstance(value, str)


def _described_type(type_: str) -> str:
    names = {
        "int": "a whole number",
        "float": "a number",
        "bool": "true or false",
        "str": "a string",
        "op": "an operation or block, by name or as {name: arguments}",
        "list": "a list",
        "list[int]": "a list of whole numbers",
        "list[float]": "a list of numbers",
        "list[str]": "a list of strings",
    }
    return " or ".join(names.get(each, each) for each in type_.split(_OR))
