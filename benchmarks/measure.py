"""Paired timing, the description of the machine, and results as JSON and as a table."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import psutil

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "pydantic", "rich", "ruamel.yaml", "typer")
#: Environment variables of the number of threads of numerical libraries, and prefixes of all their settings.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SETTINGS = ("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "MKL_", "ONEDNN_", "DNNL_", "ATEN_", "NETCALC_ISA")
#: Settings that limit each engine to the instructions of a set.  onnxruntime has none, and takes the processor's best.
ISA = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NETCALC_ISA": "avx2",
    }
}

#: Seconds that the rounds of a case should take, and the largest number of rounds.
BUDGET, MOST = 8.0, 15
#: Seconds from which on a pass needs no other before it, so that caches and threads are warm.
LONG = 0.7
#: Fewest rounds of passes that follow another, and of long ones.
FEWEST = {"again": 5, "once": 3}


def pace(seconds: Sequence[float]) -> tuple[str, int]:
    """Return how passes that take so long are measured in turn, after another or alone, and the number of rounds."""
    how = "once" if max(seconds) > LONG else "again"
    turn = sum(seconds) * (2 if how == "again" else 1)
    return how, min(MOST, max(FEWEST[how], int(BUDGET / turn)))


def paired(tasks: Mapping[str, Callable[[], object]], *, repeats: int, warmups: int = 3) -> dict[str, list[float]]:
    """Return the seconds of each task by round.

    Each task runs once in every round, so that all see the same load of the machine.  The order rotates.
    """
    names = list(tasks)
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(warmups + repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            start = perf_counter()
            tasks[name]()
            if turn >= warmups:
                times[name].append(perf_counter() - start)
    return times


def summarized(times: Mapping[str, Sequence[float]], against: str) -> dict[str, Any]:
    """Return for each task its median and range in milliseconds, and the median of its ratios to ``against``."""
    return {
        name: {
            "median_ms": round(median(own) * 1e3, 2),
            "least_ms": round(min(own) * 1e3, 2),
            "most_ms": round(max(own) * 1e3, 2),
            "ratio": round(median(a / b for a, b in zip(own, times[against], strict=True)), 3),
        }
        for name, own in times.items()
    }


def environment(threads: int | None = None, isa: str | None = None) -> dict[str, str]:
    """Return the environment without settings of numerical libraries, apart from threads and instruction set."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    own |= ISA[isa] if isa is not None else {}
    return own if threads is None else own | dict.fromkeys(THREADS, str(threads))


def peak_memory() -> int:
    """Return the peak resident bytes of this process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    # ru_maxrss would include the memory of the parent when it started this process
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def memory_of_children() -> int:
    """Return the bytes that child processes hold beyond the memory that they share with this one."""
    return sum(child.memory_full_info().uss for child in psutil.Process().children())


def machine(packages: Iterable[str] = PACKAGES) -> dict[str, Any]:
    """Return the hardware and software that results depend on; nothing that identifies the machine."""
    from netcalc.engine.native.library import instruction_set  # not in the processes of other engines

    return {
        "cpu": _cpu(),
        "instructions": instruction_set(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {name: version(name) for name in packages},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def report(name: str, repeats: int, tasks: Mapping[str, Any], **more: Any) -> None:
    """Print the tasks as a table, and write them with the machine to ``results/NAME.json``."""
    width = max(map(len, tasks))
    print(f"{'':{width}}  {'median':>10}  {'least':>10}  {'most':>10}  {'ratio':>7}")
    for task, found in tasks.items():
        cells = "  ".join(f"{found[key]:>7.1f} ms" for key in ("median_ms", "least_ms", "most_ms"))
        print(f"{task:{width}}  {cells}  {found['ratio']:>6.2f}×")
    record = {"benchmark": name, "repeats": repeats, "tasks": tasks, **more, "machine": machine()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
