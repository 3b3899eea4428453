"""Small convolutional networks with recorded weights against recorded outputs of torchvision and timm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.zoo.harness import built, check_case, torch_total

SPECS = Path(__file__).parent.parent / "specs"
IMAGE = {"height": 64, "width": 64, "classes": 10}

CASES: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    (
        "resnext_mini_64",
        "resnext50_32x4d",
        IMAGE
        | {"batch": 2, "classes": 12, "depths": [1, 1, 2, 1], "channels": [8, 16, 24, 32]}
        | {"block": {"bottleneck": {"groups": 2, "base_width": 64}}},
        {"layer1": "layer1.0"},
    ),
    (
        "densenet_tiny_64",
        "densenet121",
        IMAGE | {"batch": 2, "growth_rate": 8, "depths": [2, 3, 2], "init_features": 16},
        {"features": "features.norm5"},
    ),
    (
        "mobilenet_v3_mini_64",
        "mobilenet_v3_large",
        IMAGE
        | {
            "last_channels": 64,
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
        "shufflenet_v2_x0_5",
        IMAGE,
        {"stage2": "stage2.3", "conv5": "conv5.2"},
    ),
    (
        "convnext_tiny2_64",
        "convnext_tiny",
        IMAGE | {"channels": [16, 32, 48], "depths": [2, 2, 1]},
        {"features.0": "features.0.1", "features.1": "features.1.1", "features.2": "features.2.1"},
    ),
]


@pytest.mark.parametrize(("case", "spec", "settings", "activations"), CASES, ids=[case[0] for case in CASES])
def test_a_forward_pass_equals_torch(
    case: str, spec: str, settings: dict[str, Any], activations: dict[str, str]
) -> None:
    check_case(case, spec, settings, inputs={"x": "image"}, outputs={"": "output"}, activations=activations)


def test_inception_modules_equal_torchvision() -> None:
    spec = str(SPECS / "inceptions.yaml")
    check_case("inception_mini_48", spec, {}, outputs={"": "output"}, activations={"stem": "stem.2"})


def test_efficientnet_v2_s() -> None:
    """torchvision 0.28.0 on images of 384×384, counted by torch.utils.flop_counter (torch 2.13.0)."""
    fused = [["fused_mbconv", 1, 3, 1, 24, 2], ["fused_mbconv", 4, 3, 2, 48, 4], ["fused_mbconv", 4, 3, 2, 64, 4]]
    others = [["mbconv", 4, 3, 2, 128, 6], ["mbconv", 6, 3, 1, 160, 9], ["mbconv", 6, 3, 2, 256, 15]]
    sizes = {"height": 384, "width": 384, "stem": 24, "last_channels": 1280, "norm": {"batch_norm": {"eps": 0.001}}}
    found = built("efficientnet_b0", **sizes, stages=fused + others)
    assert torch_total(found) == (21458488, 16731234304)
