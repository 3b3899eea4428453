"""Time and memory of forward passes, compared with PyTorch, onnxruntime and onnx's evaluator, or with another version.

    python benchmarks/forward.py [--models M …] [--engines E …] [--threads T …] [--batches B …] [--rounds N]
                                 [--isa SET] [--quick] [--prepared FOLDER] [--results FILE] [--keep] [--resume]
    python benchmarks/forward.py --merge FILE … [--results FILE]
    python benchmarks/forward.py --baseline CHECKOUT [--models M …] [--threads T …] [--batches B …] [--rounds N]

Each engine is a separate process, with the same weights, inputs and number of threads.  Their outputs are compared with
those of torch; then they run one at a time, in turn.  A run of all cases writes ``results/forward.json`` after each of
them, and ``--resume`` goes on with one that was interrupted.  A run of some cases prints them, with ``--keep``
replaces them there, and with ``--results`` starts a file of their own; ``--merge`` joins such files.  With
``--baseline`` netcalc alone runs, from that source tree and from this one; the ratios of
their times are printed.
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
from figures import PEERS, Record, counted, means, networks, show, show_case, targets, title
from measure import ISA, RESULTS, environment, machine, pace
from models import MODELS, REFERENCE, Case

HERE = Path(__file__).parent
FILE = RESULTS / "forward.json"
ENGINES = ("netcalc", *PEERS)
THREADS, BATCHES = (1, 2), (1,)
PACKAGES = ("numpy", "torch", "torchvision", "timm", "transformers", "onnx", "onnxscript", "onnxruntime")
#: Rounds of what runs less often than the others, and only once in a turn.
SELDOM = {"reference": 2, "gemm": 5}
#: Rounds of a case with ``--quick``.
QUICK = 5
#: Seconds after each turn, for spinning threads to fall asleep, and after a turn of NumPy's, whose OpenBLAS keeps its
#: threads spinning for 2²⁸ ticks of the processor's clock: they would take a core from the engine of the next turn.
PAUSE, BLAS_PAUSE = 0.05, 0.2
#: Engines whose products are OpenBLAS's on several threads.
BLAS = ("reference", "gemm")


class Worker:
    """A process of ``worker.py``, which imports its engine at once and loads the case when it is told to."""

    def __init__(self, engine: str, case: Case, threads: int, isa: str | None = None) -> None:
        arguments = [engine, case.model.name, str(case.batch), str(threads), str(case.root)]
        self._pause = BLAS_PAUSE if engine in BLAS else PAUSE
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(threads, isa),
            text=True,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def load(self) -> Record:
        """Load the case; return the figures of the engine, or its error."""
        answer: Record = self._ask("load")
        time.sleep(self._pause)
        return answer

    def run(self, how: str) -> float:
        """Return the seconds of a pass, which with ``again`` follows another."""
        seconds: float = self._ask(how)
        time.sleep(self._pause)
        return seconds

    def _ask(self, request: str) -> Any:
        try:
            print(request, file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"the process ended with {self._process.wait()}"}


def measured(
    case: Case, threads: int, engines: Sequence[str], rounds: int | None = None, isa: str | None = None
) -> Record:
    """Measure a case with every engine that can run it, in so many rounds or in those that its time allows."""
    seconds: dict[str, list[float]] = {}
    engines = [name for name in engines if name != "reference" or (case.model.name, case.batch) in REFERENCE]
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, case, threads, isa)) for name in (*engines, "gemm")}
        ready = {name: worker.load() for name, worker in workers.items()}
        able = [name for name, found in ready.items() if "error" not in found]
        how, often = pace([ready[name].pop("pass_seconds") for name in able if name not in SELDOM])
        for turn in range(rounds or often):
            shift = turn % len(able)
            for name in able[shift:] + able[:shift]:
                if turn < SELDOM.get(name, rounds or often):
                    seconds.setdefault(name, []).append(workers[name].run("once" if name in SELDOM else how))
    flops, gemm = 2 * int(case.network.macs), seconds["gemm"]
    record = {
        "model": case.model.name,
        "settings": case.model.settings,
        "batch": case.batch,
        "threads": threads,
        **({} if isa is None else {"isa": isa}),
        "flops": flops,
        "gemm_gflops": round(GEMM_FLOPS / median(gemm) / 1e9, 1),
        "gemm_best_gflops": round(GEMM_FLOPS / min(gemm) / 1e9, 1),
        "engines": {name: ready[name] | timed(seconds.get(name, []), gemm, flops) for name in engines},
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


def cases(wanted: Sequence[tuple[str, int]], prepared: Path | None) -> Iterator[Case]:
    """Yield the cases of models and batch sizes, prepared by model, in a folder that stays or is deleted after it."""
    for name in dict.fromkeys(name for name, _ in wanted):
        batches = [batch for model, batch in wanted if model == name]
        with TemporaryDirectory() as temporary:
            folder = Path(temporary) if prepared is None else prepared / name
            progress(f"{name}: weights, outputs and ONNX")
            command = [sys.executable, str(HERE / "prepare.py"), name, str(folder), *map(str, batches)]
            done = subprocess.run(command, env=environment(), capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"\n{done.stderr}")
            yield from (Case(MODELS[name], batch, folder.resolve()) for batch in batches)


def progress(text: str) -> None:
    """Show the current activity on standard error, in one line of a terminal."""
    line = f"\r{text:<79}\r{text}" if sys.stderr.isatty() else f"{text}\n"
    print(line, end="", file=sys.stderr, flush=True)


def read(file: Path) -> list[Record]:
    """Return the cases in a file of results, which must be of this machine."""
    results = json.loads(file.read_text(encoding="utf-8"))
    if results["machine"] != machine(PACKAGES):
        sys.exit(f"{file} was measured on another machine or with other packages; a run of all cases replaces it")
    cases: list[Record] = results["cases"]
    return cases


def merge(files: Sequence[Path], target: Path) -> None:
    """Write the cases of all files to one, the later ones instead of equal ones before, and print the tables.

    Other processor instructions or machines cannot be compared with each other, and end the command.
    """
    records = {title(record): record for file in files for record in read(file)}
    if len({record.get("isa") for record in records.values()}) > 1:
        sys.exit("the files were measured with different instruction sets")
    write(target, list(records.values()))
    show(list(records.values()))


def write(file: Path, records: Sequence[Record]) -> None:
    """Write the cases, their means and targets, and the machine to a file of results."""
    names = list(MODELS)
    records = sorted(records, key=lambda record: (names.index(record["model"]), record["batch"], record["threads"]))
    derived = {"means": means(records), "targets": targets(records), "networks": networks(records)}
    record = {"benchmark": "forward", **derived, "cases": records, "machine": machine(PACKAGES)}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="M")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--threads", nargs="+", type=int, default=list(THREADS))
    parser.add_argument("--batches", nargs="+", type=int, default=list(BATCHES))
    parser.add_argument("--rounds", type=int, metavar="N", help="instead of the number that the time of a pass allows")
    parser.add_argument("--isa", choices=ISA, help="limit all engines to these instructions, as far as each can be")
    parser.add_argument("--quick", action="store_true", help="batch 1 on one thread against torch and onnxruntime")
    parser.add_argument("--prepared", type=Path, metavar="FOLDER", help="keep weights and exports there for later runs")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write there instead of to results/forward.json")
    parser.add_argument("--keep", action="store_true", help="replace these cases in the results")
    parser.add_argument("--resume", action="store_true", help="measure what the results lack, and keep it")
    parser.add_argument(
        "--merge", nargs="+", type=Path, metavar="FILE", help="join results of parts, and measure nothing"
    )
    parser.add_argument("--baseline", type=Path, metavar="CHECKOUT", help="compare with netcalc of another source tree")
    args = parser.parse_args()
    if args.quick:
        args.engines, args.threads, args.batches = ["netcalc", "torch", "onnxruntime"], [1], [1]
        args.rounds = args.rounds or QUICK
    complete = set(args.engines) == set(ENGINES)
    if (args.keep or args.resume or args.results) and not complete:
        parser.error("--keep, --resume and --results need all engines")
    asked = set(args.models), set(args.threads), set(args.batches)
    args.keeping = args.keep or args.resume or args.results is not None
    args.keeping |= complete and asked == (set(MODELS), set(THREADS), set(BATCHES))
    args.results = args.results or (FILE if args.isa is None else FILE.with_stem(f"{FILE.stem}_{args.isa}"))
    return args


def compare(args: argparse.Namespace) -> None:
    """Compare the forward passes of two source trees, and print the ratios of their times."""
    records = []
    print(f"{'':40}{'baseline':>13}{'current':>13}{'ratio':>8}")
    for model in args.models:
        for batch in args.batches:
            for threads in args.threads:
                progress(f"{model}, batch {batch}, threads {threads}")
                record = compare_forward(args.baseline, model, batch, threads, args.rounds)
                records.append(record)
                progress("")
                times = f"{record['baseline_ms']:>10.2f} ms{record['current_ms']:>10.2f} ms"
                remark = "" if record["same_outputs"] else "  outputs differ"
                print(f"{title(record):40}{times}{record['ratio']:>8.3f}{remark}", flush=True)
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
    if args.merge:
        return merge(args.merge, args.results)
    earlier = (args.keep or args.resume) and args.results.is_file()
    kept = {title(record): record for record in (read(args.results) if earlier else [])}
    there = {(r["model"], r["batch"], r["threads"]) for r in kept.values()} if args.resume else set()
    wanted = [
        (model, batch)
        for model in args.models
        for batch in args.batches
        if any((model, batch, threads) not in there for threads in args.threads)
    ]
    new = []
    for case in cases(wanted, args.prepared):
        for threads in args.threads:
            if (case.model.name, case.batch, threads) in there:
                continue
            progress(f"{case.model.name}, batch {case.batch}, threads {threads}")
            record = measured(case, threads, args.engines, args.rounds, args.isa)
            progress("")
            show_case(record)
            new.append(record)
            if args.keeping:
                kept[title(record)] = record
                write(args.results, list(kept.values()))
    show(list(kept.values()) if args.resume else new)
    return None


if __name__ == "__main__":
    main()
