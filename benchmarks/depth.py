"""Time of a summary of a deep stack of layers, compared with the same stack of one layer.

    python benchmarks/depth.py [REPEATS]

Runs in one process, from the text of the spec to the printed table, and elaborates the program each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from measure import paired, report, summarized

import netcalc

SPECS = Path(__file__).parent.parent / "tests" / "fixtures"
DEEP = {"gpt3_stack": 96, "deep": 1_000_000}


def summary(name: str, layers: int) -> Callable[[], str]:
    """Return the work of ``netcalc summary tests/fixtures/NAME.yaml --set layers=LAYERS`` after its imports."""
    text = (SPECS / f"{name}.yaml").read_text(encoding="utf-8")
    return lambda: str(netcalc.loads(text, set={"layers": layers}).summary())


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    tasks = {}
    for name, layers in DEEP.items():
        one, deep = f"{name}, 1 layer", f"{name}, {layers:,} layers"
        times = paired({one: summary(name, 1), deep: summary(name, layers)}, repeats=repeats)
        tasks |= summarized(times, against=one)
    report("depth", repeats, tasks)
