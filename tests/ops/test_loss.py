"""Losses: rules, and identities between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol, value_at
from netcalc.ir.build import infer
from netcalc.models import ValidationError
from netcalc.numerics.kernels import Run, apply
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute

rng = np.random.default_rng(0)
LOGITS = rng.normal(size=(6, 4)).astype(np.float32)
CLASSES = rng.integers(0, 4, 6)


def loss(name: str, attrs: dict[str, Any], *arrays: np.ndarray | None) -> np.ndarray:
    return execute(name, attrs, *arrays).outputs[0]


def test_equal_logits_give_the_logarithm_of_the_number_of_classes() -> None:
    assert loss("cross_entropy", {}, np.zeros((3, 7), np.float32), np.array([0, 3, 6])) == pytest.approx(np.log(7))


def test_cross_entropy_is_nll_of_log_softmax() -> None:
    (log_probabilities,) = execute("log_softmax", {"axis": 1}, LOGITS).outputs
    one, other = loss("cross_entropy", {}, LOGITS, CLASSES), loss("nll_loss", {}, log_probabilities, CLASSES)
    assert one == pytest.approx(float(other), rel=1e-6)


def test_probabilities_of_one_are_classes() -> None:
    """This includes label smoothing."""
    for smoothing in (0.0, 0.3):
        attrs = {"label_smoothing": smoothing, "reduction": "none"}
        one, other = (
            loss("cross_entropy", attrs, LOGITS, CLASSES),
            loss("cross_entropy", attrs, LOGITS, np.eye(4, dtype=np.float32)[CLASSES]),
        )
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_two_classes_are_a_binary_choice() -> None:
    logits, target = LOGITS[:, 0], (CLASSES % 2).astype(np.float32)
    two = np.stack([np.zeros_like(logits), logits], 1)
    one = loss("binary_cross_entropy_with_logits", {}, logits, target)
    assert one == pytest.approx(float(loss("cross_entropy", {}, two, target.astype(np.int64))), rel=1e-6)
    (probability,) = execute("sigmoid", {}, logits).outputs
    assert one == pytest.approx(float(loss("binary_cross_entropy", {}, probability, target)), rel=1e-5)


def test_ignored_targets_do_not_affect_the_loss() -> None:
    short = loss("cross_entropy", {}, LOGITS[:4], CLASSES[:4])
    ignored = np.concatenate([CLASSES[:4], [-1, -1]])
    assert loss("cross_entropy", {"ignore_index": -1}, LOGITS, ignored) == pytest.approx(float(short), rel=1e-6)
    assert np.isnan(loss("cross_entropy", {"ignore_index": -1}, LOGITS, np.full(6, -1)))


def test_divergence_of_a_distribution_from_itself_is_zero() -> None:
    (log_probabilities,) = execute("log_softmax", {}, LOGITS).outputs
    assert loss("kl_div", {"reduction": "batchmean"}, log_probabilities, np.exp(log_probabilities)) == pytest.approx(
        0, abs=1e-6
    )
    assert loss("kl_div", {"log_target": True}, log_probabilities, log_probabilities) == 0


def test_pos_weight_is_an_attribute_or_an_input() -> None:
    target = (LOGITS > 0.5).astype(np.float32)
    weights = [0.5, 1, 2, 4]
    name = "binary_cross_entropy_with_logits"
    one = loss(name, {"pos_weight": weights}, LOGITS, target)
    assert one == loss(name, {}, LOGITS, target, None, np.array(weights, np.float32))
    assert loss(name, {"pos_weight": 1}, LOGITS, target) == pytest.approx(
        float(loss(name, {}, LOGITS, target)), rel=1e-6
    )


@pytest.mark.parametrize("wrong", [4, -1, 100])
def test_a_class_out_of_range_is_an_error(wrong: int) -> None:
    op = ops.find("cross_entropy")()  # type: ignore[misc]
    with pytest.raises(RuleError, match=f"holds class {wrong}, and there are 4 classes"):
        apply(op, Run(), (LOGITS, np.array([0, 1, 2, 3, 0, wrong])), {})


X = TensorType((6, 4))
ROWS = TensorType((6,), "int64")


@pytest.mark.parametrize(
    ("name", "attrs", "inputs", "said"),
    [
        ("mse_loss", {}, (X, TensorType((6, 1))), "a target of the input's shape 6×4, and this is 6×1"),
        ("mse_loss", {}, (ROWS, ROWS), "floating-point"),
        ("l1_loss", {}, (X, X, TensorType((4,))), "a weight of the input's shape 6×4"),
        ("binary_cross_entropy", {}, (X, X, TensorType((2, 6, 4))), "does not broadcast to 6×4"),
        ("binary_cross_entropy", {}, (X, X.with_dtype("int64")), "floating-point"),
        ("binary_cross_entropy_with_logits", {"pos_weight": [1, 2]}, (X, X), "cannot broadcast"),
        (
            "binary_cross_entropy_with_logits",
            {"pos_weight": 2},
            (X, X, None, TensorType((4,))),
            "pos_weight as an attribute or as an input",
        ),
        ("kl_div", {}, (X, TensorType((6,))), "a target of the input's shape"),
        ("cross_entropy", {}, (X, X.with_dtype("int64")), "takes a target of 6, one class each, and this is 6×4"),
        ("cross_entropy", {}, (X, TensorType((6,))), "probabilities of the input's shape 6×4"),
        ("cross_entropy", {"ignore_index": 0}, (X, X), "no class to ignore"),
        ("cross_entropy", {}, (X, ROWS.with_dtype("bool")), "whole numbers as classes"),
        ("cross_entropy", {}, (X, ROWS, TensorType((6,))), "one weight for each of 4 classes"),
        ("cross_entropy", {}, (TensorType(()), TensorType((), "int64")), "a scalar"),
        ("nll_loss", {}, (X, X), "whole numbers as classes"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], inputs: tuple[Any, ...], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError, match=said):
        declared(**attrs).infer(Context(), *inputs)


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("mse_loss", {"reduction": "batchmean"}),
        ("cross_entropy", {"label_smoothing": 1.5}),
        ("cross_entropy", {"ignore_index": 1.0}),
        ("kl_div", {"reduction": "median"}),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any]) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(**attrs)


ALL = (*ops.FAMILIES["loss"], *ops.FAMILIES["class_loss"])
reductions = st.sampled_from(["none", "mean", "sum"])
dtypes = st.sampled_from(["float16", "float32", "float64"])


@settings(deadline=None, max_examples=200)
@given(
    name=st.sampled_from(ops.FAMILIES["loss"]),
    shape=st.lists(st.integers(1, 4), max_size=3),
    reduction=reductions,
    weighted=st.booleans(),
    option=st.booleans(),
    dtype=dtypes,
    other=dtypes,
)
def test_predictions_hold_for_numbers(
    name: str, shape: list[int], reduction: str, weighted: bool, option: bool, dtype: str, other: str
) -> None:
    attrs: dict[str, Any] = {"reduction": reduction}
    x, target, weight = np.random.default_rng(0).random((3, *shape)).astype(dtype)
    arrays = [x, np.asarray(target).astype(other), np.asarray(weight)]
    if name == "kl_div":
        attrs["log_target"] = option
    elif name == "binary_cross_entropy_with_logits" and option:
        attrs["pos_weight"] = 3
    execute(name, attrs, *map(np.asarray, arrays[: 3 if weighted and name != "kl_div" else 2]))


@settings(deadline=None, max_examples=200)
@given(
    name=st.sampled_from(ops.FAMILIES["class_loss"]),
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    reduction=reductions,
    weighted=st.booleans(),
    smoothing=st.sampled_from([0, 0.1]),
    by_probability=st.booleans(),
    dtype=dtypes,
)
def test_predictions_hold_for_classes(
    name: str, shape: list[int], reduction: str, weighted: bool, smoothing: float, by_probability: bool, dtype: str
) -> None:
    attrs: dict[str, Any] = {"reduction": reduction}
    draw = np.random.default_rng(0)
    axis = min(1, len(shape) - 1)
    target = draw.integers(-1, shape[axis], shape[:axis] + shape[axis + 1 :])
    attrs["ignore_index"] = -1
    if name == "cross_entropy":
        attrs["label_smoothing"] = smoothing
        if by_probability:
            target = draw.random(shape).astype(dtype)
    weight = draw.random(shape[axis]).astype(dtype) if weighted else None
    execute(name, attrs, draw.normal(size=shape).astype(dtype), np.asarray(target), weight)


@pytest.mark.parametrize("name", ALL)
def test_symbolic_sizes_agree_with_integers(name: str) -> None:
    op, ctx = ops.find(name)(), Context()  # type: ignore[misc]
    n, c = symbol("n"), symbol("c")

    def terms(*shape: Any) -> Any:
        x = TensorType(shape)
        target = TensorType(shape[:1], "int64") if name in ops.FAMILIES["class_loss"] else x
        outputs = infer(op, (x, target), ctx)
        assert outputs == (TensorType(()),)
        return op.cost(ctx, (x, target), outputs)

    pairs = zip(terms(n, c), terms(6, 4), strict=True)
    assert all(value_at(one.count, {"n": 6, "c": 4}) == other.count for one, other in pairs)


@pytest.mark.parametrize("place", ["input", "target"])
@pytest.mark.parametrize("wrong", [-0.1, 1.1])
def test_cross_entropy_rejects_invalid_probabilities(place: str, wrong: float) -> None:
    """PyTorch raises an error too, at run time."""
    arrays = {"input": np.full((2, 3), 0.5, np.float32), "target": np.full((2, 3), 0.5, np.float32)}
    arrays[place][1, 2] = wrong
    with pytest.raises(RuleError, match=f"the {place} holds numbers outside 0 … 1"):
        execute("binary_cross_entropy", {}, arrays["input"], arrays["target"])
