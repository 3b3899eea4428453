"""The tables of ``shapes``, ``params``, ``flops`` and ``summary``, by layer and by operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.figures import FIGURES, Cost, Figure, View
from netcalc.dims import Dim
from netcalc.ir import OpNode, Value
from netcalc.render.grid import Column, grid, markdown
from netcalc.render.numbers import bytes_text, exact, measured, repeated, shape_text, shapes_text, share, some, work
from netcalc.render.text import PLAIN, Look, clean, fill

__all__ = ["VIEWS", "View", "head_lines", "markdown_report", "note_lines", "report", "total_lines", "tree_table"]

VIEWS: tuple[View, ...] = ("shapes", "params", "flops", "summary")


class _Sheet(NamedTuple):
    """What cells need to know beyond their row."""

    analysis: Analysis
    layout: str
    counted_by: str  # what the shares of the total are shares of

    def types(self, values: Sequence[Value]) -> str:
        return shapes_text((value.type for value in values), self.layout)

    def figure(self, figure: Figure, op: str, cost: Cost) -> str:
        """A figure, with a dash for work that the operation does and the convention does not count."""
        value = figure.of(cost)
        if figure.work is not None:
            return exact(value) if value != 0 else "–" if op in self.analysis.uncounted else "0"
        return some(value) if figure.unit != "bytes" or value == 0 else bytes_text(value)

    def share(self, cost: Cost) -> str:
        return share(getattr(cost, self.counted_by), getattr(self.analysis.total, self.counted_by))


class _Field(NamedTuple):
    """A column by layer: how a row fills it."""

    column: Column
    cell: Callable[[Row, _Sheet], str]


def _figure_cell(figure: Figure, row: Row, sheet: _Sheet) -> str:
    """A figure of a row; for parameters that are counted elsewhere, how many are tied."""
    cost = row.cost
    if figure.name == "params" and row.node is not None and cost.params == 0 and cost.params_tied != 0:
        return f"{exact(cost.params_tied)} tied"
    return sheet.figure(figure, row.op, cost)


def _tensors(row: Row, sheet: _Sheet) -> str:
    if not isinstance(row.node, OpNode):
        return ""
    return ", ".join(f"{p.name} {shape_text(p.shape)}" for p in row.node.params if not p.is_buffer)


_FIELDS: dict[str, _Field] = {
    "op": _Field(Column("operation"), lambda row, sheet: row.op),
    "inputs": _Field(Column("input", spare=5), lambda row, sheet: sheet.types(row.inputs)),
    "outputs": _Field(Column("output", spare=2), lambda row, sheet: sheet.types(row.outputs)),
    "tensors": _Field(Column("tensors", spare=4), _tensors),
    "share": _Field(Column("share", right=True, spare=1), lambda row, sheet: sheet.share(row.total)),
}

#: The columns of a view before those of its figures.
_LEADING: dict[View, tuple[str, ...]] = {
    "shapes": ("op", "inputs", "outputs"),
    "params": ("op", "tensors"),
    "flops": ("op", "outputs"),
    "summary": ("op", "inputs", "outputs"),
}


def report(
    analysis: Analysis,
    view: View,
    look: Look = PLAIN,
    *,
    depth: int | None = None,
    unroll: bool = False,
    layout: str = "nchw",
) -> str:
    """The whole page: what the network is, the tree of its layers, totals by operation, and notes."""
    columns, rows = tree_table(analysis, view, depth=depth, unroll=unroll, layout=layout)
    parts = ["\n".join(head_lines(analysis, view, look, layout)), grid(columns, rows, look)]
    if view != "shapes":
        parts += [_by_operation(analysis, view, look, layout), "\n".join(total_lines(analysis, view, look))]
    notes = [fill(note, look.width) for note in note_lines(analysis, view, rows)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def tree_table(
    analysis: Analysis, view: View, *, depth: int | None = None, unroll: bool = False, layout: str = "nchw"
) -> tuple[list[Column], list[list[str]]]:
    """The columns and cells of the tree of layers."""
    sheet = _sheet(analysis, view, layout)
    fields = _fields(analysis, view)
    if view == "shapes":  # nothing but shapes: none of them is spared
        fields = [f._replace(column=f.column._replace(spare=0)) for f in fields]
    rows = [
        [label, *(field.cell(row, sheet) for field in fields)]
        for label, row in _labelled(analysis.tree(unroll=unroll), depth, "")
    ]
    return [Column("layer"), *(field.column for field in fields)], rows


def markdown_report(
    analysis: Analysis, view: View, *, depth: int | None = None, unroll: bool = False, layout: str = "nchw"
) -> Iterator[str]:
    """The same in Markdown, one row a layer with its full path."""
    sheet = _sheet(analysis, view, layout)
    fields = _fields(analysis, view)
    yield from head_lines(analysis, view, PLAIN, layout)
    yield ""
    rows = [
        [repeated(row.path, row.repeat), *(field.cell(row, sheet) for field in fields)]
        for row in analysis.rows(depth=depth, unroll=unroll)
    ]
    yield from markdown([Column("layer"), *(field.column for field in fields)], rows)
    if view != "shapes":
        yield ""
        yield "  \n".join(total_lines(analysis, view, PLAIN))
    for note in note_lines(analysis, view, rows):
        yield ""
        yield note


# -- parts ------------------------------------------------------------------------------------------


def _sheet(analysis: Analysis, view: View, layout: str) -> _Sheet:
    return _Sheet(analysis, layout, "params" if view == "params" else "flops")


def _fields(analysis: Analysis, view: View) -> list[_Field]:
    figures = [
        _Field(_column(analysis, figure, view), partial(_figure_cell, figure)) for figure in _figures(analysis, view)
    ]
    share = [] if view == "shapes" else [_FIELDS["share"]]
    return [*(_FIELDS[key] for key in _LEADING[view]), *figures, *share]


def _figures(analysis: Analysis, view: View) -> list[Figure]:
    """The figures with a column in a view, without FLOPs where they are MACs by another name."""
    same = _one_for_each_mac(analysis)
    return [f for f in FIGURES.values() if view in f.columns and not (same and f.unit == "flops")]


def _column(analysis: Analysis, figure: Figure, view: View) -> Column:
    convention = analysis.convention
    named = figure.unit == "flops" and convention.per_mac == 1  # not what others call FLOPs
    title = f"{convention.name} {figure.title}" if named else figure.title
    return Column(title, right=True, spare=figure.columns[view])


def _one_for_each_mac(analysis: Analysis) -> bool:
    return analysis.convention.per_mac == 1 and analysis.total.macs == analysis.total.flops


def _labelled(
    rows: Sequence[Row], depth: int | None, margin: str, level: int = 1, around: int = 1
) -> Iterator[tuple[str, Row]]:
    """Rows of the tree with their labels, indented below the row that they belong to.

    ``repeat`` of a yielded row takes in the repeats around it, so that its total is of all instances.
    """
    for number, row in enumerate(rows):
        last = number == len(rows) - 1
        branch = "" if level == 1 else "└─ " if last else "├─ "
        times = around * row.repeat
        yield margin + branch + repeated(row.label, row.repeat), row._replace(repeat=times)
        if row.children and (depth is None or row.path.count(".") + 1 < depth):
            inner = "" if level == 1 else margin + ("   " if last else "│  ")
            yield from _labelled(row.children, depth, inner, level + 1, times)


def head_lines(analysis: Analysis, view: View, look: Look = PLAIN, layout: str = "nchw") -> Iterator[str]:
    """What the network is, what goes in and comes out, and how work is counted."""
    program = analysis.program
    about = f": {clean(program.about)}" if program.about else ""
    inputs = ", ".join(f"{clean(s.name)} {shape_text(s.type.shape, layout)} {s.type.dtype}" for s in program.inputs)
    outputs = ", ".join(
        f"{clean(name)} {shape_text(type_.shape, layout)} {type_.dtype}"
        for name, type_ in zip(program.output_names, program.main.output_types, strict=True)
    )
    mode = " (training mode)" if program.training else ""
    yield look(clean(program.name), "bold") + about
    yield f"{inputs or 'no inputs'} → {outputs}{mode}"
    if view in ("flops", "summary"):
        yield f"counted as {analysis.convention.name} does: {analysis.convention.about}"


def _by_operation(analysis: Analysis, view: View, look: Look, layout: str) -> str:
    """Totals by operation, the largest share first."""
    sheet = _sheet(analysis, view, layout)
    found = analysis.by_operation.items()
    value = sheet.counted_by
    order = sorted(found, key=lambda item: _rank(getattr(item[1][1], value)), reverse=True)
    if view == "params":
        order = [item for item in order if item[1][1].params != 0 or item[1][1].buffers != 0]
    figures = [figure for figure in _figures(analysis, view) if "operations" in figure.columns]
    rows = [
        [op, f"{count:,}", *(sheet.figure(figure, op, cost) for figure in figures), sheet.share(cost)]
        for op, (count, cost) in order
    ]
    total = analysis.total
    last = ["total", "", *(sheet.figure(figure, "", total) for figure in figures), sheet.share(total)]
    columns = [Column("by operation"), Column("executions", right=True)]
    columns += [_column(analysis, figure, "operations") for figure in figures]
    return grid([*columns, Column("share", right=True)], rows, look, total=last)


def _rank(value: object) -> int:
    return value if isinstance(value, int) else 0


def total_lines(analysis: Analysis, view: View, look: Look = PLAIN) -> Iterator[str]:
    """The totals in a few lines, and what the convention leaves out."""
    total, convention = analysis.total, analysis.convention
    if view in ("params", "summary"):
        yield look(f"{measured(total.params)} parameters", "bold") + f", {_trained(total)}{_beside(total)}"
        if total.params_active != total.params:
            yield f"{measured(total.params_active)} of them active for a token"
    if view in ("flops", "summary"):
        yield look(_counted(analysis, total.macs, total.flops), "bold") + f", counted as {convention.name} does"
        if total.flops_expected != total.flops:
            yield f"{_counted(analysis, total.macs_expected, total.flops_expected)} of that expected to be of use"
        if analysis.uncounted:
            yield f"not counted by {convention.name}: {', '.join(analysis.uncounted)}"


def _counted(analysis: Analysis, counted_macs: Dim, counted_flops: Dim) -> str:
    macs, flops = work(counted_macs, "MAC"), work(counted_flops, "FLOP")
    if _one_for_each_mac(analysis):
        return macs
    if analysis.convention.per_mac == 1:
        return f"{flops} at one for each MAC, {macs} among them"
    return f"{macs}, {flops}"


def _trained(total: Cost) -> str:
    if total.params == 0:
        return "nothing to train"
    if total.params_trainable == total.params:
        return "all trainable"
    return f"{exact(total.params_trainable)} trainable, {exact(total.params - total.params_trainable)} frozen"


def _beside(total: Cost) -> str:
    parts = [] if total.weight_bytes == 0 else [f"{bytes_text(total.weight_bytes)} of weights"]
    if total.buffers != 0:
        parts.append(f"{exact(total.buffers)} in buffers")
    return "".join(f"; {part}" for part in parts)


def note_lines(analysis: Analysis, view: View, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """What a reader of these rows should know beside them."""
    folded = any(" ×" in row[0] for row in rows)
    if folded and view != "shapes":
        yield "×N: the figures are those of one of the N instances; shares and totals are of all."
    if view != "shapes":
        from netcalc.analysis.notes import heavy_layers

        for heavy in heavy_layers(analysis):
            product = f"{'×'.join(map(str, heavy.sizes))} = " if heavy.sizes else ""
            inputs, units = exact(heavy.inputs), exact(heavy.units)
            size = measured(heavy.params)
            yield f"note: {heavy.path}: {product}{inputs} inputs to {units} units is {size} parameters"
    for claim in analysis.program.assumptions:
        yield f"assuming {claim}"
