"""The page of ``memory``: weights, caches and states, activations, and what fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netcalc.analysis.activations.records import Activations, Point
from netcalc.analysis.caches.groups import CacheGroup, grouped
from netcalc.analysis.caches.layers import LayerCache
from netcalc.analysis.memory_report import MemoryReport, TokensIn
from netcalc.analysis.precisions import precision_named
from netcalc.analysis.saved_memory import SavedMemory
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.dims import integer
from netcalc.render.memory_chart import memory_charts
from netcalc.render.memory_forms import form_paragraphs, peak_table, step_table
from netcalc.render.memory_split import split_answer, split_details
from netcalc.render.numbers import bytes_text, exact, plain_numbers, repeated, shape_text
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.places import placement_page
from netcalc.render.plot import Drawing
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.signature import element_type, signature_text
from netcalc.render.table import Column, Row, Table

#: Live tensors that a page shows.
_LIVE = 8
#: Operations that a page shows by what they keep.
_KEEPING = 8


class _Memory(Presentation[MemoryReport]):
    columns = keys_of("path", "op", "bytes")

    def page(self, result: MemoryReport, rows: Selected[Point], view: View) -> Page:
        """The report, with the layers that a selection asks for."""
        yield Paragraph(list(_head(result)))
        fitting = [] if result.tokens_in is None else list(_fitting(result, result.tokens_in))
        places = [] if result.placement is None else list(placement_page(result.placement))
        if result.split is None:
            yield Answer([_totals(result), *places, *fitting, *_conclusion(result)])
        else:
            yield _totals(result)
            yield from split_details(result.split)
            yield Answer([*places, *split_answer(result.split), *fitting])
        if result.kept:
            yield _caches(result)
        peaks = list(_peaks(result))
        if peaks:
            yield Paragraph(peaks)
        if result.saved is not None:
            yield _saved(result.saved)
        if result.ideal is not None:
            yield _live(result.ideal)
        yield from (peak_table(peak, result.symbolic) for peak in result.peaks)
        if result.step is not None:
            yield step_table(result.step, result.symbolic)
        layers = rows.shown if view.selection.active or result.depth is not None else ()
        if layers:
            columns = [Column("layer", "path"), Column("operation", priority=40), Column("live", "bytes")]
            points = [Row([repeated(point.path, point.repeat), point.op, point.bytes]) for point in layers]
            yield Table(columns, points, omitted=len(rows.others))
        yield from [*memory_charts(result)][-1:]
        notes = [Line(f": {point.about}", point.name, hanging="  ") for point in result.conventions if result.kept]
        if notes:
            yield Paragraph(notes)
        if result.symbolic:
            yield from form_paragraphs(result)

    def charts(self, result: MemoryReport, rows: Selected[Point]) -> Iterable[Drawing]:
        """Return charts of the memory by layer."""
        return memory_charts(result)

    def data(self, result: MemoryReport, rows: Selected[Point], view: View) -> Table:
        """Weights, buffers, caches, states and layers with their bytes under each convention, for CSV."""
        names = [rule.name for rule in result.conventions]
        columns = [Column(title) for title in ("part", "path", "detail", "times", *names)]
        parts = [Row([weights.role, "", weights.scheme, 1, *[weights.bytes] * len(names)]) for weights in result.stored]
        for group in grouped(result.kept):
            sizes = [group.bytes(rule) for rule in result.conventions]
            parts.append(Row([_part_name(group), plain_numbers(group.title), _held_cells(group), group.layers, *sizes]))
        cells = (
            ["activations", layer.path, layer.op, layer.repeat, *[layer.bytes] * len(names)] for layer in rows.shown
        )
        return Table(columns, [*parts, *map(Row, cells)])


PRESENTATIONS = {"MemoryReport": _Memory()}


def _head(report: MemoryReport) -> Iterator[Line]:
    yield Line(f": {report.about}" if report.about else " ", report.spec)
    yield Line(signature_text(report.inputs, report.outputs))
    yield from element_type(report.dtype, report.checkpoint_dtype, report.stored_as, report.weights)
    if report.files is not None:
        yield Line(report.files.origin)
    yield from map(Line, report.notes)
    if report.all_logits:
        yield Line("logits of all positions; --phase prefill counts those of the last one, as servers do")
    if report.kept and report.past is not None and report.new is not None:
        seen = report.past + report.new
        text = f"after {exact(report.past)} + {exact(report.new)} = {exact(seen)} positions" if report.past != 0 else ""
        yield Line(f"caches and states {text or f'after {exact(seen)} positions'}")


def _caches(report: MemoryReport) -> Table:
    columns = [
        Column("caches and states", "path"),
        Column("holds", "name", 30),
        Column("cell", "bytes", 50, "cell_bytes", symbols=report.symbolic),
        Column("window", "total", 60, symbols=report.symbolic),
        Column("positions", "total", 40, symbols=report.symbolic),
        *(Column(convention.name, "bytes", symbols=report.symbolic) for convention in report.conventions),
    ]
    rows = []
    for group in grouped(report.kept):
        title, first = repeated(group.title, group.layers), group.parts[0]
        sizes = (group.bytes(convention) for convention in report.conventions)
        rows.append(Row([title, _held_cells(group), group.cell_bytes, first.window, first.positions, *sizes]))
    total = ["all", "", report.token_bytes or None, None, None, *(report.caches(c.name) for c in report.conventions)]
    notes = ("cell: bytes of a position of one sequence in a layer, or of a state",)
    return Table(columns, rows, [Row(total)], notes=notes)


def _totals(report: MemoryReport) -> Table:
    conventions = [rule.name for rule in report.conventions] if report.kept else ["ideal"]
    titles = conventions if report.kept else ["bytes"]
    columns = [Column("memory", "path"), *(Column(name, "bytes", symbols=report.symbolic) for name in titles)]
    rows = [
        Row([f"{kind.role}, {kind.scheme}", *[kind.bytes] * len(conventions)])
        for kind in report.stored
        if kind.bytes != 0
    ]
    if report.kept:
        rows.append(Row(["caches and states", *(report.caches(name) for name in conventions)]))
    if report.training is not None:
        return _training_totals(report, report.training)
    if report.ideal is None:
        return Table(columns, rows)
    rows.append(Row(["activations", *[report.ideal.peak] * len(conventions)]))
    return Table(columns, rows, [Row(["all", *(report.total(name) for name in conventions)])])


def _training_totals(report: MemoryReport, training: TrainingMemory) -> Table:
    """The most bytes of each kind of memory, and those at the peak of the step."""
    peak = training.peak
    columns = [Column("memory", "path"), Column("most", "bytes"), Column("at the peak", "bytes")]
    rows = [Row([f"{kind.role}, {kind.scheme}", kind.bytes, kind.bytes]) for kind in report.stored if kind.bytes != 0]
    if training.master:
        rows.append(Row(["weights of the optimizer", training.master, training.master]))
    rows.append(Row(["gradients", training.gradients, peak.gradients]))
    if training.optimizer is not None:
        rows.append(Row([f"states of {training.optimizer}", training.state_bytes, training.state_bytes]))
    rows.append(Row(["kept for the backward pass", training.kept, peak.kept]))
    rows.append(Row(["temporaries", None, peak.temporaries]))
    return Table(columns, rows, [Row(["all", None, report.trained])])


def _training_head(training: TrainingMemory) -> Iterator[Line]:
    """The way to train, and the moment of the peak."""
    if training.precision is not None:
        precision = precision_named(training.precision, training.mixed, "sdpa-cpu")
        yield Line(f": {precision.about}", f"precision {precision.name}", hanging="  ")
    if training.accumulate > 1:
        of = "" if training.micro_batch is None else f" of a batch of {exact(training.micro_batch)}"
        yield Line(f"{exact(training.accumulate)} passes{of} before an update, which add up their gradients")
    if training.recompute != "none":
        yield Line(f"computed again in the backward pass: {training.recompute}")
    at = f", at {training.peak.at}" if training.peak.at else ""
    yield Line(f": in the {training.peak.during}{at}", "peak")


def _conclusion(report: MemoryReport) -> Iterator[Paragraph]:
    """The kind of memory that most bytes are for, and the options that would reduce it."""
    parts = _parts(report)
    total = sum(size for size, _, _ in parts)
    if total:
        size, name, less = max(parts)
        yield Paragraph([Line(f"{100 * size / total:.0f} % {name}: {less}")])


def _parts(report: MemoryReport) -> list[tuple[int, str, str]]:
    """Bytes, name and what reduces them of each kind of memory that counts into the total."""
    if report.training is not None:
        return list(_training_parts(report, report.training))
    if report.ideal is None:
        return []
    caches = integer(report.caches(report.conventions[0].name)) if report.kept else 0
    return [
        (integer(report.weights), "weights", "--quantize makes them smaller"),
        (caches, "caches and states", "a smaller batch, fewer positions or --cache-dtype make them smaller"),
        (report.ideal.peak, "activations", "a smaller batch makes them smaller"),
    ]


def _training_parts(report: MemoryReport, training: TrainingMemory) -> Iterator[tuple[int, str, str]]:
    """Bytes at the peak of training, their name, and what reduces them."""
    peak = training.peak
    smaller = "a smaller --micro-batch" if training.micro_batch not in (None, 1) else "a smaller batch"
    attends = report.saved is not None and any(
        by.op == "scaled_dot_product_attention" for by in report.saved.operations
    )
    less = [smaller]
    less += ["--recompute full"] if training.recompute in ("none", "selective") else []
    less += ["--attention flash"] if attends and report.attention != "flash" else []
    yield integer(report.weights), "weights", "--precision bf16-true, or --quantize with --lora"
    states = peak.gradients + training.held
    yield states, "gradients and states", "--lora trains fewer parameters; other optimizers keep fewer states"
    yield peak.kept, "kept for the backward pass", f"{_either(less)} keeps less"
    yield peak.temporaries, "temporaries", f"{smaller} makes them smaller"


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _fitting_table(report: MemoryReport, tokens_in: TokensIn) -> Table:
    """The tokens that fit a budget."""
    batch = report.kept[0].sequences
    columns = [Column("tokens that fit", "path"), *(Column(name, "text") for name in tokens_in.tokens)]
    each = "" if batch == 1 else f", each of {exact(batch)} sequences"
    beside = "the weights, no activations" if report.phase is None else "weights, activations"
    row = Row([f"in {bytes_text(tokens_in.budget)} with {beside}{each}", *map(_tokens, tokens_in.tokens.values())])
    return Table(columns, [row])


def _fitting(report: MemoryReport, tokens_in: TokensIn) -> Iterator[Table | Paragraph]:
    """The tokens that fit a budget, and where the network ends before the budget."""
    yield _fitting_table(report, tokens_in)
    reasons = dict.fromkeys(tokens_in.ends.values())
    if reasons:
        yield Paragraph([Line(f"the network, not the budget, is the limit: {reason}") for reason in reasons])


def _tokens(tokens: int | None) -> str:
    if tokens is None:
        return "any number"
    return exact(tokens) if tokens >= 0 else "not the weights"


def _peaks(report: MemoryReport) -> Iterator[Line]:
    ideal, eager, saved, engine = report.ideal, report.eager, report.saved, report.engine
    if ideal is not None:
        beside = " beside the caches" if report.kept else ""
        yield Line(f": {bytes_text(ideal.peak)} of activations{beside}, reached at {ideal.at}", "ideal execution")
    elif not report.peaks and report.step is None:
        yield Line(f"activations need numbers in place of {', '.join(report.symbolic)}")
    if eager is not None:
        total = report.weights + report.buffers + eager.peak
        with_caches = " and caches" if report.kept else ""
        text = (
            f": {bytes_text(eager.peak)} of activations{with_caches}, reached at {eager.at}; {bytes_text(total)} in all"
        )
        yield Line(text, "eager execution")
    if saved is not None:
        start = "from the loss" if saved.loss else "from all outputs"
        mode = "" if saved.mode == "train" else f" in {saved.mode} mode"
        text = f": {bytes_text(saved.eager)} kept for the backward pass {start}{mode}, with {saved.attention} attention"
        yield Line(f"{text}; {bytes_text(saved.ideal)} if every operation were one kernel", "eager training")
    if report.training is not None:
        yield from _training_head(report.training)
    if engine is not None:
        text = f": {bytes_text(engine.weights)} of weights, {bytes_text(engine.activations)} of all else; "
        yield Line(f"{text}{bytes_text(engine.peak)} at most", f"NumPy's engine, {engine.name}")


def _saved(saved: SavedMemory) -> Table:
    """The operations that keep the most for the backward pass."""
    columns = [Column("kept by", "path"), Column("tensors", "total", 40), Column("bytes", "bytes")]
    rows = [Row([by.op, by.tensors, by.bytes]) for by in saved.operations[:_KEEPING]]
    rest = len(saved.operations) - len(rows)
    return Table(columns, rows, [Row(["all", sum(by.tensors for by in saved.operations), saved.eager])], omitted=rest)


def _live(activations: Activations) -> Table:
    """The largest tensors that are live at the peak."""
    shown = sorted(activations.live, key=lambda tensor: -tensor.bytes)[:_LIVE]
    columns = [Column(f"live at {activations.at}", "path"), Column("shape", "shape", 60), Column("type", priority=50)]
    rows = [
        Row([f"{live.path} ({live.work})" if live.work else live.path, live.shape, live.dtype, live.bytes])
        for live in shown
    ]
    return Table([*columns, Column("bytes", "bytes")], rows, omitted=len(activations.live) - len(shown))


def _part_name(group: CacheGroup) -> str:
    return "state" if group.parts[0].positions is None else "cache"


def _held_cells(group: CacheGroup) -> str:
    """Names of what a layer keeps, with the shapes of a cell: ``key, value 8×128 bfloat16``."""
    parts = group.parts
    if len({(part.cell, part.element.name) for part in parts}) == 1:
        return f"{', '.join(map(_name, parts))} {_cell(parts[0])}"
    return ", ".join(f"{_name(part)} {_cell(part)}" for part in parts)


def _name(part: LayerCache) -> str:
    return part.name.rpartition(".")[2]


def _cell(part: LayerCache) -> str:
    return f"{shape_text(part.cell)} {part.element.name}"
