"""YAML text composed to nodes that carry their places, counted while it is read."""

from __future__ import annotations

from typing import Any

from ruamel.yaml.composer import ComposerError
from ruamel.yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from netcalc.limits import MAX_DEPTH, MAX_VALUES
from netcalc.spec.yaml_nodes import TAG, Node
from netcalc.spec.yaml_scanner import LimitError, YamlParser


def compose(text: str) -> Node | None:
    """Return the root node of the only document in a text, by YAML 1.2; None if the text is empty.

    Raises:
        YAMLError: the text is no YAML, or exceeds a limit (LimitError).
    """
    parser = YamlParser(text)
    try:
        return _Composer(parser).document()
    except (ValueError, OverflowError):  # an escape beyond Unicode, in a string or in a tag
        raise ComposerError(None, None, "an escape that is no character", parser.get_mark()) from None


class _Composer:
    def __init__(self, parser: YamlParser) -> None:
        self.parser = parser
        self.anchors: dict[str, Node] = {}
        self.count = 0

    def document(self) -> Node | None:
        """Return the root node, with nothing after its document."""
        parser = self.parser
        parser.get_event()  # the start of the stream
        if isinstance(parser.peek_event(), StreamEndEvent):
            return None
        parser.get_event()  # the start of the document
        root = self.node(parser.get_event(), 0)
        parser.get_event()  # its end
        event = parser.get_event()
        if not isinstance(event, StreamEndEvent):
            message = "but found another document"
            raise ComposerError("expected a single document in the stream", root.start, message, event.start_mark)
        return root

    def node(self, event: Any, depth: int) -> Node:
        """Return the node that starts with ``event``."""
        self.count += 1
        if self.count > MAX_VALUES:
            raise LimitError(problem=f"the document has over {MAX_VALUES:,} values", problem_mark=event.start_mark)
        kind = type(event)
        if kind is AliasEvent:
            if event.anchor not in self.anchors:
                raise ComposerError(None, None, f"found undefined alias {event.anchor!r}", event.start_mark)
            return self.anchors[event.anchor]
        if depth > MAX_DEPTH:
            raise LimitError(problem=f"nested deeper than {MAX_DEPTH} levels", problem_mark=event.start_mark)
        if kind is ScalarEvent:
            node = Node("scalar", self.scalar_tag(event), event.value, event.start_mark, event.end_mark)
        else:
            name = "map" if kind is MappingStartEvent else "seq"
            node = Node(name, _given_tag(event) or TAG + name, [], event.start_mark, event.end_mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        if node.kind == "seq":
            self.items(node, depth + 1)
        elif node.kind == "map":
            self.pairs(node, depth + 1)
        return node

    def items(self, node: Node, depth: int) -> None:
        """Add the items of a list."""
        get_event = self.parser.get_event
        while not isinstance(event := get_event(), SequenceEndEvent):
            node.value.append(self.node(event, depth))
        node.end = event.end_mark

    def pairs(self, node: Node, depth: int) -> None:
        """Add the pairs of a mapping."""
        get_event = self.parser.get_event
        while not isinstance(event := get_event(), MappingEndEvent):
            key = self.node(event, depth)
            self.count -= 1  # a key is no value
            if key.kind != "scalar":
                raise LimitError(problem="a key should be a plain scalar", problem_mark=event.start_mark)
            node.value.append((key, self.node(get_event(), depth)))
        node.end = event.end_mark

    def scalar_tag(self, event: Any) -> str:
        """Return the tag of a scalar: its own, or for a plain scalar the tag that its text implies."""
        explicit = _given_tag(event)
        if explicit is not None:
            return explicit
        text = event.value
        if event.implicit[0]:
            for tag, pattern in self.parser.versioned_resolver.get(text[:1], ()):
                if pattern.match(text):
                    return str(tag)
        return TAG + "str"


def _given_tag(event: Any) -> str | None:
    """Return the tag that is written before a node, if it is not ``!``."""
    tag = None if event.ctag is None else str(event.ctag)
    return None if tag == "!" else tag
