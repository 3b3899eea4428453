"""Attention against torch, and variants of single models against transformers."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netcalc import ops
from tests.arrays import normal
from tests.ops.harness import execute
from tests.oracle.harness import agree, agree_on_gradients, draws

torch = pytest.importorskip("torch")
F = torch.nn.functional

NAME = "scaled_dot_product_attention"
flags = st.booleans()
lengths = st.integers(1, 7)


@st.composite
def leading(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Draw the leading axes of query, key and value, which broadcast in most cases."""
    common = draw(st.lists(st.integers(1, 3), max_size=3))
    odd = draw(st.integers(0, 9)) == 0
    shapes = []
    for _ in range(3):
        own = [draw(st.integers(1, 3)) if odd else draw(st.sampled_from([n, 1])) for n in common]
        shapes.append(tuple(own[draw(st.integers(0, len(own))) :] if draw(flags) else own))
    return shapes


@draws
@given(
    before=leading(),
    queries=lengths,
    keys=lengths,
    dims=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    mismatch=st.integers(0, 9).map(lambda n: n == 0),
    causal=flags,
    scale=st.sampled_from([None, 0, 0.3, 1, -0.5]),
)
def test_broadcast_causal_scale(
    before: list[tuple[int, ...]],
    queries: int,
    keys: int,
    dims: tuple[int, int],
    mismatch: bool,
    causal: bool,
    scale: float | None,
) -> None:
    assume(not (causal and scale == 0))  # torch multiplies the hidden scores' −∞ by it, which is NaN
    head, value = dims
    arrays = [
        normal(*before[0], queries, head),
        normal(*before[1], keys, head + mismatch, seed=1),
        normal(*before[2], keys, value, seed=2),
    ]
    agree(
        NAME,
        {"causal": causal, "scale": scale},
        arrays,
        lambda w, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale),
    )


@draws
@given(
    before=st.lists(st.integers(1, 3), max_size=2),
    queries=lengths,
    keys=lengths,
    mask_shape=st.lists(st.booleans(), min_size=2, max_size=4),
    dtype=st.sampled_from([bool, np.float32, np.float32, np.float64, np.float16, np.int64]),
    blank=flags,
)
def test_masks(before: list[int], queries: int, keys: int, mask_shape: list[bool], dtype: Any, blank: bool) -> None:
    full = [2, *before, queries, keys]
    shape = [n if kept else 1 for n, kept in zip(full[-len(mask_shape) :], mask_shape, strict=False)]
    values = normal(*shape, seed=3)
    mask = values > 0 if dtype is bool else values.astype(dtype)
    if blank:  # some rows are fully masked
        mask[..., :1, :] = False if dtype is bool else -np.inf if mask.dtype.kind == "f" else 0
    arrays = [normal(*before, n, 4, seed=n) for n in (queries, keys, keys)]
    agree(
        NAME,
        {},
        [*arrays, mask],
        lambda w, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
    )


@draws
@given(
    heads=st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 3)),
    equal=flags,
    batch=st.lists(st.integers(1, 2), max_size=1),
    causal=flags,
    flat=st.integers(0, 9).map(lambda n: n == 0),
)
def test_grouped_heads(heads: tuple[int, int, int], equal: bool, batch: list[int], causal: bool, flat: bool) -> None:
    counts = (heads[0], heads[1], heads[1] if equal else heads[2])
    arrays = [normal(*([] if flat else [*batch, n]), 5, 4, seed=n) for n in counts]
    agree(
        NAME,
        {"enable_gqa": True, "causal": causal},
        list(arrays),
        lambda w, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True),
    )


@draws
@given(queries=lengths, keys=lengths, lower_right=flags)
def test_alignment(queries: int, keys: int, lower_right: bool) -> None:
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    variant = causal_lower_right if lower_right else causal_upper_left

    def reference(w: Any, q: Any, k: Any, v: Any) -> Any:
        with warnings.catch_warnings():  # that queries before the first key have no key
            warnings.simplefilter("ignore")
            mask = variant(queries, keys)._materialize(torch.device("cpu"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    arrays = [normal(1, 2, n, 4, seed=n) for n in (queries, keys, keys)]
    agree(NAME, {"causal": True, "alignment": "lower_right" if lower_right else "upper_left"}, list(arrays), reference)


@draws
@given(batch=st.integers(1, 3), queries=lengths, keys=lengths, additive=flags, hidden=st.integers(0, 2**21 - 1))
def test_multi_head_attention(batch: int, queries: int, keys: int, additive: bool, hidden: int) -> None:
    """torch.nn.MultiheadAttention with identity projections is attention with its masks."""
    padding = np.array([(hidden >> n) & 1 for n in range(batch * keys)], bool).reshape(batch, keys)
    padding[:, 0] = False
    forbidden = normal(queries, keys, seed=9) > 1
    forbidden[:, 0] = False
    mask = np.where(forbidden, -np.inf, normal(queries, keys)).astype(np.float32) if additive else ~forbidden
    arrays = [normal(batch, n, 6, seed=n) for n in (queries, keys, keys)]
    ignored = np.where(padding, -np.inf, 0).astype(np.float32) if additive else padding
    attention = torch.nn.MultiheadAttention(6, 2, bias=False, batch_first=True)
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.eye(6).repeat(3, 1))
        attention.out_proj.weight.copy_(torch.eye(6))
        expected, shares = attention(
            *map(torch.from_numpy, arrays),
            key_padding_mask=torch.from_numpy(ignored),
            attn_mask=torch.from_numpy(mask if additive else ~mask),
            average_attn_weights=False,
        )
    heads = [x.reshape(batch, -1, 2, 3).swapaxes(1, 2) for x in arrays]
    actual, weights = execute(NAME, {"return_weights": True}, *heads, mask, padding).outputs
    np.testing.assert_allclose(actual.swapaxes(1, 2).reshape(batch, queries, 6), expected.numpy(), atol=1e-5)
    np.testing.assert_allclose(weights, shares.numpy(), atol=1e-5)


def transformers_attention(family: str) -> Any:
    module = pytest.importorskip(f"transformers.models.{family}.modeling_{family}")
    return module.eager_attention_forward


@draws
@given(queries=lengths, groups=st.integers(1, 3), masked=flags)
def test_sinks_of_gpt_oss(queries: int, groups: int, masked: bool) -> None:
    forward = transformers_attention("gpt_oss")
    q, k, v = normal(2, 2 * groups, queries, 4), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 4, seed=2)
    sinks = normal(2 * groups, seed=3)
    mask = normal(queries, 5, seed=4) if masked else None
    layer = SimpleNamespace(sinks=torch.from_numpy(sinks), num_key_value_groups=groups, training=False)
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    expected, shares = forward(layer, *tensors, None if mask is None else torch.from_numpy(mask), 0.3)
    actual, weights = execute(
        NAME, {"scale": 0.3, "enable_gqa": True, "return_weights": True}, q, k, v, mask, None, sinks
    ).outputs
    np.testing.assert_allclose(actual, expected.transpose(1, 2).numpy(), atol=1e-5)
    np.testing.assert_allclose(weights, shares.numpy(), atol=1e-6)

    def reference(w: Any, q: Any, k: Any, v: Any, mask: Any, padding: Any, sinks: Any) -> Any:
        layer.sinks = sinks
        output, shares = forward(layer, q, k, v, mask, 0.3)
        return output.transpose(1, 2), shares

    declared = ops.find(NAME)
    assert declared is not None
    op = declared(scale=0.3, enable_gqa=True, return_weights=True)
    agree_on_gradients(op, [q, k, v, mask, None, sinks], {}, reference)


@draws
@given(queries=lengths, softcap=st.floats(0.1, 50), masked=flags)
def test_softcap_of_gemma2(queries: int, softcap: float, masked: bool) -> None:
    forward = transformers_attention("gemma2")
    q, k, v = normal(2, 4, queries, 4), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 4, seed=2)
    mask = normal(queries, 5, seed=4) if masked else None
    layer = SimpleNamespace(head_dim=4, num_key_value_groups=2, training=False)
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    expected, _ = forward(layer, *tensors, None if mask is None else torch.from_numpy(mask), softcap=softcap)
    (actual,) = execute(NAME, {"softcap": softcap, "enable_gqa": True}, q, k, v, mask).outputs
    np.testing.assert_allclose(actual, expected.transpose(1, 2).numpy(), atol=1e-5)
    declared = ops.find(NAME)
    assert declared is not None

    def reference(w: Any, *tensors: Any) -> Any:
        return forward(layer, *tensors, softcap=softcap)[0].transpose(1, 2)

    agree_on_gradients(declared(softcap=softcap, enable_gqa=True), [q, k, v, mask], {}, reference)
