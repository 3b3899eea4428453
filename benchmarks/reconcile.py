"""Time of cold ``netcalc reconcile --reported``, compared with ``netcalc summary resnet34``.

    python benchmarks/reconcile.py [REPEATS]

The targets are 2 s for an image classifier and 5 s for a model of 405 B parameters, where the summary takes 0.154 s.
The processes run in turn.
"""

from __future__ import annotations

import sys
from functools import partial

from measure import paired, report, summarized
from startup import process, script

BASE = "summary resnet34"
_IMAGES, _LARGE = 13.0, 32.0
#: Commands with the greatest ratio to the summary that is aimed at.
COMMANDS = {
    "reconcile vit_b_16 --reported 11.29G": _IMAGES,
    "reconcile vit_b_16 --reported-params 58.07M": _IMAGES,
    "reconcile vit_b_16 --reported-memory 330.2MB": _IMAGES,
    "reconcile llama-3.1-405b --reported 1.688386PFLOP": _LARGE,
    "reconcile llama-3.1-405b --reported-params 405.85B": _LARGE,
    "reconcile llama-3.1-405b --reported-memory 811.7GB": _LARGE,
    "reconcile gemma-3-4b --reported-memory 8.60GB": _LARGE,
}


def main() -> None:
    """Run the benchmark."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    tasks = {
        f"netcalc {command}": partial(process, ["-c", script(), *command.split()]) for command in (BASE, *COMMANDS)
    }
    found = summarized(paired(tasks, repeats=repeats), against=f"netcalc {BASE}")
    report("reconcile", repeats, found, target_ratios={f"netcalc {name}": ratio for name, ratio in COMMANDS.items()})


if __name__ == "__main__":
    main()
