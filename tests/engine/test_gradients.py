"""Gradients through the Python API: losses, choices of parameters, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.engine import preflight

TEXT = """
netcalc: 1
inputs: {x: [2, 3]}
layers:
  - {name: first, linear: {out: 4, bias: false}}
  - {name: second, linear: {out: 2, bias: false}}
outputs: {hidden: first, y: second}
"""


@pytest.fixture
def network() -> netcalc.Network:
    return netcalc.loads(TEXT)


def arrays() -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    weights = {"first.weight": rng.normal(size=(4, 3)), "second.weight": rng.normal(size=(2, 4))}
    return rng.normal(size=(2, 3)).astype("float32"), {n: w.astype("float32") for n, w in weights.items()}


def test_of_an_output_by_name(network: netcalc.Network) -> None:
    """dy/dW₂ = 1ᵀ·h and dy/dx = 1·W₂·W₁, by hand."""
    x, weights = arrays()
    found = network.gradients({"x": x}, loss="y", wrt=["second.*", "x"], weights=weights)
    hidden = x @ weights["first.weight"].T
    np.testing.assert_allclose(found.parameters["second.weight"], np.ones((2, 2)).T @ hidden, rtol=1e-5)
    chained = np.ones((2, 2)) @ weights["second.weight"] @ weights["first.weight"]
    np.testing.assert_allclose(found.inputs["x"], chained, rtol=1e-5)
    assert found.loss == pytest.approx(float((hidden @ weights["second.weight"].T).sum()), rel=1e-5)
    assert set(found.parameters) == {"second.weight"}


def test_of_given_gradients(network: netcalc.Network) -> None:
    x, weights = arrays()
    given = np.array([[1, 0], [0, -2]], "float32")
    found = network.gradients({"x": x}, loss={"y": given}, wrt=["x"], weights=weights)
    np.testing.assert_allclose(found.inputs["x"], given @ weights["second.weight"] @ weights["first.weight"], rtol=1e-5)


def test_names_what_the_loss_does_not_reach(network: netcalc.Network) -> None:
    found = network.gradients(loss="hidden")
    assert found.unreached == ("second.weight",)
    assert set(found.parameters) == {"first.weight"}


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"loss": "z"}, "E502", "no floating-point output 'z'"),
        ({"loss": {"y": np.ones(3)}}, "E602", "has shape"),
        ({"wrt": ["third.*"]}, "E502", "third"),
    ],
)
def test_errors(network: netcalc.Network, arguments: dict[str, Any], code: str, text: str) -> None:
    with pytest.raises(NetcalcError, match=text) as error:
        network.gradients(**arguments)
    assert error.value.diagnostics[0].code == code


def test_too_little_memory_is_found_before_the_run(network: netcalc.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass holds x and the hidden values, two weights and their gradients, beside what a forward pass takes."""
    forward = preflight.memory(network.program).peak
    needed = preflight.gradient_memory(network.program).peak
    assert needed - forward == 4 * (2 * 3 + 2 * 4 + 2 * (4 * 3 + 2 * 4))
    monkeypatch.setattr(preflight, "free_bytes", lambda: needed - 1)
    with pytest.raises(NetcalcError, match="E603"):
        network.gradients()


def test_a_network_of_integers_has_no_gradient() -> None:
    text = "{netcalc: 1, inputs: {x: [2, 3]}, layers: [{linear: 4}, {argmax: 1}]}"
    network = netcalc.loads(text)
    for call in (network.gradients, lambda: network.analysis(backward=True), lambda: network.verify(backward=True)):
        with pytest.raises(NetcalcError, match="no floating-point output to start a backward pass from"):
            call()
