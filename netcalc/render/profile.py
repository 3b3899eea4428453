"""Where the time and the memory of a run went, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netcalc.render.grid import Column, grid
from netcalc.render.numbers import bytes_text, repeated, share
from netcalc.render.text import Look, fill

if TYPE_CHECKING:
    from netcalc.engine.profile import Profile

__all__ = ["profile_parts", "profile_record"]

_FIGURES = (
    Column("ms", right=True),
    Column("share", right=True, spare=1),
    Column("GFLOP/s", right=True),
    Column("of GEMM", right=True),
)


def profile_parts(profile: Profile, look: Look) -> list[str]:
    """The time by layer and by operation, and the memory."""
    threads = "1 thread" if profile.threads == 1 else f"{profile.threads} threads"
    head = (
        f"{look('profile', 'bold')}: medians of {profile.passes} passes on {threads}; of GEMM: share of the "
        f"{profile.gemm / 1e9:,.1f} GFLOP/s of NumPy's product of large float32 matrices on as many"
    )
    whole = _figures(profile, profile.seconds, profile.flops)
    layers = [
        [layer.path, layer.op, ", ".join(op for _, op in layer.fused), *_figures(profile, layer.seconds, layer.flops)]
        for layer in profile.layers
    ]
    columns = [Column("layer"), Column("operation"), Column("fused into it", spare=2), *_FIGURES]
    operations = [
        [repeated(op, count), *_figures(profile, seconds, flops)] for op, count, seconds, flops in profile.operations
    ]
    return [
        fill(head, look.width),
        grid(columns, layers, look, total=["in all", "", "", *whole]),
        grid([Column("operation"), *_FIGURES], operations, look, total=["in all", *whole]),
        _memory(profile, look),
    ]


def profile_record(profile: Profile) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "threads": profile.threads,
        "passes": profile.passes,
        "seconds": profile.seconds,
        "flops": profile.flops,
        "gemm_flops_per_second": profile.gemm,
        "layers": [
            {
                "path": layer.path,
                "op": layer.op,
                "fused": [{"path": path, "op": op} for path, op in layer.fused],
                "seconds": layer.seconds,
                "flops": layer.flops,
            }
            for layer in profile.layers
        ],
        "operations": [operation._asdict() for operation in profile.operations],
        "memory": profile.predicted._asdict() | {"predicted": profile.predicted.peak, "measured": profile.measured},
    }


def _figures(profile: Profile, seconds: float, flops: int) -> list[str]:
    """Milliseconds, the share of the pass, the speed, and its share of what the machine can do."""
    part = share(round(seconds * 1e9), round(profile.seconds * 1e9))
    if not flops or not seconds:
        return [f"{seconds * 1e3:,.3f}", part, "", ""]
    speed = flops / seconds
    return [f"{seconds * 1e3:,.3f}", part, f"{speed / 1e9:,.1f}", f"{speed / profile.gemm:.1%}".replace("%", " %")]


def _memory(profile: Profile, look: Look) -> str:
    explained = {
        "weights": "in the form that the steps take",
        "arena": "inputs, and what goes from step to step",
        "scratch": "what the jobs of all threads write to for themselves",
        "temporary": "what one plain kernel gives, at the most",
        "outputs": "what the caller gets",
    }
    predicted = profile.predicted
    rows = [[name, bytes_text(size), explained[name]] for name, size in predicted._asdict().items() if size]
    table = grid(
        [Column("memory"), Column("predicted", right=True), Column("what")],
        rows,
        look,
        total=["in all", bytes_text(predicted.peak), ""],
    )
    if profile.measured is None:
        note = "not measured: the process had held more before"
    else:
        note = (
            f"measured: {bytes_text(profile.measured)}, by which resident memory rose at the most, of the process and "
            "of those that share its work, from before planning to after the last pass; that includes reading or "
            "drawing weights one at a time, inputs, and what libraries hold"
        )
    return f"{table}\n{look(fill(note, look.width), 'dim')}"
