"""The files of ``netcalc/data/schemes``, of which a command parses the entries that it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from netcalc.spec.yaml_document import parse_yaml

_FOLDER = Path(__file__).parent.parent / "data" / "schemes"
#: A line with a key; below the line of a mapping stands its first key, on a level of its own.
_KEY = r'^{indent}("[^"]+"|[\w.{{][^:"]*):(?= |$)'
_MAPPING = re.compile(r"[^\n]*:\n(?:\s*#[^\n]*\n)*  (?![ -])")
_LEVELS = ("", "  ")


class _Entries(Mapping[str, Any]):
    """A mapping of a file, as the texts of its entries, each parsed when it is read."""

    def __init__(self, text: str, file: str, level: int = 0) -> None:
        self._file = file
        self._level = level
        starts = list(re.finditer(_KEY.format(indent=_LEVELS[level]), text, re.MULTILINE))
        ends = [*(match.start() for match in starts[1:]), len(text)]
        self._texts = {match[1].strip('"'): text[match.start() : end] for match, end in zip(starts, ends, strict=True)}
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            text = self._texts[name]
            if self._level + 1 < len(_LEVELS) and _MAPPING.match(text):
                self._read[name] = _Entries(text, self._file, self._level + 1)
            else:
                self._read[name] = parse_yaml(text, self._file).data[name]
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class _Joined(Mapping[str, Any]):
    """The entries of several mappings."""

    def __init__(self, mappings: Iterator[Mapping[str, Any]]) -> None:
        self._owners = {name: mapping for mapping in mappings for name in mapping}

    def __getitem__(self, name: str) -> Any:
        return self._owners[name][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._owners)

    def __len__(self) -> int:
        return len(self._owners)


@cache
def families() -> Mapping[str, Mapping[str, Any]]:
    """Return the content of each file, by its name without the suffix."""
    return {file.stem: _Entries(file.read_text(encoding="utf-8"), file.name) for file in sorted(_FOLDER.glob("*.yaml"))}


@cache
def entries(key: str) -> Mapping[str, Any]:
    """Return the entries of a key in all files."""
    return _Joined(family[key] for family in families().values() if key in family)
