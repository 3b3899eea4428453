"""Checks that build one model after the other: their options, the models that are left, and what each gives."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

import netcalc
from tests.exhaustive.imports import OK, Stopped, first_line, limited
from tests.exhaustive.record import read
from tests.formats.torch.models import quiet


def add_options(parser: argparse.ArgumentParser, only: str) -> None:
    """Add the options of such a check; ``only`` says what chooses models."""
    parser.add_argument("--only", default="", help=only)
    parser.add_argument("--seconds", type=int, default=600, help="longest time for a model")
    parser.add_argument("--minutes", type=float, help="time after which no further model is begun")
    parser.add_argument("--again", action="store_true", help="only models that the record lacks, or has as failed")


def results_of(
    names: Iterable[str], compared: Callable[[str], str], options: argparse.Namespace
) -> tuple[dict[str, Any], list[str]]:
    """Return the results of models, and those that fail; ``--again`` keeps what the record has."""
    results: dict[str, str] = dict(read(options.name)["result"]["cases"]) if options.again else {}
    end = monotonic() + 60 * options.minutes if options.minutes is not None else None
    for name in names:
        if results.get(name) == OK:
            continue
        begun = monotonic()
        if end is not None and begun > end:
            break
        results[name] = result(name, compared, options.seconds)
        print(f"{name} {results[name]} ({monotonic() - begun:.0f} s)", flush=True)
    failures = [f"{name}: {found}" for name, found in results.items() if found != OK]
    return {"models": len(results), "equal": len(results) - len(failures), "cases": results}, failures


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
