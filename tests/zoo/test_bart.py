"""BART, Marian and Whisper, which use the same block for their layers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.zoo.harness import check_case

BART = {"batch": 2, "source": 10, "target": 5, "vocab": 60, "max_length": 30, "d_model": 24, "encoder_layers": 1}
WHISPER = {
    "frames": 40,
    "target": 6,
    "vocab": 60,
    "mel_bins": 12,
    "d_model": 24,
    "heads": 3,
    "d_ff": 48,
    "encoder_layers": 1,
}


@pytest.mark.parametrize(
    ("case", "spec", "settings", "activations"),
    [
        (
            "bart_l1_d24",
            "bart-base",
            {**BART, "heads": 2, "d_ff": 40, "decoder_layers": 2, "decoder_heads": 3, "decoder_d_ff": 50},
            {},
        ),
        ("whisper_nano", "whisper-tiny", {**WHISPER, "max_length": 12}, {"model.encoder": "model.encoder.layer_norm"}),
    ],
)
def test_a_forward_pass_equals_transformers(
    case: str, spec: str, settings: dict[str, Any], activations: dict[str, str]
) -> None:
    check_case(case, spec, settings, activations=activations)
