"""Scans in chunks with random inputs against transformers' eager fallbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws, kept_in_double

torch = pytest.importorskip("torch")
qwen3_next = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next", exc_type=ImportError)
mamba2 = pytest.importorskip("transformers.models.mamba2.modeling_mamba2", exc_type=ImportError)


@draws
@given(st.data())
def test_ssd_scan(data: st.DataObject) -> None:
    draw = data.draw
    batch, groups, each, size, state = (draw(st.integers(1, 4)) for _ in range(5))
    length, chunk, heads = draw(st.integers(1, 9)), draw(st.integers(1, 5)), groups * each
    softplus, limits = draw(st.booleans()), draw(st.sampled_from([(0.0, None), (0.1, 0.6)]))
    shapes: list[Any] = [
        (batch, length, heads, size),
        (batch, length, heads),
        (heads,),
        (batch, length, groups, state),
        (batch, length, groups, state),
        draw(st.sampled_from([None, (heads,)])),
        draw(st.sampled_from([None, (heads,)])),
        draw(st.sampled_from([None, (batch, heads, size, state)])),
    ]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [None if shape is None else rng.normal(size=shape).astype(np.float32) for shape in shapes]

    def reference(weights: Any, u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, bias: Any, start: Any) -> Any:
        options = {"D": d, "dt_bias": bias, "initial_states": start, "dt_softplus": softplus}
        options |= {"dt_limit": (limits[0], float("inf") if limits[1] is None else limits[1])}
        with kept_in_double():
            return mamba2.mamba2_chunk_scan(u, delta, a, b, c, chunk, return_final_states=True, **options)

    attrs = {"chunk": chunk, "delta_softplus": softplus, "delta_min": limits[0], "delta_max": limits[1]}
    agree("ssd_scan", attrs, arrays, reference)


@draws
@given(st.data())
def test_gated_delta_rule(data: st.DataObject) -> None:
    draw = data.draw
    batch, key_heads, each, features, size = (draw(st.integers(1, 4)) for _ in range(5))
    length, chunk, heads, normalize = (
        draw(st.integers(1, 9)),
        draw(st.integers(1, 5)),
        key_heads * each,
        draw(st.booleans()),
    )
    shapes: list[Any] = [
        (batch, length, key_heads, features),
        (batch, length, key_heads, features),
        (batch, length, heads, size),
        (batch, length, heads),
        (batch, length, heads),
        draw(st.sampled_from([None, (batch, heads, features, size)])),
    ]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [None if shape is None else rng.normal(size=shape).astype(np.float32) for shape in shapes]
    arrays[1] = arrays[1] / 4  # without a norm, long keys make the state grow
    arrays[3] = -np.abs(arrays[3])

    def reference(weights: Any, q: Any, k: Any, v: Any, decay: Any, beta: Any, start: Any) -> Any:
        options = {"initial_state": start, "output_final_state": True, "use_qk_l2norm_in_kernel": normalize}
        with kept_in_double():
            return qwen3_next.torch_chunk_gated_delta_rule(q, k, v, decay, beta, chunk, **options)

    agree("gated_delta_rule", {"chunk": chunk, "normalize": normalize}, arrays, reference)
