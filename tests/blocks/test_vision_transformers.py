"""Small Swin and Vision Transformers with recorded weights against recorded outputs of torchvision."""

from __future__ import annotations

import pytest

from netcalc.analysis.walk import instances
from tests.blocks.harness import check_case
from tests.spec.harness import program, shapes


def test_swin_equals_torchvision() -> None:
    """Where one window covers the last stage there is no shift."""
    settings = {"batch": 2, "height": 32, "width": 32, "classes": 10, "channels": 24, "mlp_ratio": 2.0}
    layers = {"depths": [2, 2], "heads": [2, 4], "window": [4, 4]}
    ours = {"features.0": "features.0.2", "features.3": "features.3.1"}
    check_case("swin_tiny_custom_32", "swin", settings | layers, activations=ours)


def test_swin_with_padding_and_odd_sizes_equals_torchvision() -> None:
    """Windows of 3 on maps of 10×7 and 5×4: padding, a shift with its mask, and merging of odd sizes."""
    settings = {"height": 40, "width": 28, "classes": 5, "channels": 16, "mlp_ratio": 3.0}
    layers = {"depths": [2, 2], "heads": [2, 4], "window": [3, 3]}
    check_case("swin_pad_w3_40x28", "swin", settings | layers, activations={"features.3": "features.3.1"})


def test_vit_equals_torchvision() -> None:
    settings = {"batch": 2, "height": 64, "width": 64, "classes": 10, "features": 64, "layers": 3, "heads": 4}
    ours = {"conv_proj": "embeddings.patch_embeddings.projection", "encoder": "encoder.ln"}
    check_case("vit_small_custom_64", "vit", settings | {"hidden": 128}, activations=ours)


@pytest.mark.parametrize(("size", "rolls"), [([14, 14], 2), ([7, 14], 2), ([7, 7], 0), ([5, 6], 0)])
def test_windows_shift_only_where_there_are_several(size: list[int], rolls: int) -> None:
    height, width = size
    found = program(
        f"inputs: {{x: [1, {height}, {width}, 12]}}\nlayers:\n"
        "  - {name: a, window_attention: {heads: 3, window: [7, 7], shift: [3, 3]}}\n"
    )
    assert [i.node.op.name for i in instances(found)].count("roll") == rolls
    (output,) = found.main.outputs
    assert output.type is not None
    assert output.type.shape == (1, height, width, 12)


def test_patches_without_class_token_and_positions() -> None:
    text = "inputs: {x: [2, 3, 64, 32]}\nlayers:\n  - {name: p, patch_embedding: {features: 24, patch: [16, 8]OTHER}}\n"
    bare = program(text.replace("OTHER", ", class_token: false, positions: false"))
    assert list(shapes(bare).values())[-1] == "2×16×24"
    assert list(shapes(program(text.replace("OTHER", ""))).values())[-1] == "2×17×24"
