"""Time of a cold ``netcalc run MODEL --weights FILE``, compared with reading the file and one pass.

    python benchmarks/first_run.py [REPEATS] [--models M …] [--threads N]

A file of weights is drawn for each network.  In every round a process runs the command to its end, this process reads
the file, which the system has in memory then, and a network that was loaded before makes a pass.  ``beyond start``
takes off the time of the same command on a tiny network, which is that of starting.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from drawn import SEED, weights
from measure import environment, paired, report
from models import MODELS, Model
from safetensors.numpy import save_file
from startup import process, script

import netcalc

NETWORKS = ("resnet50", "vit_b_32", "bert-base", "gpt2")
SMALL = "mlp"
TARGET = 1.2
CHUNK = 1 << 20


def read(file: Path, buffer: bytearray) -> None:
    """Read a file piece by piece."""
    with file.open("rb", buffering=0) as stream:
        while stream.readinto(buffer):
            pass


def measured(model: Model, folder: Path, repeats: int, threads: int) -> dict[str, Any]:
    """Return the times of one network."""
    file = folder / f"{model.name}.safetensors"
    network = netcalc.load(model.name, set=model.sizes(1), dtype="float32")
    save_file(weights(network.program), file)
    session = network.compile(file, seed=SEED, threads=threads, processes=True)
    sizes = [f"{name}={value}" for name, value in model.sizes(1).items()]
    options = ["--dtype", "float32", "--threads", str(threads)]
    command = ["-c", script(), "run", model.name, "--weights", str(file), *options]
    command += [word for size in sizes for word in ("--set", size)]
    times = paired(
        {
            "run": partial(process, command, environment(threads)),
            "start": partial(process, ["-c", script(), "run", SMALL, *options], environment(threads)),
            "read": partial(read, file, bytearray(CHUNK)),
            "pass": session,
        },
        repeats=repeats,
        warmups=1,
    )
    size = file.stat().st_size
    file.unlink()
    needed = [a + b for a, b in zip(times["read"], times["pass"], strict=True)]
    beyond = [a - b for a, b in zip(times["run"], times["start"], strict=True)]
    found: dict[str, Any] = {f"{name}_ms": round(median(own) * 1e3, 1) for name, own in times.items()}
    return {
        "median_ms": found["run_ms"],
        "least_ms": round(min(times["run"]) * 1e3, 1),
        "most_ms": round(max(times["run"]) * 1e3, 1),
        "ratio": round(median(a / b for a, b in zip(times["run"], needed, strict=True)), 3),
        "ratio_beyond_start": round(median(a / b for a, b in zip(beyond, needed, strict=True)), 3),
        "megabytes": round(size / 1e6, 1),
        **found,
    }


def main() -> None:
    """Measure the networks, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repeats", nargs="?", type=int, default=9)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(NETWORKS), metavar="M")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    tasks = {}
    with TemporaryDirectory() as folder:
        for name in args.models:
            tasks[name] = measured(MODELS[name], Path(folder), args.repeats, args.threads)
    for name, found in tasks.items():
        cells = ", ".join(f"{part} {found[f'{part}_ms']:.0f} ms" for part in ("start", "read", "pass"))
        print(f"{name}: {cells}; beyond start {found['ratio_beyond_start']:.2f} of reading and a pass")
    report("first_run", args.repeats, tasks, target_ratio=TARGET, threads=args.threads)


if __name__ == "__main__":
    main()
