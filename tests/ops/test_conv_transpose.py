"""Transposed convolutions: recorded torch results, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from tests.ops.harness import case_ids, execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "12_convtranspose2d": (
        "conv_transpose2d",
        {"out": 7, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 1},
    ),
    "13_convtranspose2d": ("conv_transpose2d", {"out": 4, "kernel": 4, "stride": 2, "padding": 1, "groups": 2}),
    "14_convtranspose1d": ("conv_transpose1d", {"out": 3, "kernel": 5, "stride": 2}),
    "15_convtranspose3d": ("conv_transpose3d", {"out": 3, "kernel": 2, "stride": 2}),
}


@pytest.mark.parametrize("case_id", [c for c in case_ids("op_conv") if "transpose" in c])
def test_equals_torch(case_id: str) -> None:
    case = truth_case("op_conv", case_id)
    name, attrs = CASES[case_id]
    case.check(execute(name, attrs, *case.inputs, weights=case.weights).outputs)


def test_counts_equal_torch() -> None:
    """nn.ConvTranspose1d(8,4,5,stride=3,padding=2,output_padding=1,bias=False), counted by torch 2.13."""
    attrs = {"out": 4, "kernel": 5, "stride": 3, "padding": 2, "output_padding": 1, "bias": False}
    found = predict("conv_transpose1d", attrs, (2, 8, 13))
    assert found.shapes == [(2, 4, 38)]
    assert {n: int(np.prod(s)) for n, s in found.params.items()} == {"weight": 160}
    assert 2 * found.work["mac"] == 8320
    assert found.steps[0].substituted == "(13 − 1)·3 − 2·2 + 5 + 1"


@st.composite
def transposed(draw: st.DrawFn) -> tuple[str, dict[str, Any], tuple[int, ...]]:
    """Draw a transposed convolution and its input shape; padding may remove the whole output."""
    axes = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    per_axis = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    side = st.integers(0, 2)
    attrs: dict[str, Any] = {
        "out": groups * draw(st.integers(1, 2)),
        "kernel": draw(per_axis),
        "stride": draw(per_axis),
        "dilation": draw(per_axis),
        "padding": draw(st.lists(side | st.tuples(side, side).map(list), min_size=axes, max_size=axes)),
        "groups": groups,
        "bias": draw(st.booleans()),
    }
    most = [max(s, d) - 1 for s, d in zip(attrs["stride"], attrs["dilation"], strict=True)]
    attrs["output_padding"] = [draw(st.integers(0, n)) for n in most]
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(1, 5), min_size=axes, max_size=axes))
    return f"conv_transpose{axes}d", attrs, (*batch, groups * draw(st.integers(1, 2)), *sizes)


@settings(max_examples=40, deadline=None)
@given(transposed(), st.integers(0, 3))
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any], tuple[int, ...]], grown: int) -> None:
    name, attrs, shape = drawn
    try:
        predict(name, attrs, shape)
    except RuleError:
        assume(False)
    execute(name, attrs, np.random.default_rng(0).normal(size=shape).astype("float32"))
    if len(shape) == int(name[-2]) + 2:
        agrees_symbolically(name, attrs, shape, grown)


@pytest.mark.parametrize(
    ("attrs", "shape", "said"),
    [
        (
            {"kernel": 3, "output_padding": [0, 1]},
            (1, 4, 5, 5),
            "output_padding must be smaller than the stride or the dilation; along the width it is 1",
        ),
        ({"kernel": 1, "padding": 1}, (1, 4, 2, 5), "padding 1 and 1 leaves nothing of the height: 0"),
        ({"kernel": 3, "groups": 3}, (1, 4, 5, 5), "4 input channels do not divide into 3 groups"),
        ({"kernel": 3, "groups": 4}, (1, 4, 5, 5), "6 output channels do not divide into 4 groups"),
    ],
)
def test_invalid_inputs(attrs: dict[str, Any], shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict("conv_transpose2d", {"out": 6, **attrs}, shape)
    assert said in refused.value.message
