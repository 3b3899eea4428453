"""Time and memory of forward passes, compared with PyTorch, onnxruntime and onnx's evaluator, or with another version.

    python benchmarks/forward.py [--models M …] [--engines E …] [--threads T …] [--batches B …] [--repeats N] [--keep]
    python benchmarks/forward.py --baseline CHECKOUT [--models M …] [--threads T …] [--batches B …] [--repeats N]

Each engine is a separate process, with the same weights, inputs and number of threads.  Their outputs are compared with
those of torch; then they run one at a time, in turn.  A run of all cases writes ``results/forward.json``; a run of some
cases prints them, and with ``--keep`` replaces them there.  With ``--baseline`` netcalc alone runs, from that source
tree and from this one; the ratios of their times are printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from baseline import compare_forward, show_ratios
from engines.gemm import FLOPS as GEMM_FLOPS
from figures import PEERS, Record, counted, means, show, targets, title
from measure import RESULTS, environment, machine
from models import MODELS, Case

HERE = Path(__file__).parent
FILE = RESULTS / "forward.json"
ENGINES = ("netcalc", *PEERS)
THREADS, BATCHES = (1, 2), (1, 8)
PACKAGES = ("numpy", "scipy", "torch", "transformers", "onnx", "onnxscript", "onnxruntime")
#: Rounds of engines that are too slow to run in all.
SLOW = {"reference": 2}
#: Seconds after each turn, for spinning threads to fall asleep.
PAUSE = 0.05


class Worker:
    """A process of ``worker.py``; ``ready`` is its first answer."""

    def __init__(self, engine: str, case: Case, threads: int) -> None:
        arguments = [engine, case.model.name, str(case.batch), str(threads), str(case.folder)]
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(threads),
            text=True,
        )
        self.ready: Record = self._answer()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, how: str) -> float:
        """Return the seconds of a run."""
        print(how, file=self._process.stdin, flush=True)
        seconds: float = self._answer()
        time.sleep(PAUSE)
        return seconds

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self._process.wait()}"}


def measured(case: Case, threads: int, engines: Sequence[str], repeats: int) -> Record:
    """Measure a case with every engine that can run it."""
    seconds: dict[str, list[float]] = {}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, case, threads)) for name in (*engines, "gemm")}
        able = [name for name, worker in workers.items() if "error" not in worker.ready]
        for turn in range(repeats):
            shift = turn % len(able)
            for name in able[shift:] + able[:shift]:
                if turn < SLOW.get(name, repeats):
                    seconds.setdefault(name, []).append(workers[name].run("once" if name in SLOW else "again"))
    flops, gemm = 2 * int(case.network.macs), seconds["gemm"]
    record = {
        "model": case.model.name,
        "batch": case.batch,
        "threads": threads,
        "flops": flops,
        "gemm_gflops": round(GEMM_FLOPS / median(gemm) / 1e9, 1),
        "gemm_best_gflops": round(GEMM_FLOPS / min(gemm) / 1e9, 1),
        "engines": {name: workers[name].ready | timed(seconds.get(name, []), gemm, flops) for name in engines},
    }
    if own := seconds.get("netcalc"):
        speeds = {name: round(over(seconds[name], own), 4) for name in PEERS if name in seconds}
        record["engines"]["netcalc"]["speed_against"] = speeds
    return record


def timed(seconds: Sequence[float], gemm: Sequence[float], flops: int) -> Record:
    """Return the statistics of the times of an engine."""
    if not seconds:
        return {}
    return {
        "rounds": len(seconds),
        "median_ms": round(median(seconds) * 1e3, 3),
        "least_ms": round(min(seconds) * 1e3, 3),
        "most_ms": round(max(seconds) * 1e3, 3),
        "gflops": round(flops / median(seconds) / 1e9, 2),
        "share_of_gemm": round(over(gemm, seconds) * flops / GEMM_FLOPS, 4),
    }


def over(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the median over the rounds of the ratio of two times of one round."""
    return median(a / b for a, b in zip(first, second, strict=False))


def cases(models: Sequence[str], batches: Sequence[int]) -> Iterator[Case]:
    """Yield the cases, each prepared in a folder that is deleted after it."""
    for name in models:
        for batch in batches:
            with TemporaryDirectory() as folder:
                progress(f"{name}, batch {batch}: weights, outputs and ONNX")
                command = [sys.executable, str(HERE / "prepare.py"), name, str(batch), folder]
                done = subprocess.run(command, env=environment(), capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"\n{done.stderr}")
                yield Case(MODELS[name], batch, Path(folder))


def progress(text: str) -> None:
    """Show the current activity on standard error, in one line of a terminal."""
    line = f"\r{text:<79}\r{text}" if sys.stderr.isatty() else f"{text}\n"
    print(line, end="", file=sys.stderr, flush=True)


def read() -> list[Record]:
    """Return the cases in the results file, which must be of this machine."""
    results = json.loads(FILE.read_text(encoding="utf-8"))
    if results["machine"] != machine(PACKAGES):
        sys.exit(f"{FILE} was measured on another machine or with other packages; a run of all cases replaces it")
    cases: list[Record] = results["cases"]
    return cases


def write(cases: Sequence[Record]) -> None:
    """Write the cases, their means and targets, and the machine to the results file."""
    derived = {"means": means(cases), "targets": targets(cases), "cases": cases}
    record = {"benchmark": "forward", **derived, "machine": machine(PACKAGES)}
    RESULTS.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--threads", nargs="+", type=int, default=list(THREADS))
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES))
    parser.add_argument("--repeats", type=int, default=11, metavar="ROUNDS")
    parser.add_argument("--keep", action="store_true", help="replace these cases in results/forward.json")
    parser.add_argument("--baseline", type=Path, metavar="CHECKOUT", help="compare with netcalc of another source tree")
    args = parser.parse_args()
    complete = set(args.engines) == set(ENGINES)
    if args.keep and not complete:
        parser.error("--keep needs all engines")
    args.everything = complete and (set(args.models), set(args.threads), set(args.batches)) == (
        set(MODELS),
        set(THREADS),
        set(BATCHES),
    )
    return args


def compare(args: argparse.Namespace) -> None:
    """Compare the forward passes of two source trees, and print the ratios of their times."""
    records = []
    print(f"{'':34}{'baseline':>13}{'current':>13}{'ratio':>8}")
    for model in args.models:
        for batch in args.batches:
            for threads in args.threads:
                progress(f"{model}, batch {batch}, threads {threads}")
                record = compare_forward(args.baseline, model, batch, threads, args.repeats)
                records.append(record)
                progress("")
                times = f"{record['baseline_ms']:>10.2f} ms{record['current_ms']:>10.2f} ms"
                remark = "" if record["same_outputs"] else "  outputs differ"
                print(f"{title(record):34}{times}{record['ratio']:>8.3f}{remark}", flush=True)
    groups = {
        f"{counted(threads)}, batch {batch}": [
            record["ratio"] for record in records if (record["threads"], record["batch"]) == (threads, batch)
        ]
        for threads in args.threads
        for batch in args.batches
    }
    show_ratios(groups | {"all": [record["ratio"] for record in records]})


def main() -> None:
    args = options()
    if args.baseline is not None:
        return compare(args)
    kept = {title(record): record for record in (read() if args.keep and FILE.is_file() else [])}
    new = []
    for case in cases(args.models, args.batches):
        for threads in args.threads:
            progress(f"{case.model.name}, batch {case.batch}, threads {threads}")
            new.append(measured(case, threads, args.engines, args.repeats))
    progress("")
    show(new)
    if args.keep or args.everything:
        kept |= {title(record): record for record in new}
        write(sorted(kept.values(), key=lambda r: (list(MODELS).index(r["model"]), r["batch"], r["threads"])))
    return None


if __name__ == "__main__":
    main()
