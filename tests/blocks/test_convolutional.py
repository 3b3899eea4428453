"""Small convolutional networks with recorded weights against recorded outputs of torchvision and timm."""

from __future__ import annotations

from typing import Any

import pytest

from tests.blocks.harness import check_case

IMAGE = {"height": 64, "width": 64, "classes": 10}

CASES: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    (
        "resnext_mini_64",
        "bottlenecks",
        IMAGE | {"batch": 2, "classes": 12, "depths": [1, 1, 2, 1], "planes": [8, 16, 24, 32], "groups": 2},
        {"layer1": "layer1.0"},
    ),
    (
        "densenet_tiny_64",
        "densenet",
        IMAGE | {"batch": 2, "growth_rate": 8, "layers": [2, 3, 2], "init_features": 16},
        {"features": "features.norm5"},
    ),
    ("inception_mini_48", "inceptions", {}, {"stem": "stem.2"}),
    (
        "mobilenet_v3_mini_64",
        "mobilenet_v3",
        IMAGE
        | {
            "last_channel": 64,
            "rows": [
                [3, 16, 16, True, "relu", 2],
                [3, 40, 24, False, "hardswish", 2],
                [5, 64, 24, True, "hardswish", 1],
            ],
        },
        {},
    ),
    (
        "shufflenet_v2_x0_5_64",
        "shufflenet_v2",
        IMAGE | {"channels": [24, 48, 96, 192, 1024]},
        {"stage2": "stage2.3", "conv5": "conv5.2"},
    ),
    (
        "convnext_tiny2_64",
        "convnext",
        IMAGE | {"channels": [16, 32, 48], "depths": [2, 2, 1]},
        {"features.0": "features.0.1", "features.1": "features.1.1", "features.2": "features.2.1"},
    ),
]


@pytest.mark.parametrize(("case", "spec", "settings", "activations"), CASES, ids=[case[0] for case in CASES])
def test_a_forward_pass_equals_torch(
    case: str, spec: str, settings: dict[str, Any], activations: dict[str, str]
) -> None:
    check_case(case, spec, settings, activations=activations)
