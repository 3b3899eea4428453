"""The summary as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from netcalc.analysis.cost import Analysis
from netcalc.render.report import head_lines, note_lines, total_lines, tree_table

__all__ = ["report_html"]

_LEFT = "text-align: left; white-space: pre"
_RIGHT = "text-align: right; white-space: pre"


def report_html(analysis: Analysis) -> str:
    """The tree of layers as a table, between what the network is and its totals."""
    columns, rows = tree_table(analysis, "summary")
    shown = [i for i, _ in enumerate(columns) if any(row[i] for row in rows)]
    styles = [_RIGHT if column.right else _LEFT for column in columns]

    def line(tag: str, cells: Iterable[str]) -> str:
        filled = list(cells)
        return "<tr>" + "".join(f'<{tag} style="{styles[i]}">{escape(filled[i])}</{tag}>' for i in shown) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    table = f"<table><thead>{line('th', (c.title for c in columns))}</thead><tbody>{body}</tbody></table>"
    below = [*total_lines(analysis, "summary"), *note_lines(analysis, "summary", rows)]
    return f"<div>{_lines(head_lines(analysis, 'summary'))}{table}{_lines(below)}</div>"


def _lines(lines: Iterable[str]) -> str:
    return f"<p>{'<br>'.join(map(escape, lines))}</p>"
