"""The page of ``time``: the bound, what it is under, layers, a roofline plot, and a whole training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.analysis.parallel.time import SplitTime
from netcalc.analysis.roofline import LayerBound, Limit
from netcalc.analysis.time_report import TimeReport, TrainingRun
from netcalc.render.numbers import bytes_text, exact, plain_numbers, repeated, seconds_text, short, work
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.plot import Bars, Chart, Drawing, Mark, Series, Values
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.signature import element_type, signature_text
from netcalc.render.table import Column, Row, Table

_PASSES = {
    None: "a forward pass",
    "prefill": "prefill",
    "decode": "a step of decoding",
    "training": "forward and backward pass",
}
#: Links of a device, in words.
_LINKS = {"node": "within its node", "network": "to other nodes"}
#: Most layers in a chart of times.
_LAYERS = 20


class _Time(Presentation[TimeReport]):
    columns = keys_of("path", "op", "seconds", "flops", "read", "written", "sent")

    def page(self, result: TimeReport, rows: Selected[LayerBound], view: View) -> Page:
        """The bound, with the layers that a selection leaves."""
        yield Paragraph(list(_head(result)))
        yield Answer([Paragraph(list(_answer(result)))])
        yield _layers(result, rows)
        if result.split is not None:
            from netcalc.render.memory_split import split_words, traffic_table

            yield Paragraph(list(split_words(result.split.split, result.split.bubble)))
            if result.split.traffic:
                yield traffic_table(result.split.traffic, "the device")
        yield from _roofline(result)
        yield Paragraph([Line(f"- {text}", hanging="  ") for text in result.assumptions])

    def charts(self, result: TimeReport, rows: Selected[LayerBound]) -> Iterator[Drawing]:
        """Yield the roofline plot, and the times of layers."""
        yield from _roofline(result)
        yield from _times(result, rows.shown)

    def data(self, result: TimeReport, rows: Selected[LayerBound], view: View) -> Table:
        """The layers with their figures, for CSV."""
        names = ("path", "op", "times", "flops", "read", "written", "sent", "intensity", "seconds", "limit")
        return Table(
            [Column(name, key=name) for name in names],
            [
                Row(
                    [
                        *(plain_numbers(layer.title), layer.op, layer.repeat, layer.flops, layer.read, layer.written),
                        *(layer.sent, layer.intensity, layer.seconds, layer.limit),
                    ]
                )
                for layer in rows.shown
            ],
        )


PRESENTATIONS = {"TimeReport": _Time()}


def _roofline(report: TimeReport) -> Iterator[Chart]:
    """Yield the roofs, and FLOP/s of the layers at the bound against FLOPs for a byte."""
    layers = [layer for layer in report.layers if layer.intensity and layer.seconds]
    bandwidth, peak = report.device.bandwidth, report.peak.flops
    if not layers or bandwidth is None or peak is None:
        return
    ridge = peak / (bandwidth * report.devices)
    if report.split is not None:
        peak //= report.devices
    places = [layer.intensity or 0.0 for layer in layers]
    low, high = min(ridge, *places) / 2, max(ridge, *places) * 2
    series = [Series(f"roofs of {report.device.name}", [(low, peak * low / ridge), (ridge, peak), (high, peak)])]
    for limit, words in _LIMITS.items():
        under = [layer for layer in layers if layer.limit == limit]
        points = [(layer.intensity or 0.0, layer.flops / layer.seconds) for layer in under]
        names = [f"{repeated(layer.title, layer.repeat)}: {seconds_text(layer.seconds)}" for layer in under]
        if points:
            series.append(Series(words, points, kind="scatter", labels=names))
    longest = max(layers, key=lambda layer: layer.seconds)
    taken = f"{_percent(longest.seconds / sum(layer.seconds for layer in report.layers))} of the time"
    words = f"{repeated(longest.title, longest.repeat)}: {taken}"
    mark = Mark(longest.intensity or 0.0, longest.flops / longest.seconds, words)
    title = f"{report.spec}: layers under the roofs of {report.device.title}"
    x, y = "arithmetic intensity", "rate at the bound"
    yield Chart(title, x, y, series, log_x=True, log_y=True, x_unit="FLOP/B", y_unit="FLOP/s", marks=[mark])


def _times(report: TimeReport, layers: Sequence[LayerBound]) -> Iterator[Bars]:
    """Yield bars of the least times of layers, the longest first, by the roof that they are under."""
    ranked = sorted((layer for layer in layers if layer.seconds), key=lambda layer: -layer.seconds)
    shown, others = ranked[:_LAYERS], ranked[_LAYERS:]
    if not shown:
        return
    total = sum(layer.seconds for layer in report.layers)
    names = [repeated(layer.title, layer.repeat) for layer in shown]
    rows = [(layer.seconds, layer.limit) for layer in shown]
    if others:
        names.append(f"{len(others):,} other layers")
        rows.append((sum(layer.seconds for layer in others), None))
    labels = [f"{seconds_text(seconds)} · {_part(seconds / total)}" for seconds, _ in rows]
    kinds = {words: limit for limit, words in _LIMITS.items()} | {"other layers": None}
    series = [
        Values(words, [seconds if own == limit else 0.0 for seconds, own in rows], labels)
        for words, limit in kinds.items()
        if any(own == limit for _, own in rows)
    ]
    under = f", {series[0].name}" if len(series) == 1 else ""
    yield Bars(f"{report.spec}: least time by layer{under}", "time", names, series, "s", stacked=True)


def _head(report: TimeReport) -> Iterator[Line]:
    yield Line(f": {report.about}" if report.about else " ", report.spec)
    yield Line(signature_text(report.inputs, report.outputs))
    yield from element_type(report.dtype, report.checkpoint_dtype, report.stored_as)
    yield from map(Line, report.notes)
    device, number = report.device, report.devices
    parts = [f"{exact(number)} × {device.title}" if number > 1 else device.title]
    parts += [] if device.bandwidth is None else [f"{_rate(device.bandwidth)} of memory"]
    parts += [] if report.peak.flops is None else [f"{_flops(report.peak.flops // number)}/s in {report.peak.dtype}"]
    yield Line(f"{', '.join(parts)}{' each' if number > 1 else ''}")


def _answer(report: TimeReport) -> Iterator[Line]:
    done = _PASSES[report.phase] if report.optimizer is None else f"a step of training with {report.optimizer}"
    yield Line(f" for {done}{_limited(report)}", f"at least {seconds_text(report.seconds)}")
    moved = f"{bytes_text(report.read)} read, {bytes_text(report.written)} written"
    yield Line(f"{work(report.flops, 'FLOP')}, {moved}{_intensity(report.intensity)}{_of_a_device(report)}")
    if report.split is not None:
        yield from _split(report.split)
    speeds = list(_speeds(report))
    if speeds:
        yield Line("; ".join(speeds))
    if report.estimated_seconds is not None and report.efficiency is not None:
        rate = f", {_number(report.tokens / report.estimated_seconds)} tokens/s" if report.tokens else ""
        late = "" if report.estimated_seconds > report.seconds else ", where the bound is longer"
        yield Line(f" at {_percent(report.efficiency)} of the peak{rate}{late}", seconds_text(report.estimated_seconds))
    if report.unknown:
        yield Line(f"work that is not known, and not in the bound: {', '.join(report.unknown)}")
    if report.run is not None:
        yield from _run(report, report.run)


def _of_a_device(report: TimeReport) -> str:
    return "" if report.split is None else f"; {work(report.flops_of_all, 'FLOP')} on all devices"


def _split(split: SplitTime) -> Iterator[Line]:
    """Yield what the bound of a split is made of: work, waiting of the stages, and links."""
    where = f"a device of stage {split.stage}" if split.split.pp > 1 else "a device"
    waiting = f", and waits {seconds_text(split.fill)} for the other stages" if split.fill else ""
    yield Line(f"{where} works {seconds_text(split.work)}{waiting}")
    for link in split.links:
        if link.sent:
            rate = "at a rate that is not published"
            if link.rate is not None and link.seconds is not None:
                rate = f"{seconds_text(link.seconds)} at {_rate(link.rate)}"
            yield Line(f"beside that it sends {bytes_text(link.sent)} {_LINKS[link.link]}: {rate}")


def _speeds(report: TimeReport) -> Iterator[str]:
    """Yield what follows from the bound: tokens a second, time to the first token, and MFU."""
    if report.phase == "prefill":
        yield f"first token after at least {seconds_text(report.seconds)}"
    if report.tokens_per_second is not None:
        yield f"at most {_number(report.tokens_per_second)} tokens/s"
    elif report.samples and report.seconds:
        yield f"at most {_number(report.samples / report.seconds)} samples/s"
    if report.mfu is not None:
        yield f"MFU {_percent(report.mfu)} at the bound"


def _run(report: TimeReport, run: TrainingRun) -> Iterator[Line]:
    how = "at the bound" if run.efficiency is None else f"at {_percent(run.efficiency)} of the peak"
    at_least = "at least " if run.efficiency is None else ""
    lead = f"{at_least}{_number(run.days)} days"
    flops = f"{run.flops:.3g}".replace("e+", "e")
    yield Line(
        f" for {short(run.tokens, elements=True)} tokens on {exact(report.devices)} devices, {how}: {flops} FLOP, "
        f"{run.pf_days:,.4g} PF-days",
        lead,
    )
    if run.energy_kwh is not None:
        yield Line(f"{_number(run.energy_kwh / 1000)} MWh, if the devices take their full power all the time")


def _limited(report: TimeReport) -> str:
    """Return the roof that is above most of the time, with the share of the time that layers are under it."""
    if report.limit is None:
        return ""
    if report.split is not None and report.seconds > report.split.work + report.split.fill:
        return f": {_LIMITS[report.limit]} all the time"
    under = sum(layer.seconds for layer in report.layers if layer.limit == report.limit)
    return f": {_LIMITS[report.limit]} for {_percent(under / report.seconds)} of it"


_LIMITS: dict[Limit, str] = {
    "compute": "bound by arithmetic",
    "memory": "bound by memory",
    "cache": "bound by the cache",
    "network": "bound by the network",
}


def _layers(report: TimeReport, rows: Selected[LayerBound]) -> Table:
    columns = [
        Column("layer", "path"),
        Column("operation", priority=30),
        Column("FLOP", "work", 50, "flops"),
        Column("bytes", "bytes", 60),
        Column("sent", "bytes", 70),
        Column("FLOP/B", "real", 40),
        Column("at least", "seconds", key="seconds"),
        Column("bound by", priority=80),
    ]
    shown = [_row(layer) for layer in rows.shown]
    moved, sent = report.read + report.written, sum(layer.sent for layer in report.layers)
    seconds = report.seconds if report.split is None else report.split.work
    total = Row(["all", "", report.flops, moved, sent, report.intensity, seconds, ""])
    notes = ("figures of all instances together",) if any(layer.repeat > 1 for layer in rows.shown) else ()
    if report.split is None:
        place = [column.title for column in columns].index("sent")
        shown, total = [_without(row, place) for row in shown], _without(total, place)
        del columns[place]
    return Table(columns, shown, [total], omitted=len(rows.others), notes=notes)


def _without(row: Row, place: int) -> Row:
    return row._replace(cells=[cell for number, cell in enumerate(row.cells) if number != place])


def _row(layer: LayerBound) -> Row:
    title = repeated(layer.title, layer.repeat)
    moved = layer.read + layer.written
    return Row([title, layer.op, layer.flops, moved, layer.sent, layer.intensity, layer.seconds, layer.limit or ""])


def _intensity(value: float | None) -> str:
    return "" if value is None else f": {value:,.4g} FLOP for a byte"


def _percent(value: float) -> str:
    """Write a share in per cent, with a decimal unless it is all."""
    return "100 %" if value >= 0.9995 else f"{value:.1%}".replace("%", " %")


def _part(value: float) -> str:
    """Write a share in per cent, a small one as ``<0.1 %``."""
    return _percent(value) if value >= 0.0005 else "<0.1 %"


def _rate(value: int) -> str:
    return f"{short(value)}B/s"


def _flops(value: int) -> str:
    return work(value, "FLOP")


def _number(value: float) -> str:
    """Write a number in three digits, or all those before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
