"""Adaptive and global pooling: recorded torch results, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.diagnostics import RuleError
from netcalc.dims import UndecidedError, symbol
from tests.ops.harness import case_ids, execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "08_adaptiveavgpool2d": ("adaptive_avg_pool2d", {"output_size": [3, 4]}),
    "09_adaptiveavgpool2d": ("adaptive_avg_pool2d", {"output_size": 1}),
    "10_adaptivemaxpool2d": ("adaptive_max_pool2d", {"output_size": [4, 3]}),
}


@pytest.mark.parametrize("case_id", [c for c in case_ids("op_pool") if "adaptive" in c])
def test_equals_torch(case_id: str) -> None:
    case = truth_case("op_pool", case_id)
    name, attrs = CASES[case_id]
    case.check(execute(name, attrs, *case.inputs).outputs)


def test_shape_equals_torch() -> None:
    """nn.AdaptiveAvgPool2d((3,5)) in torch 2.13."""
    found = predict("adaptive_avg_pool2d", {"output_size": [3, 5]}, (1, 4, 10, 13))
    assert (found.shapes, found.params) == ([(1, 4, 3, 5)], {})


@pytest.mark.parametrize(
    ("name", "attrs"),
    [("avg", {}), ("max", {}), ("max", {"return_indices": True})],
)
def test_one_window_is_global_pooling(name: str, attrs: dict[str, Any]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 6)).astype("float32")
    adaptive = execute(f"adaptive_{name}_pool2d", {"output_size": 1, **attrs}, x).outputs[0]
    (everything,) = execute(f"global_{name}_pool2d", {}, x).outputs
    np.testing.assert_allclose(adaptive, everything, rtol=1e-6, atol=1e-6)
    one, other = (
        predict(f"{kind}_{name}_pool2d", given, x.shape).work
        for kind, given in (("adaptive", {"output_size": 1}), ("global", {}))
    )
    assert one == other


def test_equal_windows_equal_ordinary_pooling() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 8)).astype("float32")
    adaptive = predict("adaptive_avg_pool2d", {"output_size": [3, 2]}, x.shape)
    plain = predict("avg_pool2d", {"kernel": [2, 4]}, x.shape)
    assert (adaptive.shapes, adaptive.work) == (plain.shapes, plain.work)


@st.composite
def poolings(draw: st.DrawFn) -> tuple[str, dict[str, Any], tuple[int, ...]]:
    axes = draw(st.integers(1, 3))
    name = draw(st.sampled_from(["adaptive_avg", "adaptive_max", "global_avg", "global_max"]))
    out = st.none() | st.integers(1, 9)
    attrs: dict[str, Any] = {"keepdim": draw(st.booleans())}
    if name.startswith("adaptive"):
        attrs = {"output_size": draw(out | st.lists(out, min_size=axes, max_size=axes))}
        if name == "adaptive_max":
            attrs["return_indices"] = draw(st.booleans())
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(1, 9), min_size=axes, max_size=axes))
    return f"{name}_pool{axes}d", attrs, (*batch, draw(st.integers(1, 3)), *sizes)


@settings(max_examples=50, deadline=None)
@given(poolings(), st.integers(0, 3))
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any], tuple[int, ...]], grown: int) -> None:
    name, attrs, shape = drawn
    execute(name, attrs, np.random.default_rng(0).normal(size=shape).astype("float32"))
    if len(shape) == int(name[-2]) + 2:
        agrees_symbolically(name, attrs, shape, grown)


def test_a_named_output_size_may_divide_the_size() -> None:
    n = symbol("n", default=3)
    found = predict("adaptive_avg_pool1d", {"output_size": n}, (1, 2, 4 * n)).at(n=5)
    assert found == predict("adaptive_avg_pool1d", {"output_size": 5}, (1, 2, 20)).at()


def test_an_undecided_overlap_of_windows_is_an_error() -> None:
    with pytest.raises(UndecidedError, match="the overlap of the windows from 7 to n elements is undecided"):
        predict("adaptive_avg_pool1d", {"output_size": symbol("n", default=3)}, (1, 2, 7))


def test_a_wrong_rank_is_an_error() -> None:
    with pytest.raises(RuleError, match="takes an input of 3 or 4 dimensions, and this one has 5"):
        predict("global_avg_pool2d", {}, (1, 2, 3, 4, 5))


@pytest.mark.parametrize(("size", "out"), [(10, 4), (12, 8), (7, 7), (7, 21), (30, 12), (1, 5), (97, 64), (5, 1)])
def test_the_overlap_of_windows_is_that_of_the_windows_one_by_one(size: int, out: int) -> None:
    windows = [range(i * size // out, -((-(i + 1) * size) // out)) for i in range(out)]
    net = netcalc.loads(f"netcalc: 1\ninputs: {{x: [1, 1, {size}]}}\nlayers: [adaptive_max_pool1d: {out}]\n")
    assert net.flops == sum(map(len, windows)) - out
    if out > 1:
        symbolic = netcalc.loads(
            f"netcalc: 1\ndims: {{n: 40}}\ninputs: {{x: [1, 1, n]}}\nlayers: [adaptive_max_pool1d: {out}]\n",
            symbolic=["n"],
        )
        assert symbolic.specialize(n=size).flops == symbolic.flops.at({"n": size}) == net.flops


@pytest.mark.parametrize("name", ["avg", "max"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_very_many_windows_are_counted_without_a_loop(name: str, axes: int) -> None:
    sizes = ", ".join(["40"] * axes)
    spec = f"netcalc: 1\ninputs: {{x: [1, 1, {sizes}]}}\nlayers: [adaptive_{name}_pool{axes}d: 1000000007]\n"
    covered = 40 + 1_000_000_007 - 1
    reductions = covered**axes - 1_000_000_007**axes
    assert netcalc.loads(spec).flops == reductions + (1_000_000_007**axes if name == "avg" else 0)
