"""Nodes of a YAML document, with their places."""

from __future__ import annotations

from typing import Any, NamedTuple

#: Prefix of YAML's own tags.
TAG = "tag:yaml.org,2002:"


class Mark(NamedTuple):
    """A position in the text; line and column count from 0."""

    line: int
    column: int


class Node:
    """A scalar, list or mapping; ``value`` is its text, its items, or its pairs of a key and a value."""

    __slots__ = ("end", "kind", "start", "tag", "value")

    def __init__(self, kind: str, tag: str, value: Any, start: Mark, end: Mark) -> None:
        self.kind = kind  # scalar, seq or map
        self.tag = tag
        self.value = value
        self.start = start
        self.end = end
