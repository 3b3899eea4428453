"""Swin Transformers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.zoo.harness import check_case

TINY = {"batch": 2, "height": 32, "width": 32, "d_model": 24, "window": 4, "d_ff": 48, "classes": 10}
# windows that do not divide the image, and an odd size before patch merging
PADDED = {"height": 40, "width": 28, "d_model": 16, "window": 3, "d_ff": 48, "classes": 5}
V2 = {"height": 48, "width": 48, "d_model": 16, "window": 4, "d_ff": 32, "classes": 5}


@pytest.mark.parametrize(
    ("case", "spec", "settings"),
    [
        ("swin_tiny_custom_32", "swin_t", TINY),
        ("swin_pad_w3_40x28", "swin_t", PADDED),
        ("swinv2_w4_48", "swin_v2_t", V2),
    ],
)
def test_a_forward_pass_equals_torchvision(case: str, spec: str, settings: dict[str, Any]) -> None:
    check_case(
        case,
        spec,
        settings | {"depths": [2, 2], "heads": [2, 4]},
        inputs={"x": "image"},
        outputs={"": "logits"},
        activations={"features.0": "features.0.2", "features.3": "features.3.1"},
    )
