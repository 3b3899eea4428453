"""Operations that create tensors: values, names, types, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import UndecidedError, symbol
from netcalc.models import ValidationError
from netcalc.numerics.initializers import draw
from netcalc.opdef import Context, Param
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute
from tests.ops.prediction import predict
from tests.spec.harness import layers, params

n = symbol("n", default=4)


def declared(name: str, **attrs: Any) -> tuple[TensorType, tuple[Param, ...]]:
    """Return the output type in a float16 program, and the parameters."""
    found = ops.find(name)
    assert found is not None
    op, ctx = found(**attrs), Context(dtype="float16")
    result = op.infer(ctx)
    assert isinstance(result, TensorType)
    return result, tuple(op.params(ctx))


def drawn(param: Param) -> np.ndarray:
    return draw(param.init, tuple(map(int, param.shape)), param.dtype or "float32", np.random.default_rng(0))


@pytest.mark.parametrize("name", ["parameter", "buffer"])
def test_stored_tensors_return_their_values(name: str) -> None:
    held = np.arange(6, dtype="float32").reshape(2, 3)
    (y,) = execute(name, {"shape": [2, 3]}, weights={"": held}).outputs
    np.testing.assert_array_equal(y, held)


def test_the_weight_of_a_linear_layer_is_that_parameter() -> None:
    weight = layers("- {name: fc, linear_weight: {out: 4, features: 8}}")
    layer = layers("- {name: fc, linear: {out: 4, bias: false}}", shape="[2, 8]")
    assert params(weight) == params(layer)
    assert list(params(weight)) == ["fc.weight"]
    (param,) = declared("linear_weight", out=4, features=8)[1]
    assert np.abs(drawn(param)).max() <= 1 / np.sqrt(8)  # as torch.nn.Linear


def test_a_parameter_has_the_path_of_its_line() -> None:
    found = layers("- {name: encoder, sequence: [{name: pos_embedding, parameter: [1, 8]}]}")
    assert list(params(found)) == ["encoder.pos_embedding"]


def test_a_parameter_is_expanded_to_the_batch() -> None:
    found = layers(
        """
        - {name: token, parameter: {shape: [1, 1, 8]}}
        - expand: ["${x.batch}", -1, -1]
        - {from: [_, x], concat: {axis: 1}}
        """,
        shape="[2, 5, 8]",
    )
    assert str(found.main.outputs[0].type) == "2×6×8"


def test_types_default_to_that_of_the_program() -> None:
    assert declared("parameter", shape=[2])[0].dtype == "float16"
    assert declared("parameter", shape=[2], dtype="float64")[0].dtype == "float64"
    assert declared("buffer", shape=[2])[0].dtype == "float16"
    assert declared("buffer", value=[0, 1], dtype="int64")[0] == TensorType((2,), "int64")


def test_parameters_and_buffers_differ() -> None:
    _, (learned,) = declared("parameter", shape=[2, 3])
    _, (fixed,) = declared("parameter", shape=[2, 3], trainable=False)
    _, (kept,) = declared("buffer", shape=[2, 3], persistent=False)
    assert [p.trainable for p in (learned, fixed, kept)] == [True, False, False]
    assert [p.is_buffer for p in (learned, fixed, kept)] == [False, False, True]
    assert not getattr(kept, "persistent", True)


@pytest.mark.parametrize(
    ("init", "low", "high"),
    [
        ("zeros", 0, 0),
        ("constant(0.5)", 0.5, 0.5),
        ("uniform(a=2, b=3)", 2, 3),
        ("truncated_normal(std=5, a=-1, b=1)", -1, 1),
    ],
)
def test_parameters_are_initialized_as_declared(init: str, low: float, high: float) -> None:
    _, (param,) = declared("parameter", shape=[50, 20], init=init)
    assert low <= drawn(param).min() <= drawn(param).max() <= high


def test_parameters_are_initialized_near_zero_by_default() -> None:
    _, (param,) = declared("parameter", shape=[200, 50])
    assert drawn(param).std() == pytest.approx(0.02, rel=0.05)


def test_buffers_are_initialized_with_their_value() -> None:
    _, (table,) = declared("buffer", value=[[1, 2], [3, 4]], dtype="int64")
    np.testing.assert_array_equal(drawn(table), [[1, 2], [3, 4]])
    _, (filled,) = declared("buffer", shape=[3], value=2.5)
    np.testing.assert_array_equal(drawn(filled), [2.5] * 3)
    _, (empty,) = declared("buffer", shape=[3])
    np.testing.assert_array_equal(drawn(empty), [0] * 3)


def test_a_number_fills_any_shape() -> None:
    (y,) = execute("constant", {"value": 7, "shape": [2, 3], "dtype": "float16"}).outputs
    np.testing.assert_array_equal(y, np.full((2, 3), 7, "float16"))


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("parameter", {"shape": [n, 3]}, (n, 3)),
        ("linear_weight", {"out": n, "features": 3}, (n, 3)),
        ("constant", {"value": 0, "shape": [n]}, (n,)),
        ("arange", {"stop": n}, (n,)),
        ("arange", {"start": 1, "stop": 2 * n + 1, "step": 2}, (n,)),
        ("arange", {"start": n, "stop": 0, "step": -1, "dtype": "float32"}, (n,)),
        ("causal_mask", {"queries": 3, "keys": n}, (3, n)),
    ],
)
def test_sizes_may_be_named(name: str, attrs: dict[str, Any], shape: tuple[Any, ...]) -> None:
    assert predict(name, attrs).shapes == [shape]


def test_the_working_is_shown() -> None:
    (step,) = predict("arange", {"start": 1, "stop": 10, "step": 4}).steps
    assert (step.substituted, step.value) == ("⌈(10 − 1)/4⌉", 3)


@pytest.mark.parametrize(
    ("name", "attrs", "code", "message"),
    [
        ("parameter", {"shape": [2], "dtype": "int64"}, "E402", "must be floating point, and this is int64"),
        ("parameter", {"shape": [2], "init": "xavier_uniform"}, "E401", "xavier_uniform needs at least 2 dimensions"),
        ("constant", {"value": [1, 2], "shape": [3]}, "E401", "the value is 2, and its shape is 3"),
        ("constant", {"value": [1, 2.5], "dtype": "int64"}, "E402", "2.5 does not fit int64"),
        ("constant", {"value": [1, 300], "dtype": "uint8"}, "E402", "300 does not fit uint8"),
        ("constant", {"value": 128, "dtype": "int8"}, "E402", "128 does not fit int8"),
        ("buffer", {"value": 1, "dtype": "bool"}, "E402", "1 does not fit bool"),
        ("arange", {"stop": 2.5}, "E402", "takes whole numbers"),
        ("arange", {"stop": 3, "step": 0}, "E401", "the step is 0"),
        ("arange", {"stop": -3}, "E401", "arange from 0 to -3 in steps of 1 is empty"),
        ("arange", {"stop": 3, "dtype": "bool"}, "E402", "no bool type"),
        ("causal_mask", {"queries": 3, "dtype": "int64"}, "E402", "this is int64"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        declared(name, **attrs)
    assert message in caught.value.message
    assert caught.value.code == code


def test_fractions_and_named_sizes_do_not_mix() -> None:
    with pytest.raises(UndecidedError):
        predict("arange", {"stop": n, "step": 0.5, "dtype": "float32"})


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("parameter", {"shape": [2], "init": "normal(sd=1)"}, "normal has no argument 'sd'"),
        ("parameter", {"shape": [2], "init": "gaussian"}, "unknown initializer 'gaussian'"),
        ("parameter", {"shape": [2], "init": "default"}, "should name an initializer"),
        ("parameter", {"shape": [2], "init": 0}, "like normal\\(std=0.02\\)"),
        ("constant", {"value": [[1, 2], [3]]}, "lists of numbers of equal length"),
        ("constant", {"value": []}, "lists of numbers of equal length"),
        ("constant", {"value": "one"}, "should be a number"),
        ("arange", {"stop": True}, "should be a number"),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any], message: str) -> None:
    found = ops.find(name)
    assert found is not None
    with pytest.raises(ValidationError, match=message):
        found(**attrs)
