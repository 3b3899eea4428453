"""Spec documents as YAML text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

__all__ = ["spec_text"]

_WIDTH = 110


def spec_text(document: Mapping[str, Any]) -> str:
    """Return plain data as YAML: an entry on a line where it fits, and of a longer one each entry on a line."""
    return "".join(_lines(document, ""))


def _lines(data: Mapping[str, Any], margin: str) -> Iterator[str]:
    for key, value in data.items():
        lines = _flow(value)
        if len(lines) > 1 and isinstance(value, Mapping):
            yield f"{margin}{_flow(key)[0]}:\n"
            yield from _lines(value, margin + "  ")
        elif len(lines) > 1 and isinstance(value, list):
            yield f"{margin}{_flow(key)[0]}:\n"
            yield from _items(value, margin + "  ")
        else:
            first, *rest = lines
            yield f"{margin}{_flow(key)[0]}: {first}\n"
            yield from (f"{margin}  {line}\n" for line in rest)


def _items(data: list[Any], margin: str) -> Iterator[str]:
    """Yield the items of a list, each on a line if it fits."""
    for item in data:
        lines = _flow(item)
        if len(lines) > 1 and isinstance(item, Mapping):
            lines = [line.rstrip("\n") for line in _lines(item, "")]
        first, *rest = lines
        yield f"{margin}- {first}\n"
        yield from (f"{margin}  {line}\n" for line in rest)


def _flow(value: Any) -> list[str]:
    """Return the lines of a value in flow style."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = True
    yaml.width = _WIDTH
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    stream = StringIO()
    yaml.dump(value, stream)
    return [line.rstrip() for line in stream.getvalue().removesuffix("...\n").splitlines()]
