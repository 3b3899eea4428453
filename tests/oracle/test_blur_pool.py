"""Anti-aliased subsampling against its definition in torch: padding, then a depthwise convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")


@draws
@given(
    filt_size=st.integers(2, 6),
    stride=st.integers(1, 3),
    mode=st.sampled_from(["reflect", "replicate", "circular", "constant"]),
    shared=st.booleans(),
    sizes=st.lists(st.integers(1, 9), min_size=2, max_size=2),
)
def test_blur_pool(filt_size: int, stride: int, mode: str, shared: bool, sizes: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, *sizes)).astype(np.float32)
    attrs = {"filt_size": filt_size, "stride": stride, "pad_mode": mode, "channels": None if shared else 3}

    def reference(weights: dict[str, Any], x: Any) -> Any:
        side = ((stride - 1) + (filt_size - 1)) // 2  # timm.layers.padding.get_padding
        padded = torch.nn.functional.pad(x, [side] * 4, mode=mode)
        weight = weights["filt"].expand(3, 1, filt_size, filt_size)
        return torch.nn.functional.conv2d(padded, weight, stride=stride, groups=3)

    agree("blur_pool2d", attrs, [x], reference)
