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


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *(("rnn", "layers: 3"), ("rnn", "layers: 2, nonlinearity: relu"), ("lstm", "layers: 2"), ("gru", "layers: 2")),
        *(("rnn", "bidirectional: true"), ("gru", "bidirectional: true, layers: 2"), ("lstm", "bidirectional: true")),
    ],
)
def test_stacks_and_both_directions(kind: str, options: str) -> None:
    """The factor far from the last step, where the power of the distance that stacks add matters least."""
    text = (
        f"netcalc: 1\ninputs: {{x: [1, 200, 32]}}\nlayers: [{{{kind}: {{hidden: 64, batch_first: true, {options}}}}}]\n"
    )
    (reach,) = package.loads(text, dtype="float64").signal(seeds=1).through_time
    far = (reach.gradients[160] / reach.gradients[60]) ** 0.01
    assert reach.predicted == pytest.approx(far, rel=0.05)


def test_a_stack_has_the_factor_of_its_slowest_layer() -> None:
    text = (
        "netcalc: 1\ninputs: {x: [1, 80, 16]}\nlayers: [{name: r, rnn: {hidden: 48, layers: 2, batch_first: true}}]\n"
    )
    rng = np.random.default_rng(1)
    weights: dict[str, np.ndarray] = {
        f"r.bias_{each}_l{layer}": np.zeros(48) for each in ("ih", "hh") for layer in (0, 1)
    }
    weights |= {"r.weight_ih_l0": 1e-4 * rng.normal(size=(48, 16)), "r.weight_ih_l1": np.eye(48)}
    for layer, factor in enumerate((0.4, 0.9)):
        weights[f"r.weight_hh_l{layer}"] = factor * np.linalg.qr(rng.standard_normal((48, 48)))[0]
    (reach,) = package.loads(text, dtype="float64").signal(weights=weights, seeds=1).through_time
    assert reach.predicted == pytest.approx(0.9, abs=1e-3)
    assert (reach.gradients[70] / reach.gradients[30]) ** (1 / 40) == pytest.approx(0.9, abs=1e-2)


def test_a_language_model_of_200_words_forgets() -> None:
    settings = {"length": 200, "batch": 1, "vocab": 200}
    report = package.load("lstm-lm-ptb-small", set=settings).signal(seeds=1)
    assert "gradients vanish through time" in [finding.kind for finding in report.findings]
    assert all(reach.steps == 200 and reach.millionth is not None for reach in report.through_time)
    for reach in report.through_time:
        assert reach.gradients[-1] < 1e-20 * reach.gradients[0]


def test_a_network_of_graphs_is_not_said_to_explode() -> None:
    """Its adjacency is drawn, at the published size of Cora; there is nothing to compare in two layers."""
    assert [finding.kind for finding in package.load("gcn").signal(seeds=1).findings] == ["too short"]


def test_gradients_of_inputs_by_step() -> None:
    network = package.load("rnn", set=SIZES, dtype="float64")
    found = network.gradients(loss="sum", wrt=["x"])
    (steps,) = found.steps
    assert steps.name == "x"
    np.testing.assert_allclose(steps.norms, np.linalg.norm(found.inputs["x"][0], axis=1))
    assert network.gradients(loss="sum").steps == ()
    assert package.load("mlp").gradients(loss="sum", wrt=["x"]).steps == ()


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
