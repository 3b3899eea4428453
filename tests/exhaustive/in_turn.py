"""Checks that build one model after the other: their options, the models that are left, and what each gives."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from time import time
from typing import Any

import netcalc
from tests.exhaustive.imports import OK, Stopped, first_line, limited
from tests.exhaustive.record import read
from tests.formats.torch.models import quiet

#: Models of a process, after which another one goes on, with the memory that this one does not give back.
_MODELS = 25


def add_options(parser: argparse.ArgumentParser, only: str, seconds: int = 600) -> None:
    """Add the options of such a check; ``only`` says what chooses models, ``seconds`` is what one may take."""
    parser.add_argument("--only", default="", help=only)
    parser.add_argument("--seconds", type=int, default=seconds, help="longest time for a model")
    parser.add_argument("--minutes", type=float, help="time after which no further model is begun")
    parser.add_argument("--again", action="store_true", help="only models that the record lacks, or has as failed")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")


def results_of(
    names: Iterable[str], compared: Callable[[str], str], options: argparse.Namespace
) -> tuple[dict[str, Any], list[str]]:
    """Return the results of models, and those that fail; ``--again`` keeps what the record has."""
    results: dict[str, str] = dict(read(options.name)["result"]["cases"]) if options.again else {}
    end = time() + 60 * options.minutes if options.minutes is not None else None
    left = [name for name in names if not results.get(name, "").startswith(OK)]
    for name, found, seconds in _found(left, compared, options, end):
        results[name] = found
        print(f"{name} {found} ({seconds:.0f} s)", flush=True)
    failures = [f"{name}: {found}" for name, found in results.items() if not found.startswith(OK)]
    return {"models": len(results), "equal": len(results) - len(failures), "cases": results}, failures


def _found(
    names: list[str], compared: Callable[[str], str], options: argparse.Namespace, end: float | None
) -> Iterator[tuple[str, str, float]]:
    """Yield models that are begun before the end, the result of each, and the seconds that it took."""
    if options.jobs == 1:
        yield from filter(None, (_timed(name, compared, options.seconds, end) for name in names))
        return
    size = options.jobs * _MODELS
    for start in range(0, len(names), size):  # Python 3.11 may wait forever where a pool replaces its processes
        with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
            tasks = [pool.submit(_timed, n, compared, options.seconds, end) for n in names[start : start + size]]
            for task in as_completed(tasks):
                try:
                    found = task.result()
                except BrokenProcessPool:  # the system has ended a process: these models are not in the record
                    continue
                if found is not None:
                    yield found


def _timed(name: str, compared: Callable[[str], str], seconds: int, end: float | None) -> tuple[str, str, float] | None:
    begun = time()
    if end is not None and begun > end:
        return None
    return name, result(name, compared, seconds), time() - begun


def result(name: str, compared: Callable[[str], str], seconds: int = 600) -> str:
    """Return what the comparison of a model says: ``ok``, or what differs; otherwise why there is none."""
    gc.collect()
    try:
        with limited(seconds), quiet():
            return compared(name)
    except netcalc.NetcalcError as error:
        return f"not captured: {first_line(error)}"
    except Exception as error:  # of the library, or a fault
        return f"not captured: {type(error).__name__}: {first_line(error)}"
    except Stopped:
        return f"not captured: longer than {seconds} s"
