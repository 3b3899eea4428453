"""The working behind a bound of time: work, bytes, peaks and rates of each layer, and what the whole is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from netcalc.analysis.devices import Device
from netcalc.analysis.explain import Explanation
from netcalc.analysis.explain_split import link_steps, traffic_sections
from netcalc.analysis.roofline import LayerBound
from netcalc.analysis.rows import present
from netcalc.analysis.time_report import TimeReport, TrainingRun
from netcalc.analysis.working import Section, longest_text, number_text, seconds_value
from netcalc.ir import Program
from netcalc.opdef import WorkingLine

#: Share of the time below which layers are not opened one by one, unless they are asked for.
_SMALL = 0.01
#: Figures of a device by the names of their sources, with their units.
_RATES = {"bandwidth": "B/s", "cache_bandwidth": "B/s", "node_link": "B/s", "network_link": "B/s"}


def explain_time(program: Program, report: TimeReport, path: str, layers: Sequence[LayerBound]) -> Explanation:
    """Return the working of layers of a report, or of the whole if these are all of them and the path is empty."""
    opened = layers if path else [layer for layer in layers if layer.seconds >= _SMALL * report.seconds]
    sections = [*_device(report), *(_layer(report, layer) for layer in opened), *_sum(layers, opened, path)]
    if not path:
        sections += _totals(report, layers, opened)
        sections += _whole(report)
    only = layers[0] if len(layers) == 1 else None
    return Explanation(
        program.name,
        program.dtype,
        program.checkpoint_dtype,
        program.stored_as,
        path,
        "time" if only is None else f"time of {only.op}",
        program.about,
        "Williams, Waterman and Patterson 2009, Roofline",
        present(program.main.inputs),
        program.main.outputs,
        1 if only is None else only.repeat,
        {},
        tuple(section for section in sections if section.steps),
        "netcalc",
        (*report.notes, *report.assumptions),
    )


def layers_at(report: TimeReport, path: str) -> list[LayerBound]:
    """Return the layers of a report at a path or below it, which is one as pages show it."""
    wanted = path.replace("-", "–").replace("...", "…")
    return [
        layer
        for layer in report.layers
        if any(f"{name}.".startswith(f"{text}.") for name in (layer.title, layer.path) for text in (wanted, path))
    ]


def _device(report: TimeReport) -> Iterator[Section]:
    """Yield the figures of the device that the time depends on, each with its source."""
    device = report.device
    for peak in dict.fromkeys(peak for layer in report.layers for peak in layer.peaks):
        source = device.sources.get("peaks", "")
        step = WorkingLine(peak, "FLOP/s", "", device.peaks[peak])
        yield Section(f"peak of {device.title}", (step,), source or "given")
    for name, unit in _RATES.items():
        value = getattr(device, name)
        if value is not None and (report.split is not None or not name.endswith("link")):
            step = WorkingLine(name.replace("_", " "), unit, "", value)
            yield Section(
                f"{name.replace('_', ' ')} of {device.title}", (step,), device.sources.get(name, "") or "given"
            )


def _layer(report: TimeReport, layer: LayerBound) -> Section:
    title = f"{layer.title} ×{layer.repeat:,}" if layer.repeat > 1 else layer.title
    return Section(title, tuple(_roofs(report, layer)), f"{layer.op}: the longest of its roofs")


def _divided(above: str, below: str, shared: str) -> str:
    """Return a quotient as text; what devices share is divided by their number too."""
    return f"{above}/({shared}{below})" if shared else f"{above}/{below}"


def _roofs(report: TimeReport, layer: LayerBound) -> Iterator[WorkingLine]:
    """Yield work and bytes of a layer, the seconds that they take, and the longest."""
    device = report.device
    shared = "" if report.split is not None or report.devices == 1 else f"{report.devices:,}·"
    by = "devices·" if shared else ""
    yield WorkingLine("FLOPs", "2·MACs", f"2·{number_text(layer.flops // 2)}", layer.flops)
    if layer.timed != layer.flops:
        yield WorkingLine("FLOPs of the fastest algorithm", "", "", layer.timed)
    moved = layer.read + layer.written
    yield WorkingLine("bytes", "read + written", f"{number_text(layer.read)} + {number_text(layer.written)}", moved)
    if layer.intensity is not None:
        text = f"{number_text(layer.flops)}/{number_text(moved)}"
        yield WorkingLine("FLOPs a byte", "FLOPs/bytes", text, f"{layer.intensity:.8g}")
    if "compute" in layer.roofs:
        text = ""
        if len(layer.peaks) == 1:
            rate = device.peaks[layer.peaks[0]]
            text = _divided(number_text(layer.timed), number_text(rate), shared)
        yield WorkingLine("compute", _divided("FLOPs", "peak", by), text, seconds_value(layer.roofs["compute"]))
    if "memory" in layer.roofs and device.bandwidth is not None:
        bytes_ = f"({number_text(moved)} - {number_text(layer.cached)})" if layer.cached else number_text(moved)
        formula = _divided("(bytes - cached)" if layer.cached else "bytes", "bandwidth", by)
        text = _divided(bytes_, number_text(device.bandwidth), shared)
        yield WorkingLine("memory", formula, text, seconds_value(layer.roofs["memory"]))
    if "cache" in layer.roofs and device.cache_bandwidth is not None:
        text = _divided(number_text(layer.cached), number_text(device.cache_bandwidth), shared)
        yield WorkingLine("cache", _divided("cached", "cache bandwidth", by), text, seconds_value(layer.roofs["cache"]))
    if layer.sent:
        yield from _network(device, layer)
    if layer.roofs:
        formula, text = longest_text([*layer.roofs], [*layer.roofs.values()])
        yield WorkingLine("at least", formula, text, seconds_value(layer.seconds))


def _network(device: Device, layer: LayerBound) -> Iterator[WorkingLine]:
    """Yield the seconds that a layer needs for what it sends, over each link."""
    parts = (
        ("node", layer.sent - layer.sent_away, device.node_link),
        ("network", layer.sent_away, device.network_link),
    )
    for name, sent, rate in parts:
        if sent and rate is not None:
            text = f"{number_text(sent)}/{number_text(rate)}"
            yield WorkingLine(f"network, {name} link", f"sent/{name} link", text, seconds_value(sent / rate))
        elif sent:
            yield WorkingLine(f"network, {name} link", "", "", f"{number_text(sent)} B at a rate that is not published")


def _sum(layers: Sequence[LayerBound], opened: Iterable[LayerBound], path: str) -> Iterator[Section]:
    """Yield the sum of several layers; those that are not opened are one step."""
    listed = list(opened)
    steps = [WorkingLine(layer.title, "", "", seconds_value(layer.seconds)) for layer in listed]
    rest = sum(layer.seconds for layer in layers) - sum(layer.seconds for layer in listed)
    if len(listed) < len(layers):
        steps.append(WorkingLine(f"{len(layers) - len(listed):,} others", "", "", seconds_value(max(rest, 0.0))))
    total = sum(layer.seconds for layer in layers)
    text = " + ".join(f"{float(str(step.value).split()[0]):.8g}" for step in steps)
    steps.append(WorkingLine("sum", "", text, seconds_value(total)))
    if len(layers) > 1 or not path:
        yield Section("time of the layers", tuple(steps), "layers follow one another")


def _totals(report: TimeReport, layers: Sequence[LayerBound], opened: Sequence[LayerBound]) -> Iterator[Section]:
    """Yield the sums of work, bytes and roofs over all layers; those that are not opened are one step."""
    figures: dict[str, Callable[[LayerBound], float]] = {
        "FLOPs of the layers": lambda layer: layer.flops,
        "bytes that are read": lambda layer: layer.read,
        "bytes that are written": lambda layer: layer.written,
    }
    for roof in report.roofs:
        figures[f"{roof} on its own"] = lambda layer, roof=roof: layer.roofs.get(roof, 0.0)  # type: ignore[misc]
    for title, figure in figures.items():
        steps = [(layer.title, figure(layer)) for layer in opened]
        total = sum(map(figure, layers))
        if len(opened) < len(layers):
            steps.append((f"{len(layers) - len(opened):,} others", max(total - sum(map(figure, opened)), 0)))
        lines = [WorkingLine(name, "", "", _shown(value)) for name, value in (*steps, ("sum", total))]
        yield Section(title, tuple(lines), "layers follow one another")


def _shown(value: float) -> int | str:
    """Return a number as a value of a step, seconds with their unit."""
    return value if isinstance(value, int) else seconds_value(value)


def _whole(report: TimeReport) -> Iterator[Section]:
    """Yield what the bound of the whole is made of, and what follows from it."""
    split = report.split
    if split is not None:
        yield from traffic_sections(split.traffic, split.split)
        steps = [WorkingLine("work", "time of the layers", "", seconds_value(split.work))]
        if split.split.pp > 1:
            steps.append(WorkingLine("waiting for the other stages", "", "", seconds_value(split.fill)))
        steps += link_steps(split.links)
        known = {f"{link.link} link": link.seconds for link in split.links if link.sent and link.seconds is not None}
        parts = {"work + waiting" if split.split.pp > 1 else "work": split.work + split.fill, **known}
        formula, text = longest_text([*parts], [*parts.values()])
        steps.append(WorkingLine("bound", formula, text, seconds_value(report.seconds)))
        yield Section("step", tuple(steps), "the longer one of the pipeline and of what its devices send beside it")
    yield Section("rates at the bound", tuple(_rates(report)))
    if report.estimated_seconds is not None and report.peak.flops is not None:
        work, peak = number_text(report.flops_of_all), number_text(report.peak.flops)
        formula = "max(FLOPs/(peak·efficiency), bound)"
        text = f"max({work}/({peak}·{report.efficiency:.8g}), {report.seconds:.8g})"
        step = WorkingLine("estimated", formula, text, seconds_value(report.estimated_seconds))
        yield Section(
            "time at the efficiency", (step,), "FLOPs of all devices at a share of their peak, which is given"
        )
    if report.run is not None:
        yield Section("whole training", tuple(_run(report, report.run)), "steps over all tokens, not rounded")


def _run(report: TimeReport, run: TrainingRun) -> Iterator[WorkingLine]:
    """Yield the working of a whole training, of which the report is one step."""
    seconds = report.seconds if report.estimated_seconds is None else report.estimated_seconds
    step = None if report.tokens is None else number_text(report.tokens)
    tokens = number_text(run.tokens)
    text = "" if step is None else f"{number_text(report.flops_of_all)}·{tokens}/{step}"
    yield WorkingLine("flops", "FLOPs of a step·tokens/tokens of a step", text, run.flops)
    text = f"{number_text(run.flops)}/(10**15·86,400)"
    yield WorkingLine("pf_days", "FLOPs/(10**15·86,400)", text, f"{run.pf_days:.8g}")
    text = "" if step is None else f"{seconds:.8g}·{tokens}/{step}"
    yield WorkingLine("seconds", "time of a step·tokens/tokens of a step", text, seconds_value(run.seconds))
    yield WorkingLine("days", "seconds/86,400", f"{run.seconds:.8g}/86,400", f"{run.days:.8g}")
    if run.energy_kwh is not None and run.power is not None:
        text = f"{number_text(run.power)}·{run.seconds:.8g}/3,600,000"
        yield WorkingLine("energy_kwh", "power·seconds/3,600,000", text, f"{run.energy_kwh:.8g}")


def _rates(report: TimeReport) -> Iterator[WorkingLine]:
    if not report.seconds:
        return
    seconds = f"{report.seconds:.8g}"
    if report.intensity is not None:
        text = f"{number_text(report.flops)}/({number_text(report.read)} + {number_text(report.written)})"
        yield WorkingLine("FLOPs a byte", "FLOPs/(read + written)", text, f"{report.intensity:.8g}")
    if report.tokens is not None and report.tokens_per_second is not None:
        text = f"{number_text(report.tokens)}/{seconds}"
        yield WorkingLine("tokens/s", "tokens/bound", text, f"{report.tokens_per_second:.8g}")
    if report.mfu is not None and report.peak.flops is not None:
        text = f"{number_text(report.flops_of_all)}/({number_text(report.peak.flops)}·{seconds})"
        yield WorkingLine("MFU", "FLOPs of all devices/(their peak·bound)", text, f"{report.mfu:.8g}")
