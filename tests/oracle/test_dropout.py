"""Dropout against torch at probabilities 0 and 1, where the result is not random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")


@draws
@given(
    shape=st.lists(st.integers(1, 4), min_size=3, max_size=4),
    p=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-1, 2)),
    channelwise=st.booleans(),
    training=st.booleans(),
)
def test_dropout(shape: list[int], p: float, channelwise: bool, training: bool) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    function = torch.nn.functional.dropout2d if channelwise and len(shape) == 4 else torch.nn.functional.dropout
    certain = training and not 0 < p < 1
    agree("dropout", {"p": p, "channelwise": channelwise}, [x], lambda w, x: function(x, p, certain), training=certain)
