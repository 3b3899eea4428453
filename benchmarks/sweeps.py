"""Architectures per second of sweeps: all structural dims and vars of twelve families, drawn at random.

``python benchmarks/sweeps.py [--specs S …] [--points N] [--seconds S] [--checks N]``.  The time is that of the
processor, with the sketches and forms that are made on the way; a sweep ends at N points or after S seconds.  Some
points are counted again, each by a process of its own, and must agree.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import measure
import numpy as np
import sweep_spaces

import netcalc
from netcalc.sweep.evaluation import Evaluator

_FIGURES = ("params", "macs", "flops")
#: Points that are evaluated at a time.
_CHUNK = 1_000
_ALONE = """
import json, sys, netcalc
from netcalc.sweep.evaluation import values_of
name, point = json.loads(sys.argv[1])
try:
    found = values_of(netcalc.load(name, set=point).request, ("params", "macs", "flops"))
    print(json.dumps([found[key] for key in ("params", "macs", "flops")]))
except netcalc.NetcalcError:
    print("[null, null, null]")
"""


def _alone(name: str, point: Mapping[str, Any]) -> list[int | None]:
    """Return the figures of a point from a process of its own."""
    command = [sys.executable, "-c", _ALONE, json.dumps([name, point])]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(found)  # type: ignore[no-any-return]


def _rate(name: str, space: Callable[[Random], dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """Return the rates of a sweep of random points of a spec: of all, and of the second half."""
    size, checks = options.points, options.checks
    request = netcalc.load(name).request
    draw = Random(1)
    evaluator = Evaluator(request, _FIGURES, tuple(space(Random(0))))
    times, refused, wrong = [], 0, []
    for start in range(0, size, _CHUNK):
        points = [space(draw) for _ in range(min(_CHUNK, size - start))]
        columns = {key: [point[key] for point in points] for key in points[0]}
        before = time.process_time()
        found = evaluator.evaluate(columns)
        times.append((len(points), time.process_time() - before))
        refused += sum(reason is not None for reason in found.reasons)
        if len(times) <= checks:
            place = draw.randrange(len(points))
            figures = [found.figures[key][place] for key in _FIGURES]
            if figures != _alone(name, points[place]):
                wrong.append(points[place])
        if sum(taken for _, taken in times) >= options.seconds:
            break
    half = times[len(times) // 2 :]
    return {
        "points": sum(number for number, _ in times),
        "per second": round(sum(n for n, _ in times) / sum(t for _, t in times)),
        "per second later": round(sum(n for n, _ in half) / sum(t for _, t in half)),
        "by forms": evaluator.by_forms,
        "refused": refused,
        "wrong": wrong,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def _closed_form_rates(size: int = 4_000_000) -> dict[str, int]:
    """Return the points per second of closed forms over arrays of three sizes, for some networks."""
    rates = {}
    for name, (figures, ranges) in sweep_spaces.COLUMNS.items():
        evaluator = Evaluator(netcalc.load(name).request, figures, tuple(ranges))
        draw = np.random.default_rng(1)
        columns = {key: step * draw.integers(low, high, size) for key, (low, high, step) in ranges.items()}
        evaluator.arrays({key: values[:1000] for key, values in columns.items()})
        before = time.process_time()
        evaluator.arrays(columns)
        rates[name] = round(size / (time.process_time() - before))
    return rates


def main() -> None:
    """Print a row for each spec, and keep all with a description of the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", nargs="*", default=list(sweep_spaces.SPACES))
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--checks", type=int, default=4)
    options = parser.parse_args()
    closed = _closed_form_rates()
    for name, rate in closed.items():
        print(f"{name:20} closed form: {rate:,} points/s", flush=True)
    rows = {}
    for name in options.specs:
        rows[name] = row = _rate(name, sweep_spaces.SPACES[name], options)
        print(f"{name:20} " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    rates = [row["per second"] for row in rows.values()]
    mean = round(math.exp(sum(map(math.log, rates)) / len(rates)))
    print(f"geometric mean: {mean:,} architectures/s, least {min(rates):,}")
    result = {"machine": measure.machine(), "closed form per second": closed, "geometric mean": mean, "specs": rows}
    Path(__file__).with_name("results").joinpath("sweeps.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
