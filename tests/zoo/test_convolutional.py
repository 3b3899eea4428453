"""Convolutional networks against recorded outputs of torchvision and timm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from tests.zoo.harness import built, check_case

FIXTURES = Path(__file__).parent.parent / "fixtures"
SMALL = {"height": 64, "width": 64, "classes": 10}
ROWS = [
    [3, 16, 16, True, "relu", 2],
    [3, 40, 24, False, "hardswish", 2],
    [5, 64, 24, True, "hardswish", 1],
]


@pytest.mark.parametrize(
    ("case", "spec", "settings"),
    [
        ("alexnet_smallhead_224", "alexnet", {"hidden": [64, 32], "classes": 10}),
        (
            "vggbn_narrow_64",
            "vgg16_bn",
            SMALL | {"batch": 2, "stages": [[6, 6], [12], [24]], "hidden": [30], "classes": 8},
        ),
        ("resnet18_224", "resnet18", {}),
        (
            "resnext_mini_64",
            "resnext50_32x4d",
            SMALL
            | {"batch": 2, "channels": [8, 16, 24, 32], "depths": [1, 1, 2, 1], "classes": 12}
            | {"block": {"bottleneck": {"groups": 2, "base_width": 64}}},
        ),
        (
            "densenet_tiny_64",
            "densenet121",
            SMALL | {"batch": 2, "growth_rate": 8, "depths": [2, 3, 2], "init_features": 16},
        ),
        ("mobilenet_v3_mini_64", "mobilenet_v3_large", SMALL | {"rows": ROWS, "last_channels": 64}),
        ("shufflenet_v2_x0_5_64", "shufflenet_v2_x0_5", SMALL),
        ("convnext_tiny2_64", "convnext_tiny", SMALL | {"channels": [16, 32, 48], "depths": [2, 2, 1]}),
        (
            "regnet_y_mini_64",
            "regnet_y_400mf",
            SMALL
            | {"stem": 8, "strides": [2, 2, 1], "classes": 7}
            | {"depths": [1, 1, 2], "channels": [16, 32, 48], "group_widths": [8, 8, 16]},
        ),
    ],
)
def test_a_forward_pass_equals_the_reference(case: str, spec: str, settings: dict[str, Any]) -> None:
    check_case(case, spec, settings, inputs={"x": "image"}, outputs={"": "output"})


def test_mobilenet_v2() -> None:
    """Norms of small variance enlarge rounding: torch's own last features are 1.5e-4 from those of float64."""
    inputs, outputs = {"x": "image"}, {"": "output"}
    check_case("mobilenet_v2_224", "mobilenet_v2", {}, inputs=inputs, outputs=outputs, tolerance=3e-4)


def test_inception_modules() -> None:
    check_case("inception_mini_48", str(FIXTURES / "inceptions.yaml"), {}, outputs={"": "output"})


def test_the_neurons_of_alexnet_equal_its_paper() -> None:
    """§3.5 of the paper, from the second convolution on; its 253,440 for the first differ from 55·55·96."""
    rows = {row.path: row for row in Analysis(built("alexnet-original"), CONVENTIONS["torch"]).leaves()}
    found = [rows[name].outputs[0].type for name in ("conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8")]
    assert [t and t.elements for t in found] == [186_624, 64_896, 64_896, 43_264, 4096, 4096, 1000]
