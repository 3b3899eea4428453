"""Every hostile input of tests/hostile to the installed command, with its exit code, time and memory."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.hostile.case import Case, Outcome, can_drop_privileges, problems
from tests.hostile.case import run as run_case
from tests.hostile.cases import all_cases

#: One case of this many is in the sample.
SAMPLED = 12


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="prefix of the names of the cases to run")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the cases; return their results, with those of valid input apart, and what failed."""
    cases = [case for name, case in all_cases().items() if name.startswith(options.only)]
    results, failures = _results(cases, options.jobs)
    hostile = [case.name for case in cases if case.code]
    return {
        "hostile": len(hostile),
        "passed": sum(not results[name].startswith("failed") for name in hostile),
        "cases": {name: results[name] for name in hostile},
        "valid": {case.name: results[case.name] for case in cases if not case.code},
    }, failures


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Rerun some of the cases of a record that passed, two of each family at least."""
    return _results(sampled(result), jobs=2)[0]


def sampled(result: dict[str, Any]) -> list[Case]:
    """Return the cases of the sample: one of twelve that passed."""
    known = all_cases()
    passed = [n for n, found in (result["cases"] | result["valid"]).items() if not found.startswith("failed")]
    return [known[name] for name in passed[::SAMPLED] if name in known]


def _results(cases: Iterable[Case], jobs: int) -> tuple[dict[str, str], list[str]]:
    results: dict[str, str] = {}
    failures: list[str] = []
    with ThreadPoolExecutor(jobs) as pool:
        for case, outcome in pool.map(_with_outcome, cases):
            if outcome is None:
                results[case.name] = "skipped"
            elif found := problems(case, outcome):
                results[case.name] = "failed"
                failures.append(f"{case.name}: {'; '.join(found)}")
            else:
                results[case.name] = outcome.codes[0] if outcome.codes else f"exit {outcome.exit}"
    return results, failures


def _with_outcome(case: Case) -> tuple[Case, Outcome | None]:
    return case, None if case.unprivileged and not can_drop_privileges() else run_case(case)
