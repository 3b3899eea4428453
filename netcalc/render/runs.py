"""What a forward pass gave and what a verification found, as text and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from netcalc.render.grid import Column, grid
from netcalc.render.numbers import bytes_text, shape_text
from netcalc.render.profile import profile_parts, profile_record
from netcalc.render.text import PLAIN, Look, clean
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.engine.run import RunResult
    from netcalc.numerics.parameters import WeightsReport
    from netcalc.numerics.trace import TraceRow
    from netcalc.verification.verify import Check, VerifyReport

__all__ = ["render_run", "render_verification", "render_weights", "run_record", "verification_record", "weights_record"]

#: Outputs of at most so many numbers are printed.
_FEW = 64
#: Columns of what is written to no terminal.
_WIDTH = 100

_STATISTICS = ("mean", "std", "min", "max")


def render_run(result: RunResult, outputs: tuple[TraceRow, ...], origin: str, look: Look = PLAIN) -> str:
    """Outputs and traced tensors with their statistics; small outputs with their numbers."""
    parts = [origin]
    if result.trace:
        parts.append(_statistics("trace", result.trace, look))
    parts.append(_statistics("output", outputs, look))
    few = {name: array for name, array in result.outputs.items() if array.size <= _FEW}
    parts += (f"{clean(name)} =\n{_numbers(array, look.width or _WIDTH)}" for name, array in few.items())
    if result.profile is not None:
        parts += profile_parts(result.profile, look)
    else:
        parts.append(look(_memory(result), "dim"))
    return "\n\n".join(parts)


def run_record(result: RunResult, outputs: tuple[TraceRow, ...], spec: str, seed: int) -> dict[str, Any]:
    """A run as JSON; numbers that are not finite are written as text."""
    return {
        "netcalc": __version__,
        "spec": spec,
        "seed": seed,
        "outputs": {
            row.path: _row_record(row) | ({"values": _values(array)} if array.size <= _FEW else {})
            for row, array in zip(outputs, result.outputs.values(), strict=True)
        },
        "trace": [{"path": row.path, "op": row.op} | _row_record(row) for row in result.trace],
        "plan": result.plan,
        "memory": {
            "weights": result.memory.weights,
            "activations": result.memory.activations,
            "peak": result.memory.peak,
        },
    } | ({} if result.profile is None else {"profile": profile_record(result.profile)})


def render_verification(report: VerifyReport, spec: str, look: Look = PLAIN) -> str:
    """What was checked, how often, and every prediction that was wrong."""
    counts = report.counts
    lines = [f"{look(clean(spec), 'bold')}: {report.operations:,} operations executed, each checked by itself"]
    explained = {
        "outputs": "shape and type of every output",
        "parameters": "shape and type of every parameter and buffer",
        "work": "operations by kind, counted by the kernels",
        "totals": "elements of all parameters and of all buffers",
    }
    rows = [[name, f"{counts[name]:,}", text] for name, text in explained.items()]
    parts = ["\n".join(lines), grid([Column("checked"), Column("checks", right=True), Column("what")], rows, look)]
    total = sum(counts.values())
    if report.ok:
        parts.append(look(f"all {total:,} predictions equal what happened", "good"))
    else:
        wrong = [
            [_where(check), check.op, check.what, _shown(check.predicted), _shown(check.executed)]
            for check in report.failures
        ]
        columns = [Column(title) for title in ("layer", "operation", "what", "predicted", "executed")]
        missed = sum(check.times for check in report.failures)
        parts += [grid(columns, wrong, look), look(f"{missed:,} of {total:,} predictions were wrong", "bad")]
    return "\n\n".join(parts)


def verification_record(report: VerifyReport, spec: str) -> dict[str, Any]:
    """A verification as JSON; equal checks of one operation are one entry with how many they are."""
    return {
        "netcalc": __version__,
        "spec": spec,
        "ok": report.ok,
        "operations": report.operations,
        "counts": dict(report.counts),
        "checks": [
            {
                "path": check.path,
                "op": check.op,
                "what": check.what,
                "predicted": check.predicted,
                "executed": check.executed,
                "times": check.times,
                "ok": check.ok,
            }
            for check in report.checks
        ],
    }


def render_weights(report: WeightsReport, spec: str, look: Look = PLAIN) -> str:
    """How a checkpoint's header fits the spec."""
    head = f"{clean(report.file)}: {report.tensors:,} tensors, of which {clean(spec)} wants {report.parameters:,}"
    if report.ok:
        return f"{head}\n{look('every name, shape and type fits', 'good')}"
    rows = [[m.kind, m.name, m.message, m.hint or ""] for m in report.mismatches]
    columns = [Column("what"), Column("tensor"), Column("why"), Column("hint")]
    count = len(report.mismatches)
    return f"{head}\n\n{grid(columns, rows, Look(look.color))}\n\n{look(f'{count:,} do not fit', 'bad')}"


def weights_record(report: WeightsReport, spec: str) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "netcalc": __version__,
        "spec": spec,
        "ok": report.ok,
        "file": report.file,
        "tensors": report.tensors,
        "parameters": report.parameters,
        "mismatches": [
            {"kind": m.kind, "name": m.name, "message": m.message, "hint": m.hint} for m in report.mismatches
        ],
    }


def _memory(result: RunResult) -> str:
    """What was predicted; the reference path has no more than one operation's weights in memory."""
    memory = result.memory
    of = f", {bytes_text(memory.weights)} of it for weights" if result.plan == "fast" and memory.weights else ""
    return f"predicted memory: {bytes_text(memory.peak)} at the most{of}"


def _statistics(title: str, rows: tuple[TraceRow, ...], look: Look) -> str:
    columns = [Column(title), Column("operation"), Column("shape"), Column("type")]
    columns += [Column(name, right=True) for name in _STATISTICS]
    cells = [
        [row.path, row.op, shape_text(row.shape), row.dtype, *(f"{getattr(row, name):.4g}" for name in _STATISTICS)]
        for row in rows
    ]
    return grid(columns, cells, look)


def _row_record(row: TraceRow) -> dict[str, Any]:
    statistics = {name: _finite(getattr(row, name)) for name in (*_STATISTICS, "absmax")}
    return {"shape": list(row.shape), "dtype": row.dtype} | statistics


def _numbers(array: Any, width: int) -> str:
    import numpy as np

    return str(np.array2string(array, precision=4, suppress_small=True, max_line_width=width, separator=", "))


def _values(array: Any) -> Any:
    return _each(array.tolist())


def _each(value: Any) -> Any:
    return [_each(item) for item in value] if isinstance(value, list) else _finite(value)


def _finite(value: Any) -> Any:
    if isinstance(value, complex):
        return str(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _where(check: Check) -> str:
    path = check.path or "(whole)"
    return f"{path} ×{check.times:,}" if check.times > 1 else path


def _shown(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value
