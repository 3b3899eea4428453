"""Product of pooling of regions against central differences; boxes have no gradient."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.ops.roi_align import RoIAlign
from tests.ops.backward import BackwardPass, away, central_differences


@settings(max_examples=20, deadline=None)
@given(st.booleans(), st.booleans(), st.integers(1, 3), st.integers(0, 100))
def test_roi_align(numbered: bool, aligned: bool, sampling: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    boxes = rng.uniform(-3, 9, (2, 3, 4))
    if numbered:
        boxes = np.concatenate([rng.integers(0, 2, (6, 1)), boxes.reshape(6, 4)], axis=1)
    attrs = {"output_size": [2, 3], "sampling_ratio": sampling, "aligned": aligned, "spatial_scale": 0.7}
    central_differences("roi_align", attrs, [away(2, 2, 4, 5), boxes], constants=[1])


def test_boxes_have_no_gradient() -> None:
    boxes = np.array([[[0.5, 0.25, 3.5, 2.25]]])
    passed = BackwardPass(RoIAlign(output_size=2, sampling_ratio=2), [away(1, 2, 4, 4), boxes], {})
    assert not passed.product(passed.seeds())[1].any()
