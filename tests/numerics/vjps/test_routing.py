"""Products of routers and experts against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import BackwardPass, away, central_differences


@settings(max_examples=30, deadline=None)
@given(
    k=st.integers(1, 3),
    scoring=st.sampled_from(["softmax", "sigmoid"]),
    order=st.sampled_from(["score_first", "select_first"]),
    normalize=st.booleans(),
    eps=st.sampled_from([0.0, 0.1]),
    scale=st.sampled_from([1.0, 2.5]),
    groups=st.sampled_from([{}, {"groups": 2, "group_score": "top2_sum"}, {"groups": 4, "top_groups": 2}]),
    correction=st.booleans(),
)
def test_router(
    k: int,
    scoring: str,
    order: str,
    normalize: bool,
    eps: float,
    scale: float,
    groups: dict[str, Any],
    correction: bool,
) -> None:
    attrs: dict[str, Any] = {"k": k, "scoring": scoring, "order": order, "normalize": normalize, "eps": eps}
    weights = {"e_score_correction_bias": normal(8, seed=5)} if correction else {}
    attrs |= {"scale": scale, "correction_bias": correction, **groups}
    central_differences("top_k_router", attrs, [away(2, 3, 8)], weights)


@settings(max_examples=40, deadline=None)
@given(
    gating=st.one_of(
        st.just({"gated": False}),
        st.fixed_dictionaries(
            {
                "interleaved": st.booleans(),
                "limit": st.sampled_from([None, 0.6]),
                "up_shift": st.sampled_from([0.0, 1.0]),
            }
        ),
    ),
    activation=st.sampled_from(["silu", "relu", "tanh", {"gelu": {"approximate": "tanh"}}]),
    bias=st.booleans(),
    weights_on=st.sampled_from(["input", "output"]),
    capacity=st.sampled_from([{}, {"capacity": 1}, {"capacity": 2}, {"capacity_factor": 1.0}]),
    k=st.integers(1, 2),
    lead=st.sampled_from([(3,), (2, 3), (2, 1, 2)]),
)
def test_experts(
    gating: dict[str, Any],
    activation: Any,
    bias: bool,
    weights_on: str,
    capacity: dict[str, Any],
    k: int,
    lead: tuple[int, ...],
) -> None:
    attrs = {"experts": 3, "hidden": 2, "activation": activation, "bias": bias, "weights_on": weights_on}
    chosen = np.argsort(normal(*lead, 3, seed=2), axis=-1)[..., :k]
    central_differences(
        "experts", {**attrs, **gating, **capacity}, [normal(*lead, 4), normal(*lead, k, seed=1), chosen]
    )


def test_a_dropped_pair_has_no_gradient() -> None:
    """With one slot the second token of expert 0 is dropped, and so are the gradients of its weight and of itself."""
    arrays = [normal(2, 4), np.ones((2, 1)), np.zeros((2, 1), np.int64)]
    weights = {"up_proj": normal(2, 3, 4), "down_proj": normal(2, 4, 3, seed=1)}
    op = operation("experts", experts=2, hidden=3, gated=False, activation="tanh", capacity=1)
    found = BackwardPass(op, arrays, weights).product((normal(2, 4, seed=3),))
    assert found[0][0].all() and not found[0][1].any()
    assert found[1][0].all() and not found[1][1].any()
    assert found["up_proj"][0].any() and not found["up_proj"][1].any()


@pytest.mark.parametrize("side", ["below", "above", "at"])
def test_limits_of_gate_and_up(side: str) -> None:
    """torch.clamp passes the gradient on at the limit itself."""
    value = {"below": 0.5, "above": 1.5, "at": 1.0}[side]
    op = operation("experts", experts=1, hidden=1, activation="identity", limit=1.0)
    weights = {"gate_up_proj": np.array([[[value], [value]]]), "down_proj": np.ones((1, 1, 1))}
    arrays = [np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1), np.int64)]
    found = BackwardPass(op, arrays, weights).product((np.ones((1, 1)),))
    expected = 0.0 if side == "above" else value
    np.testing.assert_allclose(found["gate_up_proj"].ravel(), [expected, expected])
