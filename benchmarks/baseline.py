"""Comparison of two source trees of netcalc, interleaved in one run."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from measure import environment, pace

__all__ = ["compare_forward", "environment_of", "geometric_mean", "show_ratios"]

HERE = Path(__file__).parent
ROOT = HERE.parent
#: Seconds after each turn, for spinning workers to fall asleep.
PAUSE = 0.05
#: Relative difference of the sums of outputs above which the two trees compute different things.
TOLERANCE = 1e-3

Record: TypeAlias = dict[str, Any]


def environment_of(tree: Path, threads: int | None = None) -> dict[str, str]:
    """Return the environment of a process that imports netcalc from a source tree.

    Raises:
        SystemExit: if the folder holds no netcalc.
    """
    if not (tree / "netcalc" / "__init__.py").is_file():
        sys.exit(f"{tree} is no source tree of netcalc")
    return environment(threads) | {"PYTHONPATH": str(tree.resolve())}


class Tree:
    """A process of ``checkout.py`` on one source tree."""

    def __init__(self, tree: Path, model: str, batch: int, threads: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "checkout.py"), model, str(batch), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment_of(tree, threads),
            text=True,
        )
        ready = self._answer()
        self.sums: dict[str, float] = ready["sums"]
        self.pass_seconds: float = ready["pass_seconds"]
        if Path(ready["tree"]).resolve() != (tree / "netcalc").resolve():
            sys.exit(f"netcalc was imported from {ready['tree']} instead of {tree}")

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, how: str) -> float:
        """Return the seconds of a pass, which with ``again`` follows another."""
        print(how, file=self._process.stdin, flush=True)
        seconds: float = self._answer()
        time.sleep(PAUSE)
        return seconds

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else sys.exit(f"a process ended with {self._process.wait()}")


def compare_forward(baseline: Path, model: str, batch: int, threads: int, rounds: int | None) -> Record:
    """Return the times of a case with both trees, and the median ratio baseline/current over the rounds.

    Without ``rounds`` there are as many as the time of a pass allows.
    """
    seconds: dict[str, list[float]] = {"baseline": [], "current": []}
    with ExitStack() as stack:
        trees = {
            name: stack.enter_context(Tree(tree, model, batch, threads))
            for name, tree in (("baseline", baseline), ("current", ROOT))
        }
        how, often = pace([tree.pass_seconds for tree in trees.values()])
        for turn in range(rounds or often):
            for name in sorted(seconds, reverse=bool(turn % 2)):
                seconds[name].append(trees[name].run(how))
        before, after = trees["baseline"].sums, trees["current"].sums
    same = before.keys() == after.keys() and all(
        math.isclose(before[name], after[name], rel_tol=TOLERANCE) for name in before
    )
    return {
        "model": model,
        "batch": batch,
        "threads": threads,
        "baseline_ms": round(median(seconds["baseline"]) * 1e3, 3),
        "current_ms": round(median(seconds["current"]) * 1e3, 3),
        "ratio": round(ratio(seconds["baseline"], seconds["current"]), 4),
        "same_outputs": same,
    }


def ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the median over the rounds of the ratio of two times of one round."""
    return median(one / other for one, other in zip(first, second, strict=True))


def geometric_mean(numbers: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers."""
    logarithms = [math.log(number) for number in numbers]
    return math.exp(sum(logarithms) / len(logarithms))


def show_ratios(groups: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Print and return the geometric mean of the ratios of each group; above 1 the current tree is faster."""
    means = {name: round(geometric_mean(ratios), 4) for name, ratios in groups.items() if ratios}
    print("\ngeometric means of baseline/current (above 1: the current tree is faster)")
    for name, mean in means.items():
        print(f"  {name:24} {mean:7.3f}")
    return means
