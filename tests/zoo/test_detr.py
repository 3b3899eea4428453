"""DETR."""

from __future__ import annotations

from tests.zoo.harness import check_case

TINY = {
    "height": 96,
    "width": 128,
    "stem": 8,
    "channels": [16, 24, 32, 40],
    "depths": [1, 1, 1, 1],
    "d_model": 32,
    "heads": 4,
    "d_ff": 48,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "queries": 7,
    "classes": 5,
}


def test_a_forward_pass_equals_transformers() -> None:
    activations = {"model.encoder": "model.encoder.layers.1", "model.decoder": "model.decoder.layernorm"}
    check_case("detr_tiny", "detr-resnet-50", TINY, activations=activations)
