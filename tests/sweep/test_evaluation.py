"""Figures of sweeps: rows against networks that are counted one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.sweep.evaluation import FIGURES, Evaluator
from netcalc.sweep.preparation import plan_of

#: Ranges of small networks, with values that a requirement refuses, and expressions.
SWEEPS: dict[str, dict[str, Any]] = {
    "gpt2": {"d_model": [64, 96, 100], "heads": [2, 3], "layers": range(1, 5), "length": [8, 32]},
    "llama-3.1-8b": {"kv_heads": [1, 2, 3], "heads": [2, 4], "d_model": [64], "layers": [1, 3], "vocab": [50]},
    "resnet18": {"width": [8, 32, 64], "height": [64, 224], "batch": [1, 3]},
    "mobilenet_v1": {"multiplier": [0.25, 1.0], "classes": [10, 1000]},
    "lstm": {"hidden": [8, 16], "layers": [1, 2]},
}


def _alone(name: str, point: dict[str, Any]) -> dict[str, Any] | None:
    """Return the figures of a network that is loaded on its own."""
    try:
        network = netcalc.load(name, set=point)
    except netcalc.NetcalcError:
        return None
    (memory,) = network.memory_over({next(iter(point)): [next(iter(point.values()))]}, cache="ideal").points
    cost = network.cost()
    return {
        "params": cost.params,
        "macs": cost.macs,
        "flops": cost.flops,
        "memory": memory.total,
        "weights": memory.weights,
        "activations": memory.activations,
        "cache": memory.caches.get("ideal", 0),
    }


@pytest.mark.parametrize("name", SWEEPS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_row_has_the_figures_of_its_network_alone(name: str, data: Any) -> None:
    request = netcalc.load(name).request
    plan = plan_of(request, SWEEPS[name])
    start = data.draw(st.integers(0, len(plan) - 1))
    columns = plan.columns(start, start + 2)
    evaluated = Evaluator(request, tuple(FIGURES), plan.names).evaluate(columns)
    for place, point in enumerate(zip(*columns.values(), strict=True)):
        alone = _alone(name, dict(zip(plan.names, point, strict=True)))
        found = {figure: values[place] for figure, values in evaluated.figures.items()}
        assert found == (alone or dict.fromkeys(FIGURES))
        assert (evaluated.reasons[place] is None) == (alone is not None)


def test_a_point_that_is_refused_has_its_reason() -> None:
    request = netcalc.load("gpt2").request
    plan = plan_of(request, {"d_model": [64, 100], "heads": [3, 4]})
    evaluated = Evaluator(request, ("params",), plan.names).evaluate(plan.columns(0, 4))
    assert [reason and reason.split(":")[0] for reason in evaluated.reasons] == ["E108", None, "E108", None]
    assert "heads must divide d_model" in str(evaluated.reasons[0])


def test_an_expression_without_a_value_is_the_reason_of_its_point() -> None:
    request = netcalc.load("gpt2", set={"heads": "${128 // (d_model - 64)}", "d_model": 128}).request
    plan = plan_of(request, {"d_model": [64, 128]})
    evaluated = Evaluator(request, ("params",), plan.names).evaluate(plan.columns(0, 2))
    assert evaluated.reasons[1] is None
    assert "heads: " in str(evaluated.reasons[0]) and "zero" in str(evaluated.reasons[0])


def test_settings_that_follow_from_swept_names_are_columns() -> None:
    request = netcalc.load("gpt2", set={"heads": "${d_model // 32}", "d_ff": "${3 * d_model}"}).request
    plan = plan_of(request, {"d_model": [64, 128]})
    evaluated = Evaluator(request, ("params",), plan.names).evaluate(plan.columns(0, 2))
    alone = [_alone("gpt2", {"d_model": width, "heads": width // 32, "d_ff": 3 * width}) for width in (64, 128)]
    assert evaluated.figures["params"] == [found["params"] for found in alone if found is not None]
