"""Windowed pooling: recorded torch results, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.models import ValidationError
from tests.ops.harness import case_ids, execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "00_maxpool2d": ("max_pool2d", {"kernel": 3, "stride": 2, "padding": 1}),
    "01_maxpool2d": ("max_pool2d", {"kernel": 3, "stride": 2, "ceil_mode": True}),
    "02_maxpool2d": ("max_pool2d", {"kernel": 2}),
    "03_maxpool2d": ("max_pool2d", {"kernel": [3, 2], "stride": [1, 2], "dilation": [2, 1]}),
    "04_avgpool2d": ("avg_pool2d", {"kernel": 3, "stride": 2, "padding": 1}),
    "05_avgpool2d": ("avg_pool2d", {"kernel": 3, "stride": 2, "padding": 1, "count_include_pad": False}),
    "06_avgpool2d": ("avg_pool2d", {"kernel": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
    "07_avgpool2d": ("avg_pool2d", {"kernel": 2, "divisor_override": 3}),
    "11_maxpool1d": ("max_pool1d", {"kernel": 3, "stride": 2, "padding": 1}),
    "12_avgpool1d": ("avg_pool1d", {"kernel": 4, "stride": 3, "padding": 2}),
    "13_maxpool3d": ("max_pool3d", {"kernel": 2, "stride": 2}),
    "14_lppool2d": ("lp_pool2d", {"norm_type": 2, "kernel": 3, "stride": 2}),
}


@pytest.mark.parametrize("case_id", [c for c in case_ids("op_pool") if "adaptive" not in c])
def test_equals_torch(case_id: str) -> None:
    case = truth_case("op_pool", case_id)
    name, attrs = CASES[case_id]
    case.check(execute(name, attrs, *case.inputs).outputs)


def test_a_window_larger_than_the_input_has_its_largest_element() -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 4, 5)).astype("float32")
    (y,) = execute("max_pool2d", {"kernel": 11, "stride": 1, "padding": "same_lower"}, x).outputs
    np.testing.assert_array_equal(y, np.broadcast_to(x.max((2, 3), keepdims=True), x.shape))


@pytest.mark.parametrize(
    ("attrs", "shape", "result"),
    [  # of nn.MaxPool2d(3,2,ceil_mode=True) and nn.MaxPool2d((3,2),stride=(2,1),padding=(1,0),dilation=(2,3))
        ({"kernel": 3, "stride": 2, "ceil_mode": True}, (1, 4, 20, 21), (1, 4, 10, 10)),
        ({"kernel": [3, 2], "stride": [2, 1], "padding": [1, 0], "dilation": [2, 3]}, (1, 4, 17, 18), (1, 4, 8, 15)),
    ],
)
def test_shapes_equal_torch(attrs: dict[str, Any], shape: tuple[int, ...], result: tuple[int, ...]) -> None:
    found = predict("max_pool2d", attrs, shape)
    assert found.shapes == [result]
    assert found.params == {}


def test_the_rounding_is_explained() -> None:
    attrs = {"kernel": 2, "stride": 2, "padding": 1, "ceil_mode": True}
    (length,) = predict("max_pool1d", attrs, (1, 1, 5)).steps
    assert length.formula == "min(⌈(L + 2·p − k)/s⌉ + 1, ⌈(L + p)/s⌉)"
    assert length.substituted == "min(⌈(5 + 2·1 − 2)/2⌉ + 1, ⌈(5 + 1)/2⌉)"
    assert length.value == 3


def test_indices_point_at_the_maximum() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 8)).astype("float32")
    attrs = {"kernel": 3, "stride": 2, "padding": 1, "return_indices": True}
    y, found = execute("max_pool2d", attrs, x).outputs
    flat = np.take_along_axis(x.reshape(2, 3, -1), found.reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(flat.reshape(y.shape), y)


def test_indices_of_nan_are_those_of_torch() -> None:
    x = np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6)
    x[0, 0, 1, 1] = x[0, 0, 2, 2] = np.nan
    y, found = execute("max_pool2d", {"kernel": 3, "return_indices": True}, x).outputs
    np.testing.assert_array_equal(y, [[[[np.nan, 17], [32, 35]]]])
    np.testing.assert_array_equal(found, [[[[14, 17], [32, 35]]]])


def test_indices_of_windows_of_padding_are_those_of_torch() -> None:
    attrs = {"kernel": [1, 4, 2], "padding": [0, 2, 1], "dilation": 3, "return_indices": True}
    y, found = execute("max_pool3d", attrs, np.zeros((1, 1, 1, 6, 2), np.float32)).outputs
    np.testing.assert_array_equal(y, np.full((1, 1, 1, 1, 1), -np.inf))
    np.testing.assert_array_equal(found, np.full((1, 1, 1, 1, 1), 4))


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_the_maximum_of_non_finite_values(value: float) -> None:
    x = np.full((1, 1, 5), value, "float32")
    y, found = execute("max_pool1d", {"kernel": 3, "stride": 2, "padding": 1, "return_indices": True}, x).outputs
    np.testing.assert_array_equal(y, np.full((1, 1, 3), value, "float32"))
    assert ((found >= 0) & (found < 5)).all()


@st.composite
def poolings(draw: st.DrawFn) -> tuple[str, dict[str, Any], tuple[int, ...]]:
    """Draw a valid pooling and its input shape."""
    axes = draw(st.integers(1, 3))
    name = draw(st.sampled_from(["max", "avg", "lp"]))
    per_axis = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    attrs: dict[str, Any] = {"kernel": draw(per_axis), "ceil_mode": draw(st.booleans())}
    if draw(st.booleans()):
        attrs["stride"] = draw(per_axis)
    by_side = [[draw(st.integers(0, k // 2)) for _ in range(2)] for k in attrs["kernel"]]
    attrs["padding"] = draw(st.sampled_from(["valid", "same_upper", "same_lower", by_side, [p for p, _ in by_side]]))
    if name == "max":
        attrs |= {"dilation": draw(per_axis), "return_indices": draw(st.booleans())}
    if name == "avg":
        attrs |= {
            "count_include_pad": draw(st.booleans()),
            "divisor_override": draw(st.none() | st.integers(1, 5) | st.just(-2)),
        }
    if name == "lp":
        attrs["norm_type"] = draw(st.sampled_from([1, 2, 3.5]))
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(7, 9), min_size=axes, max_size=axes))
    return f"{name}_pool{axes}d", attrs, (*batch, draw(st.integers(1, 3)), *sizes)


@settings(max_examples=50, deadline=None)
@given(poolings(), st.integers(0, 3))
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any], tuple[int, ...]], grown: int) -> None:
    name, attrs, shape = drawn
    execute(name, attrs, np.abs(np.random.default_rng(0).normal(size=shape)).astype("float32"))
    if len(shape) == int(name[-2]) + 2:
        agrees_symbolically(name, attrs, shape, grown)


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "said"),
    [
        ("max_pool2d", {"kernel": 3}, (1, 3, 5, 2), "max_pool2d: a kernel of 3 does not fit into a width of 2"),
        ("max_pool2d", {"kernel": 2, "padding": [1, 2]}, (1, 3, 5, 5), "at most half of the kernel; along the width"),
        ("avg_pool1d", {"kernel": 3, "padding": 2}, (1, 3, 5), "along the length it is 2, and the kernel 3"),
        ("avg_pool1d", {"kernel": 3, "padding": [[1, 3]]}, (1, 3, 5), "it is 1 before and 3 after, and the kernel 3"),
        ("avg_pool3d", {"kernel": 3}, (3, 5, 5), "takes an input of 4 or 5 dimensions, and this one has 3"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict(name, attrs, shape)
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("name", "attrs", "said"),
    [
        ("max_pool2d", {"kernel": 2, "padding": [[0, 1, 1], 0]}, "[before, after] for each axis"),
        ("max_pool2d", {"kernel": 2, "padding": "same"}, "should be numbers or one of valid, same_upper, same_lower"),
        ("avg_pool2d", {"kernel": 2, "divisor_override": 0}, "should not be zero"),
        ("avg_pool2d", {"kernel": 2, "dilation": 2}, "Extra inputs are not permitted"),
        ("lp_pool2d", {"kernel": 2, "norm_type": 0}, "greater than 0"),
        ("lp_pool2d", {"kernel": 2}, "Field required"),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError) as refused:
        declared(**attrs)
    assert said in str(refused.value)
