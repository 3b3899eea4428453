"""Hints applied to the spec that they are about, so that tests see whether they are right."""

from __future__ import annotations

import re

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError

_WRITTEN = re.compile(r"^(?:use|write|did you mean) [`'](.+?)[`']")
_MOST_STEPS = 12


def mended(text: str) -> str:
    """Return a spec in which every error is mended as its hint says, one after the other; AssertionError if none is."""
    for _ in range(_MOST_STEPS):
        try:
            netcalc.loads(text)
            return text
        except NetcalcError as error:
            text = follow(text, error.diagnostics[0])
    raise AssertionError(f"not mended after {_MOST_STEPS} steps: {text}")


def follow(text: str, problem: Diagnostic) -> str:
    """Return the text of a spec with the change that a hint asks for at the place of its diagnostic.

    A hint gives what to write there, or says to leave a key out; AssertionError for any other.
    """
    assert problem.span is not None, problem
    assert problem.hint is not None, problem
    lines = text.split("\n")
    number = problem.span.line - 1
    before, marked, after = _cut(lines[number], problem.span.column - 1, problem.span.end - 1)
    written = _WRITTEN.match(problem.hint)
    if written is not None:
        lines[number] = before + written[1] + after
    elif problem.hint.startswith("leave it out"):
        lines[number] = before + re.sub(r"^\s*:[^,}]*,?\s*", "", after)
    else:
        raise AssertionError(f"no remedy in the hint: {problem}")
    assert lines[number] != before + marked + after, problem
    return "\n".join(lines)


def _cut(line: str, start: int, end: int) -> tuple[str, str, str]:
    return line[:start], line[start:end], line[end:]
