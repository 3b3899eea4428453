"""Charts of memory: weights, caches and activations by layer, and what a step of training holds at its peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from netcalc.analysis.activations.records import Activations
from netcalc.analysis.activations.records import Point as Layer
from netcalc.analysis.memory_report import MemoryReport
from netcalc.analysis.training_memory import TrainingMemory
from netcalc.dims import integer
from netcalc.render.numbers import bytes_text, repeated, share
from netcalc.render.plot import Bars, Chart, Drawing, Mark, Point, Series, Values

#: Share of the activations in the memory at the peak below which they have a chart of their own.
_VISIBLE = 0.25


def memory_charts(report: MemoryReport) -> Iterator[Drawing]:
    """Yield the charts of memory, of which the last shows most; none if a size is symbolic."""
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
