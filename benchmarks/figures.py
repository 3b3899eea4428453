"""Means, targets and the table of the cases of ``forward``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

__all__ = ["PEERS", "Record", "counted", "means", "show", "targets", "title"]

PEERS = ("torch", "onnxruntime", "reference")
MIB = 1 << 20
#: Fraction of its best speed that GEMM reaches on an idle machine.
QUIET = 0.85

#: A case, or an engine in a case, as written to the results.
Record: TypeAlias = dict[str, Any]


def title(record: Record) -> str:
    """Return the title of a case."""
    return f"{record['model']}, batch {record['batch']}, {counted(record['threads'])}"


def counted(number: int) -> str:
    """Return a number of threads in words."""
    return "1 thread" if number == 1 else f"{number} threads"


def speeds(records: Iterable[Record], peer: str) -> dict[str, float]:
    """Return netcalc's speed divided by the peer's, by case; 0 if only the peer can run it."""
    return {
        title(record): engines["netcalc"].get("speed_against", {}).get(peer, 0.0)
        for record in records
        if "netcalc" in (engines := record["engines"]) and "error" not in engines.get(peer, {"error": ""})
    }


def geometric_mean(numbers: Iterable[float]) -> float:
    """Return the geometric mean; 0 if a number is 0."""
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if all(numbers) else 0.0


def means(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Return geometric means of netcalc's speed divided by each peer's: by threads, by batch, and of all cases."""
    parts = {counted(t): [r for r in records if r["threads"] == t] for t in sorted({r["threads"] for r in records})}
    parts |= {f"batch {b}": [r for r in records if r["batch"] == b] for b in sorted({r["batch"] for r in records})}
    parts["all"] = list(records)
    return {
        peer: {name: round(geometric_mean(speeds(part, peer).values()), 3) for name, part in parts.items()}
        for peer in PEERS
        if all(speeds(part, peer) for part in parts.values())
    }


def targets(records: Sequence[Record]) -> list[Record]:
    """Return the targets with the measured values; of several cases the worst."""
    rows: list[Record] = []

    def add(name: str, target: float, values: dict[str, float], *, at_most: bool = False) -> None:
        if values:
            worst = (max if at_most else min)(values, key=lambda name: values[name])
            value = values[worst]
            met = value <= target if at_most else value >= target
            rows.append({"name": name, "target": target, "value": round(value, 3), "case": worst, "met": met})

    for peer, target in (("torch", 1.1), ("onnxruntime", 0.8), ("reference", 8.0)):
        values = speeds(records, peer)
        add(f"speed / {peer}", target, {"geometric mean": geometric_mean(values.values())} if values else {})
    add("speed / torch, lowest case", 0.85, speeds(records, "torch"))
    own = [(record, record["engines"]["netcalc"]) for record in records if "netcalc" in record["engines"]]
    for model in ("resnet34", "bert-base"):
        shares = {title(r): engine.get("share_of_gemm", 0.0) for r, engine in own if r["model"] == model}
        add(f"share of GEMM speed, {model}", 0.7, shares)
    memory = {
        title(r): e["peak_bytes"] / (1.15 * (e["weight_bytes"] + e["activation_bytes"]) + 60 * MIB)
        for r, e in own
        if "peak_bytes" in e
    }
    add("peak memory / (1.15 × (weights + values) + 60 MiB)", 1.0, memory, at_most=True)
    return rows


def show(records: Sequence[Record]) -> None:
    """Print the cases engine by engine, the means and the targets."""
    heads = ("median", "GFLOP/s", "of GEMM", "netcalc is", "peak memory", "before load", "difference")
    print(f"{'':15}" + "".join(f"{head:>13}" for head in heads))
    for record in records:
        gemm = record["gemm_gflops"]
        best = max(r["gemm_best_gflops"] for r in records if r["threads"] == record["threads"])
        doubt = f", at best {best:.0f}: the machine was not idle" if gemm < QUIET * best else ""
        print(f"\n{title(record)} (GEMM: {gemm:.0f} GFLOP/s{doubt})")
        for name, found in record["engines"].items():
            print(f"  {name:13}" + (f"  {found['error']}" if "error" in found else _cells(record, name)))
    if found := means(records):
        print("\nnetcalc's speed divided by a peer's, geometric means")
        print(f"{'':15}" + "".join(f"{part:>13}" for part in next(iter(found.values()))))
        for peer, values in found.items():
            print(f"  {peer:13}" + "".join(f"{value:>12.2f}×" for value in values.values()))
    if rows := targets(records):
        print("\ntargets")
        for row in rows:
            verdict = "met" if row["met"] else "missed"
            print(f"  {row['name']:52} {row['target']:>5.2f}  {row['value']:>6.2f}  {verdict:6}  {row['case']}")


def _cells(record: Record, name: str) -> str:
    found = record["engines"][name]
    speed = record["engines"].get("netcalc", {}).get("speed_against", {}).get(name)
    cells = (
        f"{found['median_ms']:.1f} ms",
        f"{found['gflops']:.1f}",
        f"{found['share_of_gemm']:.0%}",
        "" if speed is None else f"{speed:.2f}×",
        f"{found['peak_bytes'] / MIB:.0f} MiB",
        f"{found['base_bytes'] / MIB:.0f} MiB",
        f"{found['difference']:.0e}",
    )
    return "".join(f"{cell:>13}" for cell in cells)
