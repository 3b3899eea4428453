"""Cases of a check that are drawn by number, run in worker processes: limits, counts by outcome, memory.

Case number i of a seed is always the same.  ``--only i`` repeats one and shows the traceback of its failure;
``--only i --show`` prints it.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

__all__ = ["Cases"]

#: Seconds of processor time for one case, and the address space of a worker in bytes.
SECONDS = 10
MEMORY = 4 << 30
#: A worker that is silent for this many seconds is stuck outside the interpreter.
SILENT = 120
COLLECTED = 100  # cases after which a worker collects garbage
GROWTH_FROM = 0.2  # growth of memory is measured after this part of the cases, when caches are filled


class Cases(NamedTuple):
    """Cases of a check, by seed and number."""

    check: str
    """Name of the check, whose worker processes are its command with ``--worker``."""
    noun: str
    exercise: Callable[[int, int], str]
    """Runs a case and returns its outcome on one line, of which the first word is counted; raises for a failure."""
    shown: Callable[[int, int], str]

    def add_options(self, parser: argparse.ArgumentParser, count: int) -> None:
        """Add the options of the check."""
        parser.add_argument("--count", type=int, default=count, help=f"number of {self.noun}")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--start", type=int, default=0, help="number of the first")
        parser.add_argument("--jobs", type=int, default=2, help="worker processes")
        parser.add_argument("--only", type=int, help="run this number alone, in this process")
        parser.add_argument("--show", action="store_true", help="with --only: print it instead")
        parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)

    def run(self, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
        """Run the cases; return counts by outcome, speed and memory, and the failures with their numbers."""
        gc.set_threshold(1_000_000, 50, 50)  # as the command does
        if options.only is not None:
            if options.show:
                print(self.shown(options.seed, options.only))
            else:
                with _limited(SECONDS):
                    print(self.exercise(options.seed, options.only))
            return {}, []
        if options.worker:
            self._work(options)
            return {}, []
        shares = [
            range(options.start + job, options.start + options.count, options.jobs) for job in range(options.jobs)
        ]
        reports: list[_Report] = [_Report() for _ in shares]
        started = time.monotonic()
        threads = [
            threading.Thread(target=self._supervise, args=(options.seed, share, report))
            for share, report in zip(shares, reports, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._result(options, reports, time.monotonic() - started)

    def sample(self, seed: int, count: int) -> dict[str, str]:
        """Return the failures among the first cases by number, and "passed" for the others.

        The cases, and with them their outcomes, change with the program; none may fail.
        """
        outcomes = {str(number): self._outcome(seed, number) for number in range(count)}
        return {number: found if found.startswith("FAILED") else "passed" for number, found in outcomes.items()}

    def _result(
        self, options: argparse.Namespace, reports: list[_Report], clock: float
    ) -> tuple[dict[str, Any], list[str]]:
        outcomes: Counter[str] = sum((report.outcomes for report in reports), Counter())
        seconds = sum(report.seconds for report in reports)
        slowest = sorted(entry for report in reports for entry in report.slowest)[-5:]
        result = {
            "seed": options.seed,
            self.noun: sum(outcomes.values()),
            "outcomes": dict(sorted(outcomes.items())),
            "per_second_of_processor_time": round(sum(outcomes.values()) / max(seconds, 1e-9)),
            "clock_seconds": round(clock),
            "slowest": [{"number": number, "seconds": round(taken, 2)} for taken, number in reversed(slowest)],
            "peak_mib": max(round(report.peak) for report in reports),
            "growth_mib": max(round(report.growth) for report in reports),
        }
        print({name: value for name, value in result.items() if name != "slowest"})
        return result, [failure for report in reports for failure in report.failures]

    def _supervise(self, seed: int, share: range, report: _Report) -> None:
        """Run a share of the cases in worker processes; another one continues after one that died."""
        while share:
            line = [sys.executable, "-m", "tests.exhaustive", self.check, "--worker", f"--seed={seed}"]
            line += [f"--start={share.start}", f"--count={share.stop - share.start}", f"--jobs={share.step}"]
            root = Path(__file__).parent.parent.parent
            worker = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root)
            assert worker.stdout is not None
            timer = threading.Timer(SILENT, worker.kill)
            timer.start()
            current = share.start
            for text in worker.stdout:
                timer.cancel()
                kind, *fields = text.rstrip("\n").split("\t")
                if kind == "memory":
                    report.peak, report.growth = (
                        max(report.peak, float(fields[0])),
                        max(report.growth, float(fields[1])),
                    )
                elif kind == "case":
                    report.add(int(fields[0]), float(fields[1]), fields[2])
                    current = int(fields[0]) + share.step
                timer = threading.Timer(SILENT, worker.kill)
                timer.start()
            timer.cancel()
            share = range(current, share.stop, share.step)
            if share:
                report.add(current, SILENT, f"FAILED the process ended with {worker.wait()}")
                share = share[1:]

    def _work(self, options: argparse.Namespace) -> None:
        """Run every n-th case and print a line for each."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        numbers = range(options.start, options.start + options.count, options.jobs)
        base = 0.0
        for done, number in enumerate(numbers):
            if done % COLLECTED == 0:
                gc.collect()
            if done == int(GROWTH_FROM * len(numbers)):
                base = _resident()
            before = time.process_time()
            outcome = self._outcome(options.seed, number)
            print("case", number, f"{time.process_time() - before:.4f}", outcome, sep="\t", flush=True)
        print(
            "memory",
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            _resident() - base,
            sep="\t",
            flush=True,
        )

    def _outcome(self, seed: int, number: int) -> str:
        """Return the outcome of a case on one line; ``FAILED`` and the reason if something else came out."""
        try:
            with warnings.catch_warnings(), _limited(SECONDS):
                warnings.simplefilter("error")
                return self.exercise(seed, number)
        except _TooLong:
            return f"FAILED takes over {SECONDS} s of processor time"
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"FAILED {type(error).__name__}: {error}"[:200] + f" ({Path(place.filename).name}:{place.lineno})"
            return " ".join(text.split()).encode("ascii", "backslashreplace").decode()


class _Report:
    """Results of one share of the cases."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest: list[tuple[float, int]] = []
        self.growth = self.peak = 0.0
        self.seconds = 0.0

    def add(self, number: int, seconds: float, outcome: str) -> None:
        if outcome.startswith("FAILED"):
            self.failures.append(f"{number}: {outcome}")
        self.outcomes[outcome.split()[0] if outcome else "none"] += 1
        self.seconds += seconds
        self.slowest = sorted([*self.slowest, (seconds, number)])[-5:]


def _resident() -> float:
    """Return the resident memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


class _TooLong(BaseException):
    """A case took more than its processor time."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLong

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
