"""Dropout and stochastic depth: identity in inference, unbiased in training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol, value_at
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute

ONES = np.ones((64, 32, 4, 4), np.float32)


@pytest.mark.parametrize("name", ["dropout", "stochastic_depth"])
def test_inference_is_the_identity_and_costs_nothing(name: str) -> None:
    op = ops.find(name)(p=0.9)  # type: ignore[misc]
    x = TensorType((2, 3))
    assert op.cost(Context(), (x,), (x,)) == ()
    assert execute(name, {"p": 0.9}, ONES).outputs[0] is ONES


@pytest.mark.parametrize("p", [0.25, 0.5])
@pytest.mark.parametrize(
    ("name", "attrs", "drawn"),
    [
        ("dropout", {}, ONES.shape),
        ("dropout", {"channelwise": True}, (64, 32, 1, 1)),
        ("stochastic_depth", {"mode": "row"}, (64, 1, 1, 1)),
        ("stochastic_depth", {"mode": "batch"}, (1, 1, 1, 1)),
    ],
)
def test_training_drops_whole_groups_and_keeps_the_mean(
    name: str, attrs: dict[str, Any], drawn: tuple[int, ...], p: float
) -> None:
    (y,) = execute(name, {"p": p, **attrs}, ONES, training=True).outputs
    groups = y[tuple(slice(size) for size in drawn)]
    np.testing.assert_array_equal(y, np.broadcast_to(groups, y.shape))
    assert set(np.unique(y)) <= {np.float32(0), np.float32(1 / (1 - p))}
    # five standard deviations of the mean of the draws
    assert abs(y.mean() - 1) <= 5 * (p / (1 - p) / groups.size) ** 0.5


def test_draws_follow_the_seed() -> None:
    one, same, other = (execute("dropout", {}, ONES, training=True, seed=seed).outputs[0] for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", ["dropout", "stochastic_depth"])
@pytest.mark.parametrize("p", [-0.1, 1.1, True, None])
def test_p_is_a_probability(name: str, p: Any) -> None:
    with pytest.raises(ValidationError):
        ops.find(name)(p=p)  # type: ignore[misc]


def test_invalid_inputs() -> None:
    dropout, depth = ops.find("dropout"), ops.find("stochastic_depth")
    assert dropout is not None and depth is not None
    with pytest.raises(RuleError, match="at least 2 dimensions"):
        dropout(channelwise=True).infer(Context(), TensorType((3,)))
    with pytest.raises(RuleError, match="floating-point"):
        dropout().infer(Context(), TensorType((3,), "int64"))
    with pytest.raises(RuleError, match="at least 1 dimension"):
        depth().infer(Context(), TensorType(()))


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=2, max_size=4),
    p=st.floats(0, 1),
    channelwise=st.booleans(),
    mode=st.sampled_from(["row", "batch"]),
    training=st.booleans(),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
)
def test_predictions_hold(shape: list[int], p: float, channelwise: bool, mode: str, training: bool, dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    execute("dropout", {"p": p, "channelwise": channelwise}, x, training=training)
    execute("stochastic_depth", {"p": p, "mode": mode}, x, training=training)


@pytest.mark.parametrize("name", ["dropout", "stochastic_depth"])
def test_symbolic_sizes_agree_with_integers(name: str) -> None:
    op, ctx = ops.find(name)(), Context(training=True)  # type: ignore[misc]
    symbolic, fixed = TensorType((symbol("n"), 3, symbol("h"))), TensorType((5, 3, 7))
    terms = zip(op.cost(ctx, (symbolic,), (symbolic,)), op.cost(ctx, (fixed,), (fixed,)), strict=True)
    assert all(value_at(one.count, {"n": 5, "h": 7}) == other.count for one, other in terms)
