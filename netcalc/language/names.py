"""The names of a document: where each is defined, what each use refers to, and what a line can refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc import ops
from netcalc.diagnostics import Span
from netcalc.language.expressions import names_of
from netcalc.language.syntax import Grammar
from netcalc.spec.cursor import Cursor, Path, within
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE

#: What a name stands for.
SymbolKind: TypeAlias = Literal["dim", "var", "input", "value", "block", "argument", "variable"]
_CONDITIONS = ("when", "share", "freeze", "inline")


@dataclass(eq=False, slots=True)
class Symbol:
    """A name with the places where the text defines it: several if lines with opposite conditions have one name.

    ``inner`` are the names that a path can go on with.
    """

    name: str
    kind: SymbolKind
    path: Path = ()
    places: list[Span] = field(default_factory=list)
    inner: Frame | None = None
    order: int = 0


class Use(NamedTuple):
    """A use of a name, or its definition."""

    symbol: Symbol
    span: Span
    is_definition: bool = False


@dataclass(eq=False, slots=True)
class Frame:
    """Names that are visible in a list of lines, and in the lists inside it."""

    parent: Frame | None = None
    symbols: dict[str, Symbol] = field(default_factory=dict)
    is_block: bool = False  # values outside are not visible

    def find(self, name: str) -> Symbol | None:
        """Return the symbol of a name that is visible here; None if there is none."""
        frame: Frame | None = self
        values = True
        while frame is not None:
            symbol = frame.symbols.get(name)
            if symbol is not None and (values or symbol.kind in ("dim", "var")):
                return symbol
            values = values and not frame.is_block
            frame = frame.parent
        return None

    def visible(self) -> Iterator[Symbol]:
        """Yield the symbols that are visible here, the innermost first."""
        frame: Frame | None = self
        values = True
        while frame is not None:
            yield from (symbol for symbol in frame.symbols.values() if values or symbol.kind in ("dim", "var"))
            values = values and not frame.is_block
            frame = frame.parent


class Names:
    """All names of a document with their uses."""

    def __init__(self, cursor: Cursor, grammar: Grammar) -> None:
        self.grammar = grammar
        self.uses: list[Use] = []
        self.root = Frame()
        self.blocks: dict[str, Symbol] = {}
        #: The frame of each line, and the number of symbols that were defined before it.
        self.lines: dict[Path, tuple[Frame, int]] = {}
        self._open: list[tuple[str, Span, Frame]] = []  # uses of names that no line before has
        self._count = 0
        if isinstance(cursor.data, dict):
            self._document(cursor)
        for text, span, frame in self._open:
            self._path(text, span, frame, is_last=True)

    def at(self, line: int, column: int) -> Use | None:
        """Return the use or definition at a place, which counts from 1; the shortest if there are several."""
        found = [use for use in self.uses if use.span.line == line and use.span.column <= column <= use.span.end]
        return min(found, key=lambda use: use.span.end - use.span.column, default=None)

    def uses_of(self, symbol: Symbol) -> list[Use]:
        """Return the definitions and uses of a symbol, each place once."""
        places = {(use.span.line, use.span.column): use for use in self.uses if use.symbol is symbol}
        return [places[place] for place in sorted(places)]

    def visible_at(self, path: Path) -> list[Symbol]:
        """Return the symbols that the line at a path, or around it, can refer to."""
        while path and path not in self.lines:
            path = path[:-1]
        frame, order = self.lines.get(path, (self.root, self._count))
        seen: dict[str, Symbol] = {}
        for symbol in frame.visible():
            if symbol.order < order or symbol.kind in ("dim", "var", "argument"):
                seen.setdefault(symbol.name, symbol)
        return list(seen.values())

    # -- definitions and uses ---------------------------------------------------------------------

    def _define(self, frame: Frame, name: Any, kind: SymbolKind, cursor: Cursor, span: Span | None) -> Symbol | None:
        if not isinstance(name, (str, int)) or isinstance(name, bool) or "$" in str(name):
            return None
        name = str(name)
        symbol = frame.symbols.get(name)
        if symbol is None:
            symbol = frame.symbols[name] = Symbol(name, kind, cursor.path, order=self._count)
            self._count += 1
        if span is not None:
            symbol.places.append(span)
            self.uses.append(Use(symbol, _inside(span, name), is_definition=True))
        return symbol

    def _path(self, text: str, span: Span | None, frame: Frame, *, is_last: bool = False) -> None:
        """Note the uses of the names in a path; ``span`` is the place of the text."""
        if span is None or "$" in text:
            return
        start = within(span, text, 0, len(text)) or span
        at = start.column
        parts = text.split(".")
        here: Frame | None = frame
        is_first = True
        while parts and here is not None:
            if not is_first and parts[0].removeprefix("-").isdecimal():
                at += len(parts.pop(0)) + 1
                continue
            found = next(
                (
                    (count, symbol)
                    for count in range(len(parts), 0, -1)
                    if (symbol := _named(here, ".".join(parts[:count]), is_first)) is not None
                ),
                None,
            )
            if found is None:
                if is_first and not is_last:
                    self._open.append((text, span, frame))
                return
            count, symbol = found
            name = ".".join(parts[:count])
            self.uses.append(Use(symbol, start._replace(column=at, end=at + len(name))))
            at += len(name) + 1
            parts, here, is_first = parts[count:], symbol.inner, False

    def _text(self, cursor: Cursor, frame: Frame, *, is_expression: bool = False) -> None:
        """Note the names in the expressions of a value and of everything in it."""
        data = cursor.data
        if isinstance(data, str):
            for place in names_of(data, is_expression=is_expression):
                span = within(cursor.span, data, place.column, len(place.name))
                if place.is_path:
                    self._path(place.name, span, frame)
                elif span is not None and (symbol := frame.find(place.name)) is not None:
                    self.uses.append(Use(symbol, span))
                elif span is not None:
                    self._open.append((place.name, span, frame))
        elif isinstance(data, list):
            for item in cursor.elements():
                self._text(item, frame, is_expression=is_expression)
        elif isinstance(data, dict):
            for key, item in cursor.items():
                if "${" in str(key):
                    self._text(Cursor(key, cursor.path, {cursor.path: (None, item.key_span)}), frame)  # type: ignore[dict-item]
                self._text(item, frame, is_expression=is_expression or key in ("when", "that", "repeat"))

    def _block_use(self, name: Any, span: Span | None) -> None:
        if isinstance(name, str) and span is not None and name in self.blocks:
            self.uses.append(Use(self.blocks[name], _inside(span, name)))

    # -- parts of a document ----------------------------------------------------------------------

    def _document(self, cursor: Cursor) -> None:
        for section, kind in (("dims", "dim"), ("vars", "var"), ("inputs", "input")):
            for name, item in _items(cursor, section):
                self._define(self.root, name, kind, item, item.key_span)  # type: ignore[arg-type]
        for name, item in _items(cursor, "blocks"):
            symbol = Symbol(name, "block", item.path, [item.key_span] if item.key_span else [], Frame(self.root))
            self.blocks[name] = symbol
            if item.key_span is not None:
                self.uses.append(Use(symbol, _inside(item.key_span, name), is_definition=True))
        for section in ("dims", "vars"):
            for _, item in _items(cursor, section):
                self._text(item, self.root)
        for _, item in _items(cursor, "inputs"):
            self._input(item)
        for name, item in _items(cursor, "blocks"):
            self._block(self.blocks[name], item)
        for key, item in cursor.items():
            if key == "layers":
                self._lines(item, self.root)
            elif key == "outputs":
                self._outputs(item, self.root)
            elif key == "loss" and isinstance(item.data, dict):
                self._loss(item)
            elif key == "patch" and isinstance(item.data, list):
                for patch in item.elements():
                    self._patch(patch)
            elif key not in ("dims", "vars", "inputs", "blocks"):
                self._text(item, self.root)
                if key in ("init", "checkpoint", "tensor_parallel") and isinstance(item.data, dict):
                    for pattern, entry in item.items():
                        self._path(str(pattern), entry.key_span, self.root)

    def _input(self, cursor: Cursor) -> None:
        data = cursor.data
        shape = cursor["shape"] if isinstance(data, dict) and "shape" in data else cursor
        if isinstance(shape.data, list):
            self._text(shape, self.root, is_expression=True)
        for key in ("when", "repeat", "range", "default"):
            if isinstance(data, dict) and key in data:
                self._text(cursor[key], self.root, is_expression=key in ("when", "repeat"))

    def _block(self, symbol: Symbol, cursor: Cursor) -> None:
        frame = symbol.inner
        if frame is None or not isinstance(cursor.data, dict):
            return
        frame.is_block = True
        for name, item in _items(cursor, "args"):
            self._define(frame, name, "argument", item, item.key_span)
        for _, item in _items(cursor, "args"):
            self._text(item, frame)
            self._targets(item)
        inputs = cursor["inputs"] if isinstance(cursor.data.get("inputs"), list) else None
        for item in inputs.elements() if inputs is not None else ():
            if isinstance(item.data, str):
                name = item.data.partition("=")[0].strip().rstrip("?")
                self._define(frame, name, "input", item, within(item.span, name, 0, len(name)))
        for key, item in cursor.items():
            if key == "layers":
                self._lines(item, frame)
            elif key == "outputs":
                self._outputs(item, frame)
            elif key not in ("args", "inputs", "about", "source", "example"):
                self._text(item, frame)

    def _loss(self, cursor: Cursor) -> None:
        frame = Frame(self.root)
        for name, item in _items(cursor, "inputs"):
            self._define(frame, name, "input", item, item.key_span)
            self._input(item)
        if "layers" in cursor.data:
            self._lines(cursor["layers"], frame)
        if "when" in cursor.data:
            self._text(cursor["when"], frame, is_expression=True)

    def _patch(self, cursor: Cursor) -> None:
        for key, item in cursor.items() if isinstance(cursor.data, dict) else ():
            if key in ("insert", "append"):
                self._lines(item, self.root)
            elif key == "replace":
                self._line(item, self.root)
            elif key == "set":
                self._text(item, self.root)
                self._targets(item)

    def _outputs(self, cursor: Cursor, frame: Frame) -> None:
        data = cursor.data
        for item in _values(cursor) if isinstance(data, (dict, list)) else ():
            if isinstance(item.data, str):
                self._path(item.data.removesuffix("?"), item.span, frame)

    # -- lines ------------------------------------------------------------------------------------

    def _lines(self, cursor: Cursor, frame: Frame) -> None:
        for item in cursor.elements() if isinstance(cursor.data, list) else ():
            self._line(item, frame)

    def _line(self, cursor: Cursor, frame: Frame) -> None:
        self.lines[cursor.path] = frame, self._count
        data = cursor.data
        if isinstance(data, str):
            self._text(cursor, frame)
            self._block_use(data, cursor.span)
        if not isinstance(data, dict):
            return
        inner = self._modifiers(cursor, frame)
        target = next((key for key in data if key not in MODIFIERS), None)
        below: Frame | None = None
        if target is not None:
            place = cursor[target]
            self._block_use(target, place.key_span)
            if "${" in target:
                self._text(Cursor(target, (), {(): (None, place.key_span)}), inner)  # type: ignore[dict-item]
            below = self._arguments(target, place, inner, is_named="name" in data)
            if target in self.blocks:
                below = self.blocks[target].inner
        if "name" in data and (symbol := self._name(cursor, frame, inner)) is not None and below is not None:
            symbol.inner = below
        labels = cursor["as"] if "as" in data else None
        for item in _values(labels) if labels is not None else ():
            self._define(frame, item.data, "value", item, item.span)

    def _name(self, cursor: Cursor, frame: Frame, inner: Frame) -> Symbol | None:
        place = cursor["name"]
        self._text(place, inner)
        return self._define(frame, place.data, "value", cursor, place.span)

    def _modifiers(self, cursor: Cursor, frame: Frame) -> Frame:
        """Note what the modifiers of a line use; return the frame of its arguments, with loop variables."""
        data = cursor.data
        inner = Frame(frame) if "repeat" in data else frame
        if "repeat" in data:
            self._repeat(cursor["repeat"], frame, inner)
        for key in ("from", "tie", "module"):
            for item in _values(cursor[key]) if key in data else ():
                if isinstance(item.data, str):
                    path = item.data.removeprefix("/")
                    at = within(item.span, path, 0, len(path))
                    self._path(path, at, self.root if item.data.startswith("/") else inner)
        for key in _CONDITIONS:
            if key in data:
                self._text(cursor[key], inner, is_expression=True)
        if "lora" in data:
            self._text(cursor["lora"], inner)
        holds = cursor["eager"].at(("holds",)) if isinstance(data.get("eager"), dict) else None
        for item in _values(holds) if holds is not None and holds.path[-1:] == ("holds",) else ():
            if isinstance(item.data, str):
                self._path(item.data, item.span, inner)
        return inner

    def _repeat(self, cursor: Cursor, frame: Frame, inner: Frame) -> None:
        data = cursor.data
        if not isinstance(data, dict):
            self._text(cursor, frame, is_expression=True)
            self._define(inner, "index", "variable", cursor, None)
            return
        for key in ("times", "each", "start"):
            if key in data:
                self._text(cursor[key], frame, is_expression=True)
        for key, default in (("index", "index"), ("as", "item")):
            if key in data:
                self._define(inner, data[key], "variable", cursor[key], cursor[key].span)
            elif key == "index" or "each" in data:
                self._define(inner, default, "variable", cursor, None)
        for name, item in _items(cursor, "take"):
            self._define(inner, str(name).rstrip("?"), "value", item, None)
            for value in _values(item):
                if isinstance(value.data, str):
                    self._path(value.data.removesuffix("?"), value.span, frame)

    def _arguments(self, target: str, cursor: Cursor, frame: Frame, *, is_named: bool) -> Frame | None:
        """Note what the arguments of a line use; return the frame of a sequence that has a name."""
        data = cursor.data
        if target == SEQUENCE:
            inner = Frame(frame) if is_named else frame
            self._lines(cursor, inner)
            return inner
        if not isinstance(data, (dict, list)):
            self._text(cursor, frame)
            self._targets(cursor)
            return None
        for key, item in cursor.items() if isinstance(data, dict) else enumerate(cursor.elements()):
            kind = self.grammar.argument(target, data, key).kind
            if kind == "lines":
                declared = ops.find(target)
                is_computed = declared is not None and key == declared.lines_attribute
                self._lines(item, Frame(frame) if is_computed else frame)
            else:
                self._text(item, frame)
                self._targets(item)
        return None

    def _targets(self, cursor: Cursor) -> None:
        """Note blocks of the document that are the value of an argument."""
        data = cursor.data
        if isinstance(data, str):
            self._block_use(data, cursor.span)
        elif isinstance(data, dict):
            for key, item in cursor.items():
                if key == "default":
                    self._targets(item)
                elif len(data) == 1:
                    self._block_use(key, item.key_span)


def _named(frame: Frame, name: str, is_first: bool) -> Symbol | None:
    """Return the value of a name, from the frames around it only for the first part of a path."""
    return frame.find(name) if is_first else frame.symbols.get(name)


def _items(cursor: Cursor, section: str) -> Iterator[tuple[str, Cursor]]:
    """Yield the entries of a section that is a mapping."""
    data = cursor.data
    if isinstance(data, dict) and isinstance(data.get(section), dict):
        yield from cursor[section].items()


def _values(cursor: Cursor) -> Iterator[Cursor]:
    """Yield the items of a list or the values of a mapping, or a single value."""
    if isinstance(cursor.data, list):
        yield from cursor.elements()
    elif isinstance(cursor.data, dict):
        yield from (item for _, item in cursor.items())
    else:
        yield cursor


def _inside(span: Span, name: str) -> Span:
    """Return the place of a name within its quotation marks."""
    return within(span, name, 0, len(name)) or span
