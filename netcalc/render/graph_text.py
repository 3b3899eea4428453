"""Graphs as text that other programs draw: Mermaid flowcharts, and the language of Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from netcalc.analysis.graph import GraphGroup, GraphNode, GraphReport, Kind
from netcalc.render.escapes import clean
from netcalc.render.numbers import repeated, short, work
from netcalc.tensor_type import TensorType

#: Fill and border of boxes by kind.
COLORS: Mapping[Kind, tuple[str, str]] = {
    "input": ("#f1f5f9", "#64748b"),
    "output": ("#f1f5f9", "#64748b"),
    "block": ("#ffffff", "#334155"),
    "convolution": ("#dbeafe", "#2563eb"),
    "product": ("#e0e7ff", "#4f46e5"),
    "attention": ("#fce7f3", "#db2777"),
    "recurrence": ("#fae8ff", "#a21caf"),
    "normalization": ("#dcfce7", "#16a34a"),
    "activation": ("#fef3c7", "#d97706"),
    "pooling": ("#cffafe", "#0891b2"),
    "embedding": ("#ede9fe", "#7c3aed"),
    "arithmetic": ("#ffe4e6", "#e11d48"),
    "movement": ("#f5f5f4", "#78716c"),
    "parameter": ("#ecfccb", "#65a30d"),
    "loss": ("#fee2e2", "#dc2626"),
    "other": ("#f5f5f4", "#44403c"),
}
_INK = "#0f172a"
_SEPARATOR = " · "
#: Characters of a text.
_LONGEST = 60


def mermaid(graph: GraphReport) -> Iterator[str]:
    """Yield the lines of a Mermaid flowchart."""
    yield f"flowchart {graph.direction}"
    yield from _mermaid_boxes(graph, _members(graph), None, "  ")
    for edge in graph.edges:
        line = "-.->" if edge.back else "-->"
        yield f'  {edge.source} {line}|"{_mermaid_text(tensor_text(edge.type))}"| {edge.target}'
    for kind, (fill, stroke) in COLORS.items():
        named = ",".join(node.id for node in graph.nodes if node.kind == kind)
        if named:
            yield f"  classDef {kind} fill:{fill},stroke:{stroke},color:{_INK}"
            yield f"  class {named} {kind}"
    if graph.groups:
        yield f"  classDef group fill:#f8fafc,stroke:#94a3b8,color:{_INK}"
        yield f"  class {','.join(group.id for group in graph.groups)} group"


_Members: TypeAlias = tuple[dict[str | None, list[GraphNode]], dict[str | None, list[GraphGroup]]]


def _members(graph: GraphReport) -> _Members:
    """Return the boxes and the groups in each group."""
    nodes: dict[str | None, list[GraphNode]] = {}
    groups: dict[str | None, list[GraphGroup]] = {}
    for node in graph.nodes:
        nodes.setdefault(node.group, []).append(node)
    for group in graph.groups:
        groups.setdefault(group.group, []).append(group)
    return nodes, groups


def _mermaid_boxes(graph: GraphReport, members: _Members, group: str | None, margin: str) -> Iterator[str]:
    nodes, groups = members
    for node in nodes.get(group, ()):
        start, end = ("([", "])") if node.kind in ("input", "output") else ("[", "]")
        # a line of its own for each figure, since Mermaid breaks long lines
        lines = (part for line in lines_of(node, graph.show) for part in line.split(_SEPARATOR))
        text = "<br>".join(map(_mermaid_text, lines))
        yield f'{margin}{node.id}{start}"{text}"{end}'
    for inner in groups.get(group, ()):
        text = " · ".join(map(_mermaid_text, lines_of(inner, graph.show)))
        yield f'{margin}subgraph {inner.id}["{text}"]'
        yield from _mermaid_boxes(graph, members, inner.id, margin + "  ")
        yield f"{margin}end"


def _mermaid_text(text: str) -> str:
    """Return text for a quoted label: whatever may mean something to Mermaid, Markdown or HTML is an entity.

    >>> _mermaid_text('layer1.0 "x" <b>')
    'layer1.0 #34;x#34; #60;b#62;'
    """
    text = re.sub(r"[^\w .,:/()=+\-]", lambda match: match[0] if match[0] in "×·–…" else f"#{ord(match[0])};", text)
    # a number with a point, a dash, or a plus sign at the beginning would be an item of a list
    return re.sub(r"^(\d+)\.(?= |$)|^[-+](?= )", lambda m: f"{m[1]}#46;" if m[1] else f"#{ord(m[0])};", text)


def dot(graph: GraphReport) -> Iterator[str]:
    """Yield the lines of a graph in the language of Graphviz."""
    yield f"digraph {_dot_text([graph.spec])} {{"
    yield f"  graph [rankdir={graph.direction}, fontname=Helvetica, fontsize=12]"
    yield '  node [shape=box, style="rounded,filled", fontname=Helvetica, fontsize=11, margin="0.12,0.06"]'
    yield '  edge [fontname=Helvetica, fontsize=9, color="#475569", fontcolor="#475569"]'
    yield from _dot_boxes(graph, _members(graph), None, "  ")
    for edge in graph.edges:
        style = ", style=dashed, constraint=false" if edge.back else ""
        yield f"  {edge.source} -> {edge.target} [label={_dot_text([tensor_text(edge.type)])}{style}]"
    yield "}"


def _dot_boxes(graph: GraphReport, members: _Members, group: str | None, margin: str) -> Iterator[str]:
    nodes, groups = members
    for node in nodes.get(group, ()):
        fill, stroke = COLORS[node.kind]
        shape = ", shape=oval" if node.kind in ("input", "output") else ""
        label = _dot_text(lines_of(node, graph.show))
        yield f'{margin}{node.id} [label={label}, fillcolor="{fill}", color="{stroke}"{shape}]'
    for inner in groups.get(group, ()):
        yield f"{margin}subgraph cluster_{inner.id} {{"
        label = _dot_text([" · ".join(lines_of(inner, graph.show))])
        yield f'{margin}  label={label}; labeljust=l; style="rounded,dashed"; color="#94a3b8"'
        yield from _dot_boxes(graph, members, inner.id, margin + "  ")
        yield f"{margin}}}"


def _dot_text(lines: Sequence[str]) -> str:
    r"""Return lines as a quoted string of Graphviz, in which they hold no escapes and no entities of HTML.

    >>> _dot_text(['a "b"', 'c&lt;'])
    '"a \\"b\\"\\nc&amp;lt;"'
    """
    escaped = (line.replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;") for line in lines)
    return '"' + r"\n".join(escaped) + '"'


def lines_of(item: GraphNode | GraphGroup, show: Sequence[str]) -> list[str]:
    """Return the texts of a box or a group: name with instances, operation, figures."""
    lines = [repeated(_cut(clean(item.name)), item.times)]
    if item.op not in (item.name, "input", "output") and not (isinstance(item, GraphGroup) and item.op == "sequence"):
        lines.append(_cut(clean(item.op)))
    figures = []
    if "params" in show and item.params != 0:
        figures.append(f"{short(item.params, elements=True)} params")
    if "macs" in show and item.macs != 0:
        figures.append("MACs not known" if item.macs is None else work(item.macs, "MAC"))
    return [*lines, _SEPARATOR.join(figures)] if figures else lines


def tensor_text(type_: TensorType) -> str:
    """Return a shape, with the element type unless that is floating point.

    >>> tensor_text(TensorType((1, 8))), tensor_text(TensorType((1, 8), "int64"))
    ('1×8', '1×8 int64')
    """
    sizes = (f"({size})" if not str(size).isalnum() else str(size) for size in type_.shape)
    text = "×".join(sizes) or "scalar"
    return _cut(clean(text if type_.is_float else f"{text} {type_.dtype}"))


def _cut(text: str) -> str:
    """Return a text, shortened in its middle."""
    if len(text) <= _LONGEST:
        return text
    half = (_LONGEST - 1) // 2
    return f"{text[:half]}…{text[-half:]}"
