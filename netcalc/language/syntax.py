"""The part that a place of a document plays: a line, the operation that it names, an attribute, a name of a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc import ops
from netcalc.diagnostics import NetcalcError, Span
from netcalc.opdef import Operation
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.library import Block, Loaded, find_block
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE

#: What a value is: the ``document``, a ``section`` of it or of a part, the ``entry`` of a section by name or number,
#: a list of ``lines``, a ``line``, the ``arguments`` of a line, one ``argument``, a ``modifier``.
Kind: TypeAlias = Literal["document", "section", "entry", "lines", "line", "arguments", "argument", "modifier", "other"]


class Role(NamedTuple):
    """The part of a value in a document.

    ``name`` is the section, the operation or block, the attribute or the modifier that it is the value of, and
    ``owner`` what that belongs to: the section of an entry, the operation or block of an argument.  ``rest`` leads from
    there to the value.
    """

    kind: Kind
    name: str = ""
    owner: str = ""
    rest: Path = ()


class Grammar:
    """The blocks and operations by which the lines of a document are read.

    Args:
        data: the document.
        loaded: the spec as it was loaded last, whose imported and inherited blocks it may use.
    """

    def __init__(self, data: Any, loaded: Loaded | None = None) -> None:
        self.data = data
        self.loaded = loaded
        declared = data.get("blocks") if isinstance(data, dict) else None
        self.own_blocks: Mapping[str, Any] = declared if isinstance(declared, dict) else {}

    def arguments(self, target: str) -> Mapping[str, Any] | None:
        """Return the arguments of a block with their declarations; None if there is no such block."""
        own = self.own_blocks.get(target)
        if isinstance(own, dict):
            args = own.get("args")
            return args if isinstance(args, dict) else {}
        block = self.block(target)
        return None if block is None else block.decl.args

    def block(self, target: str) -> Block | None:
        """Return a block that the document imports or inherits, or a shipped one; None if there is none."""
        try:
            return find_block(target, *(() if self.loaded is None else (self.loaded,)))
        except NetcalcError:
            return None

    def role(self, path: Path) -> Role:
        """Return the part of the value at a path."""
        role, data = Role("document"), self.data
        for number, key in enumerate(path):
            role = self._below(role, data, key)
            if role.kind in ("argument", "modifier", "other"):
                return role._replace(rest=path[number + 1 :])
            data = _item(data, key)
        return role

    def _below(self, role: Role, data: Any, key: str | int) -> Role:
        """Return the part of an item of a value whose part is known."""
        text = str(key)
        match role.kind:
            case "document":
                return Role("lines") if key == "layers" else Role("section", text)
            case "section" if role.name == "loss":
                return Role("lines") if key == "layers" else Role("section", text, "loss")
            case "section":
                return Role("entry", text, role.name)
            case "entry" if role.owner == "blocks":
                return Role("lines") if key == "layers" else Role("section", text, "block")
            case "entry" if role.owner == "patch":
                if key in ("insert", "append"):
                    return Role("lines")
                return Role("line") if key == "replace" else Role("section", text, "patch entry")
            case "lines":
                return Role("line")
            case "line":
                return Role("modifier", text) if key in MODIFIERS else self._target(text, _item(data, key))
            case "arguments":
                return self.argument(role.name, data, key)
        return Role("other")

    def _target(self, target: str, value: Any) -> Role:
        is_list = isinstance(value, list)
        return Role("lines", target) if target == SEQUENCE and is_list else Role("arguments", target)

    def argument(self, target: str, data: Any, key: str | int) -> Role:
        """Return the part of an argument of an operation or block, or of a branch."""
        value = _item(data, key)
        declared = ops.find(target)
        if declared is not None:
            if key == declared.lines_attribute:
                return Role("lines", str(key))
            if isinstance(key, int):
                is_branch = bool(declared.inputs) and declared.inputs[0].variadic and isinstance(value, list)
                return Role("lines", str(key)) if is_branch else Role("argument", declared.shorthand or "", target)
            if key not in declared.model_fields and isinstance(value, list):
                return Role("lines", key)
        elif isinstance(value, list) and key not in (self.arguments(target) or {}):
            return Role("lines", str(key))
        return Role("argument", str(key), target)


def _item(data: Any, key: str | int) -> Any:
    try:
        return data[key]
    except (KeyError, IndexError, TypeError):
        return None


def target_in(line: Any) -> str | None:
    """Return the operation or block that a line names, as it is written; None if it names none."""
    if isinstance(line, str):
        return line
    if isinstance(line, dict):
        return next((key for key in line if key not in MODIFIERS), None)
    return None


def operation(name: str) -> type[Operation] | None:
    """Return the operation of a name; None if there is none."""
    return ops.find(name)


class Spot(NamedTuple):
    """A key or value of a document at a place of its text."""

    path: Path
    span: Span
    is_key: bool


def spot_at(cursor: Cursor, line: int, column: int, label: str) -> Spot | None:
    """Return the innermost key or value that has a place (from 1) inside or at its end; None if there is none."""
    best: Spot | None = None
    for path, (key, value) in cursor.spans.items():
        for span, is_key in ((key, True), (value, False)):
            if span is None or span.line != line or span.file != label or not span.column <= column <= span.end:
                continue
            better = best is None or (len(path), is_key) > (len(best.path), best.is_key)
            if better and _is_scalar(cursor, path, is_key):
                best = Spot(path, span, is_key)
    return best


def _is_scalar(cursor: Cursor, path: Path, is_key: bool) -> bool:
    """Return True for a key, and for a value that is no mapping or list."""
    found = cursor.at(path)
    return is_key or (found.path == path and not isinstance(found.data, (dict, list)))
