"""Normalization: recorded torch results, and rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import assumptions, product, symbol, value_at
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import case_ids, execute, truth_case

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "bn2d_eval": ("batch_norm", {}),
    "bn2d_train": ("batch_norm", {}),
    "bn2d_train_cma": ("batch_norm", {"momentum": None}),
    "bn1d_train": ("batch_norm", {}),
    "bn1d_3d_eval": ("batch_norm", {"affine": False}),
    "bn2d_notrack": ("batch_norm", {"track_running_stats": False}),
    "ln_last": ("layer_norm", {"eps": 1e-5}),
    "ln_2d": ("layer_norm", {"normalized_shape": [4, 6], "bias": False}),
    "gn": ("group_norm", {"groups": 2}),
    "gn_1g": ("group_norm", {"groups": 1}),
    "in2d_affine": ("instance_norm", {"affine": True}),
    "rms": ("rms_norm", {"eps": 1e-6}),
    "lrn": ("local_response_norm", {"size": 5, "alpha": 1e-2, "k": 2}),
}


def test_every_recorded_case_is_tested() -> None:
    assert set(CASES) == set(case_ids("op_norm"))


@pytest.mark.parametrize("case_id", CASES)
def test_equals_torch(case_id: str) -> None:
    name, attrs = CASES[case_id]
    case = truth_case("op_norm", case_id)
    outcome = execute(name, attrs, *case.inputs, weights=case.weights, training="train" in case_id)
    case.check(outcome.outputs)
    assert outcome.updates.keys() == case.after.keys()
    for buffer, after in case.after.items():
        assert outcome.updates[buffer].dtype == after.dtype
        np.testing.assert_allclose(outcome.updates[buffer], after, rtol=1e-6, atol=1e-7)


def test_layer_norm_of_four_numbers() -> None:
    """Mean 8, variance 124.5, worked by hand."""
    x = np.array([10, 2, -5, 25], np.float32)
    (y,) = execute("layer_norm", {"affine": False}, x).outputs
    np.testing.assert_allclose(y, [0.18, -0.54, -1.16, 1.52], atol=0.01)
    # an eps equal to the variance doubles the radicand
    (wider,) = execute("layer_norm", {"affine": False, "eps": 124.5}, x).outputs
    np.testing.assert_allclose(y / wider, 2**0.5, rtol=1e-6)


def parameters(name: str, attrs: dict[str, Any], *shape: Any) -> dict[str, tuple[Any, ...]]:
    declared = ops.find(name)
    assert declared is not None
    return {p.name: p.shape for p in declared(**attrs).params(Context(), TensorType(shape))}


def test_parameters_as_torch_counts_them() -> None:
    """torch 2.13: BatchNorm2d(10, affine=False) has 21 elements of buffers, GroupNorm(3, 12) 24 parameters."""
    buffers = parameters("batch_norm", {"affine": False}, 1, 10, 4, 4)
    assert sum(product(shape) for shape in buffers.values()) == 21
    assert parameters("group_norm", {"groups": 3}, 1, 12, 4, 4) == {"weight": (12,), "bias": (12,)}
    assert parameters("batch_norm", {"track_running_stats": False}, 1, 10, 4, 4).keys() == {"weight", "bias"}
    assert parameters("instance_norm", {}, 1, 10, 4, 4) == {}
    assert parameters("layer_norm", {"axes": 2, "bias": False}, 2, 3, 5) == {"weight": (3, 5)}


def test_batch_norm_in_inference_is_one_mul_and_one_add_per_element() -> None:
    """It can be folded into a preceding convolution, and equals the 2 per element of torchvision and fvcore."""
    op = ops.find("batch_norm")()  # type: ignore[misc]
    x = TensorType((2, 6, 5, 4))
    by_element = [t for t in op.cost(Context(), (x,), (x,)) if t.count == x.elements]
    assert sorted(t.kind for t in by_element) == ["add", "mul"]


def test_cumulative_average_of_equal_batches_is_their_mean() -> None:
    """With momentum null the running mean after n batches is the mean of their means."""
    rng = np.random.default_rng(0)
    state = {
        "running_mean": np.zeros(3, np.float32),
        "running_var": np.ones(3, np.float32),
        "num_batches_tracked": np.array(0),
    }
    batches = [rng.normal(size=(4, 3, 2)).astype(np.float32) for _ in range(3)]
    for x in batches:
        outcome = execute("batch_norm", {"momentum": None, "affine": False}, x, weights=state, training=True)
        state = outcome.updates
    assert state["num_batches_tracked"] == 3
    np.testing.assert_allclose(state["running_mean"], np.stack(batches).mean((0, 1, 3)), rtol=1e-5, atol=1e-6)


def test_gemma_offset_is_one_plus_the_weight() -> None:
    x = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
    weight = np.linspace(-1, 1, 8, dtype=np.float32)
    (offset,) = execute("rms_norm", {"eps": 1e-6, "offset": 1}, x, weights={"weight": weight}).outputs
    (plain,) = execute("rms_norm", {"eps": 1e-6}, x, weights={"weight": 1 + weight}).outputs
    np.testing.assert_allclose(offset, plain, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "said"),
    [
        ("batch_norm", {}, (6,), "takes an input of 2 or 3 or 4 or 5 dimensions"),
        ("layer_norm", {"axes": 3}, (2, 4), "over 3 axes"),
        ("layer_norm", {"normalized_shape": 12}, (2, 4), "ends in 12"),
        ("rms_norm", {"normalized_shape": [2, 8]}, (3, 2, 4), "ends in 2×8"),
        ("group_norm", {"groups": 4}, (2, 6, 3), "6 channels do not divide into 4 groups"),
        ("group_norm", {"groups": 6}, (1, 6), "a single value"),
        ("instance_norm", {}, (2, 6), "3 or 4 or 5 dimensions"),
        ("instance_norm", {}, (2, 6, 1, 1), "more than one value"),
        ("local_response_norm", {"size": 3}, (2, 6), "at least 3 dimensions"),
        ("normalize", {}, (6,), "no axis 1"),
        ("normalize", {"axis": [0, -2]}, (2, 6), "twice"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], shape: tuple[int, ...], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError, match=said):
        declared(**attrs).infer(Context(), TensorType(shape))


def test_a_single_value_has_no_batch_statistics() -> None:
    op = ops.find("batch_norm")()  # type: ignore[misc]
    x = TensorType((1, 6, 1, 1))
    assert op.infer(Context(), x) == x
    with pytest.raises(RuleError, match="more than one value per channel, and this is 1×6×1×1"):
        op.infer(Context(training=True), x)


@pytest.mark.parametrize(
    "name", ["batch_norm", "frozen_batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm", "normalize"]
)
def test_integers_are_an_error(name: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    attrs = {"groups": 1} if name == "group_norm" else {}
    with pytest.raises(RuleError, match="floating-point"):
        declared(**attrs).infer(Context(), TensorType((2, 6, 4), "int64"))


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("layer_norm", {"axes": 1, "normalized_shape": [4]}),
        ("layer_norm", {"axes": 0}),
        ("layer_norm", {"normalized_shape": []}),
        ("layer_norm", {"eps": -1e-5}),
        ("group_norm", {}),
        ("group_norm", {"groups": True}),
        ("batch_norm", {"momentum": float("inf")}),
        ("local_response_norm", {"size": 0}),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any]) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(**attrs)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("batch_norm", {}),
        ("frozen_batch_norm", {}),
        ("layer_norm", {"axes": 3}),
        ("group_norm", {"groups": 2}),
        ("instance_norm", {"track_running_stats": True}),
        ("rms_norm", {"offset": 1}),
        ("local_response_norm", {"size": 4}),
        ("normalize", {"p": 3, "axis": [1, -1]}),
    ],
)
def test_symbolic_sizes_agree_with_integers(name: str, attrs: dict[str, Any], training: bool) -> None:
    declared = ops.find(name)
    assert declared is not None
    op, ctx = declared(**attrs), Context(training=training)
    n, c, h = symbol("n", default=2), symbol("c", default=3), symbol("h", default=5)
    with assumptions():
        symbolic = TensorType((n, 2 * c, h, h + 1))
        op.infer(ctx, symbolic)
        terms = op.cost(ctx, (symbolic,), (symbolic,))
    sizes = {"n": 3, "c": 4, "h": 6}
    fixed = TensorType((3, 8, 6, 7))
    assert [value_at(t.count, sizes) for t in terms] == [t.count for t in op.cost(ctx, (fixed,), (fixed,))]
    elements = [value_at(p.elements, sizes) for p in op.params(ctx, symbolic)]
    assert elements == [p.elements for p in op.params(ctx, fixed)]


shapes = st.lists(st.integers(1, 5), min_size=2, max_size=5)
flags = st.booleans()
dtypes = st.sampled_from(["float16", "float32", "float64"])


@settings(deadline=None)
@given(shape=shapes, affine=flags, bias=flags, track=flags, training=flags, instance=flags, dtype=dtypes)
def test_predictions_hold_for_batch_and_instance_norm(
    shape: list[int], affine: bool, bias: bool, track: bool, training: bool, instance: bool, dtype: str
) -> None:
    attrs = {"affine": affine, "bias": bias, "track_running_stats": track}
    x = np.random.default_rng(0).normal(size=[2, *shape[:4]]).astype(dtype)
    execute("instance_norm" if instance else "batch_norm", attrs, np.concatenate([x, -x], 2), training=training)


@settings(deadline=None)
@given(shape=shapes, affine=flags, bias=flags, axes=st.integers(1, 2), offset=st.sampled_from([0, 1]), dtype=dtypes)
def test_predictions_hold_over_trailing_axes(
    shape: list[int], affine: bool, bias: bool, axes: int, offset: int, dtype: str
) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    execute("layer_norm", {"axes": axes, "affine": affine, "bias": bias}, x)
    execute("rms_norm", {"normalized_shape": shape[-axes:], "affine": affine, "offset": offset}, x)


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    groups=st.integers(1, 3),
    size=st.integers(1, 7),
    p=st.sampled_from([0, 0.5, 1, 2, 3, -1, float("inf"), -float("inf")]),
    axis=st.sampled_from([0, 1, -1, [0, 1], []]),
    dtype=dtypes,
)
def test_predictions_hold_for_the_others(
    shape: list[int], groups: int, size: int, p: float, axis: Any, dtype: str
) -> None:
    x = np.random.default_rng(0).normal(size=[2, groups * shape[0], *shape[1:]]).astype(dtype)
    execute("group_norm", {"groups": groups}, np.concatenate([x[:1], -x[:1]], 0).repeat(2, 2))
    execute("local_response_norm", {"size": size}, x)
    execute("normalize", {"p": p, "axis": axis}, x)
