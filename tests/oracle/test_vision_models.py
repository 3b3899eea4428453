"""Vision models against transformers on padded images and images of other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.engine.run import forward
from tests.zoo.harness import FAMILIES, built

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


def agree(spec: str, settings: dict[str, Any], model: Any, inputs: dict[str, np.ndarray]) -> None:
    """Assert that a spec with the model's weights returns the model's outputs."""
    generator = torch.Generator().manual_seed(0)
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():  # variances too, which are positive
            tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.4 + (0.8 if tensor.dim() == 1 else -0.2))
    with torch.no_grad():
        expected = model.eval()(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    for name, array in forward(built(spec, **settings), inputs, weights=weights).outputs.items():
        scale = float(np.abs(array).max())
        np.testing.assert_allclose(array, expected[name].numpy(), rtol=1e-4, atol=1e-5 * scale, err_msg=name)


def test_padding_does_not_affect_detr() -> None:
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    small = FAMILIES["detr"]["small"]["detr-resnet-50"]
    stages = [f"stage{number + 1}" for number in range(len(small["channels"]))]
    config = DetrConfig(
        backbone_config=ResNetConfig(
            embedding_size=small["stem"],
            hidden_sizes=small["channels"],
            depths=small["depths"],
            out_features=[stages[-1]],
        ),
        d_model=small["d_model"],
        num_queries=small["queries"],
        num_labels=small["classes"],
        **{f"{part}_layers": small[f"{part}_layers"] for part in ("encoder", "decoder")},
        **{f"{part}_ffn_dim": small["d_ff"] for part in ("encoder", "decoder")},
        **{f"{part}_attention_heads": small["heads"] for part in ("encoder", "decoder")},
    )
    size = (small["batch"], small["height"], small["width"])
    mask = np.ones(size, np.int64)
    mask[1, 50:], mask[1, :, 41:] = 0, 0
    image = np.random.default_rng(0).normal(size=(size[0], 3, *size[1:])).astype(np.float32)
    model = DetrForObjectDetection(config)
    agree("detr-resnet-50", small, model, {"pixel_values": image, "pixel_mask": mask})


def test_vilt_interpolates_positions_and_ignores_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import ViltConfig, ViltModel

    small = FAMILIES["vilt"]["small"]["vilt-b32"]
    config = ViltConfig(
        vocab_size=small["vocab"],
        hidden_size=small["d_model"],
        num_hidden_layers=small["layers"],
        num_attention_heads=small["heads"],
        intermediate_size=small["d_ff"],
        max_position_embeddings=small["max_length"],
        image_size=small["grid"] * small["patch"],
        patch_size=small["patch"],
    )
    # patches keep their order
    monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))
    rng = np.random.default_rng(0)
    batch, length, size = small["batch"], small["length"], (small["height"], small["width"])
    seen = np.ones((batch, length), np.int64)
    seen[1, 4:] = 0
    inputs = {
        "input_ids": rng.integers(0, small["vocab"], (batch, length)),
        "attention_mask": seen,
        "token_type_ids": rng.integers(0, 2, (batch, length)),
        "pixel_values": rng.normal(size=(batch, 3, *size)).astype(np.float32),
    }
    agree("vilt-b32", small, ViltModel(config), inputs)
