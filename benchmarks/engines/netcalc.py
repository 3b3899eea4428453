"""netcalc's NumPy backend."""

from __future__ import annotations

from models import Case
from safetensors.numpy import load_file

from engines import Runner
from netcalc.analysis.memory import memory
from netcalc.numerics.run import forward


def load(case: Case, threads: int) -> Runner:
    program, weights = case.network.program, load_file(case.weights)
    return lambda inputs: dict(forward(program, inputs, weights=weights).outputs)


def predicted(case: Case, threads: int) -> tuple[int, int]:
    """Bytes of the weights, and the most that values take at one time."""
    found = memory(case.network.program)
    return found.weights + found.buffers, found.activations
