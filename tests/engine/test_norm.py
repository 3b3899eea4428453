"""Planned normalization by the statistics of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from netcalc import loads
from netcalc.engine.tuning import Tuning
from tests.engine.agreement import DTYPES, THREADS, agree, drawn, layouts
from tests.engine.tunings import TUNINGS

SIZES = st.lists(st.sampled_from([1, 2, 3, 5, 8, 17]), min_size=1, max_size=4)


@drawn
@given(st.data(), SIZES, DTYPES, THREADS, TUNINGS)
def test_trailing_axes(data: st.DataObject, shape: list[int], dtype: str, threads: int, tuning: Tuning) -> None:
    name = data.draw(st.sampled_from(["layer_norm", "rms_norm"]))
    attributes: dict[str, Any] = {
        "axes": data.draw(st.integers(1, len(shape))),
        "affine": data.draw(st.booleans()),
        "eps": data.draw(st.sampled_from([1e-5, 0.1])),
    }
    if name == "layer_norm":
        attributes["bias"] = data.draw(st.booleans())
    else:
        attributes["offset"] = data.draw(st.sampled_from([0.0, 1.0]))
    agree({name: attributes}, data.draw(layouts(shape)), dtype=dtype, threads=threads, tuning=tuning)


@drawn
@given(st.data(), DTYPES, THREADS, TUNINGS)
def test_channels(data: st.DataObject, dtype: str, threads: int, tuning: Tuning) -> None:
    groups, share = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 5, 11]), min_size=1, max_size=3))
    shape = [data.draw(st.integers(1, 3)), groups * share, *sizes]
    affine, eps = data.draw(st.booleans()), data.draw(st.sampled_from([1e-5, 0.1]))
    line: Any = {"group_norm": {"groups": groups, "affine": affine, "bias": data.draw(st.booleans()), "eps": eps}}
    if np.prod(sizes) > 1 and data.draw(st.booleans()):
        line = {"instance_norm": {"affine": affine, "eps": eps}}
    elif share * np.prod(sizes) == 1:
        shape[-1] = 2
    agree(line, data.draw(layouts(shape)), dtype=dtype, threads=threads, tuning=tuning)


def test_variances_are_exact_for_a_large_mean() -> None:
    """Variances are computed from centered values, not as differences of squares."""
    rng = np.random.default_rng(0)
    x = (1000 + rng.normal(size=(300, 64))).astype(np.float32)
    exact = x.astype(np.float64)
    exact = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)
    session = loads("netcalc: 1\ninputs: {x: [300, 64]}\nlayers: [{layer_norm: {}}]").compile(threads=1)
    np.testing.assert_allclose(session(x=x)["output"], exact, atol=5e-4)
