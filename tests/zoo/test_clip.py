"""CLIP."""

from __future__ import annotations

from tests.zoo.harness import check_case

MINI = {
    "images": 3,
    "height": 24,
    "width": 24,
    "patch": 8,
    "vision_d_model": 32,
    "vision_heads": 2,
    "vision_layers": 2,
    "texts": 2,
    "length": 9,
    "text_d_model": 24,
    "text_heads": 3,
    "text_layers": 1,
    "vision_d_ff": 64,
    "text_d_ff": 48,
    "vocab": 50,
    "max_length": 12,
    "d_embed": 16,
}


def test_a_forward_pass_equals_transformers() -> None:
    check_case("clip_mini", "clip-vit-base-patch32", MINI)
