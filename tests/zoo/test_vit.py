"""ViT and DeiT."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.spec.library import load_document
from tests.zoo.harness import built, check_case, torch_total

VIT = {"batch": 2, "height": 64, "width": 64, "d_model": 64, "heads": 4, "d_ff": 128, "layers": 3, "classes": 10}
POOLED: dict[str, Any] = {
    "batch": 2,
    "height": 32,
    "width": 32,
    "patch": 8,
    "d_model": 48,
    "heads": 4,
    "layers": 2,
    "d_ff": 96,
    "class_token": False,
    "classes": 9,
}


@pytest.mark.parametrize(
    ("case", "spec", "settings", "activations"),
    [
        ("vit_small_custom_64", "vit_b_16", VIT, {"encoder": "encoder.ln"}),
        ("vit_gap_nocls_32", "deit-base", POOLED, {"patch_embed": "patches"}),
    ],
)
def test_a_forward_pass_equals_torch(
    case: str, spec: str, settings: dict[str, Any], activations: dict[str, str]
) -> None:
    check_case(case, spec, settings, inputs={"x": "image"}, outputs={"": "logits"}, activations=activations)


@pytest.mark.parametrize("name", ["vit_b_16", "deit-base"])
def test_the_papers_count_the_base_model_without_its_classifier(name: str) -> None:
    printed = load_document(name).document.published[0]
    params, _ = torch_total(built(name))
    assert printed.agrees(params - 1000 * (768 + 1))
