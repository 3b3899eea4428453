"""Selective scan with random inputs against the sequential form of transformers' Mamba."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws, kept_in_double

torch = pytest.importorskip("torch")
rwkv = pytest.importorskip("transformers.models.rwkv.modeling_rwkv", exc_type=ImportError)
mamba = pytest.importorskip("transformers.models.mamba.modeling_mamba", exc_type=ImportError)
if not hasattr(mamba, "mamba_selective_scan"):
    pytest.skip("this version of transformers has no function for the scan alone", allow_module_level=True)


@draws
@given(st.data())
def test_selective_scan(data: st.DataObject) -> None:
    draw = data.draw
    batch, channels, length, state = (draw(st.integers(1, 6)) for _ in range(4))
    softplus = draw(st.booleans())
    shapes: list[Any] = [
        (batch, channels, length),
        (batch, channels, length),
        (channels, state),
        (batch, length, state),
        (batch, length, state),
        draw(st.sampled_from([None, (channels,)])),
        draw(st.sampled_from([None, (batch, channels, length)])),
        draw(st.sampled_from([None, (channels,)])),
    ]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [None if shape is None else rng.normal(size=shape).astype(np.float32) for shape in shapes]

    def reference(weights: Any, u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, z: Any, bias: Any) -> Any:
        b, c = b.transpose(1, 2), c.transpose(1, 2)
        options = {"z": z, "delta_bias": bias, "delta_softplus": softplus, "return_last_state": True}
        with kept_in_double():
            return mamba.mamba_selective_scan(u, delta, a, b, c, d, **options)

    agree("selective_scan", {"delta_softplus": softplus}, arrays, reference)


@draws
@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 6), st.integers(0, 99), st.booleans())
def test_wkv(batch: int, length: int, channels: int, seed: int, earlier: bool) -> None:
    rng = np.random.default_rng(seed)
    shapes: list[Any] = [(batch, length, channels)] * 2 + [(channels,)] * 2 + [(batch, channels)] * 3 * earlier
    arrays: list[Any] = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    arrays[2] = -np.exp(arrays[2])
    if earlier:
        arrays[5] = np.exp(arrays[5])

    def reference(weights: Any, key: Any, value: Any, decay: Any, bonus: Any, *sums: Any) -> Any:
        with kept_in_double():
            state = [x.clone() for x in sums] or None  # it is changed in place
            y, state = rwkv.rwkv_linear_attention_cpu(torch.log(-decay), bonus, key, value, state, return_state=True)
            return y, *state

    agree("wkv", {"return_state": True}, arrays, reference)
