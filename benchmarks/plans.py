"""Time of cold commands that plan with a model of 405 B parameters, compared with ``netcalc summary resnet34``.

    python benchmarks/plans.py [REPEATS]

The processes run in turn.
"""

from __future__ import annotations

import sys
from functools import partial

from measure import paired, report, summarized
from startup import process, script

BASE = "summary resnet34"
#: Commands with the greatest ratio to the summary that is aimed at.
COMMANDS = {
    "time llama-3.1-405b --device h100:8 --phase decode": 2.0,
    "time llama-3.1-405b --device h100:8 --phase prefill --set length=8192": 2.0,
    "time llama-3.1-405b --device h100:16384 --training adamw --tokens 15T": 2.0,
    "memory llama-3.1-405b --training adamw": 2.0,
    "fit llama-3.1-405b --device h100": 3.0,
    "fit llama-3.1-405b --device h100:16": 3.0,
    "fit llama-3.1-405b --device h100:64 --training adamw --precision bf16-mixed --recompute full": 3.0,
}


def main() -> None:
    """Run the benchmark."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    tasks = {
        f"netcalc {command}": partial(process, ["-c", script(), *command.split()]) for command in (BASE, *COMMANDS)
    }
    found = summarized(paired(tasks, repeats=repeats), against=f"netcalc {BASE}")
    report("plans", repeats, found, target_ratios={f"netcalc {name}": ratio for name, ratio in COMMANDS.items()})


if __name__ == "__main__":
    main()
