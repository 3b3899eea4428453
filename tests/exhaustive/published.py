"""Published figures that ``reproduce`` computes: printed and computed figures with their verdicts, one by one.

The result is all that ``docs/published.md`` is generated from.
"""

from __future__ import annotations

import argparse
from typing import Any

import netcalc
from netcalc.reproduction.report import PublishedFigure, Reproduction

#: One figure of this many is in the sample.
SAMPLED = 8
#: Fields of a figure that are recorded.
FIELDS = ("printed", "computed", "convention", "verdict", "reason", "what", "where")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="a paper, a spec, or a pattern of figures")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compute all figures; return them by name, and those that differ without a reason."""
    report = netcalc.reproduce(*([options.only] if options.only else ()))
    failures = [f"{figure.figure}: {figure.reason}" for figure in report.figures if figure.verdict == "differs"]
    return recorded(report), failures


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Compute some of the figures of a record."""
    return recorded(netcalc.reproduce(*list(result)[::SAMPLED]))


def recorded(report: Reproduction) -> dict[str, Any]:
    """Return what a record has of figures, by their names."""
    return {figure.figure: _fields(figure) for figure in report.figures}


def _fields(figure: PublishedFigure) -> dict[str, str]:
    return {name: value for name in FIELDS if (value := getattr(figure, name))}
