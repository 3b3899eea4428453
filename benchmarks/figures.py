"""Means, targets and tables of the cases of ``forward``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

__all__ = ["PEERS", "Record", "counted", "means", "memory_limit", "networks", "show", "show_case", "targets", "title"]

PEERS = ("torch", "onnxruntime", "reference")
MIB = 1 << 20
#: Fraction of its best speed that GEMM reaches on an idle machine.
QUIET = 0.85
#: Least speeds divided by a peer's on one thread and on several: geometric mean, and the lowest network.
SPEEDS = {
    "1 thread": {"torch": (1.5, 1.0), "onnxruntime": (1.0, 0.75)},
    "threads": {"torch": (1.6, 1.0), "onnxruntime": (0.95, 0.65)},
}
#: The same with a limited instruction set, for any number of threads; onnxruntime cannot be limited.
LIMITED = {"torch": (1.3, 0.9)}

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


def by(records: Sequence[Record], key: str, name: Callable[[Any], str] = str) -> dict[str, list[Record]]:
    """Return the cases by one of their fields, in the order in which its values come first, or by number."""
    found = dict.fromkeys(record[key] for record in records)
    values = sorted(found) if all(isinstance(value, int) for value in found) else list(found)
    return {name(value): [record for record in records if record[key] == value] for value in values}


def means(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Return geometric means of netcalc's speed divided by each peer's: by threads, by batch, and of all cases."""
    parts = by(records, "threads", counted) | by(records, "batch", "batch {}".format) | {"all": list(records)}
    found = {peer: {name: speeds(part, peer) for name, part in parts.items()} for peer in PEERS}
    return {
        peer: {name: round(geometric_mean(of.values()), 3) for name, of in parts.items() if of}
        for peer, parts in found.items()
        if parts["all"]
    }


def least_speeds(record: Record) -> dict[str, tuple[float, float]]:
    """Return the targets for cases like this one: by peer, of the geometric mean and of the lowest network."""
    return LIMITED if "isa" in record else SPEEDS["1 thread" if record["threads"] == 1 else "threads"]


def memory_limit(record: Record) -> float:
    """Return the bytes that a case may take at its peak."""
    predicted: int = record["engines"]["netcalc"]["predicted_bytes"]
    return 1.1 * predicted + (60 + 20 * (record["threads"] - 1)) * MIB


def networks(records: Sequence[Record]) -> dict[str, Record]:
    """Return for each network and number of threads the means over its batch sizes, and the memory against its limit.

    ``memory`` is the largest quotient of the peak and its limit, and ``memory_over_mib`` what it exceeds the limit by.
    """
    return {
        model: {threads: _network(part) for threads, part in by(of_model, "threads", counted).items()}
        for model, of_model in by(records, "model").items()
    }


def _network(records: Sequence[Record]) -> Record:
    found: Record = {}
    for peer in PEERS:
        if values := speeds(records, peer):
            found[peer] = round(geometric_mean(values.values()), 3)
    engines = [(record, record["engines"].get("netcalc", {})) for record in records]
    peaks = [(engine["peak_bytes"], memory_limit(record)) for record, engine in engines if "peak_bytes" in engine]
    if peaks:
        found["memory"] = round(max(peak / limit for peak, limit in peaks), 3)
        found["memory_over_mib"] = round(max(0.0, *(peak - limit for peak, limit in peaks)) / MIB, 1)
    return found


def left_out(records: Sequence[Record]) -> dict[str, str]:
    """Return the engines that could not run a case, with their errors."""
    return {
        f"{title(record)}: {name}": found["error"]
        for record in records
        for name, found in record["engines"].items()
        if "error" in found
    }


def targets(records: Sequence[Record]) -> list[Record]:
    """Return the targets with the measured values; of several networks or cases the worst."""
    rows: list[Record] = []

    def add(name: str, target: float, values: dict[str, float], *, at_most: bool = False) -> None:
        if values:
            worst = (max if at_most else min)(values, key=lambda name: values[name])
            value = values[worst]
            met = value <= target if at_most else value >= target
            rows.append({"name": name, "target": target, "value": round(value, 3), "case": worst, "met": met})

    for threads, part in by(records, "threads", counted).items():
        for peer, (mean, lowest) in least_speeds(part[0]).items():
            values = speeds(part, peer)
            add(f"speed / {peer}, {threads}", mean, {"mean": geometric_mean(values.values())} if values else {})
            of_networks = {
                model: geometric_mean(found.values())
                for model, of_model in by(part, "model").items()
                if (found := speeds(of_model, peer))
            }
            add(f"speed / {peer}, {threads}, lowest network", lowest, of_networks)
    memory = {
        title(record): engine["peak_bytes"] / memory_limit(record)
        for record in records
        if "peak_bytes" in (engine := record["engines"].get("netcalc", {}))
    }
    add("peak memory / (1.1 × prediction + 60 MiB + 20 MiB a worker)", 1.0, memory, at_most=True)
    return rows


def show_case(record: Record) -> None:
    """Print a case engine by engine."""
    heads = ("median", "GFLOP/s", "of GEMM", "netcalc is", "peak memory", "before load", "difference")
    print(f"\n{title(record)} (GEMM: {record['gemm_gflops']:.0f} GFLOP/s)")
    print(f"{'':15}" + "".join(f"{head:>13}" for head in heads))
    for name, found in record["engines"].items():
        print(f"  {name:13}" + (f"  {found['error']}" if "error" in found else _cells(record, name)))
    own = record["engines"].get("netcalc", {})
    if "peak_bytes" in own:
        limit, predicted = memory_limit(record) / MIB, own["predicted_bytes"] / MIB
        print(f"  netcalc's peak of {own['peak_bytes'] / MIB:.0f} MiB: {predicted:.0f} predicted, {limit:.0f} allowed")
    sys.stdout.flush()


def show(records: Sequence[Record]) -> None:
    """Print a table by network, the means, the targets, and what could not be measured."""
    threads = list(by(records, "threads", counted))
    columns = [(key, count) for key in (*PEERS[:2], "memory") for count in threads]
    heads = {"torch": "torch/nc", "onnxruntime": "ort/nc", "memory": "of limit"}
    print(f"\n{'':20}" + "".join(f"{heads[key]:>11}" for key, _ in columns))
    print(f"{'':20}" + "".join(f"{count:>11}" for _, count in columns))
    for model, found in networks(records).items():
        cells = [found.get(count, {}).get(key) for key, count in columns]
        print(f"{model:20}" + "".join(f"{'' if cell is None else format(cell, '.2f'):>11}" for cell in cells))
    if of_peers := means(records):
        print("\nnetcalc's speed divided by a peer's, geometric means")
        print(f"{'':15}" + "".join(f"{part:>13}" for part in of_peers[next(iter(of_peers))]))
        for peer, values in of_peers.items():
            print(f"  {peer:13}" + "".join(f"{value:>12.2f}×" for value in values.values()))
    if rows := targets(records):
        print("\ntargets")
        for row in rows:
            verdict = "met" if row["met"] else "missed"
            print(f"  {row['name']:60} {row['target']:>5.2f}  {row['value']:>6.2f}  {verdict:6}  {row['case']}")
    for where, error in left_out(records).items():
        print(f"left out: {where}: {error}")
    best = {count: max(r["gemm_best_gflops"] for r in part) for count, part in by(records, "threads", counted).items()}
    busy = [title(r) for r in records if r["gemm_gflops"] < QUIET * best[counted(r["threads"])]]
    if busy:
        print(f"the machine was not idle in {len(busy)} cases: {'; '.join(busy)}")


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
