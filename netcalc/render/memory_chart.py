"""Charts of memory: weights, caches and activations by layer, and what a step of training holds at its peak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from netcalc.analysis.activations.records import Activations
from netcalc.analysis.activations.records import Point as Layer
from netcalc.analysis.memory_report import MemoryReport
from netcalc.analysis.memory_table import MemoryPoint, MemoryTable
from netcalc.analysis.parallel.report import SplitReport
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.dims import integer
from netcalc.render.memory_split import KINDS
from netcalc.render.numbers import bytes_text, repeated, share
from netcalc.render.plot import Bars, Chart, Drawing, Mark, Point, Series, Values

#: Share of the activations in the memory at the peak below which they have a chart of their own.
_VISIBLE = 0.25
#: Ratio of the greatest to the least size from which the axis is logarithmic.
_WIDE = 10
#: Most sizes that are marks of an axis.
_NAMED = 12


def memory_charts(report: MemoryReport) -> Iterator[Drawing]:
    """Yield the charts of memory, of which the last shows most; none if a size is symbolic."""
    if report.split is not None:
        yield _split(report.spec, report.split)
        return
    if report.training is not None:
        yield _training(report, report.training)
        return
    ideal = report.ideal
    if ideal is None or len(ideal.layers) < 2:
        return
    layers = report.layers
    widths = _widths(layers, ideal)
    names = _names(layers, widths)
    weights = integer(report.weights) + integer(report.buffers)
    caches = integer(report.caches(report.conventions[0].name)) if report.kept else 0
    below = {"weights" if not report.buffers else "weights and buffers": weights, _cache_name(report): caches}
    series = [Series(name, _drawn([size] * len(layers), widths), kind="area") for name, size in below.items() if size]
    eager = _eager(report, layers, widths)
    lines = [*series, Series("activations", _drawn([layer.bytes for layer in layers], widths), kind="area")]
    if eager:
        lines.append(Series("in all, eager", [(x, y + weights) for x, y in eager], dashed=True))
    peak = _peak(ideal, layers, widths)
    total = peak._replace(y=peak.y + weights + caches, text=_peak_words(report, ideal, weights + caches))
    title = f"{report.spec}: memory by layer"
    yield Chart(title, "layer", "memory", lines, y_unit="B", names=names, marks=[total])
    if ideal.peak < _VISIBLE * (weights + caches + ideal.peak):
        alone = [lines[len(series)]]
        if eager and not caches:  # eager execution has caches among its activations
            alone.append(Series("eager", eager, dashed=True))
        title = f"{report.spec}: activations by layer"
        yield Chart(title, "layer", "live activations", alone, y_unit="B", names=names, marks=[peak])


def _cache_name(report: MemoryReport) -> str:
    if not report.kept:
        return "caches"
    name = report.conventions[0].name
    return "caches and states" if name == "ideal" else f"caches and states ({name})"


def _widths(layers: Sequence[Layer], run: Activations) -> list[int]:
    """Return the number of places of each layer: of its instances, or 1 where those of several alternate."""
    in_a_row = tuple(layers) == run.layers
    return [layer.repeat if in_a_row else 1 for layer in layers]


def _drawn(sizes: Sequence[int], widths: Sequence[int]) -> list[Point]:
    """Return sizes against the numbers of layers; of equal layers in a row the first and the last."""
    starts = accumulate(widths, initial=1)
    points = [
        ((start, size), (start + width - 1, size)) for start, size, width in zip(starts, sizes, widths, strict=False)
    ]
    return [point for first, last in points for point in ((first, last) if first != last else (first,))]


def _names(layers: Sequence[Layer], widths: Sequence[int]) -> list[tuple[float, str]]:
    """Return the names of layers, each in the middle of its instances."""
    starts = accumulate(widths, initial=1)
    named = zip(starts, widths, layers, strict=False)
    return [(start + (width - 1) / 2, repeated(layer.path, layer.repeat)) for start, width, layer in named]


def _eager(report: MemoryReport, layers: Sequence[Layer], widths: Sequence[int]) -> list[Point]:
    """Return the live bytes of eager execution by layer, at the places of ideal execution; none if not known."""
    if report.eager is None:
        return []
    own = report.eager.layers if report.depth is None else tuple(report.eager.points(report.depth))
    own_widths = _widths(own, report.eager)
    if sum(own_widths) == sum(widths):
        return _drawn([layer.bytes for layer in own], own_widths)
    starts = dict(zip((layer.path for layer in layers), accumulate(widths, initial=1), strict=False))
    return [(starts[layer.path], layer.bytes) for layer in own if layer.path in starts]


def _peak(ideal: Activations, layers: Sequence[Layer], widths: Sequence[int]) -> Mark:
    """Return the mark of the layer in which the peak is reached: the first of those with most live bytes."""
    most = max(range(len(layers)), key=lambda number: layers[number].bytes)
    place = 1 + sum(widths[:most]) + (widths[most] - 1) / 2
    return Mark(place, layers[most].bytes, f"peak {bytes_text(ideal.peak)} at {ideal.at}")


def _peak_words(report: MemoryReport, ideal: Activations, below: int) -> str:
    if not below:
        return f"peak {bytes_text(ideal.peak)} at {ideal.at}"
    return f"peak {bytes_text(below + ideal.peak)}, {bytes_text(ideal.peak)} of activations, at {ideal.at}"


def _training(report: MemoryReport, training: TrainingMemory) -> Bars:
    """Return bars of the kinds of memory at the peak of a step of training."""
    peak = training.peak
    sizes = {
        "weights": integer(report.weights),
        "buffers": integer(report.buffers),
        "weights of the optimizer": training.master,
        "gradients": peak.gradients,
        **{f"{state.name} of {training.optimizer}": state.bytes for state in training.states},
        "kept for the backward pass": peak.kept,
        "temporaries": peak.temporaries,
    }
    shown = {name: size for name, size in sizes.items() if size}
    total = sum(shown.values())
    labels = [f"{bytes_text(size)} · {share(size, total)}" for size in shown.values()]
    at = f", at {peak.at}" if peak.at else ""
    title = f"{report.spec}: {bytes_text(total)} at the peak of a step of training, in the {peak.during}{at}"
    return Bars(title, "memory", [*shown], [Values("memory", [*shown.values()], labels)], "B")


def _split(spec: str, split: SplitReport) -> Bars:
    """Return bars of the kinds of memory of a device, of each stage of a pipeline."""
    stages = split.stages
    names = [f"stage {stage.stage}" for stage in stages] if len(stages) > 1 else ["a device"]
    sizes = {title: [getattr(stage, kind) for stage in stages] for kind, title in KINDS.items()}
    title = f"{spec}: memory of a device of {split.devices:,}"
    return _stacked(title, names, sizes)


def _stacked(title: str, names: Sequence[str], sizes: Mapping[str, Sequence[int]]) -> Bars:
    """Return stacked bars of kinds of memory, with their sums."""
    shown = {name: numbers for name, numbers in sizes.items() if any(numbers)}
    totals = [bytes_text(sum(row)) for row in zip(*shown.values(), strict=True)]
    return Bars(title, "memory", names, [Values(*each, totals) for each in shown.items()], "B", stacked=True)


def table_charts(table: MemoryTable, points: Sequence[MemoryPoint]) -> Iterator[Drawing]:
    """Yield the chart of memory over ranges of sizes.

    Of one range of numbers it has areas for the kinds of memory, of two a line of the total for each value of the
    first, and else bars.
    """
    counted = [point for point in points if point.total is not None]
    if not counted:
        return
    title = f"{table.spec}: memory over {' and '.join(table.ranges)}"
    kinds = {
        words: [getattr(point, name) or 0 for point in counted]
        for name, words in {"weights": "weights", "buffers": "buffers", "states": "states of the optimizer"}.items()
    }
    kinds[f"caches and states{_convention(table)}"] = [next(iter(p.caches.values()), 0) for p in counted]
    for name, words in {"gradients": "gradients", "saved": "kept for the backward pass"}.items():
        kinds[words] = [getattr(point, name) or 0 for point in counted]
    kinds["activations"] = [point.activations or 0 for point in counted]
    kinds["temporaries"] = [point.temporaries or 0 for point in counted]
    *others, across = table.ranges
    places = [[_number(point.sizes[name]) for point in counted] for name in table.ranges]
    numbers = [place for place in places[-1] if place is not None]
    if len(others) > 1 or len(numbers) < len(counted) or len({*numbers}) < 2:
        yield _stacked(title, [point.title for point in counted], kinds)
        return
    order = sorted(range(len(counted)), key=lambda number: numbers[number])
    if others:
        lines: dict[str, list[Point]] = {}
        for number in order:
            name = f"{others[0]}={counted[number].sizes[others[0]]}"
            lines.setdefault(name, []).append((numbers[number], counted[number].total or 0))
        named = sorted(lines, key=lambda name: lines[name][-1][1])
        series = [Series(name, lines[name]) for name in named]
    else:
        series = [
            Series(name, [(numbers[number], sizes[number]) for number in order], kind="area")
            for name, sizes in kinds.items()
            if any(sizes)
        ]
    log = min(numbers) > 0 and max(numbers) >= _WIDE * min(numbers)
    sizes_of = {numbers[number]: str(counted[number].sizes[across]) for number in order}
    names = [*sizes_of.items()] if len(sizes_of) <= _NAMED else []
    yield Chart(title, across, "memory", series, log_x=log, y_unit="B", names=names)


def _convention(table: MemoryTable) -> str:
    """Return the convention of caches in words, unless there is a single one that reserves nothing."""
    return f" ({table.conventions[0]})" if table.conventions and table.conventions[0] != "ideal" else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
