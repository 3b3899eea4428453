"""Names and lines of an analyzed text, for questions about places in it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from netcalc.diagnostics import NetcalcError, Span
from netcalc.ir import Body, CallNode, Node, OpNode, join
from netcalc.language.analysis import State, path_of
from netcalc.language.names import Names, Symbol
from netcalc.language.positions import Position
from netcalc.language.syntax import Grammar, Spot, spot_at
from netcalc.language.watching import Seen
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.library import Loaded, load_cursor
from netcalc.tensor_type import TensorType


class Facts:
    """The names and lines of an analyzed text; nothing for one that cannot be read."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.cursor = state.cursor or Cursor({}, (), {})
        self.grammar = Grammar(self.cursor.data, self.loaded)

    @cached_property
    def loaded(self) -> Loaded | None:
        """The spec, or one that extends and imports the same files if the text has errors; None if neither can be."""
        data = self.cursor.data
        if self.state.loaded is not None or not isinstance(data, dict):
            return self.state.loaded
        above = {key: data[key] for key in ("extends", "import") if key in data}
        spans = self.cursor.spans
        try:
            document = Cursor({"netcalc": 1, **above}, (), spans)
            return load_cursor(document, self.state.label, self.state.folder, opened=self.state.opened)
        except NetcalcError:
            return None

    @cached_property
    def names(self) -> Names:
        """The names of the text."""
        return Names(self.cursor, self.grammar)

    def place(self, position: Position) -> tuple[int, int]:
        """Return a place of the text as netcalc counts it: line and column from 1."""
        return position.line + 1, self.state.lines.column(position) + 1

    def spot(self, position: Position) -> Spot | None:
        """Return the key or value at a place; None if there is none."""
        return spot_at(self.cursor, *self.place(position), self.state.label)

    def line_at(self, path: Path) -> Seen | None:
        """Return the result of the line at a path, or of the innermost line around it; None if it has none."""
        while path and path not in self.names.lines:
            path = path[:-1]
        span = self.cursor.at(path).span if path else None
        return None if span is None else self.seen(span)

    def seen(self, span: Span) -> Seen | None:
        """Return the result of the line that begins at a place."""
        watcher = self.state.watcher
        return None if watcher is None else watcher.lines.get((span.line, span.column))

    def path_from_top(self, seen: Seen) -> str | None:
        """Return the path of a line in the network, of one in a block at its first call; None if it made nothing."""
        if not seen.nodes or self.state.costs is None:
            return None
        found = _path_to(self.state.costs.program.main, seen.nodes[0], set())
        if found is None:
            return None
        base, node = found
        return join(base, node.name) if len(seen.nodes) == 1 else join(base, path_of(seen)) or None

    def type_of(self, symbol: Symbol) -> TensorType | None:
        """Return the type of a value by its name; None if it is not known."""
        watcher = self.state.watcher
        if watcher is None or watcher.elaboration is None:
            return None
        if symbol.kind == "input" and symbol.path[:1] == ("inputs",):
            inputs = watcher.elaboration.main.inputs
            return next((value.type for value in inputs if value is not None and value.name == symbol.name), None)
        seen = self.line_at(symbol.path) if symbol.kind == "value" else None
        return None if seen is None or seen.value is None else seen.value.type

    def setting(self, name: str) -> Any:
        """Return the value of a dim or var; None if it is not known."""
        watcher = self.state.watcher
        if watcher is None or watcher.elaboration is None:
            return None
        try:
            return watcher.elaboration.settings[name]
        except (KeyError, NetcalcError):
            return None

    def declared(self, section: str, name: str) -> Any:
        """Return the declaration of a dim or var, also of one that is inherited; None if there is none."""
        loaded = self.loaded
        for data in (self.cursor.data, None if loaded is None else loaded.cursor.data):
            declared = data.get(section) if isinstance(data, dict) else None
            if isinstance(declared, dict) and name in declared:
                return declared[name]
        return None


def _path_to(body: Body, node: Node, seen: set[int]) -> tuple[str, Node] | None:
    """Return the path of the body that has a node, from the top, and the node; None if it is not inside."""
    if any(one is node for one in body.nodes):
        return "", node
    for one in body.nodes:
        if isinstance(one, OpNode) or id(one.body) in seen:
            continue
        seen.add(id(one.body))
        found = _path_to(one.body, node, seen)
        if found is not None:
            return join(_first_instance(one), found[0]), node
    return None


def _first_instance(node: CallNode) -> str:
    return node.instance(0)
