"""Vars of vision models at other values than their defaults, against torchvision, timm and transformers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from netcalc.engine.run import forward
from netcalc.numerics.parameters import check_weights
from tests.zoo.harness import FAMILIES, built, torch_total

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
timm = pytest.importorskip("timm")

SQUARE = {"batch": 2, "height": 32, "width": 32, "classes": 7}
VIT = SQUARE | {"patch": 8, "d_model": 32, "heads": 4, "layers": 2, "d_ff": 48}
SWIN = SQUARE | {"d_model": 8, "depths": [2, 1], "heads": [1, 2], "window": 3}


def agree(spec: str, settings: dict[str, Any], model: Any) -> None:
    """Assert equal parameters, and equal outputs for weights drawn anew."""
    generator = torch.Generator().manual_seed(0)
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and "coords" not in name:  # variances too, which are positive
            tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.4 + (0.8 if tensor.dim() == 1 else -0.2))
    program = built(spec, **settings)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    report = check_weights(program, weights)
    assert report.ok, report.mismatches
    assert torch_total(program)[0] == sum(p.numel() for p in model.parameters())
    image = np.random.default_rng(0).normal(size=(2, 3, 32, 32)).astype(np.float32)
    (actual,) = forward(program, {"image": image}, weights=weights).outputs.values()
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(image)).numpy()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def vit(**changes: Any) -> Any:
    sizes = {"image_size": 32, "patch_size": 8, "num_layers": 2, "num_heads": 4, "hidden_dim": 32, "mlp_dim": 48}
    return torchvision.models.VisionTransformer(**sizes, num_classes=7, **changes)


def deit(**changes: Any) -> Any:
    sizes = {"img_size": 32, "patch_size": 8, "depth": 2, "num_heads": 4, "embed_dim": 32, "mlp_ratio": 1.5}
    return timm.models.VisionTransformer(**sizes, num_classes=7, **changes)


def swin(**changes: Any) -> Any:
    sizes = {"patch_size": [4, 4], "embed_dim": 8, "depths": [2, 1], "num_heads": [1, 2], "window_size": [3, 3]}
    return torchvision.models.SwinTransformer(**sizes, num_classes=7, **changes)


def resnet(block: str, layers: list[int], **changes: Any) -> Any:
    kind = getattr(torchvision.models.resnet, block)
    return torchvision.models.ResNet(kind, layers, num_classes=7, **changes)


def layer_norm(eps: float) -> Callable[..., Any]:
    return partial(torch.nn.LayerNorm, eps=eps)


def convnext(**changes: Any) -> Any:
    setting = torchvision.models.convnext.CNBlockConfig
    stages = [setting(8, 12, 1), setting(12, None, 2)]
    return torchvision.models.ConvNeXt(stages, num_classes=7, **changes)


def mixer(**changes: Any) -> Any:
    sizes = {"img_size": 32, "patch_size": 8, "num_blocks": 2, "embed_dim": 32}
    return timm.models.mlp_mixer.MlpMixer(**sizes, num_classes=7, **changes)


@pytest.mark.parametrize(
    ("spec", "settings", "model"),
    [
        ("vit_b_16", VIT | {"representation": 20}, lambda: vit(representation_size=20)),
        ("vit_b_16", VIT | {"eps": 0.1}, lambda: vit(norm_layer=layer_norm(0.1))),
        ("deit-base", VIT | {"attention_bias": False}, lambda: deit(qkv_bias=False)),
        ("deit-base", VIT | {"qk_norm": True}, lambda: deit(qk_norm=True)),
        ("deit-base", VIT | {"layer_scale": 0.5}, lambda: deit(init_values=0.5)),
        ("deit-base", VIT | {"activation": "relu"}, lambda: deit(act_layer=torch.nn.ReLU)),
        ("deit-base", VIT | {"eps": 0.1}, lambda: deit(norm_layer=layer_norm(0.1))),
        (
            "mixer_b16",
            SQUARE | {"patch": 8, "d_model": 32, "layers": 2, "d_ff": 48, "tokens_d_ff": 24, "activation": "relu"},
            lambda: mixer(mlp_ratio=(0.75, 1.5), act_layer=torch.nn.ReLU),
        ),
        ("swin_t", SWIN | {"d_ff": 12}, lambda: swin(mlp_ratio=1.5)),
        ("swin_t", SWIN | {"eps": 0.1}, lambda: swin(norm_layer=layer_norm(0.1))),
        (
            "convnext_tiny",
            SQUARE | {"channels": [8, 12], "depths": [1, 2], "layer_scale": 0.5},
            lambda: convnext(layer_scale=0.5),
        ),
        (
            "resnet50",
            SQUARE | {"depths": [1, 1, 2, 1], "strides": [1, 2, 1, 1], "dilations": [1, 1, 2, 4]},
            lambda: resnet("Bottleneck", [1, 1, 2, 1], replace_stride_with_dilation=[False, True, True]),
        ),
        (
            "resnet34",
            SQUARE | {"depths": [1, 1, 1, 1], "norm": {"batch_norm": {"eps": 0.1}}},
            lambda: resnet("BasicBlock", [1, 1, 1, 1], norm_layer=partial(torch.nn.BatchNorm2d, eps=0.1)),
        ),
        (
            "resnet50",
            SQUARE | {"depths": [1, 1, 1, 1], "norm": {"batch_norm": {"eps": 0.1}}},
            lambda: resnet("Bottleneck", [1, 1, 1, 1], norm_layer=partial(torch.nn.BatchNorm2d, eps=0.1)),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_logits_equal_the_reference(spec: str, settings: dict[str, Any], model: Callable[[], Any]) -> None:
    agree(spec, settings, model())


def test_a_basic_block_has_no_dilation() -> None:
    with pytest.raises(NotImplementedError):
        resnet("BasicBlock", [1, 1, 1, 2], replace_stride_with_dilation=[False, False, True])
    with pytest.raises(Exception, match="a basic block has no dilation"):
        built("resnet34", depths=[1, 1, 1, 2], strides=[1, 2, 2, 1], dilations=[1, 1, 1, 2])


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ({"hidden_act": "relu"}, {"activation": "relu"}),
        ({"layer_norm_eps": 0.1}, {"eps": 0.1}),
        ({}, {"padding_mask": True}),
    ],
)
def test_clip(config: dict[str, Any], settings: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    small = {**FAMILIES["clip"]["small"]["clip-vit-base-patch32"], "width": 32, **settings}
    text = {"vocab_size": 50, "max_position_embeddings": 9, "eos_token_id": 2}
    parts = {
        part: {
            "hidden_size": small[f"{part}_d_model"],
            "intermediate_size": 4 * small[f"{part}_d_model"],
            "num_attention_heads": small[f"{part}_heads"],
            "num_hidden_layers": small[f"{part}_layers"],
            **config,
        }
        for part in ("text", "vision")
    }
    model = transformers.CLIPModel(
        transformers.CLIPConfig(
            text_config=parts["text"] | text,
            vision_config=parts["vision"] | {"image_size": 32, "patch_size": 16},
            projection_dim=small["d_embed"],
            attn_implementation="eager",
        )
    ).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) / 4 + (1 if "norm" in name else 0))
    rng = np.random.default_rng(0)
    ids = rng.integers(3, 49, (2, 7))
    ids[0, 6] = ids[1, 4] = 49
    inputs = {"input_ids": ids, "pixel_values": rng.normal(size=(3, 3, 32, 32)).astype(np.float32)}
    if settings.get("padding_mask"):
        seen = np.ones((2, 7), np.int64)
        seen[0, :3] = 0
        inputs["attention_mask"] = seen
    weights = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        expected = model(**{name: torch.from_numpy(array) for name, array in inputs.items()})
    for name, actual in forward(built("clip-vit-base-patch32", **small), inputs, weights=weights).outputs.items():
        array = expected[name].numpy()
        np.testing.assert_allclose(actual, array, rtol=0, atol=1e-5 * np.abs(array).max(), err_msg=name)


def test_detr_decoder_and_activation() -> None:
    transformers = pytest.importorskip("transformers")
    small = FAMILIES["detr"]["small"]["detr-resnet-50"]
    stages = [f"stage{number + 1}" for number in range(len(small["channels"]))]
    config = transformers.DetrConfig(
        backbone_config=transformers.ResNetConfig(
            embedding_size=small["stem"],
            hidden_sizes=small["channels"],
            depths=small["depths"],
            out_features=[stages[-1]],
        ),
        d_model=small["d_model"],
        num_queries=small["queries"],
        num_labels=small["classes"],
        activation_function="gelu",
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=40,
        encoder_attention_heads=4,
        decoder_attention_heads=2,
    )
    model = transformers.DetrForObjectDetection(config).eval()
    generator = torch.Generator().manual_seed(0)
    for tensor in model.state_dict().values():
        if tensor.is_floating_point():
            tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.4 + (0.8 if tensor.dim() == 1 else -0.2))
    settings = {**small, "activation": "gelu", "encoder_layers": 1, "decoder_layers": 2, "d_ff": 24, "decoder_d_ff": 40}
    program = built("detr-resnet-50", **settings, decoder_heads=2)
    image = np.random.default_rng(0).normal(size=(2, 3, 96, 70)).astype(np.float32)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        expected = model(torch.from_numpy(image))
    mask = np.ones((2, 96, 70), np.int64)
    for name, actual in forward(program, {"pixel_values": image, "pixel_mask": mask}, weights=weights).outputs.items():
        array = expected[name].numpy()
        np.testing.assert_allclose(actual, array, rtol=0, atol=1e-5 * np.abs(array).max(), err_msg=name)
