"""Pages of every shipped spec at 80 columns: memory, training, reference, and shapes with channels last."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import netcalc
from netcalc.network import Network
from netcalc.render.presentations import View, lines
from netcalc.render.text import Terminal, width_of
from netcalc.results import Result
from netcalc.spec.shipped import shipped

WIDTH = 80
#: One spec of this many is in the sample.
SAMPLED = 16
_PAGES: dict[str, Callable[[Network, str], Result]] = {
    "memory": lambda network, name: network.memory(),
    "training": lambda network, name: network.summary(training="adamw"),
    "flops": lambda network, name: network.summary(view="flops", backward=True),
    "specs": lambda network, name: netcalc.describe(name),
    "shapes": lambda network, name: network.summary(view="shapes"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="prefix of the names of the specs")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Write the pages; return the lines of each spec's pages, and those that are too wide."""
    return _written(name for name in sorted(shipped()) if name.startswith(options.only))


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Write the pages of some of the specs of a record."""
    return _written(list(result)[::SAMPLED])[0]


def _written(names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    results, failures = {}, []
    for name in names:
        wide = wide_lines(name)
        results[name] = "too wide" if wide else "fits"
        failures += wide
    return results, failures


def wide_lines(name: str) -> list[str]:
    """Return the lines of a spec's pages that are wider than 80 columns."""
    network = netcalc.load(name)
    failures = []
    for title, page in _PAGES.items():
        view = View(layout="hwc" if title == "shapes" else "nchw", width=WIDTH)
        text = "\n".join(lines(page(network, name), view, Terminal(width=WIDTH)))
        failures += [f"{title} {name}: {line}" for line in text.split("\n") if width_of(line) > WIDTH]
    return failures
