"""Worker process that runs one engine on request.

    python benchmarks/worker.py ENGINE MODEL BATCH THREADS FOLDER

Imports the engine at once.  The first line that it reads loads the case; it writes a line of JSON when it is ready, and
for every line after that the seconds of a run.  For the line ``again`` another run precedes it, so that caches and
threads are warm.  A failure is a line with ``error``.
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


def difference(outputs: dict[str, np.ndarray], expected: dict[str, np.ndarray], tolerance: float) -> float:
    """Return the largest difference of an output, relative to the largest element of the expected one.

    Raises:
        ValueError: if they differ by more than the tolerance.
    """
    worst = 0.0
    for name, array in expected.items():
        if name not in outputs or outputs[name].shape != array.shape:
            raise ValueError(f"{name} is missing or of another shape")
        worst = max(worst, float(np.abs(outputs[name] - array).max() / np.abs(array).max()))
    if not worst <= tolerance:
        raise ValueError(f"differs from torch by {worst:.1e} of the largest output")
    return worst


def ready(name: str, engine: Any, case: Case, threads: int) -> tuple[Any, dict[str, Any]]:
    """Return the function that runs the case once, and figures known before timing."""
    inputs, base = case.inputs, peak_memory()
    run = engine.load(case, threads)
    run(inputs)
    start = perf_counter()
    outputs = run(inputs)
    seconds = perf_counter() - start
    figures = {"base_bytes": base, "peak_bytes": peak_memory() + memory_of_children(), "pass_seconds": seconds}
    if name == "gemm":
        return lambda: run(inputs), figures
    if hasattr(engine, "predicted"):
        figures["predicted_bytes"] = engine.predicted(run)
    return lambda: run(inputs), figures | {"difference": difference(outputs, case.outputs, case.model.tolerance)}


def main(name: str, model: str, batch: str, threads: str, folder: str) -> None:
    """Load the case and serve requests until standard input ends."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries must not mix with the answers

    def say(answer: object) -> None:
        print(json.dumps(answer), file=channel, flush=True)

    try:
        engine = import_module(f"engines.{name}")
        if not sys.stdin.readline():
            return
        run, figures = ready(name, engine, Case(MODELS[model], int(batch), Path(folder)), int(threads))
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}".partition("\n")[0]})
        return
    say(figures)
    for line in sys.stdin:
        if line.strip() == "again":
            run()
        start = perf_counter()
        run()
        say(perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
