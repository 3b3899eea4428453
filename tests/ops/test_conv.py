"""Convolutions: recorded torch results, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import assumptions, symbol
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import case_ids, execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict

#: The recorded convolutions in the attributes of netcalc.
CASES: dict[str, dict[str, Any]] = {
    "00_conv2d": {"out": 9, "kernel": 3},
    "01_conv2d": {"out": 12, "kernel": [3, 5], "stride": [2, 1], "padding": [1, 2]},
    "02_conv2d": {"out": 12, "kernel": 3, "padding": 1, "groups": 4},
    "03_conv2d": {"out": 8, "kernel": 5, "padding": 2, "groups": 8, "bias": False},
    "04_conv2d": {"out": 6, "kernel": 3, "dilation": 2, "padding": 2, "stride": 2},
    "05_conv2d": {"out": 6, "kernel": 1},
    "06_conv2d": {"out": 5, "kernel": 3, "padding": "same"},
    "07_conv2d": {"out": 4, "kernel": 3, "padding": 1, "padding_mode": "reflect"},
    "08_conv2d": {"out": 4, "kernel": 4, "padding": "same"},
    "09_conv1d": {"out": 7, "kernel": 4, "stride": 3, "padding": 2},
    "10_conv1d": {"out": 6, "kernel": 3, "dilation": 3, "groups": 3, "padding": 3},
    "11_conv3d": {"out": 4, "kernel": [2, 3, 3], "stride": [1, 2, 2], "padding": [0, 1, 1]},
}


@pytest.mark.parametrize("case_id", [c for c in case_ids("op_conv") if "transpose" not in c])
def test_equals_torch(case_id: str) -> None:
    case = truth_case("op_conv", case_id)
    case.check(execute(case_id[3:], CASES[case_id], *case.inputs, weights=case.weights).outputs)


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "result", "params", "flops"),
    [  # nn.Conv2d(16,24,(3,5),stride=(3,2),padding=(1,3),dilation=(2,1),groups=4) and so on, counted by torch 2.13
        (
            "conv2d",
            {"out": 24, "kernel": [3, 5], "stride": [3, 2], "padding": [1, 3], "dilation": [2, 1], "groups": 4},
            (2, 16, 37, 41),
            (2, 24, 12, 22),
            1464,
            1520640,
        ),
        (
            "conv2d",
            {"out": 6, "kernel": 3, "padding": 1, "padding_mode": "circular", "stride": 2},
            (1, 4, 11, 11),
            (1, 6, 6, 6),
            222,
            15552,
        ),
        (
            "conv3d",
            {"out": 8, "kernel": [3, 1, 5], "stride": [1, 2, 2], "padding": [1, 0, 2], "groups": 2},
            (1, 6, 9, 14, 15),
            (1, 8, 9, 7, 8),
            368,
            362880,
        ),
    ],
)
def test_counts_equal_torch(
    name: str, attrs: dict[str, Any], shape: tuple[int, ...], result: tuple[int, ...], params: int, flops: int
) -> None:
    found = predict(name, attrs, shape)
    assert found.shapes == [result]
    assert sum(int(np.prod(p)) for p in found.params.values()) == params
    assert 2 * found.work["mac"] == flops


def test_resnet_stem_is_explained() -> None:
    height, width = predict("conv2d", {"out": 64, "kernel": 7, "stride": 2, "padding": 3}, (1, 3, 224, 224)).steps
    assert (height.label, height.formula) == ("height", "⌊(H + 2·p − k)/s⌋ + 1")
    assert (height.substituted, height.value) == ("⌊(224 + 2·3 − 7)/2⌋ + 1", 112)
    assert (width.label, width.formula) == ("width", "⌊(W + 2·p − k)/s⌋ + 1")


def test_asymmetric_padding_and_dilation_are_explained() -> None:
    attrs = {"out": 4, "kernel": 3, "dilation": 2, "padding": [[4, 0]]}
    (length,) = predict("conv1d", attrs, (1, 2, 10)).steps
    assert length.substituted == "⌊(10 + 4 + 0 − 2·(3 − 1) − 1)/1⌋ + 1"
    assert length.value == 10


@pytest.mark.parametrize(
    ("rule", "pads"), [("same_upper", [[0, 1], [2, 2]]), ("same_lower", [[1, 0], [2, 2]]), ("valid", [0, 0])]
)
def test_padding_rules_equal_their_explicit_padding(rule: str, pads: list[Any]) -> None:
    attrs = {"out": 3, "kernel": [3, 5], "stride": [2, 3]}  # TensorFlow's SAME on 8×7: 0 + 1 rows, 2 + 2 columns
    x = np.random.default_rng(0).normal(size=(2, 4, 8, 7)).astype("float32")
    (one,) = execute("conv2d", attrs | {"padding": rule}, x).outputs
    (other,) = execute("conv2d", attrs | {"padding": pads}, x).outputs
    np.testing.assert_array_equal(one, other)


def test_slabs_of_rows_give_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from netcalc.numerics.kernels import _windows

    x = np.random.default_rng(0).normal(size=(2, 6, 9, 8)).astype("float32")
    attrs = {"out": 4, "kernel": 3, "padding": 1, "groups": 2}
    (whole,) = execute("conv2d", attrs, x).outputs
    monkeypatch.setattr(_windows, "SLAB_BYTES", 6 * 9 * 8 * 4 * 2)  # two rows per slab, and a last slab of one row
    (slabs,) = execute("conv2d", attrs, x).outputs
    np.testing.assert_allclose(slabs, whole, rtol=1e-6, atol=1e-6)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[str, dict[str, Any], tuple[int, ...]]:
    """Draw a valid convolution and its input shape."""
    axes = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    per_axis = st.lists(st.integers(1, 3), min_size=axes, max_size=axes)
    side = st.integers(0, 2)
    pads = st.lists(side | st.tuples(side, side).map(list), min_size=axes, max_size=axes)
    attrs = {
        "out": groups * draw(st.integers(1, 2)),
        "kernel": draw(per_axis),
        "stride": draw(per_axis),
        "dilation": draw(per_axis),
        "padding": draw(pads | st.sampled_from(["valid", "same_upper", "same_lower"])),
        "groups": groups,
        "bias": draw(st.booleans()),
        "padding_mode": draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"])),
    }
    batch = draw(st.lists(st.integers(1, 2), max_size=1))
    sizes = draw(st.lists(st.integers(7, 9), min_size=axes, max_size=axes))
    channels = groups * draw(st.integers(1, 2))
    attrs["weight_standardization"] = draw(st.booleans()) and channels // groups * int(np.prod(attrs["kernel"])) > 1
    return f"conv{axes}d", attrs, (*batch, channels, *sizes)


@settings(max_examples=40, deadline=None)
@given(convolutions())
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any], tuple[int, ...]]) -> None:
    name, attrs, shape = drawn
    execute(name, attrs, np.random.default_rng(0).normal(size=shape).astype("float32"))


@settings(max_examples=40, deadline=None)
@given(convolutions(), st.integers(0, 3))
def test_named_sizes_agree_with_numbers(drawn: tuple[str, dict[str, Any], tuple[int, ...]], grown: int) -> None:
    name, attrs, shape = drawn
    batched = shape if len(shape) == int(name[4]) + 2 else (1, *shape)
    agrees_symbolically(name, attrs, batched, grown)


def test_a_depthwise_convolution_takes_named_channels() -> None:
    c = symbol("c", default=8)
    found = predict("conv2d", {"out": c, "kernel": 3, "padding": 1, "groups": c}, (1, c, 5, 5))
    assert found.params["weight"] == (c, 1, 3, 3)


def test_a_named_size_notes_that_the_kernel_is_assumed_to_fit() -> None:
    with assumptions() as notes:
        predict("conv1d", {"out": 1, "kernel": 5}, (1, 1, symbol("n", default=9)))
    assert [str(note) for note in notes] == ["n >= 5"]


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_output_has_the_type_of_the_input(dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 6, 6)).astype(dtype)
    weights = {"weight": np.ones((3, 2, 3, 3), dtype), "bias": np.ones(3, dtype)}
    assert execute("conv2d", {"out": 3, "kernel": 3}, x, weights=weights).outputs[0].dtype == dtype


@pytest.mark.parametrize(
    ("attrs", "shape", "said"),
    [
        ({"kernel": 7}, (1, 3, 5, 9), "conv2d: a kernel of 7 does not fit into a height of 5"),
        (
            {"kernel": 3, "dilation": 3, "padding": [[0, 1], 0]},
            (1, 3, 5, 9),
            "a kernel of 3 with dilation 3, which spans 7, does not fit into a height of 5 with padding 0 before and 1",
        ),
        ({"kernel": 3, "groups": 2}, (1, 3, 5, 5), "3 input channels do not divide into 2 groups"),
        ({"kernel": 3, "groups": 4}, (1, 4, 5, 5), "6 output channels do not divide into 4 groups"),
        ({"kernel": 3, "padding": "same", "stride": 2}, (1, 3, 5, 5), "padding 'same' requires stride 1"),
        (
            {"kernel": 3, "padding": 5, "padding_mode": "reflect"},
            (1, 3, 5, 5),
            "reflect padding must be smaller than the height of 5, and is 5",
        ),
        (
            {"kernel": 3, "padding": [5, 6], "padding_mode": "circular"},
            (1, 3, 5, 5),
            "circular padding must be at most the width of 5, and is 6",
        ),
        ({"kernel": 1, "weight_standardization": True}, (1, 1, 5, 5), "a single weight has no variance"),
        ({"kernel": 3}, (5, 5), "takes an input of 3 or 4 dimensions, and this one has 2"),
    ],
)
def test_invalid_inputs(attrs: dict[str, Any], shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict("conv2d", {"out": 6, **attrs}, shape)
    assert said in refused.value.message


def test_integers_are_an_error() -> None:
    declared = ops.find("conv1d")
    assert declared is not None
    with pytest.raises(RuleError, match="takes floating-point numbers, and its input is int64"):
        declared(out=1, kernel=1).infer(Context(), TensorType((1, 1, 4), "int64"))


@pytest.mark.parametrize(
    ("attrs", "said"),
    [
        ({"kernel": 0}, "should be at least 1"),
        ({"kernel": [3, 3, 3]}, "should be one item or 2, one for each axis"),
        ({"kernel": 3.0}, "should be a whole number"),
        ({"kernel": True}, "should be a whole number"),
        ({"kernel": 3, "padding": -1}, "should be at least 0"),
        ({"kernel": 3, "padding": [[1, 2, 3], 0]}, "should be a number or [before, after]"),
        ({"kernel": 3, "padding": "full"}, "should be numbers or one of valid, same, same_upper, same_lower"),
        ({"kernel": 3, "stride": None}, "should be a whole number"),
        ({"kernel": 3, "padding_mode": "wrap"}, "'zeros', 'reflect', 'replicate' or 'circular'"),
    ],
)
def test_invalid_attributes(attrs: dict[str, Any], said: str) -> None:
    declared = ops.find("conv2d")
    assert declared is not None
    with pytest.raises(ValidationError) as refused:
        declared(out=6, **attrs)
    assert said in str(refused.value)


def test_the_schema_gives_the_length_of_sizes_per_axis() -> None:
    declared = ops.find("conv3d")
    assert declared is not None
    stride = declared.model_json_schema()["properties"]["stride"]
    assert stride["description"] and stride["default"] == 1
    assert [choice.get("maxItems") for choice in stride["anyOf"]] == [None, 3]
