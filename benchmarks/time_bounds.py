"""Bounds of time on this machine, compared with the time of netcalc's engine, for the networks of ``forward``.

    python benchmarks/time_bounds.py [--models M …] [--passes N]

The bound of a network must be below the fastest of its passes, since peak and bandwidths of the machine are the fastest
that NumPy reaches here.  They are measured again before each network, and the fastest of all counts for all, as another
load of the machine slows them down too.  The order of the layers by bound is compared with their order by measured time
(Spearman's rank correlation).  The cases of ``results/forward.json`` are compared as well: the bound by arithmetic, at
the speed of the products that were measured in turn with them.  A run of all networks writes
``results/time_bounds.json``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from measure import RESULTS, machine
from models import MODELS, Model

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.analysis.devices import Device, Devices
from netcalc.analysis.roofline import Roofs, layer_bounds
from netcalc.analysis.traffic import Traffic
from netcalc.dtypes import ITEMSIZE
from netcalc.engine.machine import this_machine

FILE = RESULTS / "time_bounds.json"


class Measured(NamedTuple):
    """Times of a network: seconds of passes, and of its layers by path, with the paths of what is fused into them."""

    network: netcalc.Network
    passes: Sequence[float]
    layers: Sequence[tuple[tuple[str, ...], float]]


def measured(model: Model, passes: int) -> Measured:
    """Run a network on random inputs."""
    network = netcalc.load(model.name, set=model.settings, dtype="float32")
    session = network.compile(seed=1)
    session()
    seconds = []
    for _ in range(passes):
        start = perf_counter()
        session()
        seconds.append(perf_counter() - start)
    profile = session.profile(passes=passes)
    layers = [((layer.path, *(fused.path for fused in layer.fused)), layer.seconds) for layer in profile.layers]
    return Measured(network, seconds, layers)


def faster(first: Device, second: Device) -> Device:
    """Return a device with the larger of the figures of two measurements."""
    names = ("bandwidth", "cache_bandwidth")
    larger = {name: max(getattr(first, name), getattr(second, name)) for name in names}
    return first._replace(peaks={name: max(peak, second.peaks[name]) for name, peak in first.peaks.items()}, **larger)


def seconds_of(network: netcalc.Network, device: Device) -> dict[str, float]:
    """Return the bounds of the layers of a network by path, repeats unrolled."""
    program = network.request.executed.program
    analysis = analyze(program)
    inputs = sum(ITEMSIZE[spec.type.dtype] * int(spec.type.elements) for spec in program.inputs)
    roofs = Roofs(Devices(device), int(analysis.total.weight_bytes) + inputs, program.dtype)
    layers = layer_bounds(program, Traffic(analysis, winograd=True), roofs, unroll=True)
    return {layer.path: layer.seconds for layer in layers}


def kept() -> dict[str, Any]:
    """Return how the cases of ``forward`` compare with the bound of their arithmetic."""
    ratios = {}
    for case in json.loads((RESULTS / "forward.json").read_text(encoding="utf-8"))["cases"]:
        model = MODELS[case["model"]]
        network = netcalc.load(model.name, set=model.sizes(case["batch"]), dtype="float32")
        peak = int(case["gemm_best_gflops"] * 1e9)
        bound = sum(seconds_of(network, Device("gemm", "products", None, peaks={"float32": peak})).values())
        name = f"{model.name}, batch {case['batch']}, {case['threads']} threads"
        ratios[name] = round(case["engines"]["netcalc"]["least_ms"] / 1e3 / bound, 3)
    least = min(ratios, key=lambda name: ratios[name])
    below = sum(ratio > 1 for ratio in ratios.values())
    return {"cases": len(ratios), "below": below, "least_ratio": ratios[least], "of": least, "ratios": ratios}


def compared(found: Measured, device: Device) -> dict[str, Any]:
    """Return the bound of a network beside its time, and the correlation of the ranks of its layers."""
    bounds = seconds_of(found.network, device)
    total = sum(bounds.values())
    pairs = [(sum(bounds.get(path, 0.0) for path in paths), seconds) for paths, seconds in found.layers]
    pairs = [pair for pair in pairs if pair[0] > 0 and pair[1] > 0]
    return {
        "bound_ms": round(total * 1e3, 3),
        "least_ms": round(min(found.passes) * 1e3, 3),
        "median_ms": round(median(found.passes) * 1e3, 3),
        "ratio": round(min(found.passes) / total, 2),
        "layers": len(pairs),
        "rank_correlation": round(correlation(pairs), 3) if len(pairs) > 2 else None,
    }


def correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Spearman's correlation of the ranks; equal numbers share their mean rank."""
    first, second = (ranks([pair[index] for pair in pairs]) for index in (0, 1))
    return float(np.corrcoef(first, second)[0, 1])


def ranks(numbers: Sequence[float]) -> np.ndarray:
    """Return the rank of each number, the mean of those of equal numbers."""
    _, places, counts = np.unique(np.array(numbers), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + 1 + ends) / 2)[places]


def main() -> None:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--passes", type=int, default=15)
    options = parser.parse_args()
    device, found = this_machine.__wrapped__(), {}
    for name in options.models:
        found[name] = measured(MODELS[name], options.passes)
        device = faster(device, this_machine.__wrapped__())
    rows = {name: compared(one, device) for name, one in found.items()}
    print(f"{'':20} {'bound':>10} {'least':>10} {'ratio':>7} {'layers':>7} {'ranks':>6}")
    for name, row in rows.items():
        times = f"{row['bound_ms']:>7.2f} ms {row['least_ms']:>7.2f} ms {row['ratio']:>6.2f}×"
        print(f"{name:20} {times} {row['layers']:>7} {row['rank_correlation'] or '':>6}")
    correlations = [row["rank_correlation"] for row in rows.values() if row["rank_correlation"] is not None]
    below = sum(row["bound_ms"] < row["least_ms"] for row in rows.values())
    print(f"{below} of {len(rows)} bounds are below; rank correlation {median(correlations):.3f} in the median")
    forward = kept()
    print(f"{forward['below']} of {forward['cases']} cases of forward are above the bound of their arithmetic,")
    print(f"the least at {forward['least_ratio']:.2f} × ({forward['of']})")
    if options.models == list(MODELS):
        speeds = {"peaks": dict(device.peaks), "bandwidth": device.bandwidth, "cache": device.cache}
        speeds["cache_bandwidth"] = device.cache_bandwidth
        record = {
            "benchmark": "time_bounds",
            "passes": options.passes,
            "load": os.getloadavg()[1],
            "device": speeds,
            "networks": rows,
            "forward": forward,
        }
        FILE.write_text(json.dumps(record | {"machine": machine()}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
