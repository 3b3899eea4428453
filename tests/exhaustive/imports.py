"""Every recorded model of PyTorch imported at its recorded sizes: parameters and FLOPs against the record."""

from __future__ import annotations

import argparse
import gc
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.exhaustive.other_torch import sample_with
from tests.exhaustive.record import read
from tests.formats.torch.models import Record, build, inputs, quiet, records

#: Packages that the check needs.
NEEDED = ("torch", "torchvision", "timm", "transformers")
#: One model of this many is in the sample, among those of up to as many parameters.
SAMPLED, SMALL = 16, 30_000_000
#: Result of a model whose figures equal the record.
OK = "ok"


class Stopped(BaseException):
    """The end of the time for a model, which no handler of errors on the way catches."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="prefix of the ids of the models to import")
    parser.add_argument("--seconds", type=int, default=600, help="longest time for a model")
    parser.add_argument(
        "--again", action="store_true", help="import only models that the record lacks, or has as failed"
    )
    parser.add_argument(
        "--torch", metavar="VERSION", help="the sample with this torch, or the newest, in an environment of its own"
    )


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Import the models; return their results, and those that fail."""
    if options.torch is not None:
        return sample_with(options.torch)
    known = read("imports")["result"]["cases"] if options.again else {}
    results: dict[str, str] = {}
    for record in records().values():
        if known.get(record.id) == OK:
            results[record.id] = OK
        elif record.id.startswith(options.only):
            results[record.id] = result(record, options.seconds)
            print(record.id, results[record.id], flush=True)
    failures = [f"{name}: {found}" for name, found in results.items() if found != OK]
    return {"models": len(results), "equal": len(results) - len(failures), "cases": results}, failures


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Import some of the small models of a record again."""
    small = [name for name in result_before["cases"] if name in records() and records()[name].params < SMALL]
    return {name: result(records()[name]) for name in small[::SAMPLED]}


def result(record: Record, seconds: int = 600) -> str:
    """Return ``ok`` if the figures of the imported model equal those recorded; otherwise what differs or fails."""
    gc.collect()
    if not record.inputs:
        return "not imported: there are no recorded inputs, since torch cannot run it without compiled operators"
    try:
        with limited(seconds):
            return _compared(record)
    except Stopped:
        return f"not imported: longer than {seconds} s"


def _compared(record: Record) -> str:
    module = build(record)
    args, named = inputs(record)
    try:
        with quiet():
            network = netcalc.from_torch(module, *args, **named)
    except NetcalcError as error:
        return f"not imported: {first_line(error)}"
    except Exception as error:
        return f"not imported: {type(error).__name__}: {first_line(error)}"
    total = network.analysis("torch").total
    figures = {"params": (total.params, record.params), "flops": (total.flops, record.flops)}
    different = [f"{name} {found}, recorded {true}" for name, (found, true) in figures.items() if found != true]
    return "; ".join(different) or OK


def first_line(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0]
    return re.sub(r"(?<!\S)/\S*/", "", text)[:300]  # without folders of this machine


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise :class:`Stopped` in what takes longer."""

    def stop(signum: int, frame: Any) -> None:
        raise Stopped

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
