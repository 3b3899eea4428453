"""The worked examples against torchvision and transformers, with the weights of small models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.examples import SMALL, example

torch = pytest.importorskip("torch")


def agree(name: str, model: Any, inputs: dict[str, np.ndarray], expected: Any, settings: dict[str, Any]) -> None:
    """Assert that a spec with drawn weights of a model returns the outputs that ``expected(model, inputs)`` gives."""
    generator = torch.Generator().manual_seed(0)
    for key, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            low = 0.5 if key.endswith("running_var") or tensor.dim() == 1 else -0.2
            tensor.copy_(low + 0.4 * torch.rand(tensor.shape, generator=generator))
    model.eval()
    with torch.no_grad():
        reference = expected(model, {key: torch.from_numpy(array) for key, array in inputs.items()})
    weights = {key: tensor.numpy() for key, tensor in model.state_dict().items()}
    outputs = example(name, **settings).run(inputs, weights=weights).outputs
    assert set(outputs) == set(reference)
    for key, array in outputs.items():
        scale = float(np.abs(array).max())
        np.testing.assert_allclose(array, reference[key].numpy(), rtol=1e-5, atol=1e-5 * scale, err_msg=key)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_deeplabv3() -> None:
    pytest.importorskip("torchvision")
    backbone_layers = {"layer4": "out", "layer3": "aux"}
    from torchvision.models._utils import IntermediateLayerGetter
    from torchvision.models.resnet import Bottleneck, ResNet
    from torchvision.models.segmentation import DeepLabV3
    from torchvision.models.segmentation.deeplabv3 import DeepLabHead
    from torchvision.models.segmentation.fcn import FCNHead

    resnet = ResNet(Bottleneck, [1, 2, 2, 1], replace_stride_with_dilation=[False, True, True])
    model = DeepLabV3(IntermediateLayerGetter(resnet, backbone_layers), DeepLabHead(2048, 21), FCNHead(1024, 21))
    settings = {"batch": 2, "height": 40, "width": 48, "depths": [1, 2, 2, 1]}
    agree("deeplabv3", model, {"image": drawn(2, 3, 40, 48)}, lambda model, inputs: model(inputs["image"]), settings)


def test_wav2vec2() -> None:
    pytest.importorskip("transformers")
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    small = SMALL["wav2vec2"]
    config = Wav2Vec2Config(
        hidden_size=small["d_model"],
        num_hidden_layers=small["layers"],
        num_attention_heads=small["heads"],
        intermediate_size=small["d_ff"],
        conv_dim=[small["channels"]] * 7,
        num_conv_pos_embeddings=small["position_kernel"],
        num_conv_pos_embedding_groups=small["position_groups"],
    )
    waveform = {"input_values": drawn(small["batch"], small["samples"])}

    def expected(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        result = model(**inputs)
        return {"last_hidden_state": result.last_hidden_state, "extract_features": result.extract_features}

    agree("wav2vec2", Wav2Vec2Model(config), waveform, expected, small)


def test_perceiver() -> None:
    pytest.importorskip("transformers")
    from transformers import PerceiverConfig, PerceiverForImageClassificationLearned

    small = SMALL["perceiver"]
    config = PerceiverConfig(
        num_latents=small["latents"],
        d_latents=small["d_model"],
        num_blocks=small["passes"],
        num_self_attends_per_block=small["layers"],
        num_self_attention_heads=small["heads"],
        num_cross_attention_heads=1,
        image_size=small["height"],
        num_labels=small["classes"],
    )
    images = {"inputs": drawn(small["batch"], 3, small["height"], small["width"])}

    def expected(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        result = model(**inputs, output_hidden_states=True)
        # transformers returns the input of every layer, and after each pass its output as well
        passes = result.hidden_states[small["layers"] :: small["layers"] + 1]
        return {"logits": result.logits, **{f"latents.{number}": state for number, state in enumerate(passes)}}

    agree("perceiver", PerceiverForImageClassificationLearned(config), images, expected, small)
