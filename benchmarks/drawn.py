"""Weights of the benchmarks: drawn, named and stored as in the reference checkpoint of a spec."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from netcalc.analysis import walk
from netcalc.ir import CheckpointEntry, CheckpointLocation, Program, join
from netcalc.numerics.parameters import Parameters

__all__ = ["SEED", "weights"]

SEED = 0


def weights(program: Program, names: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Return weights drawn by the spec's initializers, named and stored as in a reference checkpoint.

    Biases, scales and shifts are perturbed, and matrices of zeros and statistics of batch norms drawn, since zeros and
    ones would hide errors.

    Args:
        program: the network.
        names: those of the checkpoint, where files with several exist; otherwise the first that the spec declares.
    """
    parameters, rng = Parameters(program, seed=SEED), np.random.default_rng(SEED)
    pieces: dict[str, list[np.ndarray]] = {}
    axes: dict[str, int] = {}
    drawn: set[str] = set()
    declared = {p.path: p.entries for p in walk.parameters(program)}
    for instance in walk.instances(program):
        for param in instance.node.params:
            path = join(instance.path, param.name)
            if path != instance.owners[param.name]:
                continue  # a tied parameter is stored under the name of its owner
            if path in drawn:
                continue  # a layer that is applied again
            drawn.add(path)
            array = parameters.fetch(instance, param)
            if param.name == "running_var":
                array = rng.uniform(0.5, 1.5, array.shape).astype(np.float32)
            elif param.name == "running_mean":
                array = rng.normal(0, 0.1, array.shape).astype(np.float32)
            elif array.dtype.kind == "f" and (array.ndim == 1 or not array.any()):
                array = array + rng.normal(0, 0.02, array.shape).astype(np.float32)
            location = located(path, declared[path], names)
            (name,) = location.names
            axes[name] = location.axis
            pieces.setdefault(name, []).append(array.T if location.transpose else array)
    return {
        name: np.array(np.concatenate(parts, axes[name]) if len(parts) > 1 else parts[0], order="C")
        for name, parts in pieces.items()
    }


def located(path: str, entries: Sequence[CheckpointEntry], names: Collection[str]) -> CheckpointLocation:
    """Return the place of a parameter among the names: one that the spec declares, or its own."""
    places = [*(place for entry in entries for place in entry.alternatives), CheckpointLocation.of(path)]
    return next((place for place in places if all(name in names for name in place.names)), places[0])
