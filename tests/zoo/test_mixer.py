"""MLP-Mixers."""

from __future__ import annotations

from tests.zoo.harness import check_case


def test_a_forward_pass_equals_timm() -> None:
    check_case(
        "mixer_mini_32",
        "mixer_b16",
        {"height": 32, "width": 32, "patch": 8, "d_model": 32, "layers": 2, "classes": 5},
        inputs={"x": "image"},
        outputs={"": "logits"},
        activations={"stem": "patches"},
    )
