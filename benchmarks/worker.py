"""One engine in a process of its own, which runs when it is told to.

    python benchmarks/worker.py ENGINE MODEL BATCH THREADS FOLDER

Writes a line of JSON when it is ready, and the seconds of a run for every line that it reads: ``again`` runs once
before, so that caches and threads are warm.  What fails is a line with ``error``.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from measure import memory_of_children, peak_memory
from models import MODELS, Case

#: Of the largest number in an output: what single precision makes of sums in another order is far below.
TOLERANCE = 1e-4


def difference(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> float:
    """The largest difference to torch's outputs, each in units of its largest number.

    Raises:
        ValueError: where they are not the same.
    """
    worst = 0.0
    for name, array in wanted.items():
        if name not in found or found[name].shape != array.shape:
            raise ValueError(f"{name} is missing or of another shape")
        worst = max(worst, float(np.abs(found[name] - array).max() / np.abs(array).max()))
    if not worst <= TOLERANCE:
        raise ValueError(f"differs from torch by {worst:.1e} of the largest output")
    return worst


def ready(name: str, case: Case, threads: int) -> tuple[Any, dict[str, Any]]:
    """What runs the case once, and what is known of it."""
    engine = import_module(f"engines.{name}")
    inputs, base = case.inputs, peak_memory()
    run = engine.load(case, threads)
    run(inputs)
    outputs = run(inputs)
    known = {"base_bytes": base, "peak_bytes": peak_memory() + memory_of_children()}
    if name == "gemm":
        return lambda: run(inputs), {}
    if hasattr(engine, "predicted"):
        known["weight_bytes"], known["activation_bytes"] = engine.predicted(case, threads)
    return lambda: run(inputs), known | {"difference": difference(outputs, case.outputs)}


def main(name: str, model: str, batch: str, threads: str, folder: str) -> None:
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer

    def say(answer: object) -> None:
        print(json.dumps(answer), file=channel, flush=True)

    try:
        run, known = ready(name, Case(MODELS[model], int(batch), Path(folder)), int(threads))
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}".partition("\n")[0]})
        return
    say(known)
    for line in sys.stdin:
        if line.strip() == "again":
            run()
        start = perf_counter()
        run()
        say(perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
