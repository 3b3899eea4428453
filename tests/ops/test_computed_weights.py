"""Products and norms with weights that are inputs: the same values as with parameters, and no parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import assert_close, execute
from tests.ops.prediction import predict

#: operation: (attributes, shape of the input, of the weight, of the bias)
PRODUCTS: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], int]] = {
    "linear": ({"out": 6}, (2, 3, 5), (6, 5), 6),
    "conv1d": ({"out": 6, "kernel": 3, "groups": 2, "padding": "same_upper", "stride": 2}, (2, 4, 9), (6, 2, 3), 6),
    "conv2d": ({"out": 6, "kernel": [3, 2], "weight_standardization": True}, (4, 7, 6), (6, 4, 3, 2), 6),
    "conv3d": ({"out": 2, "kernel": 2, "dilation": 2}, (1, 3, 4, 4, 5), (2, 3, 2, 2, 2), 2),
    "conv_transpose2d": ({"out": 4, "kernel": 3, "stride": 2, "groups": 2}, (1, 6, 3, 3), (6, 2, 3, 3), 4),
}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_values_and_parameters(name: str, dtype: str) -> None:
    attrs, *shapes, out = PRODUCTS[name]
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.normal(size=shape).astype(dtype) for shape in (*shapes, (out,)))
    (expected,) = execute(name, attrs, x, weights={"weight": weight, "bias": bias}).outputs
    for one, other in ((weight, bias), (weight, None), (None, bias)):
        learned = {"weight": weight} if one is None else {"bias": bias} if other is None else {}
        assert_close(expected, execute(name, attrs, x, one, other, weights=learned).outputs[0])
    (plain,) = execute(name, attrs | {"bias": False}, x, weight, weights={}).outputs
    (shifted,) = execute(name, attrs | {"bias": False}, x, weight, bias, weights={}).outputs
    assert_close(shifted, expected)
    assert np.abs(plain - expected).max() > 0


def test_a_computed_weight_may_have_named_sizes() -> None:
    c = symbol("c", default=8)
    found = predict("conv2d", {"out": c, "kernel": 3}, (1, 4, 5, 5), (c, 4, 3, 3))
    assert found.shapes == [(1, c, 3, 3)]
    assert set(found.params) == {"bias"}


@pytest.mark.parametrize(
    ("name", "attrs", "types", "said"),
    [
        ("linear", {"out": 6}, [(2, 5), (5, 6)], "linear takes a weight of 6×5, and this is 5×6"),
        ("conv2d", {"out": 6, "kernel": 3}, [(4, 7, 6), (6, 4, 3)], "conv2d takes a weight of 6×4×3×3, and this is"),
        ("conv_transpose1d", {"out": 6, "kernel": 3}, [(4, 7), (4, 6, 3), (4,)], "takes a bias of 6, and this is 4"),
    ],
)
def test_other_shapes(name: str, attrs: dict[str, Any], types: list[tuple[int, ...]], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict(name, attrs, *types)
    assert said in refused.value.message


def test_other_types() -> None:
    declared = ops.find("linear")
    assert declared is not None
    with pytest.raises(RuleError, match="takes a weight of float32, as its input, and not of float16"):
        declared(out=6).infer(Context(), TensorType((2, 5)), TensorType((6, 5), "float16"))


#: norm: (attributes, shape of the input, of weight and bias, True if it has running statistics)
NORMS: dict[str, tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], bool]] = {
    "layer_norm": ({"axes": 2}, (2, 3, 5), (3, 5), False),
    "rms_norm": ({"eps": 1e-5, "offset": 0.5}, (2, 3, 5), (5,), False),
    "group_norm": ({"groups": 2}, (2, 6, 4, 3), (6,), False),
    "batch_norm": ({}, (2, 6, 4, 3), (6,), True),
    "instance_norm": ({"affine": True, "track_running_stats": True}, (2, 6, 4), (6,), True),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("dtype", "vectors"), [("float16", "float16"), ("float16", "float32"), ("float32", "float32")])
@pytest.mark.parametrize("name", NORMS)
def test_norms(name: str, dtype: str, vectors: str, training: bool) -> None:
    attrs, size, shape, tracks = NORMS[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=size).astype(dtype)
    names = ["weight", *(["bias"] if name != "rms_norm" else [])]
    names += ["running_mean", "running_var"] if tracks else []
    values = {name: np.abs(rng.normal(size=shape)).astype(vectors) for name in names}
    counter = {"num_batches_tracked": np.zeros((), np.int64)} if tracks else {}
    own, fixed = (execute(name, attrs, x, weights={**values, **counter}, training=t).outputs[0] for t in (True, False))
    for given in ([], names[:1], names[1:2], names[:2], names[2:], names):
        inputs = [values[each] if each in given else None for each in names]
        learned = {each: value for each, value in values.items() if each not in given}
        learned |= counter if "running_mean" not in given else {}
        (found,) = execute(name, attrs, x, *inputs, weights=learned, training=training).outputs
        assert_close(found, own if training and "running_mean" not in given else fixed)
    if name != "rms_norm":
        (shifted,) = execute(
            name, attrs | {"affine": False}, x, None, *inputs[1:], weights={}, training=training
        ).outputs
        (plain,) = execute(
            name, attrs | {"affine": False}, x, None, None, *inputs[2:], weights={}, training=training
        ).outputs
        assert np.abs(shifted - plain).max() > 0


@pytest.mark.parametrize(
    ("name", "attrs", "types", "said"),
    [
        ("layer_norm", {}, [(2, 5), (4,)], "layer_norm takes a weight of 5, and this is 4"),
        ("group_norm", {"groups": 2}, [(2, 4, 3), (4,), (4, 1)], "group_norm takes a bias of 4, and this is 4×1"),
        ("batch_norm", {}, [(2, 4), None, None, (4,)], "running_mean and running_var, not running_mean alone"),
        ("instance_norm", {}, [(2, 4, 3), None, None, (4,), (4,)], "without track_running_stats takes no running_mean"),
    ],
)
def test_norms_with_other_vectors(name: str, attrs: dict[str, Any], types: list[Any], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError) as refused:
        declared(**attrs).infer(Context(), *(None if shape is None else TensorType(shape) for shape in types))
    assert said in refused.value.message


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int64"])
def test_norms_of_other_types(dtype: Any) -> None:
    declared = ops.find("layer_norm")
    assert declared is not None
    with pytest.raises(RuleError, match=f"takes a weight of float32, as its input, and not of {dtype}"):
        declared().infer(Context(), TensorType((2, 5)), TensorType((5,), dtype))
