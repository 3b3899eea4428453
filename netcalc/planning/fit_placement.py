"""The placement on a device and its host of a workload that does not fit the device alone."""

from __future__ import annotations

from collections.abc import Iterator

from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import convention_named, element_type
from netcalc.analysis.caches.layers import applied_to, kept_by
from netcalc.analysis.fit.report import Memory, PlacementFit
from netcalc.analysis.layer_parts import LayerParts, layer_parts
from netcalc.analysis.placement import most_gpu_layers, placed
from netcalc.diagnostics import NetcalcError
from netcalc.fit_options import FitOptions
from netcalc.planning.workloads import Workloads


def best_placement(workloads: Workloads, options: FitOptions, memory: Memory) -> PlacementFit | None:
    """Return the placement that leaves least to the host.

    Routed experts go to the host first, from the first layers on, and whole layers only where that is not enough.
    None for training, and where no placement fits.
    """
    program = workloads.in_phase.program
    if workloads.trains or program.caches.new is None:
        return None
    rules = applied_to(program, [convention_named(options["cache"])])
    element = None if options["cache_dtype"] is None else element_type(options["cache_dtype"])
    try:
        parts = layer_parts(program, kept_by(program, element, rules), rules, beside_caches(program), None)
    except NetcalcError:  # no layers to place
        return None
    return next(_placements(parts, memory.budget, rules[0].name), None)


def _placements(parts: LayerParts, budget: int, convention: str) -> Iterator[PlacementFit]:
    layers = len(parts.layers)
    if any(layer.experts for layer in parts.layers):
        for number in range(1, layers + 1):
            found = placed(parts, layers + 1, number)
            if found.device.totals[convention] <= budget:
                totals = found.device.totals[convention], found.host.totals[convention]
                yield PlacementFit(f"--experts-on cpu:{number}", *totals)
    most = most_gpu_layers(parts, budget, convention)
    if most:
        found = placed(parts, most)
        yield PlacementFit(f"--gpu-layers {most}", found.device.totals[convention], found.host.totals[convention])
