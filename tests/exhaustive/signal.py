"""Verdicts of ``signal`` on every shipped spec: at published sizes if they are small enough, else at those of tests.

A verdict that signals vanish or explode is a failure, unless ``RIGHT`` says why it is true.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import Any

import netcalc
from netcalc.analysis.signal.report import SignalReport, Trend
from netcalc.network import Network
from netcalc.spec.shipped import shipped
from netcalc.spec.yaml_document import parse_yaml
from tests.exhaustive import in_turn
from tests.zoo.harness import SMALL

#: FLOPs of three passes, and parameters, up to which a spec is run at published sizes.
WORK, PARAMETERS = 2.5e10, 1e8
#: One spec of this many is in the sample, at reduced sizes.
SAMPLED = 16
#: Specs of which a verdict is right, and why.
RIGHT: dict[str, str] = {}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "prefix of the names of the specs")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return the verdict on every spec, and those that are wrong."""
    names = [name for name in sorted(shipped()) if name.startswith(options.only)]
    return in_turn.results_of(names, _judged, options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Return the verdicts on some of the specs at reduced sizes."""
    names = [name for name, found in sorted(result["cases"].items()) if ": reduced sizes" in found]
    return {name: verdict(name, _reduced(name)).partition(";")[0] for name in names[::SAMPLED]}


def _judged(name: str) -> str:
    return verdict(name, _network(name))


def verdict(name: str, network: Network | None = None) -> str:
    """Return what is said of a spec: ``ok``, the sizes, the kinds of findings, and the largest factors in a stage."""
    reduced = network is None or network is _reduced(name)
    report = (network or _reduced(name)).signal(seeds=1)
    kinds = [finding.kind for finding in report.findings if finding.kind != "step"]
    wrong = [kind for kind in kinds if kind.endswith(("vanish", "explode"))]
    said = ", ".join(dict.fromkeys(kinds))
    judged = f"right, {RIGHT[name]}" if name in RIGHT else "wrong"
    lead = f"ok: {'reduced' if reduced else 'published'} sizes" if not wrong or name in RIGHT else judged
    return f"{lead}: {said}; {_factors(report)}"


def _factors(report: SignalReport) -> str:
    lines = sum(len(stage.lines) for stage in report.stages)
    activations = max((_factor(stage.activations) for stage in report.stages), default=1.0)
    gradients = max((_factor(stage.gradients) for stage in report.stages if stage.gradients), default=1.0)
    return f"{len(report.stages)} stages, {lines} lines, rms {activations:.2g}, rms·gradient {gradients:.2g}"


def _factor(trend: Trend) -> float:
    return trend.largest / trend.smallest if trend.smallest else float("inf")


def _network(name: str) -> Network:
    """Return a spec at its published sizes, or else at those of the tests."""
    network = netcalc.load(name)
    small = 3 * float(network.flops) <= WORK and float(network.params) <= PARAMETERS
    return network if small else _reduced(name)


@cache
def _reduced(name: str) -> Network:
    """Return a spec at the sizes of the tests, or those of the spec that it is another size of."""
    known = name
    while known not in SMALL:
        known = parse_yaml(shipped()[known].read_text(encoding="utf-8"), known).data["extends"]
    return netcalc.load(known, set=SMALL[known])
