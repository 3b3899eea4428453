"""Verdicts of ``signal`` on every shipped spec: at published sizes if they are small enough, else with small inputs.

Inputs are small as in the tests (``small inputs``); where parameters are too many, all sizes are (``reduced sizes``).
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
WORK, PARAMETERS = 6e10, 1.5e8
#: One spec of this many is in the sample, at reduced sizes.
SAMPLED = 16
#: Specs of which a verdict is right, and why.
RIGHT: dict[str, str] = {
    "mobilenet_v1": "behind each batch norm a relu makes gradients grow by √(π/(π − 1)) = 1.21, arXiv:1902.08129 §4",
    "tutorial-chain": "a chain of sigmoids, the example of vanishing gradients of docs/vanishing-gradients.md",
}


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
    chosen = ((name, _small_settings(name)[0]) for name in names[::SAMPLED])
    return {name: verdict(name, "reduced sizes", _reduced(known)).partition(";")[0] for name, known in chosen}


def _judged(name: str) -> str:
    sizes, network = _network(name)
    return verdict(name, sizes, network)


def verdict(name: str, sizes: str, network: Network) -> str:
    """Return what is said of a spec: ``ok``, the sizes, the kinds of findings, and the largest factors in a stage."""
    report = network.signal(seeds=1)
    kinds = [finding.kind for finding in report.findings if finding.kind != "step"]
    wrong = [kind for kind in kinds if kind.endswith(("vanish", "explode"))]
    said = ", ".join(dict.fromkeys(kinds))
    lead = f"wrong, at {sizes}" if wrong and name not in RIGHT else f"ok: {sizes}"
    reason = f" (right: {RIGHT[name]})" if wrong and name in RIGHT else ""
    return f"{lead}: {said}{reason}; {_factors(report)}"


def _factors(report: SignalReport) -> str:
    lines = sum(len(stage.lines) for stage in report.stages)
    activations = max((_factor(stage.activations) for stage in report.stages), default=1.0)
    gradients = max((_factor(stage.gradients) for stage in report.stages if stage.gradients), default=1.0)
    return f"{len(report.stages)} stages, {lines} lines, rms {activations:.2g}, rms·gradient {gradients:.2g}"


def _factor(trend: Trend) -> float:
    return trend.largest / trend.smallest if trend.smallest else float("inf")


def _network(name: str) -> tuple[str, Network]:
    """Return a spec at the largest sizes that are within the limits, with their name."""
    published = netcalc.load(name)
    if _is_small(published):
        return "published sizes", published
    known, small = _small_settings(name)
    inputs = {key: value for key, value in small.items() if key in published.program.dims and key != "batch"}
    for factor in (1, 2, 4):
        try:
            network = netcalc.load(name, set={key: factor * value for key, value in inputs.items()})
        except netcalc.NetcalcError:  # inputs so small do not suit the published widths
            continue
        if _is_small(network):
            return "small inputs", network
    return "reduced sizes", _reduced(known)


def _is_small(network: Network) -> bool:
    return 3 * float(network.flops) <= WORK and float(network.params) <= PARAMETERS


def _small_settings(name: str) -> tuple[str, dict[str, Any]]:
    """Return the settings of the tests, and the spec that has them: this one, or the one that it is another size of."""
    known = name
    while known not in SMALL:
        known = parse_yaml(shipped()[known].read_text(encoding="utf-8"), known).data["extends"]
    return known, dict(SMALL[known])


@cache
def _reduced(known: str) -> Network:
    return netcalc.load(known, set=SMALL[known])
