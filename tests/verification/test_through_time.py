"""Gradients through time: measured by distance, and predicted from the weights."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

import netcalc as package
from netcalc.analysis.signal.report import Reach, SignalReport
from tests.conftest import CommandResult

SIZES = {"length": 60, "hidden": 64, "features": 32}


def measured(kind: str, **options: object) -> SignalReport:
    network = package.load(kind, set=SIZES, dtype="float64")
    return network.signal(seeds=1, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_the_factor_by_step_follows_from_the_weights(kind: str) -> None:
    report = measured(kind)
    (reach,) = report.through_time
    assert reach.steps == len(reach.gradients) == len(reach.states) == 60
    assert reach.predicted == pytest.approx(reach.by_step, rel=0.15)
    assert "gradients vanish through time" in [finding.kind for finding in report.findings]


def test_an_orthogonal_state_of_small_inputs_keeps_the_gradient() -> None:
    """With inputs near 0 the slope of tanh is 1: the gradient by the input keeps its norm up to its weights."""
    network = package.load("rnn", set=SIZES, dtype="float64")
    rng = np.random.default_rng(0)
    weights = {
        "rnn.weight_ih_l0": np.eye(64)[:, :32],
        "rnn.weight_hh_l0": np.linalg.qr(rng.standard_normal((64, 64)))[0],
        "rnn.bias_ih_l0": np.zeros(64),
        "rnn.bias_hh_l0": np.zeros(64),
    }
    x = 1e-6 * rng.standard_normal((1, 60, 32))
    report = network.signal({"x": x}, weights=weights, seeds=1)
    (reach,) = report.through_time
    assert min(reach.gradients) > 0.5 * max(reach.gradients) and reach.tenth is None
    assert reach.predicted == pytest.approx(1.0, abs=1e-3)
    assert "reach" in [finding.kind for finding in report.findings]


def test_the_gradients_are_those_of_the_last_outputs_by_the_input() -> None:
    network = package.load("rnn", set=SIZES, dtype="float64")
    (reach,) = network.signal(seeds=1).through_time
    last = np.zeros((1, 60, 64))
    last[:, -1] = 1.0
    found = network.gradients(loss={"output": last}, wrt=["x"]).inputs["x"]
    norms = np.linalg.norm(found[0], axis=1)[::-1]
    ratio = np.array(reach.gradients) / norms
    assert norms[-1] < 1e-12 * norms[0]
    assert ratio.max() < 10 * ratio.min()  # other weights of the outputs


def test_distances_within_which_the_gradient_falls() -> None:
    reach = Reach("r", "rnn", 5, (1.0,) * 5, (1.0, 0.2, 0.05, 0.2, 1e-4), 0.1, None)
    assert (reach.tenth, reach.thousandth, reach.millionth) == (4, 4, None)


def test_decoders_reach_back_through_attention() -> None:
    decoder = package.load("gpt2", set={"length": 12, "layers": 2, "d_model": 48, "heads": 4, "vocab": 90})
    (reach,) = decoder.signal(seeds=1).through_time
    assert reach.steps == 12 and reach.op == "embedding" and reach.predicted is None
    assert min(reach.gradients) > 0


def test_other_networks_have_no_steps() -> None:
    assert package.load("mlp").signal(seeds=1).through_time == ()


def test_the_page(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    arguments = ["signal", "rnn", "--set", "length=60", "--seeds", "1", "--dtype", "float64"]
    ran = netcalc(*arguments, "--charts")
    assert (ran.code, ran.err) == (0, "") and all(len(line) <= 80 for line in ran.out.splitlines())
    golden("signal/through_time.txt", ran.out)
    record = json.loads(netcalc(*arguments, "--format", "json").out)
    assert record["through_time"][0]["tenth"] < 10
