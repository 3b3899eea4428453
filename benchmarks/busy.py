"""Speed on two threads beside a busy process on the second core, compared with onnxruntime in the same condition.

    python benchmarks/busy.py [--models M …] [--rounds N] [--core C] [--prepared FOLDER]

In every round both engines run twice, alone and beside a loop that is pinned to a core, in turn.  What is compared is
the ratio of their times: how much of it remains beside the loop.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from baseline import geometric_mean
from figures import Record
from forward import PACKAGES, Worker, cases, over, progress
from measure import RESULTS, machine
from models import MODELS, Case

NETWORKS = ("resnext50_32x4d", "vit_b_32", "wide_resnet50_2", "mnasnet1_0", "squeezenet1_1", "mobilenet_v3_small")
ENGINES = ("netcalc", "onnxruntime")
THREADS = 2
#: Least part of the ratio that remains, as the geometric mean over the networks.
TARGET = 0.8
LOOP = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
CONDITIONS = ("alone", "beside a loop")


@contextmanager
def loop(core: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a busy process on a core, stopped at first."""
    with subprocess.Popen([sys.executable, "-c", LOOP, str(core)]) as process:
        process.send_signal(signal.SIGSTOP)
        try:
            yield process
        finally:
            process.kill()


def measured(case: Case, rounds: int, core: int) -> Record:
    """Measure a case in both conditions."""
    seconds: dict[str, dict[str, list[float]]] = {each: {name: [] for name in ENGINES} for each in CONDITIONS}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(name, case, THREADS)) for name in ENGINES}
        for name, worker in workers.items():
            if "error" in (ready := worker.load()):
                sys.exit(f"{case.model.name}: {name}: {ready['error']}")
        busy = stack.enter_context(loop(core))
        for turn in range(rounds):
            for condition in CONDITIONS:
                busy.send_signal(signal.SIGSTOP if condition == "alone" else signal.SIGCONT)
                for name in sorted(ENGINES, reverse=bool(turn % 2)):
                    seconds[condition][name].append(workers[name].run("again"))
            busy.send_signal(signal.SIGSTOP)
    ratios = {each: over(found["onnxruntime"], found["netcalc"]) for each, found in seconds.items()}
    times = {
        condition: {name: round(median(own) * 1e3, 2) for name, own in found.items()}
        for condition, found in seconds.items()
    }
    kept = ratios["beside a loop"] / ratios["alone"]
    return {"median_ms": times, "ratios": {k: round(v, 3) for k, v in ratios.items()}, "kept": round(kept, 3)}


def main() -> None:
    """Measure all networks, print a table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(NETWORKS), metavar="M")
    parser.add_argument("--rounds", type=int, default=15, metavar="N")
    parser.add_argument("--core", type=int, default=1, metavar="C", help="of the loop")
    parser.add_argument("--prepared", type=Path, metavar="FOLDER", help="as for forward.py")
    args = parser.parse_args()
    found = {}
    heads = [f"{each}: {name}" for each in CONDITIONS for name in ENGINES]
    print(f"{'ms':20}" + "".join(f"{head:>28}" for head in heads) + f"{'kept':>8}")
    for case in cases([(name, 1) for name in args.models], args.prepared):
        progress(f"{case.model.name}, {args.rounds} rounds")
        record = found[case.model.name] = measured(case, args.rounds, args.core)
        progress("")
        cells = [f"{record['median_ms'][each][name]:>28.1f}" for each in CONDITIONS for name in ENGINES]
        print(f"{case.model.name:20}{''.join(cells)}{record['kept']:>8.2f}", flush=True)
    kept = geometric_mean(record["kept"] for record in found.values())
    print(f"\nof the ratio to onnxruntime remains {kept:.2f} (target {TARGET}), geometric mean")
    if set(args.models) == set(NETWORKS):
        result = {"benchmark": "busy", "rounds": args.rounds, "networks": found, "kept": round(kept, 3)}
        result |= {"target": TARGET, "machine": machine(PACKAGES)}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "busy.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
