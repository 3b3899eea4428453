"""One line of ``layers``: an operation or block with its arguments, and the modifiers beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.spec.source import Cursor

__all__ = ["MODIFIERS", "Line", "read_line"]

#: Keys with a meaning of their own beside the operation's; no operation or block may be named so.
MODIFIERS: dict[str, str] = {
    "name": "the line's name, a part of the path of its parameters",
    "from": "its inputs: a value's name, a list of them, or a mapping from port to name",
    "as": "names for its outputs, in order",
    "repeat": "how often: a number, or {times, index}, or {each: list, as: name, index: name}",
    "share": "with repeat: every iteration uses the weights of the first",
    "when": "a condition; where it does not hold the line is left out, and its names stand for its input",
    "tie": "whose weights it uses: the path of a layer, or a mapping from parameter to path",
    "freeze": "its parameters are not trained",
}


class Line(NamedTuple):
    """A line taken apart; every part keeps its cursor."""

    target: str
    cursor: Cursor  # the whole line
    args: Cursor | None  # None: no arguments given
    modifiers: dict[str, Cursor]

    def modifier(self, name: str) -> Cursor | None:
        """The modifier's cursor, or None."""
        return self.modifiers.get(name)


def read_line(cursor: Cursor, known: Callable[[], Iterable[str]]) -> Line:
    """The line at ``cursor``; NetcalcError (E107) where it is no line.

    ``known`` lists the operations and blocks, when a line names too many things to be one.
    """
    data = cursor.data
    if isinstance(data, str):
        return Line(data, cursor, None, {})
    if not isinstance(data, dict):
        raise NetcalcError(
            Diagnostic(
                "E107",
                "a line should be the name of an operation or block, or a mapping with one",
                cursor.span,
                hint="for example `- relu` or `- conv2d: {out: 64, kernel: 3}`",
            )
        )
    modifiers = {key: cursor[key] for key in data if key in MODIFIERS}
    targets = [key for key in data if key not in MODIFIERS]
    if len(targets) != 1:
        raise NetcalcError(_miscounted(cursor, targets, known))
    args = cursor[targets[0]]
    return Line(targets[0], cursor, None if args.data is None else args, modifiers)


def _miscounted(cursor: Cursor, targets: list[str], known: Callable[[], Iterable[str]]) -> Diagnostic:
    if not targets:
        return Diagnostic(
            "E107", "this line names no operation or block", cursor.span, hint="add one, as in `relu: {}`"
        )
    there = set(known())
    stray = [t for t in targets if t not in there]
    if len(targets) - len(stray) == 1:
        hint = did_you_mean(stray[0], MODIFIERS)
        return Diagnostic("E101", f"unknown modifier {stray[0]!r}", cursor[stray[0]].key_span, hint=hint)
    return Diagnostic(
        "E107",
        f"this line names {len(targets)} operations or blocks: {', '.join(targets)}",
        cursor[targets[1]].key_span,
        hint="arguments go inside the braces of the operation, as in `conv2d: {out: 64, kernel: 3}`",
    )
