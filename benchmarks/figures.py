"""What follows from the cases of ``forward``: means, what is aimed at, and the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

__all__ = ["PEERS", "Record", "aims", "means", "show", "title"]

PEERS = ("torch", "onnxruntime", "reference")
MIB = 1 << 20
#: Of its best speed, what GEMM usually has on a machine that does nothing else.
QUIET = 0.85

#: A case, or an engine in a case, as it is kept.
Record: TypeAlias = dict[str, Any]


def title(record: Record) -> str:
    """How a case is called."""
    return f"{record['model']}, batch {record['batch']}, {counted(record['threads'])}"


def counted(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"


def speeds(records: Iterable[Record], peer: str) -> dict[str, float]:
    """netcalc's speed in units of the peer's, by case; 0 where only the peer can."""
    return {
        title(record): engines["netcalc"].get("speed_against", {}).get(peer, 0.0)
        for record in records
        if "netcalc" in (engines := record["engines"]) and "error" not in engines.get(peer, {"error": ""})
    }


def geometric_mean(numbers: Iterable[float]) -> float:
    """0 where a number is."""
    numbers = list(numbers)
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if all(numbers) else 0.0


def means(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Of netcalc's speed in units of each peer's: by threads, by batch, and of all cases."""
    parts = {counted(t): [r for r in records if r["threads"] == t] for t in sorted({r["threads"] for r in records})}
    parts |= {f"batch {b}": [r for r in records if r["batch"] == b] for b in sorted({r["batch"] for r in records})}
    parts["all"] = list(records)
    return {
        peer: {name: round(geometric_mean(speeds(part, peer).values()), 3) for name, part in parts.items()}
        for peer in PEERS
        if all(speeds(part, peer) for part in parts.values())
    }


def aims(records: Sequence[Record]) -> list[Record]:
    """What is aimed at, and what was found; of many cases the worst."""
    found: list[Record] = []

    def add(aim: str, wanted: float, values: dict[str, float], *, at_most: bool = False) -> None:
        if values:
            worst = (max if at_most else min)(values, key=lambda name: values[name])
            value = values[worst]
            met = value <= wanted if at_most else value >= wanted
            found.append({"aim": aim, "wanted": wanted, "found": round(value, 3), "where": worst, "met": met})

    for peer, wanted in (("torch", 1.1), ("onnxruntime", 0.8), ("reference", 8.0)):
        values = speeds(records, peer)
        add(f"speed, of {peer}'s", wanted, {"geometric mean": geometric_mean(values.values())} if values else {})
    add("speed, of torch's, in no case below", 0.85, speeds(records, "torch"))
    own = [(record, record["engines"]["netcalc"]) for record in records if "netcalc" in record["engines"]]
    for model in ("resnet34", "bert-base"):
        shares = {title(r): engine.get("share_of_gemm", 0.0) for r, engine in own if r["model"] == model}
        add(f"share of the GEMM peak, {model}", 0.7, shares)
    memory = {
        title(r): e["peak_bytes"] / (1.15 * (e["weight_bytes"] + e["activation_bytes"]) + 60 * MIB)
        for r, e in own
        if "peak_bytes" in e
    }
    add("peak memory, of 1.15 × (weights + values) + 60 MiB", 1.0, memory, at_most=True)
    return found


def show(records: Sequence[Record]) -> None:
    """The cases engine by engine, the means and the aims."""
    heads = ("median", "GFLOP/s", "of GEMM", "netcalc is", "peak memory", "with imports", "difference")
    print(f"{'':15}" + "".join(f"{head:>13}" for head in heads))
    for record in records:
        gemm = record["gemm_gflops"]
        best = max(r["gemm_best_gflops"] for r in records if r["threads"] == record["threads"])
        doubt = f", at best {best:.0f}: the machine was busy" if gemm < QUIET * best else ""
        print(f"\n{title(record)} (GEMM: {gemm:.0f} GFLOP/s{doubt})")
        for name, found in record["engines"].items():
            print(f"  {name:13}" + (f"  {found['error']}" if "error" in found else _cells(record, name)))
    if found := means(records):
        print("\nnetcalc's speed in units of a peer's, geometric means")
        print(f"{'':15}" + "".join(f"{part:>13}" for part in next(iter(found.values()))))
        for peer, values in found.items():
            print(f"  {peer:13}" + "".join(f"{value:>12.2f}×" for value in values.values()))
    if found := aims(records):
        print("\naims")
        for aim in found:
            verdict = "met" if aim["met"] else "missed"
            print(f"  {aim['aim']:52} {aim['wanted']:>5.2f}  {aim['found']:>6.2f}  {verdict:6}  {aim['where']}")


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
