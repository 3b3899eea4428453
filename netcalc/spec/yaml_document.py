"""Spec documents written as YAML text, read to plain data with the place of every key and value.

YAML 1.2: ``on`` and ``no`` are strings.  Duplicate keys and tags are rejected; the expansion of aliases and the depth
of nesting are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from netcalc.characters import composed, misread
from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.plain_text import joined_surrogates
from netcalc.spec.plain_yaml import TooManyValuesError, plain_document
from netcalc.spec.yaml_nodes import TAG, Node


def _integer(text: str) -> int:
    return int(text, 0) if text.lstrip("+-")[:2] in ("0x", "0o", "0b") else int(text)


#: Readers of plain scalars, given in lower case and without underscores.
_READERS: dict[str, Callable[[str], Any]] = {
    TAG + "bool": {"true": True, "false": False}.__getitem__,
    TAG + "int": _integer,
    TAG + "float": lambda text: float(text.replace(".inf", "inf").replace(".nan", "nan")),
}


def parse_yaml(text: str, file: str) -> Cursor:
    """Return the data of a YAML document with the place of every key and value; ``file`` is named in the places.

    Raises:
        NetcalcError: E001 (syntax), E002 (duplicate key) or E003 (a YAML feature or size that is not allowed).
    """
    text = with_line_feeds(text)
    # str.splitlines also splits at characters that are no line breaks in YAML 1.2
    lines = text.removesuffix("\n").split("\n")
    return located(_root(text, file, lines), file, lines)


def located(node: Node, file: str, lines: list[str], depth: int = 0) -> Cursor:
    """Return the data of a node with the places of everything in it; ``depth`` is that of the node in its document.

    Raises:
        NetcalcError: as :func:`parse_yaml`, but for syntax.
    """
    reader = _DocumentReader(file, lines)
    data = reader.read(node, (), None, depth)
    return Cursor(data, (), reader.spans)


def syntax_error(text: str, file: str, lines: list[str]) -> NetcalcError | None:
    """Return the error of a text that is no YAML, with places in ``lines``; None if it is."""
    try:
        _compose_root(text, file, lines)
    except NetcalcError as error:
        return error
    return None


def composed_root(text: str) -> Node | None:
    """Return the root node of a text as ruamel reads it; None for one that is no YAML, or empty."""
    try:
        return _compose_root(text, "", text.split("\n"))
    except NetcalcError:
        return None


def root_node(text: str) -> Node:
    """Return the root node of a YAML document, with the marks of everything in it; errors as :func:`parse_yaml`."""
    text = with_line_feeds(text)
    return _root(text, "", text.removesuffix("\n").split("\n"))


def with_line_feeds(text: str) -> str:
    """Return a text without byte order mark, whose line breaks are line feeds."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _root(text: str, file: str, lines: list[str]) -> Node:
    try:
        node = plain_document(text)
    except TooManyValuesError as error:
        message = f"the document has over {MAX_VALUES:,} values"
        raise NetcalcError(Diagnostic("E003", message, _mark_span(file, lines, *error.mark))) from None
    node = node or _compose_root(text, file, lines)
    if node is None:
        raise NetcalcError(Diagnostic("E001", "the document is empty", Span(file, 1, 1, 2)))
    return node


def _compose_root(text: str, file: str, lines: list[str]) -> Node | None:
    """Return the root node of a text with its lines; NetcalcError if it is no YAML."""
    # The package, not a module of it: they import each other, and threads that begin with different ones deadlock.
    import ruamel.yaml

    from netcalc.spec.yaml_composer import compose
    from netcalc.spec.yaml_scanner import LimitError

    try:
        return compose(text)
    except ruamel.yaml.error.MarkedYAMLError as error:
        mark = _mark(error)
        span = _mark_span(file, lines, mark.line, mark.column) if mark else None
        if mark and (found := _misread(file, lines, mark.line)) is not None:
            raise NetcalcError(found) from None
        message = " ".join(part for part in (error.context, error.problem) if part)
        code = "E003" if isinstance(error, LimitError) else "E001"
        raise NetcalcError(Diagnostic(code, message, span, hint=_yaml_hint(message, span))) from None
    except ruamel.yaml.reader.ReaderError as error:
        start = text.rfind("\n", 0, error.position) + 1
        span = _mark_span(file, lines, text.count("\n", 0, start), error.position - start)
        message = f"the character U+{error.character:04X} is not allowed in YAML"
        raise NetcalcError(Diagnostic("E001", message, span)) from None


def parse_scalar(text: str) -> Any:
    """Return the value of a ``--set`` argument, read as YAML; an empty text is an empty string."""
    return parse_yaml(text, "--set").data if text.strip() else ""


class _DocumentReader:
    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self.spans: dict[Path, tuple[Span | None, Span]] = {}

    def read(self, node: Node, path: Path, key: Span | None, depth: int) -> Any:
        span = self.span(node)
        if len(self.spans) >= MAX_VALUES:
            message = f"the document has over {MAX_VALUES:,} values, aliases expanded"
            raise NetcalcError(Diagnostic("E003", message, span))
        if depth > MAX_DEPTH:
            raise NetcalcError(Diagnostic("E003", f"nested deeper than {MAX_DEPTH} levels", span))
        self.spans[path] = (key, span)
        if node.kind == "map":
            return self.mapping(node, path, depth)
        if node.kind == "seq":
            self.expect_tag(node, "seq", span)
            return [self.read(item, (*path, i), None, depth + 1) for i, item in enumerate(node.value)]
        return self.scalar(node, span)

    def mapping(self, node: Node, path: Path, depth: int) -> dict[str, Any]:
        self.expect_tag(node, "map", self.span(node))
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            span = self.span(key_node)
            key = self.text(key_node, span)
            if key in out:
                first = self.spans[(*path, key)][0]
                hint = f"the first is on line {first.line}" if first else None
                raise NetcalcError(Diagnostic("E002", f"duplicate key {key!r}", span, hint=hint))
            out[key] = self.read(value_node, (*path, key), span, depth + 1)
        return out

    def scalar(self, node: Node, span: Span) -> Any:
        tag, text = node.tag, node.value
        if tag == TAG + "str":
            return self.text(node, span)
        if tag == TAG + "null":
            return None
        if tag in _READERS:
            if len(text) > MAX_DIGITS:
                raise NetcalcError(Diagnostic("E003", f"a number of over {MAX_DIGITS:,} characters", span))
            try:
                return _READERS[tag](text.replace("_", "").lower())
            except (KeyError, ValueError):
                raise NetcalcError(Diagnostic("E001", f"{text!r} is not a valid {_short_tag(tag)}", span)) from None
        if tag == TAG + "timestamp":
            return text
        raise NetcalcError(Diagnostic("E003", _tag_message(tag), span))

    def text(self, node: Node, span: Span) -> str:
        """Return the text of a scalar; NetcalcError for one that UTF-8 cannot write."""
        text: str = node.value
        try:
            return composed(joined_surrogates(text))
        except UnicodeError:
            raise NetcalcError(Diagnostic("E001", "half of a surrogate pair is no character", span)) from None

    def expect_tag(self, node: Node, kind: str, span: Span) -> None:
        if node.tag != TAG + kind:
            raise NetcalcError(Diagnostic("E003", _tag_message(node.tag), span))

    def span(self, node: Node) -> Span:
        start, end = node.start, node.end
        line = self.lines[start.line] if start.line < len(self.lines) else ""
        # a value of several lines is marked on its first line
        stop = end.column if end.line == start.line else len(line.rstrip())
        more = tuple(self.lines[start.line + 1 : end.line + 1]) if node.kind == "scalar" else ()
        return Span(self.file, start.line + 1, start.column + 1, max(stop, start.column + 1) + 1, line, "", more)


def _mark(error: Any) -> Any:
    """Return the place of a mistake: of a bracket or quotation mark that a later line finds open, where it opens."""
    found, opened = error.problem_mark, error.context_mark
    is_open = any(kind in (error.context or "") for kind in ("flow", "quoted scalar"))
    return opened if found is None or (is_open and opened is not None and opened.line < found.line) else found


def _mark_span(file: str, lines: list[str], line: int, column: int) -> Span:
    line = min(line, max(len(lines) - 1, 0))
    return Span(file, line + 1, column + 1, column + 2, lines[line] if lines else "")


def _misread(file: str, lines: list[str], line: int) -> Diagnostic | None:
    """Return the error at a full-width character that YAML stumbled over, in a line or the one before it."""
    before = next((number for number in range(line - 1, -1, -1) if lines[number].strip()), line)
    for number in (line, before):
        found = misread(lines[number]) if number < len(lines) else None
        if found is not None:
            message = f"{found.character!r} is a letter like others in YAML, which needs {found.ascii!r} here"
            return Diagnostic("E001", message, _mark_span(file, lines, number, found.column), hint=found.hint)
    return None


#: ``- conv2d {out: 8}``
_WITHOUT_COLON = re.compile(r"\s*(?:- +)?([\w.]+) *\{")
#: ``- conv2d: out: 8``
_TWO_COLONS = re.compile(r"\s*- +(\w+): +(\w+: [^{}\[\]]+)$")


def _yaml_hint(message: str, span: Span | None) -> str | None:
    if span is not None and "\t" in span.text[: span.column]:
        return "indent with spaces; YAML does not allow tabs"
    if "mapping values are not allowed" in message:
        line = "" if span is None else span.text
        if (found := _WITHOUT_COLON.match(line)) is not None:
            return f"write a colon after the name, as in `{found[1]}: {{…}}`"
        if (found := _TWO_COLONS.match(line)) is not None:
            return f"write `{found[1]}: {{{found[2].strip()}}}`, or quote a value that contains ': '"
        return "quote a value that contains ': '"
    if "quoted scalar" in message and "end of stream" in message:
        return "close the quotation mark"
    if "expected <block end>" in message:
        return "indent as the lines before: entries of one list or mapping begin in one column"
    if "sequence entries are not allowed" in message:
        return "each line begins with a hyphen of its own"
    if "expected the node content" in message and "stream end" in message:
        return "write a value, and close the bracket"
    if "expected ',' or" in message:
        return 'close the bracket, or quote a value that contains a bracket: "${…}"'
    return None


def _short_tag(tag: str) -> str:
    return tag.replace(TAG, "!!") if tag.startswith(TAG) else tag


def _tag_message(tag: str) -> str:
    return f"the tag {_short_tag(tag)} is not allowed: a spec is plain data"
