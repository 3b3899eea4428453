"""Architectures counted per second in one process, compared with another version, and the memory of many of them.

    python benchmarks/accounting.py --baseline CHECKOUT [--specs S …] [--spaces S …] [--rounds N] [--size N]
    python benchmarks/accounting.py --memory N [--specs S …]

An architecture is a shipped spec with other widths, depths, heads and sizes: it is loaded and summed up, which counts
parameters, MACs, FLOPs and bytes of each layer.  The two source trees count the same architectures in turn, each in a
process of its own, in rounds of ``--size`` that neither has seen before.  ``--memory`` counts N architectures and shows
the resident memory on the way.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from architectures import SPACES, settings
from baseline import environment_of, ratio, show_ratios
from measure import RESULTS, machine

HERE = Path(__file__).parent
ROOT = HERE.parent
#: Ratios of architectures per second that are aimed at, relative to the version before results were kept.
TARGETS = {"transformer": 10.0, "resnet34": 10.0, "densenet121": 15.0}
#: Architectures that both trees count before the first round.
WARMUP = 100
#: Numbers of the first architecture of the warm-up, and of the memory test; the rounds start from 0.
FIRST, MANY = 1_000_000, 2_000_000


def count(spec: str, space: str, seeds: Sequence[int]) -> tuple[float, int]:
    """Return the seconds that architectures take, and a sum of all their figures."""
    import netcalc

    drawn = [settings(spec, space, seed) for seed in seeds]
    checked = 0
    start = perf_counter()
    for chosen in drawn:
        found = netcalc.load(spec, set=chosen).summary()
        checked += sum(found.totals.values) * len(found.layers)
    return perf_counter() - start, checked


def serve(spec: str, space: str) -> None:
    """Count the architectures of each line of standard input, first number and number of them; write JSON lines."""
    import netcalc

    count(spec, space, range(FIRST, FIRST + WARMUP))
    print(json.dumps(str(netcalc.__path__[0])), flush=True)
    for line in sys.stdin:
        first, size = map(int, line.split())
        print(json.dumps(count(spec, space, range(first, first + size))), flush=True)


class Tree:
    """A process that counts with a source tree."""

    def __init__(self, tree: Path, spec: str, space: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "accounting.py"), "--serve", spec, space],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment_of(tree, 1),
            text=True,
        )
        found = self._answer()
        if Path(found).resolve() != (tree / "netcalc").resolve():
            sys.exit(f"netcalc was imported from {found} instead of {tree}")

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, first: int, size: int) -> tuple[float, int]:
        """Return the seconds of a round, and the sum of its figures."""
        print(first, size, file=self._process.stdin, flush=True)
        seconds, checked = self._answer()
        return seconds, checked

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else sys.exit(f"a process ended with {self._process.wait()}")


def compare(baseline: Path, spec: str, space: str, rounds: int, size: int) -> dict[str, Any]:
    """Return the architectures per second of both trees, and the median of the ratios of a round."""
    seconds: dict[str, list[float]] = {"baseline": [], "current": []}
    with ExitStack() as stack:
        trees = {
            name: stack.enter_context(Tree(tree, spec, space))
            for name, tree in (("baseline", baseline), ("current", ROOT))
        }
        for turn in range(rounds):
            sums = set()
            for name in sorted(trees, reverse=bool(turn % 2)):
                time, checked = trees[name].run(turn * size, size)
                seconds[name].append(time)
                sums.add(checked)
            if len(sums) > 1:
                sys.exit(f"{spec}: the two trees count differently")
    rates = {f"{name}_per_second": round(size / median(times), 1) for name, times in seconds.items()}
    return {"spec": spec, "space": space, **rates, "ratio": round(ratio(seconds["baseline"], seconds["current"]), 2)}


def memory(specs: Sequence[str], total: int) -> list[dict[str, Any]]:
    """Return the resident MiB of this process after a tenth, two tenths … of many architectures of all specs."""
    import psutil

    found = []
    for tenth in range(11):
        if tenth:
            for spec in specs:
                number = total // 10 // len(specs)
                first = MANY + tenth * number
                count(spec, "drawn", range(first, first + number))
        resident = psutil.Process().memory_info().rss / 2**20
        found.append({"architectures": tenth * (total // 10), "resident_mib": round(resident, 1)})
        print(f"{found[-1]['architectures']:>10,}  {resident:>8.1f} MiB", flush=True)
    return found


def main() -> None:
    """Run the comparison or the memory test, and keep its results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--baseline", type=Path, metavar="CHECKOUT", help="source tree to compare with")
    parser.add_argument("--specs", nargs="+", choices=SPACES, default=list(SPACES))
    parser.add_argument("--spaces", nargs="+", choices=("search", "drawn"), default=["search", "drawn"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=20, help="architectures of a round")
    parser.add_argument("--memory", type=int, metavar="N", help="count N architectures and show the resident memory")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(*args.serve)
    if args.memory:
        return keep(memory=memory(args.specs, args.memory))
    if args.baseline is None:
        parser.error("give --baseline or --memory")
    cases = []
    print(f"{'':24}{'baseline':>12}{'current':>12}{'ratio':>8}")
    for space in args.spaces:
        for spec in args.specs:
            cases.append(case := compare(args.baseline, spec, space, args.rounds, args.size))
            cells = "".join(f"{case[f'{name}_per_second']:>10.1f}/s" for name in ("baseline", "current"))
            print(f"{spec:16}{space:8}{cells}{case['ratio']:>8.2f}", flush=True)
    show_ratios({space: [case["ratio"] for case in cases if case["space"] == space] for space in args.spaces})
    if set(args.specs) == set(SPACES) and len(args.spaces) > 1:
        keep(rounds=args.rounds, size=args.size, cases=cases)
    return None


def keep(**found: Any) -> None:
    """Write results to ``results/accounting.json``, beside those of the other mode."""
    path = RESULTS / "accounting.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    record = {**known, "benchmark": "accounting", **found, "target_ratios": TARGETS, "machine": machine()}
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
