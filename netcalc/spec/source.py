"""YAML text to plain data, with the place of every key and value.

YAML 1.2: ``on`` and ``no`` are strings.  Duplicate keys and tags are refused, and the expansion of aliases and the
depth of nesting are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, Span

__all__ = ["Cursor", "Path", "parse_scalar", "parse_yaml"]

Path: TypeAlias = tuple[str | int, ...]

MAX_NODES = 200_000
MAX_DEPTH = 60

MAX_DIGITS = 1_000

_TAG = "tag:yaml.org,2002:"


def _whole(text: str) -> int:
    return int(text, 0) if text.lstrip("+-")[:2] in ("0x", "0o", "0b") else int(text)


#: How a plain scalar in lower case and without underscores is read.
_READERS: dict[str, Callable[[str], Any]] = {
    _TAG + "bool": {"true": True, "false": False}.__getitem__,
    _TAG + "int": _whole,
    _TAG + "float": lambda text: float(text.replace(".inf", "inf").replace(".nan", "nan")),
}


class Cursor:
    """A value in a parsed document, with its path and the spans of everything in it."""

    __slots__ = ("data", "path", "spans")

    def __init__(self, data: Any, path: Path, spans: Mapping[Path, tuple[Span | None, Span]]) -> None:
        self.data = data
        self.path = path
        self.spans = spans  # path -> (span of the key, span of the value)

    def __getitem__(self, key: str | int) -> Cursor:
        return Cursor(self.data[key], (*self.path, key), self.spans)

    def items(self) -> Iterator[tuple[str, Cursor]]:
        """The entries of a mapping."""
        for key in self.data:
            yield key, self[key]

    def elements(self) -> Iterator[Cursor]:
        """The items of a list."""
        for index in range(len(self.data)):
            yield self[index]

    @property
    def span(self) -> Span | None:
        """The place of the value (or of the nearest thing around it that has one)."""
        return self._nearest()[1]

    @property
    def key_span(self) -> Span | None:
        """The place of the key, or of the value where there is no key."""
        key, value = self._nearest()
        return key or value

    def at(self, loc: tuple[str | int, ...]) -> Cursor:
        """The cursor at a path below this one, as deep as the data goes."""
        here = self
        for part in loc:
            inside = isinstance(here.data, dict) and part in here.data
            if not inside and not (isinstance(here.data, list) and isinstance(part, int) and part < len(here.data)):
                break
            here = here[part]
        return here

    def _nearest(self) -> tuple[Span | None, Span | None]:
        path = self.path
        while path not in self.spans:
            if not path:
                return None, None
            path = path[:-1]
        return self.spans[path]


def parse_yaml(text: str, file: str) -> Cursor:
    """The document's data and spans; NetcalcError (E001, E002, E003) where it is not sound."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    from netcalc.spec.nodes import compose

    # YAML 1.2 breaks lines at these only, which splitlines does not
    lines = re.split(r"\r\n?|\n", re.sub(r"(\r\n?|\n)\Z", "", text))
    try:
        node = compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = _mark_span(file, lines, mark.line, mark.column) if mark else None
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise NetcalcError(Diagnostic("E001", message, span, hint=_yaml_hint(message, span))) from None
    except YAMLError as error:
        raise NetcalcError(Diagnostic("E001", str(error).strip().splitlines()[0], Span(file, 1, 1, 2))) from None
    if node is None:
        raise NetcalcError(Diagnostic("E001", "the document is empty", Span(file, 1, 1, 2)))
    builder = _Builder(file, lines)
    data = builder.build(node, (), None, 0)
    return Cursor(data, (), builder.spans)


def parse_scalar(text: str) -> Any:
    """The value of a ``--set`` argument: YAML's reading of it, data only."""
    return parse_yaml(text, "--set").data if text.strip() else ""


class _Builder:
    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self.spans: dict[Path, tuple[Span | None, Span]] = {}
        self.nodes = 0

    def build(self, node: Any, path: Path, key: Span | None, depth: int) -> Any:
        span = self.span(node)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise NetcalcError(Diagnostic("E003", f"the document has over {MAX_NODES:,} nodes, aliases expanded", span))
        if depth > MAX_DEPTH:
            raise NetcalcError(Diagnostic("E003", f"nested deeper than {MAX_DEPTH} levels", span))
        self.spans[path] = (key, span)
        kind = type(node).__name__
        if kind == "MappingNode":
            return self.mapping(node, path, depth)
        if kind == "SequenceNode":
            self.expect_tag(node, "seq", span)
            return [self.build(item, (*path, i), None, depth + 1) for i, item in enumerate(node.value)]
        return self.scalar(node, span)

    def mapping(self, node: Any, path: Path, depth: int) -> dict[str, Any]:
        self.expect_tag(node, "map", self.span(node))
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            span = self.span(key_node)
            if type(key_node).__name__ != "ScalarNode":
                raise NetcalcError(Diagnostic("E003", "a key should be a plain word", span))
            key = str(key_node.value)
            if key in out:
                first = self.spans[(*path, key)][0]
                where = f"first given on line {first.line}" if first else None
                raise NetcalcError(Diagnostic("E002", f"the key {key!r} is given twice", span, hint=where))
            out[key] = self.build(value_node, (*path, key), span, depth + 1)
        return out

    def scalar(self, node: Any, span: Span) -> Any:
        tag = str(node.tag)
        text = node.value
        if tag == _TAG + "str":
            return text
        if tag == _TAG + "null":
            return None
        if tag in _READERS:
            if len(text) > MAX_DIGITS:
                raise NetcalcError(Diagnostic("E003", f"a number of over {MAX_DIGITS:,} characters", span))
            try:
                return _READERS[tag](text.replace("_", "").lower())
            except (KeyError, ValueError):
                raise NetcalcError(Diagnostic("E001", f"{text!r} is not what {_short(tag)} says", span)) from None
        if tag == _TAG + "timestamp":
            return text
        raise NetcalcError(Diagnostic("E003", f"the tag {_short(tag)} is not allowed: a spec is plain data", span))

    def expect_tag(self, node: Any, kind: str, span: Span) -> None:
        if str(node.tag) != _TAG + kind:
            raise NetcalcError(
                Diagnostic("E003", f"the tag {_short(str(node.tag))} is not allowed: a spec is plain data", span)
            )

    def span(self, node: Any) -> Span:
        start, end = node.start_mark, node.end_mark
        line = self.lines[start.line] if start.line < len(self.lines) else ""
        # a value over several lines is marked on its first
        stop = end.column if end.line == start.line else len(line.rstrip())
        return Span(self.file, start.line + 1, start.column + 1, max(stop, start.column + 1) + 1, line)


def within(span: Span | None, text: str, column: int, length: int = 1) -> Span | None:
    """The part of a scalar's span where ``text`` stands, from ``column`` in it; the span itself if it is not found."""
    if span is None:
        return None
    at = span.text.find(text, span.column - 1)
    if at < 0:
        return span
    return span._replace(column=at + column + 1, end=at + column + 1 + max(length, 1))


def _mark_span(file: str, lines: list[str], line: int, column: int) -> Span:
    line = min(line, max(len(lines) - 1, 0))
    return Span(file, line + 1, column + 1, column + 2, lines[line] if lines else "")


def _yaml_hint(message: str, span: Span | None) -> str | None:
    if span is not None and "\t" in span.text[: span.column]:
        return "indent with spaces; YAML does not allow tabs"
    if "mapping values are not allowed" in message:
        return "quote a value that contains ': '"
    if "expected ',' or" in message:
        return 'close the bracket, or quote a value that contains one: "${…}"'
    return None


def _short(tag: str) -> str:
    return tag.replace(_TAG, "!!")
