"""Schemes of quantisation: the fields of their configurations, and the layouts of the tensors that they write.

A file ``schemes/<method>.yaml`` has these keys::

    source: the code that writes or reads such files
    fields: {FIELD: default}        # of the configuration; or {type, default, choices, min}
    without_effect: [FIELD]         # on the layout of files
    nested: {PATH: {fields, without_effect}}   # mappings within, * for any key
    variants: PATH                  # mappings within of which each tensor follows one
    by_module: true                 # other keys name modules, each with a flag or fields of its own
    plain: FIELD                    # a list of modules whose tensors are stored as they are
    layouts: [LAYOUT]
    others: [SUFFIX]                # further tensors that are no parameters

A layout says what a packed tensor and its companions, which have the same name with other endings, stand for::

    packed: {SUFFIX: {types: [TYPE], axes: [NAME]}}
    with: {SUFFIX: [NAME]}          # SUFFIX? if it may be absent; several lists of axes, or null for any
    sizes: {NAME: expression}       # of axes and fields
    that: [condition]
    gives: {SUFFIX: [expression]}
    flat: true                      # only the number of elements is known; one may be padding

An axis is a name, which stands for the same size everywhere, a number, or ``_`` for any size; ``...`` are any leading
axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, did_you_mean, written
from netcalc.expressions import Expression, parse
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.spec_files import read_spec
from netcalc.spec.yaml_document import parse_yaml

__all__ = ["Companion", "Fields", "Layout", "Scheme", "method_of", "read_scheme", "schemes", "unknown_method"]

_FOLDER = Path(__file__).parent / "schemes"

Axes = tuple["str | int", ...]


class Companion(NamedTuple):
    """A tensor beside a packed one; ``axes`` are the possible axes, none for any."""

    suffix: str
    required: bool
    axes: tuple[Axes, ...]


class Layout(NamedTuple):
    """A packed tensor with its companions, and what they stand for."""

    suffix: str
    types: frozenset[str]
    axes: Axes
    companions: tuple[Companion, ...]
    sizes: tuple[tuple[str, Expression], ...]
    conditions: tuple[Expression, ...]
    gives: str
    shape: tuple[Expression | None, ...]  # None for any leading axes
    flat: bool


class Fields(NamedTuple):
    """The fields of a mapping with their declarations, and those that have no effect."""

    declared: Mapping[str, Any]
    without_effect: frozenset[str]

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults of the fields."""
        return {
            name: value["default"] if isinstance(value, Mapping) and "default" in value else value
            for name, value in self.declared.items()
        }


class Scheme(NamedTuple):
    """A scheme of quantisation; ``method`` is its name in configurations."""

    method: str
    source: str
    fields: Fields
    nested: Mapping[str, Fields]
    variants: str
    by_module: bool
    plain: str
    layouts: tuple[Layout, ...]
    others: tuple[str, ...]


@cache
def schemes() -> tuple[str, ...]:
    """Return the names of the known schemes."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


@cache
def read_scheme(method: str) -> Scheme | None:
    """Return the scheme of a name; None if it is not known."""
    if method not in schemes():
        return None
    path = _FOLDER / f"{method}.yaml"
    data = parse_yaml(read_spec(path, path.name, MAX_SPEC_SIZE), path.name).data
    return Scheme(
        method,
        data["source"],
        _fields(data),
        {place: _fields(fields) for place, fields in data.get("nested", {}).items()},
        data.get("variants", ""),
        data.get("by_module", False),
        data.get("plain", ""),
        tuple(map(_layout, data["layouts"])),
        tuple(data.get("others", ())),
    )


def method_of(settings: Mapping[str, Any]) -> str:
    """Return the name of a scheme of quantisation, which some configurations leave out; empty if there is none."""
    method = settings.get("quant_method")
    if isinstance(method, str):
        return method
    if settings.get("load_in_4bit") or settings.get("load_in_8bit"):
        return "bitsandbytes"
    return "mlx" if {"bits", "group_size"} <= settings.keys() else ""


def unknown_method(settings: Mapping[str, Any], name: str) -> Diagnostic:
    """Return the error for a method of quantisation that is not known."""
    method = settings.get("quant_method")
    hint = did_you_mean(method, schemes()) if isinstance(method, str) else None
    message = f"{name}: the quant_method {written(method, quoted=True)} is not known"
    return Diagnostic("E007", message, hint=hint or f"known are {', '.join(schemes())}")


def _fields(data: Mapping[str, Any]) -> Fields:
    return Fields(data["fields"], frozenset(data.get("without_effect", ())))


def _layout(data: Mapping[str, Any]) -> Layout:
    ((suffix, packed),) = data["packed"].items()
    ((gives, shape),) = data["gives"].items()
    return Layout(
        suffix,
        frozenset(packed["types"]),
        tuple(packed["axes"]),
        tuple(_companion(name, axes) for name, axes in data["with"].items()),
        tuple((name, parse(text)) for name, text in data.get("sizes", {}).items()),
        tuple(map(parse, data.get("that", ()))),
        gives,
        tuple(None if size == "..." else parse(str(size)) for size in shape),
        data.get("flat", False),
    )


def _companion(name: str, axes: Any) -> Companion:
    possible = () if axes is None else tuple(map(tuple, axes)) if axes and isinstance(axes[0], list) else (tuple(axes),)
    return Companion(name.removesuffix("?"), not name.endswith("?"), possible)
