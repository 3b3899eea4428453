"""Verdicts of ``signal`` against diagnoses of torch's own measurement, which were recorded first."""

from __future__ import annotations

import json
from typing import Any

import pytest

import netcalc
from netcalc.analysis.signal.report import SignalReport

torch = pytest.importorskip("torch")

from tests.oracle.signal.measure import FILE, diagnosis, measured  # noqa: E402
from tests.oracle.signal.networks import cases  # noqa: E402

DIAGNOSES: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
#: Networks that torch measures again on every change.
MEASURED = ("sigmoid xavier 10", "relu gain 3.0 30, norm at the end", "relu batch norm 30", "Transformer, pre-norm 12")


def reported(name: str) -> SignalReport:
    """Return what signal says of a network with the weights that torch has drawn."""
    case = cases()[name]
    network, _ = measured(case)
    x = torch.randn(case.shape, dtype=torch.float64)
    weights = {path: tensor.numpy() for path, tensor in network.state_dict().items()}
    imported = netcalc.from_torch(network.eval(), x)
    (given,) = imported.inputs
    return imported.signal({given: x.numpy()}, seeds=1, weights=weights)


def verdicts(report: SignalReport) -> dict[str, str]:
    """Return the verdicts on activations and on gradients."""
    kinds = [finding.kind.partition(" ") for finding in report.findings]
    return {
        figure: ", ".join(verdict for what, _, verdict in kinds if what == figure) or "steady"
        for figure in ("activations", "gradients")
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DIAGNOSES)
def test_signal_says_what_torch_measures(name: str) -> None:
    found = verdicts(reported(name))
    for figure, said in found.items():
        assert said == DIAGNOSES[name][figure] or DIAGNOSES[name][figure] == "either"


@pytest.mark.parametrize("name", MEASURED)
def test_a_diagnosis_is_that_of_the_rule(name: str) -> None:
    _, values = measured(cases()[name])
    for figure, each in values.items():
        assert diagnosis(each, back=figure == "gradients") == DIAGNOSES[name][figure]


def test_there_are_networks_of_all_kinds() -> None:
    assert DIAGNOSES.keys() == cases().keys() and len(DIAGNOSES) >= 60
    known: list[Any] = [
        diagnosis[figure] for diagnosis in DIAGNOSES.values() for figure in ("activations", "gradients")
    ]
    assert all(known.count(kind) >= 4 for kind in ("steady", "vanish", "explode"))
