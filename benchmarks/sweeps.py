"""Rates of sweeps: closed forms on columns, drawn architectures of twelve families, and two processes against one.

``python benchmarks/sweeps.py [--part PART …] [--specs S …] [--points N] [--seconds S] [--checks N] [--alone N]``.

``forms``
    points per second of closed forms over arrays of three sizes, by processor time.
``architectures``
    architectures per second where all structural dims and vars are drawn, by processor time, with the sketches and
    forms that are made on the way.  A sweep ends at N points or after S seconds.  Some points are counted again, each
    by a process of its own, and must agree.
``workers``
    seconds that one process and two need for 100,000 points that are counted one by one, and the memory of all
    processes, also at a tenth of the points.  The files of all rows must be equal.  The machine should be quiet.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
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
#: What the file of results has.
_KEYS = ("machine", "closed forms per second", "workers", "geometric mean", "specs")
_PARTS = ("forms", "workers", "architectures")
#: A network whose points have a structure each, so that all are counted one by one.
_SMALL = """netcalc: 1
vars: {tens: 0, ones: 0, width: 64, chance: 0.1}
inputs: {x: [batch, features]}
dims: {batch: 1, features: 32}
layers:
- linear: ${width}
- relu
- dropout: ${chance}
- linear: 10
"""
_SWEEP = """
import json, resource, sys, time, netcalc
spec, points, workers, output = json.loads(sys.argv[1])
tens = points // 100
network = netcalc.load(spec, set={"chance": "${(100 * tens + ones) / %d}" % (points + 1)})
start = time.perf_counter()
network.sweep({"tens": range(tens), "ones": range(100)}, workers=workers, output=output)
seconds = time.perf_counter() - start
if workers > 1:
    from joblib.externals.loky import get_reusable_executor
    get_reusable_executor().shutdown(wait=True)
most = [resource.getrusage(whose).ru_maxrss // 1024 for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
used = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
processor = [round(each.ru_utime + each.ru_stime, 2) for each in used]
print(json.dumps({"seconds": round(seconds, 2), "processor": processor, "MiB": most}))
"""
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


def _sweep_of(alone: int, workers: int, output: Path) -> dict[str, Any]:
    """Return the seconds of a sweep in a fresh process, its processor time and memory, and those of other processes."""
    spec = output.with_name("small.yaml")
    spec.write_text(_SMALL)
    command = [sys.executable, "-c", _SWEEP, json.dumps([str(spec), alone, workers, str(output)])]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(found)  # type: ignore[no-any-return]


def _workers(points: int) -> dict[str, Any]:
    """Return the times of one process and of two, their ratio, and the memory at all points and at a tenth."""
    with tempfile.TemporaryDirectory() as folder:
        files = {workers: Path(folder, f"{workers}.csv") for workers in (1, 2)}
        fewer = {workers: _sweep_of(points // 10, workers, files[workers])["MiB"] for workers in files}
        rows: dict[str, Any] = {str(workers): _sweep_of(points, workers, files[workers]) for workers in files}
        contents = [file.read_bytes() for file in files.values()]
    for workers, least in fewer.items():
        rows[str(workers)]["MiB at a tenth"] = least
    ratio = rows["1"]["seconds"] / rows["2"]["seconds"]
    return {"points": points, "processes": rows, "ratio": round(ratio, 3), "equal": contents[0] == contents[1]}


def _architectures(options: argparse.Namespace) -> dict[str, Any]:
    """Print the rates of each spec, and return them with their geometric mean."""
    rows = {}
    for name in options.specs:
        rows[name] = row = _rate(name, sweep_spaces.SPACES[name], options)
        print(f"{name:20} " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    rates = [row["per second"] for row in rows.values()]
    mean = round(math.exp(sum(map(math.log, rates)) / len(rates)))
    print(f"geometric mean: {mean:,} architectures/s, least {min(rates):,}")
    return {"geometric mean": mean, "specs": rows}


def main() -> None:
    """Print the rates of each part, and keep all with a description of the machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="*", choices=_PARTS, default=list(_PARTS))
    parser.add_argument("--specs", nargs="*", default=list(sweep_spaces.SPACES))
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--checks", type=int, default=4)
    parser.add_argument("--alone", type=int, default=100_000, help="points of the sweep of two processes")
    options = parser.parse_args()
    file = Path(__file__).with_name("results").joinpath("sweeps.json")
    earlier = json.loads(file.read_text()) if file.is_file() else {}
    result = {key: earlier[key] for key in _KEYS if key in earlier} | {"machine": measure.machine()}
    if "forms" in options.part:
        result["closed forms per second"] = _closed_form_rates()
        for name, rate in result["closed forms per second"].items():
            print(f"{name:20} closed form: {rate:,} points/s", flush=True)
    if "workers" in options.part:
        result["workers"] = _workers(options.alone)
        print(json.dumps(result["workers"]), flush=True)
    if "architectures" in options.part:
        result |= _architectures(options)
    file.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
