"""Networks side by side as text: totals, operations, and the tree of layers that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from netcalc.analysis.compare import COMPARED, Comparison, Match, OperationMatch, change, ratio
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.figures import Figure
from netcalc.analysis.summary import Layer
from netcalc.dims import Dim
from netcalc.ir import join
from netcalc.render.grid import Column, csv_lines, grid, markdown
from netcalc.render.numbers import exact, plain_shapes, repeated, shape_text, shapes_text, some
from netcalc.render.text import PLAIN, Look, clean, fill

__all__ = ["comparison_csv", "comparison_markdown", "render_comparison"]

_Labelled: TypeAlias = Iterator[tuple[str, Match, Sequence[bool]]]


def render_comparison(
    comparison: Comparison, look: Look = PLAIN, *, depth: int | None = None, all: bool = False
) -> str:
    """The whole page; layers that are the same are left out unless ``all`` are wanted."""
    labelled = list(_tree(comparison.layers, depth, all, "", (True,) * len(comparison.names)))
    operations = [match for match in comparison.operations if all or match.differs]
    parts = ["\n".join(_head(comparison, look)), grid(*_totals(comparison), look)]
    if operations:
        parts.append(grid(*_operations(comparison, operations), look))
    if labelled:
        parts.append(grid(*_layers(comparison, labelled), look))
    attributes = _attributes(comparison)
    if attributes[1]:
        parts.append(grid(*attributes, look))
    notes = [fill(note, look.width) for note in _notes(comparison, labelled, depth, all)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def comparison_markdown(comparison: Comparison, *, depth: int | None = None, all: bool = False) -> Iterator[str]:
    """The same in Markdown, one row a layer with its full path."""
    for line in _head(comparison, PLAIN):
        yield from (line, "")
    yield from markdown(*_filled(*_totals(comparison)))
    operations = [match for match in comparison.operations if all or match.differs]
    if operations:
        yield ""
        yield from markdown(*_filled(*_operations(comparison, operations)))
    labelled = list(_flat(comparison.layers, depth, all, "", (True,) * len(comparison.names)))
    if labelled:
        yield ""
        yield from markdown(*_filled(*_layers(comparison, labelled)))
    attributes = _attributes(comparison)
    if attributes[1]:
        yield ""
        yield from markdown(*attributes)
    for note in _notes(comparison, labelled, depth, all):
        yield from ("", note)


def comparison_csv(comparison: Comparison, *, depth: int | None = None, all: bool = False) -> Iterator[str]:
    """The layers, one a line, with the figures of each network and the differences from the first."""
    titles = ["path", "repeat"]
    for place, name in enumerate(comparison.names):
        titles += [f"{name} {field}" for field in ("op", "inputs", "outputs", *(figure.name for figure in COMPARED))]
        titles += [f"{name} {figure.name} difference" for figure in COMPARED if place]
    return csv_lines(titles, (_record(match) for match in comparison.rows(depth=depth, all=all)))


def _record(match: Match) -> list[object]:
    cells: list[object] = [match.path, match.repeat]
    for place, layer in enumerate(match.layers):
        if layer is None:
            cells += [""] * (3 + len(COMPARED))
        else:
            cells += [
                layer.op,
                plain_shapes(layer.inputs),
                plain_shapes(layer.outputs),
                *(figure.of(layer) for figure in COMPARED),
            ]
        if place:
            cells += [change(match.figures(figure.name)[0], match.figures(figure.name)[place]) for figure in COMPARED]
    return cells


# -- parts ------------------------------------------------------------------------------------------


def _head(comparison: Comparison, look: Look) -> Iterator[str]:
    for name, inputs, outputs in zip(comparison.names, comparison.inputs, comparison.outputs, strict=True):
        sides = [
            ", ".join(f"{clean(n)} {shape_text(t.shape)} {t.dtype}" for n, t in side.items())
            for side in (inputs, outputs)
        ]
        yield f"{look(clean(name), 'bold')}: {sides[0] or 'no inputs'} → {sides[1]}"
    yield f"counted as {comparison.convention} does: {CONVENTIONS[comparison.convention].about}"


def _totals(comparison: Comparison) -> tuple[list[Column], list[list[str]]]:
    first, *others = comparison.names
    columns = [Column("total"), Column(first, right=True)]
    for name in others:
        columns += [Column(name, right=True), Column("difference", right=True, spare=1), Column("ratio", right=True)]
    rows = []
    for figure in comparison.shown_totals():
        values = [figure.of(totals) for totals in comparison.totals]
        if all(value == 0 for value in values) or _repeats_another(comparison, figure):
            continue
        row = [_titled(comparison, figure, figure.total or ""), exact(values[0])]
        for value in values[1:]:
            row += [exact(value), _signed(change(values[0], value)) or "=", _ratio(ratio(values[0], value))]
        rows.append(row)
    return columns, rows


def _operations(comparison: Comparison, found: Sequence[OperationMatch]) -> tuple[list[Column], list[list[str]]]:
    figures = _figures(comparison)
    columns = [Column("by operation"), *_figure_columns(comparison, "executions", 5)]
    for figure in figures:
        columns += _figure_columns(comparison, _titled(comparison, figure, figure.title), figure.columns["compare"])
    rows = []
    for match in sorted(found, key=_most, reverse=True):
        row = [match.op, *_figure_cells(match.executions, some)]
        for figure in figures:
            row += _figure_cells([figure.of(cost) for cost in match.costs], exact if figure.unit == "macs" else some)
        rows.append(row)
    return columns, rows


def _layers(
    comparison: Comparison, labelled: Sequence[tuple[str, Match, Sequence[bool]]]
) -> tuple[list[Column], list[list[str]]]:
    columns = [Column("layer"), Column("only in"), Column("operation"), Column("input", spare=6)]
    columns.append(Column("output", spare=2))
    figures = _figures(comparison)
    for figure in figures:
        columns += _figure_columns(comparison, _titled(comparison, figure, figure.title), figure.columns["compare"])
    rows = []
    for label, match, around in labelled:
        present = [layer is not None for layer in match.layers]
        names = [name for name, there in zip(comparison.names, present, strict=True) if there]
        inputs = _each(match, lambda layer: shapes_text(layer.inputs))
        row = [
            label,
            "" if present == list(around) else ", ".join(names),
            _each(match, lambda layer: layer.op),
            inputs if "→" in inputs else "",
            _each(match, lambda layer: shapes_text(layer.outputs)),
        ]
        for figure in figures:
            row += _figure_cells(match.figures(figure.name), exact if figure.unit == "macs" else some)
        rows.append(row)
    return columns, rows


def _attributes(comparison: Comparison) -> tuple[list[Column], list[list[str]]]:
    """The attributes that differ where paths and operations match, each difference once with its first layer."""
    found: dict[tuple[str, str, tuple[str | None, ...]], list[Match]] = {}
    for match in comparison.rows():
        for name, values in match.attributes.items():
            op = next(layer.op for layer in match.layers if layer is not None)
            found.setdefault((op, name, values), []).append(match)
    columns = [Column("attribute"), *(Column(name) for name in comparison.names)]
    columns += [Column("layers", right=True), Column("first")]
    rows = [
        [f"{op} {name}", *(value or "" for value in values), f"{sum(m.repeat for m in matches):,}", matches[0].path]
        for (op, name, values), matches in found.items()
    ]
    return columns, rows


def _figures(comparison: Comparison) -> list[Figure]:
    """The figures with a column, without FLOPs where they are MACs by another name."""
    figures = [figure for figure in COMPARED if "compare" in figure.columns]
    return [figure for figure in figures if figure.unit != "flops" or not _flops_are_macs(comparison)]


def _flops_are_macs(comparison: Comparison) -> bool:
    """True if the convention makes FLOPs the same as MACs in every network."""
    plain = CONVENTIONS[comparison.convention].per_mac == 1
    return plain and all(totals.macs == totals.flops for totals in comparison.totals)


def _repeats_another(comparison: Comparison, figure: Figure) -> bool:
    """True if a total adds nothing to another: all parameters are trainable, or FLOPs are MACs."""
    if figure.name == "flops":
        return _flops_are_macs(comparison)
    same = all(totals.params == totals.params_trainable for totals in comparison.totals)
    return figure.name == "params_trainable" and same


def _titled(comparison: Comparison, figure: Figure, title: str) -> str:
    """The title of a figure; one FLOP for each MAC is not what others call FLOPs, and gets the convention's name."""
    named = figure.unit == "flops" and CONVENTIONS[comparison.convention].per_mac == 1
    return f"{comparison.convention} {title}" if named else title


def _most(match: OperationMatch) -> int:
    return max(cost.flops if isinstance(cost.flops, int) else 0 for cost in match.costs)


def _figure_columns(comparison: Comparison, title: str, spare: int = 0) -> list[Column]:
    """A column for the first network's figure, and one for each other's difference."""
    others = comparison.names[1:]
    titles = [f"Δ {title}"] if len(others) == 1 else [f"Δ {name}" for name in others]
    return [Column(name, right=True, spare=spare) for name in (title, *titles)]


def _figure_cells(values: Sequence[Dim | None], shown: Callable[[Dim], str]) -> list[str]:
    """The first network's figure, and the differences of the others, where there are any."""
    first, *others = values
    return ["" if first is None else shown(first), *(_signed(change(first, other)) for other in others)]


def _each(match: Match, text: Callable[[Layer], str]) -> str:
    return _path([None if layer is None else text(layer) for layer in match.layers])


def _path(values: Sequence[str | None]) -> str:
    """What the networks have, once where all that have it have the same: ``3 → 1``."""
    found = [value for value in values if value is not None]
    return found[0] if len(set(found)) == 1 else " → ".join(found)


def _notes(
    comparison: Comparison, labelled: Sequence[tuple[str, Match, Sequence[bool]]], depth: int | None, all_: bool
) -> Iterator[str]:
    if comparison.same:
        yield "no layer differs"
    elif not all_:
        count = sum(match.repeat for match in comparison.rows(depth=depth, all=True) if not match.differs)
        if count:
            yield f"{count:,} layer{'s' * (count != 1)} with no difference left out; --all shows them"
    if any(" ×" in label for label, _, _ in labelled):
        yield "×N: the figures are those of one of the N instances; totals are of all."


def _tree(matches: Sequence[Match], depth: int | None, all_: bool, margin: str, around: Sequence[bool]) -> _Labelled:
    """Matches with their labels, indented below the one that they belong to."""
    shown = [match for match in matches if all_ or match.differs]
    for number, match in enumerate(shown):
        top, last = "." not in match.path, number == len(shown) - 1
        branch = "" if top else "└─ " if last else "├─ "
        yield margin + branch + repeated(match.label, match.repeat), match, around
        if depth is None or match.path.count(".") + 1 < depth:
            inner = "" if top else margin + ("   " if last else "│  ")
            yield from _tree(match.children, depth, all_, inner, [layer is not None for layer in match.layers])


def _flat(matches: Sequence[Match], depth: int | None, all_: bool, prefix: str, around: Sequence[bool]) -> _Labelled:
    """The innermost matches with their full paths."""
    for match in matches:
        path = join(prefix, match.label)
        if match.children and (depth is None or match.path.count(".") + 1 < depth):
            yield from _flat(match.children, depth, all_, path, around)
        elif all_ or match.differs or None in match.layers:
            yield repeated(path, match.repeat), match, around


def _filled(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> tuple[list[Column], list[list[str]]]:
    """Without the columns that are empty throughout."""
    kept = [place for place, _ in enumerate(columns) if place == 0 or any(row[place] for row in rows)]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _signed(value: Dim) -> str:
    """A difference with its sign, and nothing where there is none."""
    if not isinstance(value, int):
        return str(value)
    return f"{value:+,}".replace("-", "−") if value else ""


def _ratio(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.3f}" if value >= 0.1 or value == 0 else f"{value:.3g}"
