"""The sections of the page of ``netcalc report``, of the methods of a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from netcalc.analysis.compare import Comparison
from netcalc.analysis.explain import Explanation, explain_all
from netcalc.analysis.explain_operation import explain_operation
from netcalc.analysis.explain_signal import explain_signals
from netcalc.analysis.explain_time import explain_time, layers_at
from netcalc.analysis.page import NetworkPage, Workings
from netcalc.analysis.shares import shares_of
from netcalc.analysis.time_report import TimeReport
from netcalc.arguments import options_of, texts
from netcalc.diagnostics import Diagnostic, NetcalcError, written
from netcalc.limits import MAX_BLOCK_DEPTH, MAX_DEPTH
from netcalc.options import BoundOptions, CountOptions, HeldOptions, MemoryOptions
from netcalc.page_options import ReportOptions
from netcalc.planning.explained import memory_working
from netcalc.planning.explained_split import explained_stages
from netcalc.planning.phases import request_in_phase
from netcalc.request import Request

#: Depth of a graph that opens all blocks, of which there are fewer levels.
_OPEN = MAX_DEPTH * MAX_BLOCK_DEPTH
#: Parts of a request that are settings of a page, by the option that gives each.
_ASKED = ("dtype", "mode", "quantize", "prune", "lora", "symbolic")


def network_page(network: Any, title: str, options: ReportOptions) -> NetworkPage:
    """Return the sections on a network.

    Args:
        network: the network, a :class:`~netcalc.network.Network`.
        title: its name on the page.
        options: the options of ``report``, each with a value.
    """
    values: dict[str, Any] = {**options}
    counts = _counts(values)
    held = _of(HeldOptions, values)
    summary = network.summary(**counts)
    memory = network.memory(**held)
    time = _time(network, values)
    graph = network.graph(convention=values["convention"], depth=_OPEN)
    signal = network.signal() if values["signal"] else None
    timed = None if time is None else request_in_phase(network.request, time.phase, values["logits"])[0].program
    titles = {layer.path: layer.title for layer in summary.layers}
    opened = _opened(network, values, [*titles.values(), *(group.path for group in graph.groups)])
    workings = Workings(
        total=network.explain(**counts),
        layers={path: opened[title] for path, title in titles.items()},
        blocks={group.path: opened[group.path] for group in graph.groups},
        operations={},
        memory=memory_working(network.request, memory, options),
        split=() if memory.split is None else _stages(network, held),
        time=None if time is None or timed is None else explain_time(timed, time, "", time.layers),
        times={}
        if time is None or timed is None
        else {layer.path: explain_time(timed, time, layer.path, layers_at(time, layer.path)) for layer in time.layers},
        signals=() if signal is None else explain_signals(network.program, signal),
    )
    program = summary.analysis.program
    return NetworkPage(
        title,
        program.about,
        program.source,
        dict(_settings(network.request, values)),
        summary.analysis.convention.about,
        summary,
        shares_of(summary),
        graph,
        memory,
        workings,
        time,
        signal,
    )


def compared_pages(
    networks: Sequence[Any], pages: Sequence[NetworkPage], comparison: Comparison, options: ReportOptions
) -> tuple[NetworkPage, ...]:
    """Return the pages of two networks with the workings of the figures that their comparison shows.

    Args:
        networks: the networks.
        pages: the page of each.
        comparison: their comparison.
        options: the options of ``report``, each with a value.
    """
    values: dict[str, Any] = {**options}
    compared = []
    for place, (network, page) in enumerate(zip(networks, pages, strict=True)):
        known = page.workings.layers
        paths = [match.path for match in comparison.rows() if match.layers[place] is not None]
        layers = _opened(network, values, [path for path in paths if path not in known])
        analysis = page.summary.analysis
        names = [match.op for match in comparison.differing if match.executions[place]]
        operations = {name: explain_operation(analysis, name) for name in names}
        workings = replace(page.workings, layers={**known, **layers}, operations=operations)
        compared.append(replace(page, workings=workings))
    return tuple(compared)


def _opened(network: Any, values: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Explanation]:
    """Return the workings of layers and blocks by path, none of them excluded."""
    analysis = network.analysis(**{**_counts(values), "exclude": ()})
    program = network.request.counted(values["training"]).program
    return explain_all(program, paths, analysis.convention, analysis.backward)


def _stages(network: Any, held: dict[str, Any]) -> tuple[Explanation, ...]:
    options: MemoryOptions = MemoryOptions(**held, depth=None)  # type: ignore[typeddict-item]
    return explained_stages(network.request, options)


def _counts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the counts."""
    counts = _of(CountOptions, values)
    if not counts["backward"] and counts["training"] is None:  # the kernel is that of the memory alone
        counts["attention"] = options_of(HeldOptions)["attention"].default
    return counts


def _of(group: type, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in options_of(group)}


def _time(network: Any, values: Mapping[str, Any]) -> TimeReport | None:
    """Return the bound of the time on the device; None without a device, with which no option of a time may be."""
    if values["device"] is not None:
        bound: TimeReport = network.time(**_of(BoundOptions, values))
        return bound
    for name, option in options_of(BoundOptions).items():
        if name not in options_of(HeldOptions) and values[name] != option.default:
            raise NetcalcError(Diagnostic("E502", f"--{name.replace('_', '-')} is of a time", hint="--device h100"))
    return None


def _settings(request: Request, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield settings and options that are not the usual ones."""
    for name, value in request.settings.items():
        yield name, written(value, length=60)
    for name in _ASKED:
        asked = getattr(request, name)
        if asked:
            yield f"--{name}", written(asked) if isinstance(asked, Mapping) else _text(asked)
    for name, option in options_of(ReportOptions).items():
        value = values[name]
        if name != "signal" and value != option.default and value not in (None, (), False):
            yield f"--{name.replace('_', '-')}", "" if value is True else _text(value)


def _text(value: Any) -> str:
    """Return the value of an option as a command line has it."""
    return " ".join(map(str, texts(value))) if isinstance(value, str | list | tuple) else written(value, length=60)
