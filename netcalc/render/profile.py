"""Profiles of runs: time by layer and by operation, and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.engine.profile import LayerTime, Profile
from netcalc.render.numbers import bytes_text
from netcalc.render.page import Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected, keys_of
from netcalc.render.table import Column, Row, Share, Table

_FIGURES = (
    Column("ms", "milliseconds"),
    Column("share", "share", priority=40),
    Column("GFLOP/s", "rate", priority=50),
    Column("of GEMM", "percentage", priority=30),
)


class _Profile(Presentation[Profile]):
    columns = keys_of("path", "op", "seconds", "flops")

    def page(self, result: Profile, rows: Selected[LayerTime], view: View) -> Page:
        return profile_page(result, rows.shown)

    def data(self, result: Profile, rows: Selected[LayerTime], view: View) -> Table:
        return profile_data(rows.shown)


PRESENTATIONS = {"Profile": _Profile()}


def profile_page(profile: Profile, shown: Sequence[LayerTime]) -> Page:
    """The time of the layers ``shown``, the time by operation, and the memory; totals count all layers."""
    threads = "1 thread" if profile.threads == 1 else f"{profile.threads} threads"
    head = (
        f": medians of {profile.passes} passes on {threads}; of GEMM: relative to the {profile.gemm / 1e9:,.1f} "
        "GFLOP/s of NumPy's product of large float32 matrices on as many threads"
    )
    figures = _figures(profile, profile.seconds, profile.flops)
    columns = [Column("layer", "path"), Column("operation"), Column("fused operations", priority=20), *_FIGURES]
    layers = [
        Row([layer.path, layer.op, _fused(layer), *_figures(profile, layer.seconds, layer.flops)]) for layer in shown
    ]
    operations = [
        Row([operation.op, *_figures(profile, operation.seconds, operation.flops)], operation.layers)
        for operation in profile.operations
    ]
    yield Paragraph([Line(head, "profile")])
    totals = [Row(["total", None, None, *figures])]
    if len(shown) < len(profile.layers):
        seconds, flops = sum(layer.seconds for layer in shown), sum(layer.flops for layer in shown)
        totals.insert(0, Row([f"{len(shown):,} shown", None, None, *_figures(profile, seconds, flops)]))
    yield Table(columns, layers, totals)
    yield Table([Column("operation"), *_FIGURES], operations, [Row(["total", *figures])])
    yield _memory(profile)
    yield Paragraph([Line("", _measured(profile), "dim")])


def profile_data(layers: Sequence[LayerTime]) -> Table:
    """The time of layers, in seconds."""
    columns = [Column(title) for title in ("path", "op", "fused")]
    columns += [Column("seconds", "real"), Column("flops", "total")]
    rows = [Row([layer.path, layer.op, _fused(layer), layer.seconds, layer.flops]) for layer in layers]
    return Table(columns, rows)


def _fused(layer: LayerTime) -> str:
    return ", ".join(op for _, op in layer.fused)


def _figures(profile: Profile, seconds: float, flops: int) -> list[Any]:
    """Seconds, the share of the pass, the speed in FLOP/s, and the speed relative to GEMM."""
    part = Share(round(seconds * 1e9), round(profile.seconds * 1e9))
    speed = flops / seconds if flops and seconds else None
    return [seconds, part, speed, None if speed is None else speed / profile.gemm]


def _memory(profile: Profile) -> Table:
    contents = {
        "weights": "parameters in the layout of the plan",
        "arena": "inputs and intermediate tensors",
        "scratch": "scratch buffers of all threads",
        "patterns": "vectors repeated for long inner loops, masks",
        "temporary": "most that a reference kernel allocates",
        "outputs": "outputs returned to the caller",
        "inputs": "inputs as given or drawn",
    }
    predicted = profile.predicted
    columns = [Column("memory"), Column("predicted", "bytes"), Column("contents", "prose")]
    rows = [Row([name, size, contents[name]]) for name, size in predicted._asdict().items() if size]
    return Table(columns, rows, [Row(["total", predicted.peak, None])])


def _measured(profile: Profile) -> str:
    if profile.measured is None:
        return "not measured: the process had used more memory before"
    return (
        f"measured: {bytes_text(profile.measured)}, the largest increase of the resident memory of this process and "
        "its workers from before planning to after the last pass; includes reading or drawing weights piece by piece, "
        "and buffers of libraries"
    )
