"""Gain of each special path of the engine: time without it, divided by the time with all of them.

    python benchmarks/ablation.py [--models M …] [--paths P …] [--threads T …] [--batches B …] [--rounds N] [--limit S]
    python benchmarks/ablation.py --table

Each path is disabled in turn through the tuning record of a plan.  A case (model, batch, threads) is a process in which
the plan without a path runs next to the default plan, round by round.  A path that leaves the plan of a case unchanged
has the gain 1 there and does not run.  A run of all models and paths writes ``results/ablation.json`` and the table
in ``netcalc/engine/README.md``; ``--table`` writes the table from the last results.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from baseline import geometric_mean
from figures import counted
from measure import RESULTS, environment, machine
from models import MODELS

HERE = Path(__file__).parent
README = HERE.parent / "netcalc" / "engine" / "README.md"
FILE = RESULTS / "ablation.json"
BEGIN, END = "<!-- gains: begin -->", "<!-- gains: end -->"

Record: TypeAlias = dict[str, Any]

#: The paths, with the fields of the tuning record that disable them.
PATHS: dict[str, Record] = {
    "kernels in C": {"compiled": False},
    "grouped convolutions by a kernel": {"grouped_channels": 0},
    "packed filters by a kernel": {"packed": False},
    "runs of few channels": {"packed_run": 0},
    "Winograd's algorithm": {"winograd": False},
    "depthwise convolution": {"depthwise": False},
    "parts of concatenations in their places": {"join_distance": 0},
    "small GEMM blocks": {"small_gemm": False},
    "epilogue fusion": {"fuse_epilogues": False},
    "lowering of attention": {"disabled_lowerings": {"scaled_dot_product_attention"}},
    "lowering of layer norm": {"disabled_lowerings": {"layer_norm", "rms_norm"}},
    "lowering of group norm": {"disabled_lowerings": {"group_norm", "instance_norm"}},
    "lowering of recurrent layers": {"disabled_lowerings": {"lstm", "gru", "rnn"}},
    "lowering of pooling": {"disabled_lowerings": {"max_pool1d", "max_pool2d", "max_pool3d", "avg_pool2d"}},
    "lowering of joining": {"disabled_lowerings": {"concat", "stack", "pad"}},
}
#: Models beside those of ``forward``, for paths that none of those takes or that matter most in other networks.
MORE: dict[str, tuple[str, Record]] = {
    "pythia-70m": ("pythia-70m", {"length": 128}),
    "qwen2-0.5b": ("qwen2-0.5b", {"length": 16}),
    "densenet121": ("densenet121", {}),
    "shufflenet_v2_x1_0": ("shufflenet_v2_x1_0", {}),
    "group_norm": (str(HERE / "specs" / "group_norm.yaml"), {}),
}
#: Gains from which on a path is kept: of the geometric mean, and of one network.
KEPT_MEAN, KEPT_NETWORK = 1.03, 1.10
#: Times without a path beyond which further rounds tell nothing new.
OBVIOUS = 3.0


def spec_of(model: str, batch: int) -> tuple[str, Record]:
    """Return the spec of a model and its settings at a batch size."""
    if model in MODELS:
        return model, MODELS[model].sizes(batch)
    name, settings = MORE[model]
    return name, settings | {"batch": batch}


def measure_case(model: str, batch: int, threads: int, paths: Sequence[str], rounds: int, limit: float) -> None:
    """Measure a case in this process; print a line of JSON with the gain of each path that changes its plan."""
    from drawn import SEED, weights
    from signature import signature

    import netcalc
    from netcalc.engine.plan import Plan
    from netcalc.engine.runtime.session import Session
    from netcalc.engine.tuning import Tuning
    from netcalc.numerics.inputs import run_inputs
    from netcalc.numerics.parameters import Parameters

    end = time.monotonic() + limit
    name, settings = spec_of(model, batch)
    program = netcalc.load(name, set=settings, dtype="float32").program
    arrays, inputs = weights(program), run_inputs(program, seed=SEED)

    def plan(fields: Record) -> Plan:
        frozen = {field: frozenset(value) if isinstance(value, set) else value for field, value in fields.items()}
        return Plan(program, threads, threads > 1 and sys.platform == "linux", replace(Tuning(), **frozen))

    def seconds(session: Session) -> float:
        start = time.perf_counter()
        session(inputs)
        return time.perf_counter() - start

    default = plan({})
    usual, sign = Session(default, Parameters(program, arrays)), signature(default)
    expected = usual(inputs)
    gains: dict[str, float] = {}
    for path in paths:
        changed = plan(PATHS[path])
        if signature(changed) == sign:
            continue
        if time.monotonic() > end:
            break
        without = Session(changed, Parameters(program, arrays))
        check(expected, without(inputs), f"{model} without {path}")
        ratios: list[float] = []
        for turn in range(rounds):
            usual(inputs)  # warm up
            before = seconds(usual) if turn % 2 else 0.0
            without(inputs)
            slow = seconds(without)
            if not before:
                usual(inputs)
                before = seconds(usual)
            ratios.append(slow / before)
            if (ratios[0] > OBVIOUS and turn) or time.monotonic() > end:
                break
        gains[path] = round(median(ratios), 4)
        del without
    print(json.dumps(gains))


def check(expected: Sequence[Any], outputs: Sequence[Any], what: str) -> None:
    """Stop with an error if the outputs differ by more than rounding."""
    import numpy as np

    for one, other in zip(expected, outputs, strict=True):
        if not np.abs(one - other).max() <= 1e-3 * np.abs(one).max():
            sys.exit(f"{what}: the outputs differ")


def run_case(model: str, batch: int, threads: int, args: argparse.Namespace, limit: float) -> dict[str, float] | None:
    """Return the gains of a case, measured in a process of its own; None if it failed or took far too long."""
    command = [sys.executable, __file__, "--case", model, str(batch), str(threads)]
    command += ["--rounds", str(args.rounds), "--limit", str(limit), "--paths", *args.paths]
    try:
        done = subprocess.run(
            command, env=environment(threads), stdout=subprocess.PIPE, text=True, timeout=2 * limit + 60, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"  failed: {error}", file=sys.stderr)
        return None
    gains: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return gains


def summarize(cases: Sequence[Record], paths: Sequence[str]) -> dict[str, Record]:
    """Return for each path its gain over all cases, the network with the largest gain, and the verdict."""
    summary: dict[str, Record] = {}
    for path in paths:
        gains = [case["gains"].get(path, 1.0) for case in cases]
        networks = {
            model: geometric_mean(case["gains"].get(path, 1.0) for case in cases if case["model"] == model)
            for model in dict.fromkeys(case["model"] for case in cases)
        }
        used = [case["model"] for case in cases if path in case["gains"]]
        best = max(used or networks, key=lambda model: networks[model])
        mean = geometric_mean(gains)
        summary[path] = {
            "geometric_mean": round(mean, 4),
            "best_network": best,
            "best_gain": round(networks[best], 4),
            "cases": sum(path in case["gains"] for case in cases),
            "keep": mean >= KEPT_MEAN or networks[best] >= KEPT_NETWORK,
        }
    return summary


def table(results: Record) -> str:
    """Return the gains as a Markdown table."""
    lines = [
        "| path | all cases | best network | its gain | cases | verdict |",
        "| --- | ---: | --- | ---: | ---: | --- |",
    ]
    for path, row in results["paths"].items():
        verdict = "keep" if row["keep"] else "not used" if not row["cases"] else "too small"
        best = row["best_network"] if row["cases"] else ""
        lines.append(
            f"| {path} | {row['geometric_mean'] - 1:+.1%} | {best} | {row['best_gain'] - 1:+.1%} | {row['cases']} "
            f"| {verdict} |"
        )
    about = results["machine"]
    cases = f"{len(results['cases'])} cases, {results['rounds']} rounds; {about['cpu']}, {about['cores']} cores"
    return "\n".join([*lines, "", f"{cases}."])


def write_table(results: Record) -> None:
    """Replace the table in the README of the engine."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", encoding="utf-8")


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    models = [*MODELS, *MORE]
    parser.add_argument("--models", nargs="+", choices=models, default=models)
    parser.add_argument("--paths", nargs="+", choices=PATHS, default=list(PATHS), metavar="PATH")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--limit", type=float, default=900.0, metavar="SECONDS", help="time for all cases")
    parser.add_argument("--table", action="store_true", help="write the table of the last results and stop")
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measure the cases, smallest batch first, and write the results if none was left out."""
    args = options()
    if args.table:
        return write_table(json.loads(FILE.read_text(encoding="utf-8")))
    if args.case:
        model, batch, threads = args.case
        return measure_case(model, int(batch), int(threads), args.paths, args.rounds, args.limit)
    todo = [(m, b, t) for b in sorted(args.batches) for t in args.threads for m in args.models]
    end, cases = time.monotonic() + args.limit, []
    for number, (model, batch, threads) in enumerate(todo):
        left = end - time.monotonic()
        if left <= 0:
            print(f"out of time: {len(todo) - number} cases are left out", file=sys.stderr)
            break
        print(f"{model}, batch {batch}, {counted(threads)}", file=sys.stderr)
        # later cases are larger, so that one may take several even shares of what is left
        gains = run_case(model, batch, threads, args, min(left, 4 * left / (len(todo) - number)))
        if gains is not None:
            cases.append({"model": model, "batch": batch, "threads": threads, "gains": gains})
    if not cases:
        sys.exit("no case was measured")
    results = {
        "benchmark": "ablation",
        "rounds": args.rounds,
        "complete": len(cases) == len(todo) and all(math.isfinite(g) for c in cases for g in c["gains"].values()),
        "paths": summarize(cases, args.paths),
        "cases": cases,
        "machine": machine(),
    }
    print(table(results))
    if set(args.paths) == set(PATHS) and set(args.models) == {*MODELS, *MORE}:
        RESULTS.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        write_table(results)
    return None


if __name__ == "__main__":
    main()
