"""Initial values held against the laws that PyTorch's formulas state: declared moments, drawn numbers, and rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from netcalc import inits
from netcalc.numerics import initializers
from netcalc.opdef import Init
from netcalc.verification.figure_references.initializers import law, law_of_text, matches
from netcalc.verification.report import VerifyReport
from netcalc.verification.verify import verify
from tests.numerics.programs import program

NET = """
inputs: {x: [2, 16]}
layers: [{name: a, linear: 32}, {layer_norm: {}}, {name: b, linear: 24}]
init: {"b.*": %s, linear: {bias: zeros}}
"""


def compared(rule: str = "uniform(-0.1, 0.2)", **options: Any) -> VerifyReport:
    return verify(program(NET % f"'{rule}'"), values=True, **options)


def wrong(report: VerifyReport) -> set[tuple[str, str]]:
    return {(check.path, check.what) for check in report.failures if check.group == "initial values"}


def test_every_parameter_is_compared_once() -> None:
    report = compared()
    assert report.ok
    stated = {(c.path, c.what): c.predicted for c in report.checks if c.group == "initial values"}
    assert stated[("b", "initial weight")] == "mean 0.05, deviation 0.086603"
    assert stated[("a", "initial weight")] == "mean 0, deviation 0.14434"  # 1 / sqrt(3 · 16)
    assert stated[("layer_norm", "initial weight")] == "mean 1, deviation 0"
    assert len(stated) == 6


def test_options_precede_rules_of_the_spec() -> None:
    report = compared(init=("normal(std=3)", "*a.weight=constant(2)"))
    assert report.ok
    stated = {(c.path, c.what): c.predicted for c in report.checks if c.group == "initial values"}
    assert stated[("a", "initial weight")] == "mean 2, deviation 0"
    assert stated[("b", "initial weight")] == "mean 0, deviation 3"
    assert stated[("b", "initial bias")] == "mean 0.05, deviation 0.086603"


def test_given_weights_are_not_initial() -> None:
    net = program("inputs: {x: [2, 3]}\nlayers: [{linear: {out: 3, bias: false}}]\n")
    report = verify(net, values=True, weights={"linear.weight": np.ones((3, 3), np.float32)})
    assert report.ok and "initial values" not in report.counts


def test_a_wrong_scale_is_found_in_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    right = initializers._uniform
    monkeypatch.setattr(initializers, "_uniform", lambda rng, low, high: right(rng, low, 1.2 * high))
    assert wrong(compared()) == {("a", "initial weight"), ("b", "initial weight"), ("b", "initial bias")}


def test_another_distribution_of_the_same_moments_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    uniform = initializers._uniform
    monkeypatch.setattr(initializers, "_normal", lambda rng, m, s: uniform(rng, m - s * 3**0.5, m + s * 3**0.5))
    found = [c for c in compared("normal(std=0.5)").failures if c.group == "initial values"]
    assert found and "another distribution" in str(found[0].executed)


def test_a_wrong_declared_moment_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inits, "fans", lambda shape: (shape[0], shape[1]))
    assert ("a", "initial weight") in wrong(compared())


def test_a_rule_that_applies_to_another_tensor_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inits, "fnmatchcase", lambda text, pattern: text.startswith("a"))
    assert {path for path, _ in wrong(compared())} == {"a", "b"}


FORMULAS = """
inputs: {x: [1, 300, 64]}
layers:
  - name: layers
    repeat: 3
    sequence:
      - {name: a, linear: 64}
      - {name: mix, parameter: {shape: [300, 64], init: "formula(sin(position // 64) + indices[0])"}}
      - {name: mixed, from: [a, mix], add: {}}
      - {name: b, linear: 64}
init:
  "*.b.weight": "normal(std=0.1 / (indices[0] + 1))"
  "*.a.weight": "formula(2 ** -indices[0] if position == 1 else -1 / elements)"
"""


def test_formulas_are_compared_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verify(program(FORMULAS), values=True).ok
    elements = initializers.formula_elements

    def other(init: Init, shape: Sequence[int]) -> list[float]:
        values = elements(init, shape)
        return values[::-1] if dict(init.args)["indices"] == (2,) else values

    monkeypatch.setattr(initializers, "formula_elements", other)
    assert {path for path, _ in wrong(verify(program(FORMULAS), values=True))} == {"layers.2.a", "layers.2.mix"}


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("truncated_normal", {"std": 0.5, "a": -0.3, "b": 0.9}),
        ("log_of_uniform", {"a": 0.5, "b": 4.0}),
        ("step_size", {}),
        ("normal", {"mean": 3.0, "std": 0.1}),
        ("lecun_normal", {}),
    ],
)
def test_moments_are_those_of_a_large_sample(kind: str, args: dict[str, float]) -> None:
    sample = initializers.draw(Init.of(kind, **args), (100, 2000), "float64", np.random.default_rng(0))
    found = law(kind, args, (100, 2000))
    assert found is not None
    mean, deviation = found.moments
    assert abs(sample.mean() - mean) < 0.01 * deviation
    assert math.isclose(sample.std(), deviation, rel_tol=0.01)


def test_texts_and_patterns() -> None:
    assert law_of_text("he_normal(mode=fan_out)", (8, 4), "w").moments[1] == pytest.approx(0.5)  # type: ignore[union-attr]
    assert law_of_text("uniform(1, b=3)", (2,), "w").moments[0] == pytest.approx(2)  # type: ignore[union-attr]
    assert matches("layer?.[ab]*", "layer1.attention") and not matches("layer?.[!a]*", "layer1.attention")
