"""Drawn attributes and shapes of every operation: refused with a diagnostic, or executed as predicted and defined.

Shapes, work and values are compared between rules, kernel, planned run and independent reference, and what a backward
pass saves and does with what is declared of it.
"""

from __future__ import annotations

import argparse
import json
from random import Random
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from netcalc.verification.verify import verify
from tests.exhaustive.drawn_operations import drawn_spec
from tests.exhaustive.numbered import Cases
from tests.fuzz.exercise import refused

SAMPLE = 1000
#: Most work of a case, FLOPs and elements of results, so that none takes seconds; more is refused (E603).
MOST_WORK = 1e8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    OPERATIONS.add_options(parser, 100_000)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the cases."""
    return OPERATIONS.run(options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Rerun the first cases of the recorded seed."""
    return OPERATIONS.sample(result["seed"], SAMPLE)


def _drawn(seed: int, number: int) -> tuple[dict[str, Any], bool]:
    """Return a spec, and whether it is executed in training."""
    rng = Random(f"{seed}/{number}")
    return drawn_spec(rng), rng.random() < 0.25


def _exercised(seed: int, number: int) -> str:
    spec, training = _drawn(seed, number)
    try:
        program = elaborate(load_data(spec), training=training)
        backward = number % 2 == 0 and any(type_.is_float for type_ in program.main.output_types)
        report = verify(program, seed=number, values=True, backward=backward, max_work=MOST_WORK)
    except NetcalcError as error:
        return refused(error)
    if report.failures and all(failure.executed.startswith("RuleError") for failure in report.failures):
        return "E602"  # values that the kernel refuses, such as a mask with more true elements than a source has
    if not report.ok:
        raise AssertionError("; ".join(map(str, report.failures)))
    return "ok"


def _shown(seed: int, number: int) -> str:
    spec, training = _drawn(seed, number)
    return json.dumps({**spec, "training": training})


OPERATIONS = Cases("operations", "operations", _exercised, _shown)
