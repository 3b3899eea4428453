"""Completions at a place of a text that is not finished: operations, attributes, names, keys.

The text is read with a word of its own at the place, and with the brackets closed that are open there; where that word
comes out in the document says what is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc import ops
from netcalc.diagnostics import NetcalcError, written
from netcalc.expressions import FUNCTIONS
from netcalc.language.facts import Facts
from netcalc.language.names import Names
from netcalc.language.pages import (
    TENSOR_ATTRIBUTES,
    attribute_line,
    attributes_of,
    block_page,
    block_summary,
    element_types,
    keys_at,
    operation_page,
    operation_reference,
    operations,
)
from netcalc.language.positions import Edit, Position, Range
from netcalc.language.repair import repaired_texts
from netcalc.language.syntax import Grammar, Role, target_in
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE
from netcalc.spec.shipped import catalogue, shipped_blocks
from netcalc.spec.yaml_document import parse_yaml

#: What a completion stands for.
CompletionKind: TypeAlias = Literal[
    "operation", "block", "attribute", "modifier", "key", "name", "value", "spec", "file"
]
#: Word in place of what is asked for; no document has it.
_MARK = "zz_netcalc_zz"
_WORD = re.compile(r"[\w.-]*$")
_WORD_AFTER = re.compile(r"[\w.-]*")
_OPENS, _CLOSES = "[{", "]}"
_EXPRESSIONS = ("when", "repeat", "share", "freeze", "inline")


@dataclass(frozen=True, slots=True)
class Completion:
    """Something that may stand at a place."""

    label: str
    kind: CompletionKind
    detail: str
    documentation: str
    """Text in Markdown; that of an operation or block is asked for by :func:`described`."""
    edit: Edit
    snippet: str | None = None
    """The text of the edit with places to fill in, as ``$1``; None if there are none."""


class _Asked(NamedTuple):
    """The place that is asked for, in the document with the word in it."""

    cursor: Cursor
    path: Path
    is_key: bool
    text: str  # the value with the word, up to the word


def complete(facts: Facts, position: Position) -> tuple[Completion, ...]:
    """Return what may stand at a place of a text."""
    lines = facts.state.lines
    if not 0 <= position.line < len(lines):
        return ()
    column, line = lines.column(position), lines[position.line]
    before, after = line[:column], line[column:]
    if _in_comment(before):
        return ()
    word = _WORD.search(before)
    begin = word.start() if word else column
    rest = _WORD_AFTER.match(after)
    end = column + (rest.end() if rest else 0)
    marked = _marked(facts, position.line, line[:begin], line[end:])
    if marked is None:
        return ()
    range_ = Range(lines.position(position.line + 1, begin + 1), lines.position(position.line + 1, end + 1))
    found = _Completer(facts, marked, line[begin:column], range_, after=line[end:]).all()
    return tuple(found)


def warm() -> None:
    """Prepare the lists of operations and blocks, so that the first completion does not wait for them."""
    operations()
    grammar = Grammar({})
    for name in shipped_blocks():
        grammar.block(name)


def described(facts: Facts, name: str) -> str:
    """Return the page of an operation or block in Markdown; an empty text for any other name."""
    page = operation_reference(name)
    return "\n".join(operation_page(page) if page is not None else block_page(name, facts.grammar))


def _in_comment(before: str) -> bool:
    return re.search(r"(?:^|\s)#", re.sub(r"\"[^\"]*\"|'[^']*'", "", before)) is not None


def _marked(facts: Facts, number: int, before: str, after: str) -> _Asked | None:
    """Return the document with the word at the place; None if it cannot be read."""
    lines = facts.state.lines.lines
    head, tail = lines[:number], lines[number + 1 :]
    closing = _closing("\n".join([*head[_start_of_entry(lines, number) :], before]))
    variants = (
        before + _MARK + after,
        before + _MARK + closing,
        before + _MARK + ":" + after,
        before + _MARK + ": ~" + closing,
        before + _MARK,
    )
    for follow in (tail, []):
        for variant in dict.fromkeys(variants):
            found = _read("\n".join([*head, variant, *follow]), number)
            if found is not None:
                return found
    for repaired, _ in repaired_texts("\n".join([*head, before + _MARK + closing, *tail]), number + 1):
        if _MARK in repaired and (found := _read(repaired, number)) is not None:
            return found
    return None


def _start_of_entry(lines: list[str], number: int) -> int:
    """Return the line where the list item or top-level entry around a line begins."""
    for start in range(number, -1, -1):
        text = lines[start].lstrip()
        if text.startswith("- ") or (lines[start] and lines[start][0] not in " #-]}"):
            return start
    return 0


def _closing(text: str) -> str:
    """Return the quotation mark and the brackets that are open at the end of a text."""
    open_: list[str] = []
    quote = ""
    for number, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and (number == 0 or text[number - 1] in " [{,:\n("):
            quote = character
        elif character in _OPENS and (character != "{" or text[number - 1 : number] != "$"):
            open_.append(_CLOSES[_OPENS.index(character)])
        elif character in _CLOSES and open_ and open_[-1] == character:
            open_.pop()
    inside = text[text.rfind("${") :] if "${" in text else ""
    return ("}" if inside and "}" not in inside else "") + quote + "".join(reversed(open_))


def _read(text: str, line: int) -> _Asked | None:
    try:
        cursor = parse_yaml(text, "")
    except NetcalcError:
        return None
    for path in cursor.spans:
        value = cursor.at(path).data
        if path and isinstance(path[-1], str) and _MARK in path[-1]:
            return _Asked(cursor, path, is_key=True, text=path[-1].partition(_MARK)[0])
        if isinstance(value, str) and _MARK in value:
            return _Asked(cursor, path, is_key=False, text=value.partition(_MARK)[0])
    return None


def _default(declared: Any) -> Any:
    return declared.get("default") if isinstance(declared, dict) else declared


class _Completer:
    """The completions at one place."""

    def __init__(self, facts: Facts, asked: _Asked, typed: str, range_: Range, after: str) -> None:
        self.facts = facts
        self.asked = asked
        self.typed = typed
        self.range = range_
        self.has_colon = after.lstrip().startswith(":")
        self.grammar = Grammar(asked.cursor.data, facts.loaded)
        self.in_flow = "{" in facts.state.lines[range_.start.line][: range_.start.character]

    def all(self) -> Iterator[Completion]:
        """Yield everything that may stand there."""
        path, is_key = self.asked.path, self.asked.is_key
        if self._is_in_expression():
            yield from self._names_in_expression()
            return
        parent = self.grammar.role(path[:-1])
        role = self.grammar.role(path)
        if is_key:
            yield from self._keys(parent, path)
        elif role.kind == "line":
            yield from self._targets(is_key=False)
        elif role.kind == "arguments":  # the first argument on a line of its own, or a bare value
            yield from self._attributes(role.name, path)
            yield from self._values_of(role.name, None)
        elif role.kind == "argument":
            yield from self._values_of(role.owner, role.name)
        elif role.kind == "modifier":
            yield from self._modifier_values(role)
        elif role.kind == "document":
            yield from self._keys(role, path)
        else:
            yield from self._section_values(role, path)

    def _is_in_expression(self) -> bool:
        text, path = self.asked.text, self.asked.path
        if "${" in text and "}" not in text[text.rfind("${") :]:
            return True
        role = self.grammar.role(path)
        if self.asked.is_key:
            return False
        is_condition = (
            role.kind == "modifier" and role.name in _EXPRESSIONS and role.rest in ((), ("times",), ("each",))
        )
        is_size = role.kind in ("entry", "other") and path[:1] == ("inputs",) and isinstance(path[-1], int)
        return is_condition or is_size or path[-1:] == ("that",)

    def _make(
        self,
        label: str,
        kind: CompletionKind,
        detail: str,
        about: str = "",
        *,
        text: str | None = None,
        snippet: str | None = None,
    ) -> Completion:
        return Completion(label, kind, detail, about, Edit(self.range, label if text is None else text), snippet)

    # -- names --------------------------------------------------------------------------------------

    def _names(self) -> Names:
        return Names(self.asked.cursor, self.grammar)

    def _names_in_expression(self) -> Iterator[Completion]:
        if "." in self.typed:
            stem = self.typed.rpartition(".")[0]
            for name, about in TENSOR_ATTRIBUTES.items():
                yield self._make(f"{stem}.{name}", "attribute", about)
            return
        for symbol in self._names().visible_at(self.asked.path):
            if symbol.kind == "value" and not symbol.name.isidentifier():
                continue
            yield self._make(symbol.name, "name", self._detail(symbol.name, symbol.kind))
        yield from self._inherited_names()
        yield self._make("in", "name", "first input of the block or spec")
        yield self._make("_", "name", "output of the line before")
        for name in (*sorted(FUNCTIONS), "value"):
            yield self._make(name, "value", "function", text=name)

    def _inherited_names(self) -> Iterator[Completion]:
        loaded = self.facts.loaded
        data = loaded.cursor.data if loaded is not None and loaded.parent is not None else {}
        own = self.asked.cursor.data if isinstance(self.asked.cursor.data, dict) else {}
        for section in ("dims", "vars"):
            declared = data.get(section)
            for name in declared if isinstance(declared, dict) else ():
                if name not in (own.get(section) or {}):
                    yield self._make(str(name), "name", self._detail(str(name), section[:-1]))

    def _detail(self, name: str, kind: str) -> str:
        if kind in ("dim", "var"):
            value = self.facts.setting(name)
            value = _default(self.facts.declared(f"{kind}s", name)) if value is None else value
            return kind if value is None else f"{kind} = {written(value, quoted=True, length=40)}"
        symbol = next((s for s in self.facts.names.root.symbols.values() if s.name == name), None)
        type_ = None if symbol is None else self.facts.type_of(symbol)
        return kind if type_ is None else f"{kind} {type_}"

    # -- keys ---------------------------------------------------------------------------------------

    def _keys(self, parent: Role, path: Path) -> Iterator[Completion]:
        if parent.kind == "line":
            line = self.asked.cursor.at(path[:-1]).data
            target = target_in({key: None for key in line if key != path[-1]}) if isinstance(line, dict) else None
            present = line if isinstance(line, dict) else {}
            for name, about in MODIFIERS.items():
                if name not in present:
                    yield self._make(name, "modifier", about, text=self._with_colon(name))
            if target is None:
                yield from self._targets(is_key=True)
        elif parent.kind == "arguments" and not parent.rest:
            yield from self._attributes(parent.name, path[:-1])
        elif parent == Role("section", "vars") or parent == Role("section", "dims"):
            for found in self._inherited_names():
                section = f"{found.detail.split(' ', 1)[0]}s"
                if section == parent.name:
                    yield self._make(found.label, "name", found.detail, text=self._with_colon(found.label))
        else:
            data = self.asked.cursor.at(path[:-1]).data
            for name, about in keys_at(parent).items():
                if not isinstance(data, dict) or name not in data:
                    yield self._make(name, "key", about, text=self._with_colon(name))

    def _with_colon(self, name: str) -> str:
        return name if self.has_colon else f"{name}: "

    def _attributes(self, target: str, path: Path) -> Iterator[Completion]:
        data = self.asked.cursor.at(path).data
        present = data if isinstance(data, dict) else {}
        for attribute in attributes_of(target, self.grammar):
            if attribute.name not in present:
                detail = f"{attribute.type}{', required' if attribute.required else ''}"
                text = self._with_colon(attribute.name)
                yield self._make(attribute.name, "attribute", detail, attribute_line(attribute)[2:], text=text)

    def _targets(self, *, is_key: bool) -> Iterator[Completion]:
        for name, about, required in operations():
            yield self._target(name, "operation", about, required, is_key)
        loaded = self.facts.loaded
        known = {*self.grammar.own_blocks, *(loaded.blocks if loaded is not None else ()), *shipped_blocks()}
        for name in sorted(known):
            about, arguments = block_summary(name, self.grammar)
            yield self._target(name, "block", about or "block", arguments, is_key)
        yield self._make(SEQUENCE, "operation", "a group of lines", text=self._with_colon(SEQUENCE))

    def _target(
        self, name: str, kind: CompletionKind, detail: str, required: tuple[str, ...], is_key: bool
    ) -> Completion:
        if self.has_colon or (not required and not is_key):
            return self._make(name, kind, detail)
        if not required:
            return self._make(name, kind, detail, text=f"{name}: {{}}")
        text = f"{name}: {{{', '.join(f'{item}: ' for item in required)}}}"
        places = ", ".join(f"{item}: ${number}" for number, item in enumerate(required, 1))
        return self._make(name, kind, detail, text=text, snippet=f"{name}: {{{places}}}")

    # -- values -------------------------------------------------------------------------------------

    def _values_of(self, target: str, name: str | None) -> Iterator[Completion]:
        """Yield the values that an attribute may have, as far as its type lists them."""
        declared = ops.find(target)
        name = declared.shorthand if name is None and declared is not None else name
        found = next((item for item in attributes_of(target, self.grammar) if item.name == name), None)
        if found is None:
            return
        for value in re.findall(r'"([^"]+)"', found.type):
            yield self._make(value, "value", f"{target}.{name}")
        if "bool" in found.type:
            yield self._make("true", "value", "")
            yield self._make("false", "value", "")
        stated = self.grammar.arguments(target) or {}
        argument = stated.get(found.name)
        choices = argument.get("choices") if isinstance(argument, dict) else None
        for choice in choices if isinstance(choices, list) else ():
            yield self._make(written(choice), "value", f"{target}.{name}")
        if found.type.rstrip("?") == "op":
            for operation in ops.names():
                yield self._make(operation, "operation", "")

    def _modifier_values(self, role: Role) -> Iterator[Completion]:
        if role.name in ("from", "tie", "module") or role.rest[:1] == ("take",):
            yield self._make("_", "name", "output of the line before")
            for symbol in self._names().visible_at(self.asked.path):
                if symbol.kind in ("value", "input"):
                    yield self._make(symbol.name, "name", self._detail(symbol.name, symbol.kind))

    def _section_values(self, role: Role, path: Path) -> Iterator[Completion]:
        if role == Role("section", "extends"):
            for entry in catalogue().values():
                yield self._make(entry.name, "spec", entry.about, f"{entry.params:,} parameters; {entry.source}")
            yield from self._files()
        elif path[:1] == ("import",):
            for block in shipped_blocks():
                yield self._make(f"blocks/{block}", "spec", "shipped block")
            yield from self._files()
        elif path[-1:] == ("dtype",):
            for name in element_types():
                yield self._make(name, "value", "element type")
        elif path[:1] == ("outputs",):
            for symbol in self._names().visible_at(()):
                if symbol.kind in ("value", "input"):
                    yield self._make(symbol.name, "name", self._detail(symbol.name, symbol.kind))
        elif path[-1:] == ("layout",):
            yield self._make("channels_last", "value", "the last axis has the channels")
        elif path[-1:] == ("type",):
            for name in ("int", "float", "bool", "str", "op", "list", "list[int]", "list[float]", "list[str]", "any"):
                yield self._make(name, "value", "type")
        elif role.kind in ("section", "entry") and not isinstance(path[-1], int):  # the first key on a line of its own
            yield from self._keys(role, (*path, ""))

    def _files(self) -> Iterator[Completion]:
        """Yield the specs beside the file of the text."""
        folder = self.facts.state.folder
        for file in sorted(folder.glob("*.yaml"))[:200] if folder is not None else ():
            yield self._make(file.stem, "file", "file beside this one")
