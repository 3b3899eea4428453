"""The tutorial on vanishing gradients: each of its claims, and its pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc as package
from netcalc.analysis.signal.report import SignalReport, SignalRow
from netcalc.render.plot.svg import charts_svg
from tests.conftest import CommandResult

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "vanishing-gradients.md"


def signal(spec: str, *init: str, seed: int = 0, **settings: Any) -> SignalReport:
    return package.load(spec, set=settings, dtype="float64").signal(init=[*init, "*.bias=zeros"], seed=seed, seeds=1)


def rows(report: SignalReport, part: str) -> list[SignalRow]:
    return [row for row in report.rows if row.path.endswith(f".{part}")]


def gradients(report: SignalReport, part: str) -> list[float]:
    return [row.measured.gradient or 0.0 for row in rows(report, part)]


# -- the pictures -----------------------------------------------------------------------------------


def test_the_pictures_are_those_that_the_page_computes(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "tutorial"}
    for block in re.findall(r"^```python\n((?:.*\n)*?)```$", text, re.MULTILINE):
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), namespace)
    shown = set(re.findall(r"\]\(vanishing-gradients/([\w-]+)\.svg\)", text))
    assert set(namespace["figures"]) == shown
    for name, chart in namespace["figures"].items():
        file, drawn = DOCS / "vanishing-gradients" / f"{name}.svg", charts_svg([chart])
        if request.config.getoption("--update"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(drawn, encoding="utf-8")
        assert file.read_text(encoding="utf-8") == drawn, f"{file}: run pytest --update, and look at it"


# -- a chain ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_sigmoid_divides_the_gradient_by_at_least_4(seed: int) -> None:
    norms = gradients(signal("tutorial-chain", "*.weight=orthogonal", seed=seed), "act")
    assert len(norms) == 10
    assert all(earlier <= later / 4 for earlier, later in pairwise(norms))


def test_the_factor_of_4_is_that_of_the_slope_alone() -> None:
    """Orthogonal weights keep the norm, and no element of a sigmoid has a slope above ¼."""
    report = signal("tutorial-chain", "*.weight=orthogonal")
    assert [row.measured.back for row in rows(report, "linear")] == pytest.approx([1.0] * 10)
    assert all((row.measured.back or 1.0) <= 0.25 for row in rows(report, "act"))


def test_weights_of_a_hundredth_shrink_everything_tenfold() -> None:
    report = signal("tutorial-chain", "normal(std=0.01)", activation="tanh")
    for row in report.layers:
        assert row.predicted.gain == pytest.approx(0.1)
        assert row.measured.gain == pytest.approx(0.1, rel=0.2)
        assert row.measured.back == pytest.approx(0.1, rel=0.2)
    assert report.layers[-1].measured.variance == pytest.approx(0.0, abs=1e-18)
    (vanish,) = [finding for finding in report.findings if finding.kind == "activations vanish"]
    assert "on their way back gradients vanish by the same factor" in vanish.text


def test_he_keeps_the_variance_with_relu_and_xavier_with_tanh() -> None:
    he = signal("tutorial-chain", "he_normal(nonlinearity=relu)", activation="relu", width=256)
    assert [row.predicted.variance for row in he.layers] == pytest.approx([2.0] * 10)
    assert all(1.3 < (row.measured.variance or 0) < 2.7 for row in he.layers)
    gain = f"xavier_normal(gain={5 / 3})"
    settled = signal("tutorial-chain", gain, activation="tanh", width=256).layers[2:]
    for which in ("predicted", "measured"):
        variances = [getattr(row, which).variance for row in settled]
        assert max(variances) / min(variances) < 1.2
    plain = signal("tutorial-chain", "xavier_normal", activation="tanh", width=256).layers
    assert (plain[-1].measured.variance or 0) > 0.05
    assert (
        signal("tutorial-chain", "xavier_normal", activation="relu", width=256).layers[-1].measured.variance or 1
    ) < (0.004)
    assert he.findings[0].kind == "steady"


# -- residual connections ---------------------------------------------------------------------------


def test_the_same_34_layers_vanish_plain_and_live_with_residual_connections() -> None:
    plain = signal("tutorial-chain", "normal(std=0.05)", activation="tanh", layers=34)
    residual = signal("tutorial-residual", "normal(std=0.05)")
    assert len(plain.layers) == len(residual.layers) == 34
    assert [row.path for row in plain.layers] == [row.path for row in residual.layers]
    assert gradients(plain, "act")[0] < 1e-8
    assert gradients(residual, "add")[0] > 1


def test_a_residual_layer_adds_one_to_the_jacobian() -> None:
    x, v = np.random.default_rng(1).standard_normal((2, 8, 6))
    found = {}
    for name in ("tutorial-chain", "tutorial-residual"):
        sizes = {"batch": 8, "width": 6, "layers": 1, "activation": "tanh"}
        network = package.load(name, set=sizes, dtype="float64")
        found[name] = network.gradients({"x": x}, loss={"output": v}, wrt=["x"], seed=3).inputs["x"]
    np.testing.assert_allclose(found["tutorial-residual"], found["tutorial-chain"] + v, rtol=1e-12)


# -- norms ------------------------------------------------------------------------------------------


def test_norms_move_values_to_where_the_sigmoid_rises() -> None:
    x = np.array([[10.0], [2.0], [-5.0], [25.0]])
    network = package.load("tutorial-saturation", dtype="float64")
    traced = network.run({"x": x}, plan="reference", trace=["batch_norm", "layer_norm"], keep=True).trace
    for row in traced:
        assert row.array is not None
        assert np.round(row.array.reshape(-1), 2).tolist() == [0.18, -0.54, -1.17, 1.52]
    report = {row.path: row.measured.saturated for row in network.signal({"x": x}, seeds=1).rows}
    assert (report["plain"], report["batch_normed"], report["layer_normed"]) == (0.75, 0.0, 0.0)
    slopes = {name: y * (1 - y) for name, y in network.run({"x": x}, plan="reference").outputs.items()}
    assert slopes["plain"][[0, 3]].max() < 1e-4 and 1 / (1 + math.exp(-10)) == pytest.approx(0.99995, abs=1e-5)
    assert min(slopes["batch_normed"].min(), slopes["layer_normed"].min()) > 0.14


def test_the_formulas_of_batch_norm_are_its_gradients(netcalc: Callable[..., CommandResult]) -> None:
    """The derivatives that ``explain`` prints, written out in NumPy, against the product."""
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((2, 7, 3))
    gamma, beta = rng.standard_normal((2, 3))
    mu, var, eps, m = x.mean(axis=0), x.var(axis=0), 1e-5, 7
    d_hat = dy * gamma
    d_var = (d_hat * (x - mu) * -0.5 * (var + eps) ** -1.5).sum(axis=0)
    d_mu = -(d_hat / np.sqrt(var + eps)).sum(axis=0) + d_var * (-2 * (x - mu) / m).sum(axis=0)
    written_out = {
        "∂L/∂x̂ = ∂L/∂y·γ": d_hat,
        "∂L/∂σ² = Σ ∂L/∂x̂·(x − μ)·(−½)·(σ² + ε)^(−3/2)": d_var,
        "∂L/∂μ = −Σ ∂L/∂x̂/√(σ² + ε) + ∂L/∂σ²·Σ −2·(x − μ)/m": d_mu,
        "∂L/∂x = ∂L/∂x̂/√(σ² + ε) + ∂L/∂σ²·2·(x − μ)/m + ∂L/∂μ/m": d_hat / np.sqrt(var + eps)
        + d_var * 2 * (x - mu) / m
        + d_mu / m,
        "∂L/∂γ = Σ ∂L/∂y·x̂": (dy * (x - mu) / np.sqrt(var + eps)).sum(axis=0),
        "∂L/∂β = Σ ∂L/∂y": dy.sum(axis=0),
    }
    printed = netcalc("explain", "tutorial-saturation", "batch_norm", "--backward").out.splitlines()
    lines = [" = ".join(re.split(" {2,}", line.strip())) for line in printed]
    start = lines.index("derivatives") + 1
    assert lines[start : start + 6] == list(written_out)
    spec = "netcalc: 1\ninputs: {x: [7, 3]}\nlayers: [{name: n, batch_norm: {track_running_stats: false}}]\n"
    found = package.loads(spec, dtype="float64").gradients(
        {"x": x}, loss={"output": dy}, wrt=["x", "n.*"], weights={"n.weight": gamma, "n.bias": beta}
    )
    *_, dx, dgamma, dbeta = written_out.values()
    np.testing.assert_allclose(found.inputs["x"], dx, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.parameters["n.weight"], dgamma)
    np.testing.assert_allclose(found.parameters["n.bias"], dbeta)


# -- recurrent networks -----------------------------------------------------------------------------

STEPS, HIDDEN, FEATURES = 100, 32, 4


def weights(gates: int, forget: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {
        "weight_ih": (gates * HIDDEN, FEATURES),
        "weight_hh": (gates * HIDDEN, HIDDEN),
        "bias_ih": (gates * HIDDEN,),
        "bias_hh": (gates * HIDDEN,),
    }
    drawn = {f"rnn.{name}_l0": rng.uniform(-1, 1, shape) / HIDDEN**0.5 for name, shape in shapes.items()}
    if forget:
        drawn["rnn.bias_ih_l0"][HIDDEN : 2 * HIDDEN] = forget
    return drawn


def kept_over_100_steps(kind: str, parameters: dict[str, Any]) -> float:
    sizes = {"length": STEPS, "hidden": HIDDEN, "features": FEATURES}
    last = np.zeros((1, STEPS, HIDDEN))
    last[:, -1] = 1.0
    network = package.load(kind, set=sizes, dtype="float64")
    found = network.gradients(loss={"output": last}, wrt=["x"], weights=parameters).inputs["x"][0]
    return float(np.linalg.norm(found[0]) / np.linalg.norm(found[-1]))


def test_an_lstm_with_open_gates_passes_a_gradient_over_100_steps_and_an_rnn_does_not() -> None:
    assert kept_over_100_steps("rnn", weights(1)) < 1e-15
    assert kept_over_100_steps("lstm", weights(4)) < 1e-15
    assert kept_over_100_steps("lstm", weights(4, forget=5.0)) > 0.1


def test_truncated_backpropagation_is_exact_within_its_piece() -> None:
    def piece(length: int) -> package.Network:
        inputs = f"{{x: [1, {length}, {FEATURES}], state: [1, 1, {HIDDEN}]}}"
        layer = f"{{name: rnn, rnn: {{hidden: {HIDDEN}, batch_first: true}}, from: [x, state]}}"
        text = f"netcalc: 1\ninputs: {inputs}\nlayers: [{layer}]\noutputs: {{output: rnn.output}}\n"
        return package.loads(text, dtype="float64")

    parameters = weights(1)
    parameters["rnn.weight_hh_l0"] = np.linalg.qr(parameters["rnn.weight_hh_l0"])[0]
    x = 0.1 * np.random.default_rng(6).standard_normal((1, STEPS, FEATURES))
    seed = np.zeros((1, STEPS, HIDDEN))
    seed[:, -1] = 1.0
    start = {"x": x, "state": np.zeros((1, 1, HIDDEN))}
    wanted = ["x", "state", "rnn.*"]
    full = piece(STEPS).gradients(start, loss={"output": seed}, wrt=wanted, weights=parameters)
    end = {"x": x[:, 80:], "state": full.outputs["output"][:, 79].reshape(1, 1, HIDDEN)}
    cut = piece(20).gradients(end, loss={"output": seed[:, 80:]}, wrt=wanted, weights=parameters)
    np.testing.assert_allclose(cut.inputs["x"], full.inputs["x"][:, 80:], rtol=1e-9)
    # the rest of the gradient is what the state that is handed on would have passed back
    first = {"x": x[:, :80], "state": start["state"]}
    handed = np.zeros((1, 80, HIDDEN))
    handed[:, -1] = cut.inputs["state"].reshape(1, HIDDEN)
    rest = piece(80).gradients(first, loss={"output": handed}, wrt=wanted, weights=parameters)
    for name, whole in full.parameters.items():
        np.testing.assert_allclose(whole, cut.parameters[name] + rest.parameters[name], rtol=1e-8, atol=1e-12)
    recurrent = "rnn.weight_hh_l0"
    missing = np.linalg.norm(rest.parameters[recurrent]) / np.linalg.norm(full.parameters[recurrent])
    assert missing > 0.01
