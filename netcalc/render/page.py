"""A page: paragraphs, tables and charts, written as text, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from netcalc.render.escapes import clean, markup
from netcalc.render.table import Table
from netcalc.render.text import PLAIN, Terminal, fill

if TYPE_CHECKING:
    from netcalc.render.plot import Drawing


class Line(NamedTuple):
    """A line of a paragraph; ``lead`` is its beginning, in a style of its own."""

    text: str
    lead: str = ""
    style: str = "bold"
    hanging: str = ""


class Paragraph(NamedTuple):
    """Lines below one another, each broken where the terminal is too narrow unless ``verbatim``."""

    lines: Sequence[Line]
    verbatim: bool = False


class Answer(NamedTuple):
    """The parts of a page that a reader looks for: below the head of a short page, and at the end of a long one."""

    parts: Sequence[Table | Paragraph]


Page: TypeAlias = "Iterable[Table | Paragraph | Drawing | Answer]"

#: Lines of a page that begins with its answer.
_SHORT = 20


def page_text(page: Page, terminal: Terminal = PLAIN) -> Iterator[str]:
    """Return the lines of the page, fitted to the terminal, with empty lines between its parts."""
    from netcalc.render.table_text import table_text

    def written(part: Table | Paragraph | Drawing) -> Iterator[str]:
        if isinstance(part, Table):
            yield table_text(part, terminal)
        elif isinstance(part, Paragraph):
            yield from (clean(line.text) if part.verbatim else _line(line, terminal) for line in part.lines)
        else:
            from netcalc.render.plot.text import chart_text

            yield from chart_text(part, terminal)

    return _arranged(page, written)


def page_markdown(page: Page) -> Iterator[str]:
    """Return the lines of the page in Markdown."""
    from netcalc.render.table_markdown import table_markdown

    def written(part: Table | Paragraph | Drawing) -> Iterator[str]:
        if isinstance(part, Table):
            yield from table_markdown(part)
        elif isinstance(part, Paragraph):
            *lines, last = (markup(line.lead + line.text) for line in part.lines)
            yield from (f"{line}  " for line in lines)
            yield last
        else:
            from netcalc.render.plot.text import chart_text

            yield from ("```text", *chart_text(part), "```")

    return _arranged(page, written)


def _parts(page: Page) -> Iterator[tuple[Table | Paragraph | Drawing, bool]]:
    """Yield the parts of a page, with True for those of its answer."""
    for part in page:
        if isinstance(part, Answer):
            yield from ((inner, True) for inner in part.parts)
        else:
            yield part, False


def _arranged(page: Page, written: Callable[[Table | Paragraph | Drawing], Iterable[str]]) -> Iterator[str]:
    """Yield the lines of the parts: of a short page the head and the answer first, of a long one the answer last."""
    parts = [(list(written(part)), answers) for part, answers in _parts(page)]
    lines = sum(1 + line.count("\n") for part, _ in parts for line in part) + len(parts) - 1
    head, others = ([], parts) if lines > _SHORT else (parts[:1], parts[1:])
    others.sort(key=itemgetter(1), reverse=lines <= _SHORT)
    for number, (part, _) in enumerate([*head, *others]):
        if number:
            yield ""
        yield from part


def page_html(page: Page) -> str:
    """Return the page as an element."""
    from html import escape

    from netcalc.render.plot.svg import chart_svg
    from netcalc.render.table_html import table_html

    def written(part: Table | Paragraph | Drawing) -> str:
        if isinstance(part, Table):
            return table_html(part)
        if isinstance(part, Paragraph):
            return f"<p>{'<br>'.join(escape(clean(line.lead + line.text)) for line in part.lines)}</p>"
        return chart_svg(part)

    return f"<div>{''.join(written(part) for part, _ in _parts(page))}</div>"


def document_html(page: Page) -> Iterator[str]:
    """Yield the lines of the page as a document."""
    yield from ("<!DOCTYPE html>", '<html lang="en">', '<head><meta charset="utf-8"><title>netcalc</title></head>')
    yield from ("<body>", page_html(page), "</body>", "</html>")


def _line(line: Line, terminal: Terminal) -> str:
    lead = clean(line.lead)
    text = fill(lead + clean(line.text), terminal.width, "", line.hanging)
    if not line.text:
        return "\n".join(terminal.styled(part, line.style) for part in text.split("\n"))
    if lead and text.startswith(lead):
        return terminal.styled(lead, line.style) + text[len(lead) :]
    return text
