"""Tables of layers: the columns of each view, as a tree, as a list of rows, and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc import ops
from netcalc.analysis.abridge import abridge
from netcalc.analysis.cost import Analysis
from netcalc.analysis.cost import Row as LayerRow
from netcalc.analysis.figures import FIGURES, Cost, Figure, Phase, View
from netcalc.analysis.modules import every_row
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.ir import OpNode
from netcalc.opdef import attribute_text
from netcalc.render.table import ALWAYS, Column, Kind, Row, Share, Table, Tied, Uncounted

if TYPE_CHECKING:
    from netcalc.analysis.receptive_field import Fields
    from netcalc.render.channel_order import ChannelOrder

#: The kind of a column of a figure, by the unit of the figure.
_KINDS: dict[str, Kind] = {"elements": "count", "bytes": "bytes", "macs": "work", "flops": "work"}


_ABRIDGED = (
    "Of layers that alternate, the first kind is shown in full, and the others where they differ; --unroll shows all."
)


class _Field(NamedTuple):
    """A column of layers, the value of a row in it, and the name of its figure if it has one."""

    column: Column
    value: Callable[[LayerRow], Any]
    figure: str = ""


def shared_figure(view: View, phases: frozenset[Phase]) -> Figure:
    """Return the figure of which shares of the total are shown."""
    if view == "params":
        return FIGURES["params"]
    return FIGURES["flops_total" if "backward" in phases else "flops"]


class ReportView(NamedTuple):
    """A view of an analyzed network: the figures that it shows, their columns and their values.

    ``receptive`` are the receptive fields by path, for the layers of an unrolled report.  ``chosen`` are the names of
    the columns behind the paths, if a user chooses them.  ``order`` is the order of axes, if it is not their own.
    ``by_module`` is True for rows in which all calls of a module are one.
    """

    analysis: Analysis
    view: View
    receptive: Mapping[str, Fields] | None = None
    chosen: Sequence[str] = ()
    order: ChannelOrder | None = None
    by_module: bool = False

    def share_figure(self) -> Figure:
        """The figure of which shares of the total are shown."""
        return shared_figure(self.view, self.analysis.phases)

    @property
    def columns(self) -> View:
        """The view whose columns are shown."""
        return "passes" if self.view == "flops" and self.analysis.backward is not None else self.view

    @property
    def flops_are_macs(self) -> bool:
        """True if the convention makes FLOPs the same as MACs."""
        total = self.analysis.total
        return self.analysis.convention.per_mac == 1 and total.macs == total.flops

    @property
    def figures(self) -> list[Figure]:
        """The figures with a column, without FLOPs where they are the same as MACs."""
        phases = self.analysis.phases
        figures = [f for f in FIGURES.values() if self.columns in f.columns and f.phase in phases]
        if any(figure.unit == "flops" for figure in figures) and self.flops_are_macs:
            return [figure for figure in figures if figure.unit != "flops"]
        return figures

    def column(self, figure: Figure, view: View) -> Column:
        """The column of a figure; FLOPs at one for each MAC are titled with the convention, as others count two."""
        convention = self.analysis.convention
        title = figure.title
        if self.analysis.backward is not None and title in ("MACs", "FLOPs"):
            title = f"forward {title}"
        if figure.unit == "flops" and convention.per_mac == 1:
            title = f"{convention.name} {title}"
        if figure.name == "macts" and convention.counts_activations:
            title = convention.figures["activations"].title
        priority, symbols = ALWAYS - figure.columns.get(view, 0), self.analysis.program.symbolic
        return Column(title, _KINDS[figure.unit], priority, figure.name, symbols=symbols)

    def figure(self, figure: Figure, op: str, cost: Cost) -> Any:
        """The value of a figure for an operation."""
        value = figure.of(cost)
        if figure.unit in ("macs", "flops") and value == 0 and not self.analysis.counts(op, figure.phase):
            return Uncounted()
        return value

    def share(self, cost: Cost) -> Share:
        """The share of a cost in the total."""
        return Share(self.share_figure().of(cost), self.share_figure().of(self.analysis.total))

    def share_of(self, row: LayerRow) -> Share | Uncounted:
        """The share of a row in the total, without what is excluded of it."""
        exclusions = self.analysis.exclusions
        if exclusions is None:
            return self.share(row.total)
        if self.by_module:
            counted = row.total + exclusions.below(row).times(-1)
            return Uncounted() if exclusions.whole(row) == row.repeat else self.share(counted)
        times = row.repeat - exclusions.executions(row)
        return self.share(row.cost.times(times)) if times else Uncounted()


def layer_tree(report: ReportView, *, depth: int | None = None, unroll: bool = False) -> Table:
    """The layers as a tree, with sums for the parts of the network."""
    tree = report.analysis.modules(unroll=unroll)
    fields = _fields(report, every_row(tree))
    abridged = abridge(tree)
    rows = _tree(abridged, fields, depth, 1, fold=not report.chosen)
    notes = [] if abridged == tree else [_ABRIDGED]
    return Table([Column("layer", "path"), *(field.column for field in fields)], rows, notes=notes)


def layer_list(report: ReportView, shown: Sequence[LayerRow], others: Sequence[LayerRow] = ()) -> Table:
    """Layers with their full paths; if there are ``others``, sums of the layers shown and of the others."""
    fields = _fields(report, shown)
    rows = [Row([row.title, *(field.value(row) for field in fields)], row.repeat) for row in shown]
    columns = [Column("layer", "path"), *(field.column for field in fields)]
    if report.view == "shapes":
        return Table(columns, rows, omitted=len(others))
    return Table(columns, rows, list(_totals(report, fields, shown, others)) if others else [])


def layer_data(report: ReportView, rows: Sequence[LayerRow]) -> Table:
    """The columns that a user chooses, for programs: each row by the path of its first instance."""
    fields = _fields(report, rows)

    def plain(value: Any) -> Any:
        return value.replace("×", "x") if isinstance(value, str) else value

    cells = ([row.path, *(plain(field.value(row)) for field in fields)] for row in rows)
    return Table([Column("path"), *(field.column for field in fields)], [Row(values) for values in cells])


def _tree(
    rows: Sequence[LayerRow], fields: Sequence[_Field], depth: int | None, outer: int, *, fold: bool
) -> list[Row]:
    """The rows with their children down to a depth; ``outer`` is the product of the enclosing repeats.

    With ``fold``, rows of zeros may be folded.
    """
    result = []
    for row in rows:
        # shares count all instances
        unrolled = row if outer == 1 else row._replace(repeat=outer * row.repeat)
        children: list[Row] = []
        if row.children and (depth is None or row.path.count(".") + 1 < depth):
            children = _tree(row.children, fields, depth, unrolled.repeat, fold=fold)
        values = [field.value(unrolled) for field in fields]
        figures = [value for field, value in zip(fields, values, strict=True) if field.figure]
        result.append(Row([row.label, *values], row.repeat, children, fold and all_zero(figures)))
    return result


def all_zero(figures: Sequence[Any]) -> bool:
    """Return True if there are figures, and all are 0."""
    return bool(figures) and all(value == 0 for value in figures)


def _totals(
    report: ReportView, fields: Sequence[_Field], shown: Sequence[LayerRow], others: Sequence[LayerRow]
) -> Iterator[Row]:
    groups = (
        (f"{len(shown):,} shown", _sum(shown)),
        (f"{len(others):,} not shown", _sum(others)),
        ("total", report.analysis.total),
    )
    for label, cost in groups:
        yield Row([label, *(_summed(report, field, cost) for field in fields)])


def _summed(report: ReportView, field: _Field, cost: Cost) -> Any:
    if field.figure:
        return FIGURES[field.figure].of(cost)
    return report.share(cost) if field.column.kind == "share" else None


def _sum(rows: Sequence[LayerRow]) -> Cost:
    return sum((row.total for row in rows), Cost())


# -- columns ----------------------------------------------------------------------------------------

_INPUT = _Field(Column("input", "shapes", ALWAYS - 6), lambda row: [value.type for value in row.inputs])
_OUTPUT = _Field(Column("output", "shapes", ALWAYS - 1), lambda row: [value.type for value in row.outputs])
_OPERATION = _Field(Column("operation"), lambda row: row.op)


def _tensors(row: LayerRow) -> Any:
    if not isinstance(row.node, OpNode):
        return None
    return [(param.name, param.shape) for param in row.node.params if not param.is_buffer]


_TENSORS = _Field(Column("tensors", "named_shapes", ALWAYS - 4), _tensors)

#: The columns of a view before the columns of figures.
_LEADING: dict[View, tuple[_Field, ...]] = {
    "shapes": (
        _OPERATION._replace(column=Column("operation", priority=ALWAYS - 5)),
        _INPUT._replace(column=Column("input", "shapes", ALWAYS - 9)),
        _OUTPUT._replace(column=Column("output", "shapes")),
    ),
    "params": (_OPERATION, _TENSORS),
    "flops": (_OPERATION, _OUTPUT._replace(column=Column("output", "shapes", ALWAYS - 2))),
    "summary": (_OPERATION, _INPUT, _OUTPUT),
    "passes": (
        _OPERATION._replace(column=Column("operation", priority=ALWAYS - 2)),
        _OUTPUT._replace(column=Column("output", "shapes", ALWAYS - 3)),
    ),
}


#: Calls of a module that is called several times.
_CALLS = _Field(Column("calls", "total", ALWAYS - 3), lambda row: row.calls if row.calls > 1 else None)


def _fields(report: ReportView, rows: Iterable[LayerRow]) -> list[_Field]:
    figures = [_figure_field(report, figure) for figure in report.figures]
    share = _Field(Column("share", "share", ALWAYS - 2), report.share_of)
    receptive = [] if report.receptive is None else _receptive(report.receptive)
    if report.chosen:
        return [*_ordered(report, _chosen(report, share)), *receptive]
    calls = [_CALLS] if any(row.calls > 1 for row in rows) else []
    shares = [share] if report.view != "shapes" else []
    return [*_ordered(report, _LEADING[report.columns]), *calls, *figures, *receptive, *shares]


def _ordered(report: ReportView, fields: Iterable[_Field]) -> Iterator[_Field]:
    """Yield columns, those of inputs and outputs with the axes in the order of the report."""
    order = report.order
    for field in fields:
        if order is None or field.column.kind != "shapes":
            yield field
        elif field.value is _INPUT.value:
            yield field._replace(value=lambda row: order.all(row.inputs))
        else:
            yield field._replace(value=lambda row: order.all(row.outputs))


def _chosen(report: ReportView, share: _Field) -> Iterator[_Field]:
    """Yield the columns that a user chooses, which no terminal drops.

    Raises:
        NetcalcError: E502 for a name that is neither a column nor an attribute of an operation of the network.
    """
    fields = {"op": _OPERATION, "inputs": _INPUT, "outputs": _OUTPUT, "tensors": _TENSORS, "share": share}
    fields |= {str(field.column.title): field for field in (_OPERATION, _INPUT, _OUTPUT)}  # as tables are headed
    fields["repeat"] = _Field(Column("repeat", "total"), lambda row: row.repeat)
    fields["calls"] = _Field(Column("calls", "total"), lambda row: row.calls)
    declared = filter(None, map(ops.find, report.analysis.by_operation))
    attributes = sorted({name for operation in declared for name in operation.model_fields})
    phases = report.analysis.phases | {"activations"}
    for name in report.chosen:
        if (figure := FIGURES.get(name.lower())) is not None and figure.phase in phases:
            field = _figure_field(report, figure)
        elif name in fields:
            field = fields[name]
        elif name in attributes:
            field = _Field(Column(name), partial(_attribute, name))
        else:
            known = [*fields, *(name for name, each in FIGURES.items() if each.phase in phases)]
            message = (
                f"--columns {name}: there is no such column, and no operation of the network has such an attribute"
            )
            hint = did_you_mean(name, [*known, *attributes]) or f"known here: {', '.join([*known, *attributes])}"
            raise NetcalcError(Diagnostic("E502", message, hint=hint))
        yield field._replace(column=field.column._replace(priority=ALWAYS, key=name))


def _attribute(name: str, row: LayerRow) -> str | None:
    """Return an attribute of the operation of a row; None for an operation without it, and a part of the network."""
    value = getattr(row.node.op, name, None) if isinstance(row.node, OpNode) else None
    if isinstance(value, tuple) and all(isinstance(pair, tuple) and len({*pair}) == 1 for pair in value):
        value = tuple(pair[0] for pair in value)  # padding that is the same on both sides
    if isinstance(value, tuple) and all(isinstance(size, int) for size in value):
        return "×".join(map(str, value))
    return None if value is None else attribute_text(value)


def _receptive(fields: Mapping[str, Fields]) -> list[_Field]:
    from netcalc.render.receptive_field import COLUMNS, field_texts

    def text(number: int) -> Callable[[LayerRow], str]:
        return lambda row: field_texts(fields_of(row, fields))[number]

    from netcalc.analysis.receptive_field import fields_of

    return [_Field(column, text(number)) for number, column in enumerate(COLUMNS)]


def _figure_field(report: ReportView, figure: Figure) -> _Field:
    def value(row: LayerRow) -> Any:
        cost = row.cost
        if figure.name == "params" and row.node is not None and cost.params == 0 and cost.params_tied != 0:
            return Tied(cost.params_tied)
        return report.figure(figure, row.op, cost)

    return _Field(report.column(figure, report.columns), value, figure.name)
