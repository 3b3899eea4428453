"""Key-value cache: stepwise generation against attention over the whole sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute
from tests.ops.prediction import predict

ATTENTION = "scaled_dot_product_attention"


@settings(deadline=None)
@given(steps=st.lists(st.integers(1, 4), min_size=1, max_size=5), window=st.none() | st.integers(1, 6))
def test_generation_in_steps_equals_attention_at_once(steps: list[int], window: int | None) -> None:
    rng = np.random.default_rng(0)
    query, key, value = (rng.normal(size=(1, 2, sum(steps), d)).astype(np.float32) for d in (4, 4, 3))
    seen = {"causal": True, "window": None if window is None else [window - 1, 0]}
    (whole,) = execute(ATTENTION, seen, query, key, value).outputs
    past: tuple[Any, ...] = ()
    parts = []
    for part in np.split(np.arange(sum(steps)), np.cumsum(steps)[:-1]):
        past = execute("key_value_cache", {"window": window}, key[..., part, :], value[..., part, :], *past).outputs
        (output,) = execute(ATTENTION, {**seen, "alignment": "lower_right"}, query[..., part, :], *past).outputs
        parts.append(output)
    np.testing.assert_allclose(np.concatenate(parts, axis=-2), whole, atol=1e-6)
    if window is not None and steps[-1] == 1:
        assert past[0].shape[-2] <= window


def test_lengths_may_be_symbolic() -> None:
    new, past = (1, 8, 1, 64), (1, 8, symbol("past", default=500), 64)
    assert str(predict("key_value_cache", {}, new, new, past, past).shapes[0][2]) == "past + 1"
    kept = predict("key_value_cache", {"window": 4096}, new, new, past, past)
    assert [kept.at(past=n).shapes[1][2] for n in (100, 4095, 9000)] == [101, 4096, 4096]


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((4,), (4,)), "takes"),
        (((2, 5, 4), (2, 6, 4)), "before their last axis"),
        (((2, 5, 4), (2, 5, 4), (2, 3, 4)), "must both be present or both absent"),
        (((2, 5, 4), (2, 5, 4), (3, 3, 4), (2, 3, 4)), "past_key 3×3×4 and key"),
        (((2, 5, 4), (2, 5, 4), (2, 3, 4), (2, 3, 6)), "past_value 2×3×6 and value"),
        (((2, 5, 4), (2, 5, 4), (2, 3, 4), (2, 2, 4)), "differ in length"),
    ],
)
def test_invalid_inputs(shapes: tuple[Any, ...], said: str) -> None:
    declared = ops.find("key_value_cache")
    assert declared is not None
    with pytest.raises(RuleError, match=said):
        declared().infer(Context(), *map(TensorType, shapes))


def test_types_must_agree() -> None:
    declared = ops.find("key_value_cache")
    assert declared is not None
    new, past = TensorType((2, 5, 4)), TensorType((2, 5, 4), "float16")
    with pytest.raises(RuleError, match="past_key is float16"):
        declared().infer(Context(), new, new, past, past)
