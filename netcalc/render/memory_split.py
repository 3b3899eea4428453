"""The part of the page of ``memory`` on a split over devices: the fullest device, its stage, and what it sends."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.parallel.report import SplitReport
from netcalc.analysis.parallel.split import Split, StageMemory
from netcalc.analysis.parallel.traffic import Traffic
from netcalc.render.numbers import bytes_text, exact
from netcalc.render.page import Line, Paragraph
from netcalc.render.table import Column, Row, Table

#: Kinds of memory by attribute, with their titles.
KINDS = {
    "weights": "weights",
    "gathered": "gathered layer",
    "gradients": "gradients",
    "states": "states",
    "activations": "activations",
    "caches": "caches and states",
}
#: What reduces the memory of a kind.
_LESS = {
    "weights": "--tp, --pp or --quantize",
    "gathered": "--tp",
    "gradients": "--zero 2, --tp or --pp",
    "states": "--zero 1, --tp or --pp",
    "activations": "--sp with --tp, --recompute or a smaller micro-batch",
    "caches": "--tp, --pp or --cache-dtype",
}


def split_answer(report: SplitReport) -> Iterator[Table | Paragraph]:
    """Yield the memory of the fullest device by kind, and what most of it is for."""
    device = report.fullest
    rows = [Row([title, getattr(device, kind)]) for kind, title in KINDS.items() if getattr(device, kind)]
    yield Table(
        [Column(f"fullest of {exact(report.devices)} devices", "path"), Column("bytes", "bytes")],
        rows,
        [Row(["all", device.total])],
    )
    kind = max(KINDS, key=lambda name: getattr(device, name))
    share = 100 * getattr(device, kind) / max(device.total, 1)
    less = "--tp, --pp or --fsdp" if kind == "weights" and report.bubble is not None else _LESS[kind]
    if kind == "activations" and report.bubble is None:
        less = "--tp or a smaller batch"
    yield Paragraph([Line(f"{share:.0f} % {KINDS[kind]}: {less} make them smaller")])


def split_details(report: SplitReport) -> Iterator[Table | Paragraph]:
    """Yield the way that a network is split, the stages that differ, and what the fullest device sends."""
    yield Paragraph(list(_words(report)))
    if len(report.stages) > 1:
        yield _stages(report.stages)
    if report.traffic:
        yield traffic_table(report.traffic)


def split_words(split: Split, bubble: float | None) -> Iterator[Line]:
    """Yield the numbers of a split, and the bubble of its pipeline."""
    yield Line(f": {', '.join(_numbers(split))}", "split", hanging="  ")
    if bubble is not None and split.pp > 1:
        given = f"({split.pp} - 1) / "
        given += (
            f"({split.virtual_stages} x {split.micro_batches})"
            if split.virtual_stages > 1
            else f"{split.micro_batches}"
        )
        yield Line(f": {given} = {bubble:.3g} of the time of its work", "pipeline bubble")


def _words(report: SplitReport) -> Iterator[Line]:
    split = report.split
    yield from split_words(split, report.bubble)
    if report.fullest.in_flight and split.pp > 1:
        held = " + ".join(map(str, report.fullest.in_flight))
        yield Line(f": {held} micro-batches on stage {report.fullest.stage}", "activations held")


def _numbers(split: Split) -> Iterator[str]:
    names = {
        "tp": "tensor-parallel ranks",
        "pp": "pipeline stages",
        "cp": "context-parallel ranks",
        "dp": "replicas",
        "ep": "ranks of experts among them",
    }
    for name, title in names.items():
        number = getattr(split, name)
        if number > 1:
            yield f"{exact(number)} {title}"
            if name == "tp" and split.sp:
                yield "sequence parallelism"
            if name == "pp" and split.virtual_stages > 1:
                yield f"{split.virtual_stages} parts of each"
    if split.zero:
        yield f"ZeRO stage {split.zero}"


def _stages(stages: tuple[StageMemory, ...]) -> Table:
    """The stages in order, equal ones in a row as one."""
    columns = [
        Column("stage", "name"),
        Column("layers", "total", 40),
        Column("weights", "bytes", 50),
        Column("activations", "bytes", 50),
        Column("all", "bytes"),
    ]
    rows: list[Row] = []
    first = 0
    for number, stage in enumerate(stages):
        following = stages[number + 1] if number + 1 < len(stages) else None
        if following is not None and following[1:] == stage[1:]:
            continue
        name = str(first) if first == number else f"{first}-{number}"
        rows.append(Row([name, stage.layers, stage.weights, stage.activations, stage.total]))
        first = number + 1
    return Table(columns, rows)


def traffic_table(traffic: tuple[Traffic, ...], device: str = "the fullest device") -> Table:
    """Return what a device exchanges in a step, by collective."""
    columns = [
        Column("exchanged in a step", "path"),
        Column("ranks", "total", 40),
        Column("span", "total", 60),
        Column("calls", "total", 40),
        Column("tensors", "bytes", 50, "size"),
        Column("sent", "bytes"),
    ]
    rows = [
        Row([f"{one.group} {one.collective}", one.ranks, one.span, one.calls, one.size, one.sent]) for one in traffic
    ]
    total = sum(one.sent for one in traffic)
    notes = (
        f"sent: bytes that {device} sends, by a ring or pairwise; {bytes_text(total)} in all",
        "span: devices in a row among which the ranks lie; a node that has as many connects them",
    )
    return Table(columns, rows, notes=notes)
