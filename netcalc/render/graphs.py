"""The presentation of a graph: Mermaid as text, the boxes as a table, and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from netcalc.analysis.graph import GraphNode, GraphReport
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import write_file
from netcalc.render import presentations
from netcalc.render.escapes import clean
from netcalc.render.graph_text import dot, mermaid
from netcalc.render.numbers import exact
from netcalc.render.page import Line, Page, Paragraph, page_html
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table

__all__ = ["PRESENTATIONS", "dot", "mermaid", "notebook", "svg", "write_graph"]


class _Graph(Presentation[GraphReport]):
    selected_list = listed = "nodes"

    def page(self, result: GraphReport, rows: Selected[GraphNode], view: View) -> Page:
        yield Paragraph([Line(line) for line in mermaid(result)], verbatim=True)

    def data(self, result: GraphReport, rows: Selected[GraphNode], view: View) -> Table:
        """Boxes with their figures, and the boxes that they read."""
        columns = [Column("id", "name"), Column("path", "path"), Column("operation", key="op"), Column("kind")]
        columns += [Column("group"), Column("parameters", "total", key="params"), Column("MACs", "total", key="macs")]
        columns += [Column("times", "total"), Column("repeat", "total"), Column("reads"), Column("shapes")]
        cells = (
            [n.id, n.path, n.op, n.kind, n.group, n.params, n.macs, n.times, n.repeat, *_read(result, n.id)]
            for n in rows.shown
        )
        return Table(columns, [Row(row) for row in cells])

    def markdown(self, result: GraphReport, rows: Selected[GraphNode], view: View) -> Iterable[str]:
        """Mermaid in a block of Markdown."""
        return ("```mermaid", *mermaid(result), "```")


def _read(graph: GraphReport, node: str) -> tuple[str, str]:
    """Return the boxes whose tensors a box reads, and the shapes of these."""
    edges = [edge for edge in graph.edges if edge.target == node]
    return " ".join(edge.source for edge in edges), " ".join(str(edge.type) for edge in edges)


def svg(graph: GraphReport) -> str:
    """Return the picture as SVG; NetcalcError (E502) without the extra ``graph``."""
    from netcalc.render.graph_script import graph_svg

    return graph_svg(_record(graph), graph.direction, graph.show)


def write_graph(graph: GraphReport, path: str) -> None:
    """Write a graph by the suffix of a path; NetcalcError (E502) for others and for what cannot be written."""
    match Path(path).suffix.lower():
        case ".svg":
            content = svg(graph).encode()
        case ".png":
            from netcalc.render.rasterizer import png_of

            content = png_of(svg(graph))
        case ".html":
            content = "\n".join(_document(graph, None)).encode()
        case ".mmd":
            content = "\n".join([*mermaid(graph), ""]).encode()
        case ".dot" | ".gv":
            content = "\n".join([*dot(graph), ""]).encode()
        case _:
            message = f"{path}: a graph is an .svg, .png, .html, .mmd, .dot or .gv"
            raise NetcalcError(Diagnostic("E502", message))
    write_file([content], path)


def notebook(graph: GraphReport) -> str:
    """Return the picture for a notebook; without the extra ``graph`` the text of Mermaid."""
    try:
        return svg(graph)
    except NetcalcError:
        presentation, view = PRESENTATIONS["GraphReport"], View()
        return page_html(presentation.page(graph, presentation.selected(graph, view), view))


def _document(graph: GraphReport, _: Any) -> Iterator[str]:
    """Yield the lines of the picture as a document."""
    yield from ("<!DOCTYPE html>", '<html lang="en">')
    yield f'<head><meta charset="utf-8"><title>{escape(clean(graph.spec))}</title>'
    yield '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>'
    totals = f"{exact(graph.params)} parameters, {exact(graph.macs)} MACs as {graph.convention} counts them"
    yield from ("<body>", f"<p>{escape(clean(f'{graph.spec}: {totals}'))}</p>", svg(graph), "</body>", "</html>")


def _record(graph: GraphReport) -> Any:
    from netcalc.render.json_lines import json_lines

    return json.loads("\n".join(json_lines(presentations.record(graph), "nodes")))


_Graph.formats = {
    "html": _document,
    **dict.fromkeys(("table", "mermaid"), lambda graph, rows: mermaid(graph)),
}
PRESENTATIONS = {"GraphReport": _Graph()}
