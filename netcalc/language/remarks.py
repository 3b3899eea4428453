"""Remarks on lines of a network without errors: operations that probably read an image in another way than is meant."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.image_notes import ImageNote, image_notes
from netcalc.ir import Program
from netcalc.language.positions import Edit, Lines, Range
from netcalc.language.problems import Fix, Problem
from netcalc.language.watching import Seen, Watcher


def remarks(program: Program, watcher: Watcher | None, lines: Lines) -> Iterator[Problem]:
    """Yield the remarks on the lines of a text, each with the lines that may be missing."""
    seen_by_name = {
        seen.nodes[0].name: seen
        for seen in (watcher.lines.values() if watcher is not None else ())
        if len(seen.nodes) == 1 and seen.in_main
    }
    for note in image_notes(program):
        seen = seen_by_name.get(note.path)
        if seen is not None:
            yield _remark(note, seen, lines)


def _remark(note: ImageNote, seen: Seen, lines: Lines) -> Problem:
    shape = "×".join(map(str, note.shape))
    if note.source:
        order = [len(note.shape) - 1, *range(len(note.shape) - 1)]
        message = f"{note.path} takes axis {note.axis} of {note.source} {shape} as channels"
        line, hint = f"permute: {order}", "`layout: channels_last` on the input says that they are its last axis"
    else:
        message = f"{note.path} maps the last axis of the image {shape} alone"
        line, hint = "flatten", "flatten before it makes one axis of channels, height and width"
    span = seen.target
    fixes = (Fix(f"Insert `{line}`", edits),) if (edits := _inserted(line, seen, lines)) else ()
    return Problem("", "information", message, lines.range(span), hint, fixes, (), str(span))


def _inserted(line: str, seen: Seen, lines: Lines) -> tuple[Edit, ...]:
    """Return the edit that puts a line before another one; none for one in flow style."""
    span = seen.cursor.span
    if span is None or span.text[: span.column - 1].strip() != "-":
        return ()
    column = span.text.index("-")
    place = lines.position(span.line, column + 1)
    return (Edit(Range(place, place), f"- {line}\n{' ' * column}"),)
