"""The storage of parameters: a table by scheme, and a line below reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netcalc.ir import Program
from netcalc.render.page import Line
from netcalc.render.table import Column, Row, Share, Table

if TYPE_CHECKING:
    from netcalc.analysis.precision.report import StorageReport


def storage_table(program: Program) -> Table:
    """The schemes with their parameters, bytes and bits for each parameter, and why others stay as they are."""
    report = storage_of(program)
    columns = [
        Column("stored as", "name"),
        Column("tensors", "count", priority=20),
        Column("parameters", "count"),
        Column("bytes", "bytes"),
        Column("bits each", "real", digits=4),
        Column("share", "share", priority=30),
        Column("not as assigned", "prose"),
    ]
    rows = []
    for group in report.groups:
        scheme = f"{group.scheme} {group.sparsity}" if group.sparsity else group.scheme
        share = Share(group.bytes, report.bytes)
        rows.append(Row([scheme, group.tensors, group.params, group.bytes, group.bits, share, group.reason]))
    tensors = sum(group.tensors for group in report.groups)
    share = Share(report.bytes, report.bytes)
    total = Row(["total", tensors, report.params, report.bytes, report.bits, share, ""])
    return Table(columns, rows, [total])


def storage_of(program: Program) -> StorageReport:
    """Return how the parameters of a program are stored; without assignments no report needs it."""
    from netcalc.analysis.precision.report import storage_report

    return storage_report(program)


def bits_text(program: Program) -> str:
    """Return ``, 4.894 bits a parameter`` if schemes were assigned to parameters; otherwise nothing."""
    bits = storage_of(program).bits if program.assigned else None
    return "" if bits is None else f", {bits:.4g} bits a parameter"


def storage_notes(program: Program) -> Iterator[Line]:
    """Yield what reports of work say of schemes: they do not change the work that is counted."""
    if program.assigned.get("--prune"):
        yield Line("removed elements are counted as work: the work is that of the dense network")
    if program.assigned.get("--quantize"):
        yield Line("the work is that of the network in full precision, without dequantization")
