"""Product of attention against central differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import BackwardPass, central_differences

NAME = "scaled_dot_product_attention"
flags = st.booleans()

PATTERNS: list[dict[str, Any]] = [
    {},
    {"causal": True},
    {"causal": True, "alignment": "lower_right"},
    {"window": [1, 0]},
    {"window": 1, "global_tokens": 1},
    {"blocks": {"size": 2, "band": 1, "global_blocks": 1, "random": 0}},
]


@settings(max_examples=40, deadline=None)
@given(
    pattern=st.sampled_from(PATTERNS),
    sparse=flags,
    groups=st.integers(1, 2),
    shared=st.integers(1, 2),
    lengths=st.sampled_from([(4, 4), (4, 6), (6, 4)]),
    mask=st.sampled_from([None, "all", "keys", "one", "bool"]),
    padding=flags,
    sinks=flags,
    softcap=st.sampled_from([None, 0.7]),
    scale=st.sampled_from([None, 1, 0.4]),
    dropout=st.sampled_from([0.0, 0.4]),
    weights=flags,
)
def test_options(
    pattern: dict[str, Any],
    sparse: bool,
    groups: int,
    shared: int,
    lengths: tuple[int, int],
    mask: str | None,
    padding: bool,
    sinks: bool,
    softcap: float | None,
    scale: float | None,
    dropout: float,
    weights: bool,
) -> None:
    queries, keys = lengths
    heads = groups * shared
    attn_mask: Any = {
        "all": normal(2, heads, queries, keys, seed=4),
        "keys": normal(keys, seed=4),
        "one": normal(heads, 1, keys, seed=4),
        "bool": normal(queries, keys, seed=4) > -0.5,
    }.get(mask or "")
    hidden = np.zeros((2, keys), bool)
    hidden[1, 1:] = True
    attrs = {**pattern, "sparse": sparse, "enable_gqa": True, "softcap": softcap, "scale": scale}
    central_differences(
        NAME,
        {**attrs, "dropout": dropout, "return_weights": weights},
        [
            normal(2, heads, queries, 3),
            normal(2, groups, keys, 3, seed=1),
            normal(2, groups, keys, 2, seed=2),
            attn_mask,
            hidden if padding else None,
            normal(heads, seed=3) if sinks else None,
        ],
        training=True,
    )


@settings(max_examples=20, deadline=None)
@given(
    axes=st.sampled_from([((), (), ()), ((2,), (), (3, 2)), ((1, 2), (3, 1), (2,)), ((), (2,), (1, 2))]), sparse=flags
)
def test_leading_axes_broadcast(axes: tuple[tuple[int, ...], ...], sparse: bool) -> None:
    arrays = [normal(*axes[0], 3, 4), normal(*axes[1], 5, 4, seed=1), normal(*axes[2], 5, 2, seed=2)]
    central_differences(NAME, {"causal": True, "sparse": sparse, "return_weights": True}, arrays)


def test_a_query_without_keys_has_no_gradient() -> None:
    arrays = [normal(1, 3, 4), normal(1, 3, 4, seed=1), normal(1, 3, 4, seed=2), np.zeros((3, 3), bool)]
    arrays[3][1:] = True
    op = operation(NAME)
    found = BackwardPass(op, arrays, {}).product((normal(1, 3, 4, seed=5),))
    assert not found[0][0, 0].any() and found[0][0, 1:].all()


@pytest.mark.parametrize("sparse", [True, False])
def test_queries_before_the_first_key(sparse: bool) -> None:
    hidden = operation(NAME, window=[0, None], alignment="lower_right", causal=True, sparse=sparse, softcap=0.5)
    arrays = [normal(1, 2, 3), normal(1, 1, 3, seed=1), normal(1, 1, 2, seed=2)]
    passed = BackwardPass(hidden, arrays, {})
    passed.check()
    assert not passed.product((np.ones((1, 2, 2)),))[0][0, 0].any()


@pytest.mark.parametrize("sparse", [True, False])
def test_no_queries(sparse: bool) -> None:
    op = operation(NAME, causal=True, sparse=sparse, softcap=0.5, dropout=0.2)
    arrays = [normal(1, 2, 0, 3), normal(1, 2, 4, 3), normal(1, 2, 4, 2), normal(4), None, normal(2)]
    passed = BackwardPass(op, arrays, {}, training=True)
    found = passed.product(passed.seeds())
    assert not any(gradient.any() for gradient in found.values())


def test_saved_tensors() -> None:
    """Eager attention keeps queries, keys, values and the weights, and only those that the wanted gradients need."""
    arrays = [normal(1, 2, 3, 4), normal(1, 2, 5, 4), normal(1, 2, 5, 6)]
    passed = BackwardPass(operation(NAME), arrays, {})
    saved = {
        source: {s.name for s in passed.declared.saves(passed.op, replace(passed.call, wanted=frozenset([source])))}
        for source in range(3)
    }
    assert saved == {0: {"key", "value", "result"}, 1: {"query", "value", "result"}, 2: {"result"}}
