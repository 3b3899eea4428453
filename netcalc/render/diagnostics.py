"""Diagnostics as text: message, place with its line and carets, enclosing calls, hint."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.diagnostics import Diagnostic, Related, Span, clipped, counted, written
from netcalc.limits import MAX_MESSAGE, MAX_SHOWN_ERRORS
from netcalc.render.escapes import clean
from netcalc.render.text import PLAIN, Terminal, padded, width_of

_TAB = "    "
_MOST_CALLS = 8
#: Characters of a line that are shown, and of those before the place in a longer line.
_LINE = 160
_BEFORE = 60


def render_diagnostics(diagnostics: Sequence[Diagnostic], terminal: Terminal = PLAIN) -> str:
    """Return the first diagnostics as text, and the number of the others and of all errors."""
    parts = [render_diagnostic(diagnostic, terminal) for diagnostic in diagnostics[:MAX_SHOWN_ERRORS]]
    if len(parts) < len(diagnostics):
        parts.append(f"… and {counted(diagnostics[len(parts) :])} more")
    errors = [diagnostic for diagnostic in diagnostics if not diagnostic.is_warning]
    if len(errors) > 1:
        parts.append(terminal.styled(f"{counted(errors)} errors", "error"))
    return "\n\n".join(parts)


def render_diagnostic(diagnostic: Diagnostic, terminal: Terminal = PLAIN) -> str:
    """Return a diagnostic as text, in the style of rustc."""
    kind = "warning" if diagnostic.is_warning else "error"
    title = terminal.styled(f"{kind}[{diagnostic.code}]", kind) + terminal.styled(
        f": {_short(diagnostic.message)}", "bold"
    )
    span = diagnostic.span
    margin = " " * len(str(span.line)) if span and span.text else ""
    lines = [title]
    if span is not None:
        lines.append(terminal.styled(f"{margin}--> ", "place") + clean(str(span)))
        lines += _snippet(span, margin, terminal, kind)
    notes = [*_placed_facts(diagnostic.related), *_calls(diagnostic.chain)]
    if diagnostic.bindings:
        bound = ", ".join(f"{name}={written(value, length=60)}" for name, value in diagnostic.bindings.items())
        notes.append(f"with {bound}")
    mark = terminal.styled(f"{margin} = ", "place")
    lines += (mark + _short(note) for note in notes)
    if diagnostic.hint:
        lines.append(mark + terminal.styled("hint", "note") + f": {_short(diagnostic.hint)}")
    return "\n".join(lines)


def _snippet(span: Span, margin: str, terminal: Terminal, style: str) -> list[str]:
    """Return the line, or the part of a long one around the span, with carets under the span."""
    start, end = span.column - 1, max(span.end - 1, span.column)
    first = max(start - _BEFORE, 0) if len(span.text) > _LINE else 0
    line = span.text[first : first + _LINE].rstrip()
    if not line.strip():
        return []
    start, stop = start - first, min(end - first, _LINE)
    if first:
        line, start, stop = f"…{line}", start + 1, stop + 1
    if first + _LINE < len(span.text):
        line += "…"
    before, under = _visible(line[:start]), _visible(line[start:stop])
    carets = "^" * max(width_of(under), 1)
    bar = terminal.styled("|", "place")
    return [
        f"{margin} {bar}",
        f"{terminal.styled(str(span.line), 'place')} {bar} {_visible(line)}",
        f"{margin} {bar} {' ' * width_of(before)}{terminal.styled(carets, style)}",
    ]


def _visible(line: str) -> str:
    return clean(line.replace("\t", _TAB))


def _placed_facts(related: Sequence[Related]) -> list[str]:
    """Return related facts as lines with aligned places."""
    if any(r.text.endswith(" here") for r in related):
        return [_line(r) for r in related]
    width = max((width_of(clean(r.text)) for r in related if r.span), default=0)
    return [f"{padded(clean(r.text), width)}  {r.span}" if r.span else r.text for r in related]


def _calls(chain: Sequence[Related]) -> list[str]:
    """Return the block calls around the place, innermost first; the middle of a long list is left out."""
    calls = [_line(call) for call in reversed(chain)]
    if len(calls) <= _MOST_CALLS:
        return calls
    return [*calls[:3], f"… and {len(calls) - 5} more", *calls[-2:]]


def _line(call: Related) -> str:
    """Return ``… called here`` with the place in place of the word."""
    if call.span is None:
        return call.text
    return f"{call.text.removesuffix(' here')} at {call.span}"


def _short(text: str) -> str:
    return clean(clipped(text, MAX_MESSAGE))
