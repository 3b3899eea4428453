"""The pages of ``shapes``, ``params``, ``flops`` and ``summary``: layers, totals by operation, and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from netcalc.analysis.closed_forms import closed_forms
from netcalc.analysis.cost import Analysis
from netcalc.analysis.cost import Row as LayerRow
from netcalc.analysis.figures import FIGURES, FORWARD, Cost, Phase, layer_fields
from netcalc.analysis.figures import View as Figures
from netcalc.analysis.leading_terms import leading_terms
from netcalc.analysis.notes import named, notes_in
from netcalc.analysis.own_figures import CountedFigure, own_figures
from netcalc.analysis.sizes import sizes_of
from netcalc.analysis.summary import Layer, Summary, field_of_row
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, claimed
from netcalc.render.layers import ReportView, all_zero, layer_data, layer_list, layer_tree, shared_figure
from netcalc.render.numbers import bytes_text, exact, measured, plain_numbers, repeated, shape_text, work
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.signature import element_type, signature_text
from netcalc.render.storage import bits_text, storage_notes, storage_table
from netcalc.render.table import Column, Row, Table, is_folded

if TYPE_CHECKING:
    from netcalc.render.channel_order import ChannelOrder
    from netcalc.render.plot import Drawing

_UNITS = {"params": "parameters", "macs": "MAC", "flops": "FLOP"}
#: Assumptions about symbolic sizes that are printed below a report.
MAX_ASSUMPTIONS = 4
#: Parameters that are named where a layer that uses them is excluded, and others are not.
MAX_TIED = 3


class _Report(Presentation[Summary]):
    names = staticmethod(lambda row: (row.path, row.title, row.op))

    def rows(self, result: Summary, view: View) -> Iterable[Any]:
        if view.columns and view.format == "json":
            message = "--columns chooses the columns of tables, Markdown and CSV; JSON has all fields"
            raise NetcalcError(Diagnostic("E502", message))
        if view.in_full and not view.columns and (view.layout == "nchw" or view.format == "json"):
            return result.layers
        if view.is_tree:
            return ()
        return result.analysis.rows(depth=result.depth, unroll=result.unroll)

    def keys(self, result: Summary) -> Mapping[str, Callable[[Any], Any]]:
        keys: dict[str, Callable[[Any], Any]] = {name: attrgetter(name) for name in ("path", "op", "repeat", "calls")}
        for name, figure in FIGURES.items():
            if figure.phase in result.phases:
                keys[name] = lambda row, figure=figure: figure.of(_figures(row))  # type: ignore[misc]
        shared = shared_figure(result.view, result.phases)
        return keys | {"share": lambda row: shared.of(_figures(row)) * row.repeat}

    def page(self, result: Summary, rows: Selected[LayerRow], view: View) -> Page:
        order = _order(result, view)
        charts = self.charts(result, rows) if view.charts else ()
        by_module = view.is_tree or result.depth is not None
        report = ReportView(result.analysis, result.view, result.receptive, view.columns, order, by_module)
        if view.is_tree:
            table = layer_tree(report, depth=result.depth, unroll=result.unroll)
            return chain(_page(result.analysis, result.view, table, order), charts)
        table = layer_list(report, rows.shown, rows.others)
        return chain(_page(result.analysis, result.view, table, order, selected=view.selection.active), charts)

    def charts(self, result: Summary, rows: Selected[Any]) -> Iterator[Drawing]:
        """Yield the shares of layers in parameters and work, as the view shows them."""
        from netcalc.render.shares import shares_chart

        shared = shared_figure(result.view, result.phases)
        figures = [FIGURES["params"], shared] if result.view == "summary" else [shared]
        analysis = result.analysis
        every = analysis.rows(depth=result.depth, unroll=result.unroll)
        if analysis.exclusions is not None and result.depth is None and not result.unroll:
            every = analysis.counted_leaves()
        shown = rows.shown or every
        layers = [(repeated(row.title, row.repeat), row.total) for row in shown]
        for figure in () if result.view == "shapes" else dict.fromkeys(figures):
            title = f"{result.spec}: {figure.total or figure.title} by layer"
            sizes = [(name, figure.of(total)) for name, total in layers]
            chart = shares_chart(title, figure, sizes, figure.of(analysis.total), ranked=not rows.shown)
            if chart is not None:
                yield chart

    def data(self, result: Summary, rows: Selected[Any], view: View) -> Table:
        order = _order(result, view)
        if view.columns:
            by_module = result.depth is not None
            report = ReportView(result.analysis, result.view, result.receptive, view.columns, order, by_module)
            return layer_data(report, rows.shown)
        layers = rows.shown if order is None else [_ordered_layer(result, row, order) for row in rows.shown]
        return _layer_data(layers, result.view, result.phases)

    def recorded(self, result: Summary, rows: Selected[Layer]) -> Mapping[str, Any]:
        return {"layers": result.record_layers(rows.shown)}


def _order(result: Summary, view: View) -> ChannelOrder | None:
    """Return the order of axes that the user wants to see; None for their own."""
    if view.layout == "nchw":
        return None
    from netcalc.render.channel_order import ChannelOrder

    return ChannelOrder(result.analysis.program)


def _ordered_layer(result: Summary, row: LayerRow, order: ChannelOrder) -> Any:
    """Return the layer of a row, with its shapes in an order of axes."""
    layer: Any = Layer.of(row, field_of_row(row, result.receptive), result.excluded_of(row))
    return layer._replace(inputs=order.all(row.inputs), outputs=order.all(row.outputs))


def _figures(row: Any) -> Any:
    """Return what holds the figures of one instance of a row of an analysis, or of a layer of a summary."""
    return getattr(row, "cost", row)


PRESENTATIONS = {"Summary": _Report()}


def _layer_data(layers: Sequence[Layer], view: Figures, phases: frozenset[Phase] = FORWARD) -> Table:
    """The layers with the fields of the view, for CSV."""
    fields = layer_fields(view, phases)
    shapes = ("inputs", "outputs")
    columns = [Column(field, "shapes" if field in shapes else "total") for field in fields]
    rows = [[_datum(layer, field) for field in fields] for layer in layers]
    if any(layer.calls > 1 for layer in layers):
        columns.append(Column("calls", "total"))
        rows = [[*row, layer.calls] for row, layer in zip(rows, layers, strict=True)]
    if any(layer.excluded for layer in layers):
        columns.append(Column("excluded", "total"))
        rows = [[*row, layer.excluded] for row, layer in zip(rows, layers, strict=True)]
    if any(layer.receptive_field is not None for layer in layers):
        from netcalc.render.receptive_field import COLUMNS, plain_fields

        columns += COLUMNS
        rows = [[*row, *plain_fields(layer.receptive_field or ())] for row, layer in zip(rows, layers, strict=True)]
    return Table(columns, [Row(row) for row in rows])


def _datum(layer: Layer, field: str) -> Any:
    if field == "instances":
        return plain_numbers(layer.title) if layer.ranges else ""
    return getattr(layer, field)


# -- parts ------------------------------------------------------------------------------------------


def _page(
    analysis: Analysis, view: Figures, table: Table, order: ChannelOrder | None, *, selected: bool | None = None
) -> Page:
    """The page: of a selection its rows are the answer, else the totals.  None for a list of all rows."""
    report = ReportView(analysis, view)
    yield Paragraph(list(_head(analysis, view, order)))
    totals: list[Table | Paragraph] = [] if view == "shapes" else [Paragraph(list(_total_lines(report)))]
    if view == "summary" and not selected:
        totals.insert(0, _sizes(analysis))
    if selected:
        yield Answer([table])
        yield from totals
    else:
        yield Answer(totals)
        yield table
    if view != "shapes" and selected is None:
        yield _by_operation(report)
        if analysis.program.assigned and view in ("params", "summary"):
            yield storage_table(analysis.program)
        if analysis.program.symbolic:
            from netcalc.render.formulas import closed_form_tables

            yield from closed_form_tables(closed_forms(analysis, view, analysis.program.symbolic))
    marks = () if order is None else order.notes()
    notes = [Line(note) for note in (*table.notes, *marks, *_notes(analysis, view, is_folded(table.rows)))]
    if notes:
        yield Paragraph(notes)


def _head(analysis: Analysis, view: Figures, order: ChannelOrder | None) -> Iterator[Line]:
    """Name and description of the network, its inputs and outputs, and the counting convention."""
    program = analysis.program
    yield Line(f": {program.about}" if program.about else " ", program.name)
    yield Line(
        signature_text(
            *((program.input_types, program.output_types) if order is None else (order.inputs, order.outputs))
        )
    )
    size = analysis.total.weight_bytes if view != "shapes" else None
    yield from element_type(program.dtype, program.checkpoint_dtype, program.stored_as, size)
    if program.training and analysis.backward is None:
        from netcalc.analysis.notes import TRAINING_MODE

        yield Line(TRAINING_MODE)
    elif analysis.backward is not None:
        from netcalc.analysis.notes import step_note

        yield Line(step_note(analysis))
    yield from map(Line, notes_in(program, view))
    if view in ("flops", "summary"):
        yield Line(f"counted as {analysis.convention.name} does: {analysis.convention.about}")


def _sizes(analysis: Analysis) -> Table:
    """Bytes of everything that a forward pass reads and makes."""
    sizes = sizes_of(analysis)
    titles = {"activations": "activations, of all layers together"}
    rows = [Row([titles.get(name, name), size]) for name, size in sizes._asdict().items() if size != 0]
    written = Column("bytes", "bytes", symbols=analysis.program.symbolic)
    return Table([Column("size"), written], rows[:-1], rows[-1:])


def _by_operation(report: ReportView) -> Table:
    """Totals by operation, the largest share first."""
    analysis, view = report.analysis, report.view
    columns: Figures = "passes" if report.columns == "passes" else "operations"
    figures = [figure for figure in report.figures if columns in figure.columns]
    order = sorted(
        analysis.by_operation.items(), key=lambda item: _rank(report.share_figure().of(item[1][1])), reverse=True
    )
    if view == "params":
        order = [item for item in order if item[1][1].params != 0 or item[1][1].buffers != 0]
    rows = []
    for op, (count, cost) in order:
        values = [report.figure(figure, op, cost) for figure in figures]
        rows.append(Row([op, count, *values, report.share(cost)], zero=all_zero(values)))
    total = analysis.total
    total_row = Row(["total", None, *(figure.of(total) for figure in figures), report.share(total)])
    shown = [Column("by operation"), Column("executions", "total", priority=20)]
    shown += [*(report.column(figure, columns) for figure in figures), Column("share", "share", priority=50)]
    return Table(shown, rows, [total_row])


def _rank(value: object) -> int:
    return value if isinstance(value, int) else 0


def _total_lines(report: ReportView) -> Iterator[Line]:
    """The totals in words, and the operations that the convention leaves out."""
    analysis, total, name = report.analysis, report.analysis.total, report.analysis.convention.name
    order = analysis.program.symbolic
    forms = _forms(report)
    if report.view in ("params", "summary"):
        bits = bits_text(analysis.program)
        lead = forms.get("params") or f"{measured(total.params)} parameters"
        yield Line(f", {_trained(total, order)}{_further_totals(total, bits, order)}", lead)
        if total.params_active != total.params:
            yield Line(f"{measured(total.params_active, order)} of them active for a token")
    figures = own_figures(analysis, report.view)
    early = [figure for figure in figures if figure.unit == "parameters" or report.view == "params"]
    yield from _own_figures(name, early, order)
    if report.view in ("flops", "summary"):
        least = "" if analysis.knows("forward") else "at least "
        written = [forms[figure] for figure in ("macs", "flops") if figure in forms]
        yield from (Line("", least + text) for text in written[:-1])
        lead = written[-1] if written else _counted(report, total.macs, total.flops)
        yield Line(f", counted as {name} does", least + lead)
        if analysis.backward is not None:
            yield from map(Line, _passes(report, forms))
        yield from _masked_attention(analysis)
        if analysis.unknown:
            yield Line(f"work that is not known: {', '.join(analysis.unknown)}")
        if total.flops_expected != total.flops:
            yield Line(f"useful work under even routing: {_counted(report, total.macs_expected, total.flops_expected)}")
        if analysis.uncounted:
            yield Line(f"not counted by {name}: {', '.join(analysis.uncounted)}")
        yield from _own_figures(name, [figure for figure in figures if figure.unit != "parameters"], order)
        yield from map(Line, analysis.remarks)
        yield from storage_notes(analysis.program)
        for operation, implementation in analysis.counted_as.items():
            yield Line(f"{operation}: the work of {implementation}")
    yield from _declared(report)
    yield from _excluded(report)


def _forms(report: ReportView) -> dict[str, str]:
    """Return the closed forms of the totals by figure, of a network with symbols."""
    analysis = report.analysis
    if not analysis.program.symbolic:
        return {}
    from netcalc.render.formulas import form_text

    forms = closed_forms(analysis, report.view, analysis.program.symbolic)
    return {form.figure: form_text(form) for form in forms}


def _excluded(report: ReportView) -> Iterator[Line]:
    """The layers that the totals leave out, and parameters of these that other layers use."""
    exclusions, phases = report.analysis.exclusions, report.analysis.phases
    order = report.analysis.program.symbolic
    for part in () if exclusions is None else exclusions.parts:
        figures = []
        if report.view in ("flops", "summary"):
            figures.append(f"{exact(part.cost.macs, order=order)} MAC")
            figures += [] if report.flops_are_macs else [f"{exact(part.cost.flops, order=order)} FLOP"]
            if "backward" in phases:
                figures.append(f"{exact(part.cost.flops_total, order=order)} FLOP with the backward pass")
        if report.view in ("params", "summary"):
            figures.append(f"{exact(part.cost.params, order=order)} parameters")
        yield Line(f": {part.pattern} ({', '.join(figures)})", "excluded")
        if part.tied:
            shown = ", ".join(part.tied[:MAX_TIED]) + (" and others" if len(part.tied) > MAX_TIED else "")
            yield Line(f"still counted, since other layers use it too: {shown}")


def _own_figures(convention: str, figures: Iterable[CountedFigure], order: Sequence[str]) -> Iterator[Line]:
    """Figures as a tool defines them, with the differences from netcalc and the faults of the tool."""
    for figure in figures:
        if figure.unit == "bytes":
            megabytes = ""
            if isinstance(figure.value, int):
                megabytes = f" ({figure.value / 10**6:,.2f} MB, {figure.value / 2**20:,.2f} MiB)"
            layers = f", of {', '.join(figure.modules)}" if figure.modules else ""
            yield Line(
                f": {exact(figure.value, order=order)} B{megabytes}{layers}, as {convention} has it", figure.title
            )
        elif figure.unit == "elements":
            yield Line(f" as {convention} counts them", f"{measured(figure.value, order)} {figure.title}")
        elif convention == "netcalc":
            yield Line("", f"{measured(figure.value, order)} {figure.title}")
        else:
            parts = ", ".join(f"{op} {_signed(more)}" for op, more in figure.differences)
            difference = f": {parts}" if parts else ", as netcalc does"
            yield Line(f" as {convention} counts them{difference}", f"{measured(figure.value, order)} parameters")
        yield from map(Line, figure.remarks)


def _signed(value: Dim) -> str:
    text = exact(value)
    return text if text.startswith(("-", "−")) else f"+{text}"


#: Letters of a formula within a line of text.
MAX_FORMULA = 60


def _masked_attention(analysis: Analysis) -> Iterator[Line]:
    """The products of attention under masks: of the full rectangle, of what the masks keep, and of tiles."""
    from netcalc.analysis.masked_attention import TILE, masked_attention

    found = masked_attention(analysis)
    if found is None or found.kept == found.full_rectangle:
        return
    order = analysis.program.symbolic
    full, kept, tiles = (work(each, "MAC", order) for each in (found.full_rectangle, found.kept, found.tiles))
    if len(tiles) > MAX_FORMULA:
        tiles = "a formula in --format json"
    counted = found.counted_as or work(found.counted, "MAC", order)
    yield Line(
        f": full rectangle {full}, kept by the masks {kept}, in the {TILE} × {TILE} tiles of a block-sparse kernel "
        f"{tiles}; counted: {counted}",
        "products of masked attention",
    )


def _declared(report: ReportView) -> Iterator[Line]:
    """The part of the totals that a user declared, and the operators."""
    cost, parts = report.analysis.declared_cost, []
    if report.view in ("params", "summary") and cost.params != 0:
        parts.append(f"{measured(cost.params)} parameters")
    if report.view in ("flops", "summary") and cost.flops != 0:
        parts.append(_counted(report, cost.macs, cost.flops) if cost.macs != 0 else work(cost.flops, "FLOP"))
    if parts:
        operators = report.analysis.declared.items()
        names = ", ".join(named(operator, source) for operator, source in operators)
        yield Line(f"declared, not computed: {', '.join(parts)} by {names}")


def _passes(report: ReportView, forms: Mapping[str, str]) -> Iterator[str]:
    """The work of the backward pass, of the update if it is counted, and of everything; formulas have own lines."""
    total = report.analysis.total
    least = "" if report.analysis.knows("backward") else "at least "
    least_total = least or ("" if report.analysis.knows("forward") else "at least ")
    order = report.analysis.program.symbolic
    update = f"update {work(total.flops_update, 'FLOP', order)}" if "update" in report.analysis.phases else ""
    if {"macs_backward", "flops_backward", "flops_total"} <= forms.keys():
        yield from (least + forms[figure] for figure in ("macs_backward", "flops_backward"))
        yield from filter(None, (update, least_total + forms["flops_total"]))
        return
    backward = f"backward {work(total.macs_backward, 'MAC', order)}, {work(total.flops_backward, 'FLOP', order)}"
    further = f"; {update}" if update else ""
    yield f"{least}{backward}{further}; total {least_total}{work(total.flops_total, 'FLOP', order)}"


def _counted(report: ReportView, counted_macs: Dim, counted_flops: Dim) -> str:
    order = report.analysis.program.symbolic
    macs, flops = work(counted_macs, "MAC", order), work(counted_flops, "FLOP", order)
    if report.flops_are_macs:
        return macs
    if report.analysis.convention.per_mac == 1:
        return f"{flops} at one for each MAC, of which {macs}"
    return f"{macs}, {flops}"


def _trained(total: Cost, order: Sequence[str]) -> str:
    if total.params == 0:
        return "nothing to train"
    if total.params_trainable == total.params:
        return "all trainable"
    trained, frozen = (
        exact(each, order=order) for each in (total.params_trainable, total.params - total.params_trainable)
    )
    return f"{trained} trainable, {frozen} frozen"


def _further_totals(total: Cost, bits: str, order: Sequence[str]) -> str:
    parts = [] if total.weight_bytes == 0 else [f"{bytes_text(total.weight_bytes, order)} of weights{bits}"]
    if total.buffers != 0:
        parts.append(f"{exact(total.buffers, order=order)} in buffers")
    return "".join(f"; {part}" for part in parts)


def _image_notes(analysis: Analysis) -> Iterator[str]:
    from netcalc.analysis.image_notes import image_notes

    for note in image_notes(analysis.program):
        shape = shape_text(note.shape)
        if note.source:
            sizes = ", ".join(map(str, note.shape))
            declared = f"inputs: {{{note.source}: {{shape: [{sizes}], layout: channels_last}}}}"
            order = [len(note.shape) - 1, *range(len(note.shape) - 1)]
            yield (
                f"note: {note.path} takes axis {note.axis} of {note.source} {shape} as channels; if they are its last "
                f"axis, write {declared if note.axis else f'- permute: {order} before it'}"
            )
        else:
            yield (
                f"note: {note.path} maps the last axis of the image {shape} alone; flatten before it makes one axis of "
                "channels, height and width"
            )


def _notes(analysis: Analysis, view: Figures, folded: bool) -> Iterator[str]:
    if folded and view != "shapes":
        yield "×N: figures are those of one of the N instances; shares and totals include all of them."
    if view != "shapes":
        from netcalc.analysis.notes import heavy_layers

        for heavy in heavy_layers(analysis):
            product = f"{'×'.join(map(str, heavy.sizes))} = " if heavy.sizes else ""
            inputs, units = exact(heavy.inputs), exact(heavy.units)
            size = measured(heavy.params)
            yield f"note: {heavy.path}: {product}{inputs} inputs to {units} units is {size} parameters"
    if view in ("shapes", "summary"):
        yield from _image_notes(analysis)
    yield from _growth(analysis, view)
    claims = analysis.program.assumptions
    for claim in claims[:MAX_ASSUMPTIONS]:
        yield f"assuming {claimed(claim, exact)}"
    if len(claims) > MAX_ASSUMPTIONS:
        yield f"… and {len(claims) - MAX_ASSUMPTIONS} more assumptions, which --format json lists"


def _growth(analysis: Analysis, view: Figures) -> Iterator[str]:
    """The leading terms of the totals by size, those of one kind together."""
    by_kind: dict[tuple[str, str], list[str]] = {}
    flops_are_macs = analysis.total.flops == analysis.total.macs
    for term in leading_terms(analysis.total, view):
        if flops_are_macs and term.figure == "flops":
            continue
        unit = _UNITS[term.figure]
        by_kind.setdefault((term.dim, term.kind), []).append(f"{term} {unit}")
    for (dim, kind), terms in by_kind.items():
        yield f"for large {dim}: {', '.join(terms)}; {kind}"
