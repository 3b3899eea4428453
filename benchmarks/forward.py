"""How fast a forward pass is, and how much memory it takes, against PyTorch, onnxruntime and onnx's own evaluator.

    python benchmarks/forward.py [--models M …] [--engines E …] [--threads T …] [--batches B …] [--repeats N] [--keep]

Each engine is a process of its own, with the same weights, inputs and number of threads.  Their outputs are held
against torch's; then they run one at a time, in turn.  A run of everything writes ``results/forward.json``; a run of
some cases only prints them, or with ``--keep`` puts them in their places there.
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

from engines.gemm import FLOPS as GEMM_FLOPS
from figures import PEERS, Record, aims, means, show, title
from measure import RESULTS, environment, machine
from models import MODELS, Case

HERE = Path(__file__).parent
FILE = RESULTS / "forward.json"
ENGINES = ("netcalc", *PEERS)
THREADS, BATCHES = (1, 2), (1, 8)
PACKAGES = ("numpy", "scipy", "torch", "transformers", "onnx", "onnxscript", "onnxruntime")
#: Rounds of an engine that is too slow to take part in all.
FEW = {"reference": 2}
#: Seconds after each turn, in which the threads that it leaves spinning fall asleep.
PAUSE = 0.05


class Worker:
    """A process of ``worker.py``; ``known`` is what it says when it is ready."""

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
        self.known: Record = self._answer()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, how: str) -> float:
        """The seconds of a run."""
        print(how, file=self._process.stdin, flush=True)
        seconds: float = self._answer()
        time.sleep(PAUSE)
        return seconds

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self._process.wait()}"}


def measured(case: Case, threads: int, engines: Sequence[str], repeats: int) -> Record:
    """The case with every engine that there is, as it is kept."""
    seconds: dict[str, list[float]] = {}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, case, threads)) for name in (*engines, "gemm")}
        able = [name for name, worker in workers.items() if "error" not in worker.known]
        for turn in range(repeats):
            shift = turn % len(able)
            for name in able[shift:] + able[:shift]:
                if turn < FEW.get(name, repeats):
                    seconds.setdefault(name, []).append(workers[name].run("once" if name in FEW else "again"))
    flops, gemm = 2 * int(case.network.macs), seconds["gemm"]
    record = {
        "model": case.model.name,
        "batch": case.batch,
        "threads": threads,
        "flops": flops,
        "gemm_gflops": round(GEMM_FLOPS / median(gemm) / 1e9, 1),
        "gemm_best_gflops": round(GEMM_FLOPS / min(gemm) / 1e9, 1),
        "engines": {name: workers[name].known | timed(seconds.get(name, []), gemm, flops) for name in engines},
    }
    if own := seconds.get("netcalc"):
        speeds = {name: round(over(seconds[name], own), 4) for name in PEERS if name in seconds}
        record["engines"]["netcalc"]["speed_against"] = speeds
    return record


def timed(seconds: Sequence[float], gemm: Sequence[float], flops: int) -> Record:
    """What is kept of an engine's times."""
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
    """The median ratio of times of the same round."""
    return median(a / b for a, b in zip(first, second, strict=False))


def cases(models: Sequence[str], batches: Sequence[int]) -> Iterator[Case]:
    """Each in a folder that is there until the next."""
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
    """What is being done, on standard error: one line of a terminal."""
    line = f"\r{text:<79}\r{text}" if sys.stderr.isatty() else f"{text}\n"
    print(line, end="", file=sys.stderr, flush=True)


def read() -> list[Record]:
    """The cases in the file, which are of this machine."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    if found["machine"] != machine(PACKAGES):
        sys.exit(f"{FILE} is of another machine or of other packages: a run of everything replaces it")
    return found["cases"]


def write(cases: Sequence[Record]) -> None:
    """Keeps the cases, what follows from them, and the machine."""
    found = {"means": means(cases), "aims": aims(cases), "cases": cases}
    record = {"benchmark": "forward", **found, "machine": machine(PACKAGES)}
    RESULTS.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def options() -> argparse.Namespace:
    """What is asked for; ``keep`` too if that is everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--threads", nargs="+", type=int, default=list(THREADS))
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES))
    parser.add_argument("--repeats", type=int, default=11, metavar="ROUNDS")
    parser.add_argument("--keep", action="store_true", help="put these cases in their places in results/forward.json")
    asked = parser.parse_args()
    complete = set(asked.engines) == set(ENGINES)
    if asked.keep and not complete:
        parser.error("--keep wants all engines")
    asked.everything = complete and (set(asked.models), set(asked.threads), set(asked.batches)) == (
        set(MODELS),
        set(THREADS),
        set(BATCHES),
    )
    return asked


def main() -> None:
    asked = options()
    found = {title(record): record for record in (read() if asked.keep and FILE.is_file() else [])}
    new = []
    for case in cases(asked.models, asked.batches):
        for threads in asked.threads:
            progress(f"{case.model.name}, batch {case.batch}, threads {threads}")
            new.append(measured(case, threads, asked.engines, asked.repeats))
    progress("")
    show(new)
    if asked.keep or asked.everything:
        found |= {title(record): record for record in new}
        write(sorted(found.values(), key=lambda r: (list(MODELS).index(r["model"]), r["batch"], r["threads"])))


if __name__ == "__main__":
    main()
