"""Diagnostics for people: the sentence, the place with its source line and a caret, what led there, one hint."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.diagnostics import Diagnostic, Related, Span
from netcalc.render.text import PLAIN, Terminal, clean, padded, width_of

__all__ = ["render_diagnostic", "render_diagnostics"]

_TAB = "    "
_LONG = 8


def render_diagnostics(diagnostics: Sequence[Diagnostic], terminal: Terminal = PLAIN) -> str:
    """All of them, and how many there are."""
    parts = [render_diagnostic(diagnostic, terminal) for diagnostic in diagnostics]
    if len(parts) > 1:
        parts.append(terminal.styled(f"{len(parts)} errors", "error"))
    return "\n\n".join(parts)


def render_diagnostic(diagnostic: Diagnostic, terminal: Terminal = PLAIN) -> str:
    """One diagnostic in the manner of rustc."""
    title = terminal.styled(f"error[{diagnostic.code}]", "error") + terminal.styled(
        f": {clean(diagnostic.message)}", "bold"
    )
    span = diagnostic.span
    margin = " " * len(str(span.line)) if span and span.text else ""
    lines = [title]
    if span is not None:
        lines.append(terminal.styled(f"{margin}--> ", "place") + clean(str(span)))
        lines += _snippet(span, margin, terminal)
    notes = [*_placed(diagnostic.related), *_route(diagnostic.chain)]
    if diagnostic.bindings:
        bound = ", ".join(f"{name}={_brief(value)}" for name, value in diagnostic.bindings.items())
        notes.append(f"with {bound}")
    mark = terminal.styled(f"{margin} = ", "place")
    lines += (mark + clean(note) for note in notes)
    if diagnostic.hint:
        lines.append(mark + terminal.styled("hint", "note") + f": {clean(diagnostic.hint)}")
    return "\n".join(lines)


def _snippet(span: Span, margin: str, terminal: Terminal) -> list[str]:
    """The source line with carets under the span."""
    if not span.text.strip():
        return []
    source, start, stop = span.text.rstrip(), span.column - 1, max(span.end - 1, span.column)
    before, under = _visible(source[:start]), _visible(source[start:stop])
    carets = "^" * max(width_of(under), 1)
    bar = terminal.styled("|", "place")
    return [
        f"{margin} {bar}",
        f"{terminal.styled(str(span.line), 'place')} {bar} {_visible(source)}",
        f"{margin} {bar} {' ' * width_of(before)}{terminal.styled(carets, 'error')}",
    ]


def _visible(source: str) -> str:
    return clean(source.replace("\t", _TAB))


def _placed(related: Sequence[Related]) -> list[str]:
    """Related facts one below the other, their places aligned."""
    if any(r.text.endswith(" here") for r in related):
        return [_told(r) for r in related]
    width = max((width_of(clean(r.text)) for r in related if r.span), default=0)
    return [f"{padded(clean(r.text), width)}  {r.span}" if r.span else r.text for r in related]


def _route(chain: Sequence[Related]) -> list[str]:
    """What led here, innermost first; the middle of a long way is left out."""
    told = [_told(step) for step in reversed(chain)]
    if len(told) <= _LONG:
        return told
    return [*told[:3], f"… and {len(told) - 5} more", *told[-2:]]


def _told(step: Related) -> str:
    """``… called here`` with the place instead of the word."""
    if step.span is None:
        return step.text
    return f"{step.text.removesuffix(' here')} at {step.span}"


def _brief(value: str) -> str:
    return value if len(value) <= 60 else value[:57] + "..."
