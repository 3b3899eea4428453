"""A forward pass of one source tree of netcalc, in a process of its own.

    PYTHONPATH=CHECKOUT python benchmarks/checkout.py MODEL BATCH THREADS

Weights and inputs are drawn from the seed 0, which gives the same numbers in every version.  Writes a line of JSON when
ready, and for every line that it reads the seconds of a pass, which with ``again`` follows another.  The work is shared
among processes, where the tree has them.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

import numpy as np
from models import MODELS

import netcalc
from netcalc.numerics.inputs import run_inputs


def main(model: str, batch: str, threads: str) -> None:
    """Load the model, warm up, and serve requests until standard input ends."""
    network = netcalc.load(model, set=MODELS[model].sizes(int(batch)), dtype="float32")
    session = network.compile(seed=0, threads=int(threads), processes=True)
    program = network.program
    inputs = dict(zip((spec.name for spec in program.inputs), run_inputs(program, seed=0), strict=True))
    session(inputs)
    start = perf_counter()
    outputs = session(inputs)
    seconds = perf_counter() - start
    sums = {name: float(np.abs(array, dtype=np.float64).sum()) for name, array in outputs.items()}
    print(json.dumps({"tree": str(netcalc.__path__[0]), "sums": sums, "pass_seconds": seconds}), flush=True)
    for line in sys.stdin:
        if line.strip() == "again":
            session(inputs)
        start = perf_counter()
        session(inputs)
        print(json.dumps(perf_counter() - start), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
