"""Operations that create tensors, and triangular masks, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.ops.harness import execute
from tests.oracle.harness import agree, draws
from tests.oracle.test_shape import filled

torch = pytest.importorskip("torch")
bias = pytest.importorskip("torch.nn.attention.bias")

NUMBERS = {"int64": st.integers(-5, 5), "float64": st.integers(-5, 5) | st.floats(-3, 3)}


@draws
@given(kind=st.sampled_from(["int64", "float64"]), single=st.booleans(), data=st.data())
def test_arange(kind: str, single: bool, data: st.DataObject) -> None:
    start, stop, step = (data.draw(NUMBERS[kind]) for _ in range(3))
    assume(start != stop)  # torch gives an empty tensor
    assume(abs(step) > 0.01 or step == 0)
    dtype = {"int64": "int32", "float64": "float32"}[kind] if single else kind
    attrs = {"start": start, "stop": stop, "step": step, "dtype": dtype}
    agree("arange", attrs, [], lambda w: torch.arange(start, stop, step, dtype=getattr(torch, dtype)))


@draws
@given(
    name=st.sampled_from(["tril", "triu"]),
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    given=st.just({}) | st.fixed_dictionaries({"diagonal": st.integers(-4, 4)}),
)
def test_triangles(name: str, shape: list[int], given: dict[str, int]) -> None:
    agree(name, given, [filled(shape)], lambda w, x: getattr(torch, name)(x, **given))


@pytest.mark.filterwarnings("ignore:Lower right causal bias:UserWarning")  # of queries before the first key
@draws
@given(queries=st.integers(1, 6), keys=st.integers(1, 6), alignment=st.sampled_from(["upper_left", "lower_right"]))
def test_causal_mask(queries: int, keys: int, alignment: str) -> None:
    function = getattr(bias, f"causal_{alignment}")
    attrs = {"queries": queries, "keys": keys, "alignment": alignment}
    agree("causal_mask", attrs, [], lambda w: function(queries, keys)._materialize())


@draws
@given(length=st.integers(1, 6), dtype=st.sampled_from(["float32", "float64", "float16"]))
def test_causal_mask_that_is_added(length: int, dtype: str) -> None:
    (mask,) = execute("causal_mask", {"queries": length, "dtype": dtype}).outputs
    expected = torch.nn.Transformer.generate_square_subsequent_mask(length, dtype=getattr(torch, dtype))
    np.testing.assert_array_equal(mask, expected.numpy())


@draws
@given(length=st.integers(1, 6), window=st.integers(0, 4), alignment=st.sampled_from(["upper_left", "lower_right"]))
def test_windows_are_those_of_attention(length: int, window: int, alignment: str) -> None:
    """Attention with the mask as input equals attention with the equivalent attributes."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, size, 4)).astype(np.float32) for size in (length, 6, 6))
    described = {"causal": True, "window": [window, 0], "alignment": alignment}
    attrs = {"queries": length, "keys": 6, "window": window, "alignment": alignment}
    (mask,) = execute("causal_mask", attrs).outputs
    (expected,) = execute("scaled_dot_product_attention", described, q, k, v).outputs
    (actual,) = execute("scaled_dot_product_attention", {}, q, k, v, mask).outputs
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@draws
@given(
    value=st.booleans()
    | st.integers(-3, 3)
    | st.floats(-3, 3)
    | st.lists(st.lists(st.integers(-3, 3) | st.floats(-3, 3), min_size=2, max_size=2), min_size=1, max_size=3)
    | st.lists(st.booleans(), min_size=1, max_size=3)
)
def test_constant(value: Any) -> None:
    agree("constant", {"value": value}, [], lambda w: torch.tensor(value))
