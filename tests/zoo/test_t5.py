"""T5."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.spec.library import load_document
from tests.zoo.harness import built, check_case, torch_total

RELU = {"batch": 2, "source": 21, "target": 9, "vocab": 150, "d_model": 48, "head_dim": 12, "d_ff": 96} | {
    "encoder_layers": 2
}
GATED = {"source": 18, "target": 6, "vocab": 60, "d_model": 32, "head_dim": 8, "d_ff": 64, "encoder_layers": 2}


@pytest.mark.parametrize(
    ("case", "spec", "settings"),
    [
        ("t5_l2_d48", "t5-small", {**RELU, "heads": 4, "buckets": 8, "max_distance": 16}),
        (
            "t5v11_l1_d32",
            "t5-v1_1-small",
            {**GATED, "heads": 4, "decoder_layers": 1, "buckets": 8, "max_distance": 12, "tied": True},
        ),
    ],
)
def test_a_forward_pass_equals_transformers(case: str, spec: str, settings: dict[str, Any]) -> None:
    check_case(case, spec, settings, activations={"encoder": "encoder.final_layer_norm"})


def test_the_paper_counts_the_large_model_with_an_untied_output() -> None:
    (printed,) = load_document("t5-large").document.published
    assert printed.agrees(torch_total(built("t5-large", tied=False))[0])
    (printed,) = load_document("t5-base").document.published
    assert not printed.agrees(torch_total(built("t5-base", tied=False))[0])
