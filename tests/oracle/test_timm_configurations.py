"""Configurations that timm writes, against its models: names of tensors of every architecture, and outputs of some."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netcalc as api
from netcalc.formats.timm.tables import architectures
from netcalc.numerics.parameters import check_weights

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")
hub = pytest.importorskip("timm.models._hub")

#: Architectures with arguments that make them small, and the size of the image.
SMALL = {
    "convnext_tiny": ({}, 64),
    "deit_tiny_patch16_224": ({"depth": 2}, 224),
    "densenet121": ({"block_config": (2, 2)}, 64),
    "efficientnet_em": ({}, 64),
    "eva02_base_patch16_clip_224": ({"embed_dim": 24, "depth": 2, "num_heads": 2, "patch_size": 56}, 224),
    "eva02_enormous_patch14_clip_224": ({"embed_dim": 24, "depth": 2, "num_heads": 2, "img_size": 112}, 112),
    "eva02_tiny_patch14_336": ({"embed_dim": 24, "depth": 2, "num_heads": 3, "patch_size": 56}, 336),
    "eva_giant_patch14_224": ({"embed_dim": 24, "depth": 2, "num_heads": 3, "init_values": 0.5}, 224),
    "fbnetv3_b": ({}, 64),
    "inception_v3": ({}, 96),
    "lcnet_050": ({}, 64),
    "mixer_s32_224": ({}, 224),
    "mobilenetv1_100": ({}, 64),
    "mobilenetv2_110d": ({"in_chans": 1}, 64),
    "mobilenetv3_small_050": ({}, 64),
    "regnetx_008": ({}, 64),
    "regnety_004": ({}, 64),
    "resnet18": ({}, 64),
    "resnext50_32x4d": ({"layers": (1, 1, 1, 1)}, 64),
    "swin_s3_tiny_224": ({"embed_dim": 12, "depths": (1, 2, 2, 1), "num_heads": (1, 2, 3, 4)}, 224),
    "swin_tiny_patch4_window7_224": (
        {"embed_dim": 12, "depths": (1, 2, 1), "num_heads": (1, 2, 3), "img_size": 112},
        112,
    ),
    "swinv2_base_window12to16_192to256": ({"embed_dim": 12, "depths": (1, 1, 1, 2), "num_heads": (1, 2, 2, 3)}, 256),
    "swinv2_tiny_window8_256": ({"embed_dim": 12, "depths": (2, 1), "num_heads": (1, 2), "qkv_bias": False}, 256),
    "tf_efficientnet_b0": ({}, 75),
    "tf_efficientnet_lite0": ({"pad_type": "", "bn_eps": 1e-5}, 75),
    "tf_efficientnetv2_b0": ({}, 75),
    "tf_mobilenetv3_small_100": ({}, 75),
    "vit_small_patch32_224": ({"depth": 1}, 224),
    "wide_resnet50_2": ({"layers": (1, 1, 1, 1)}, 64),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("architecture", architectures())
def test_names_and_parameters(architecture: str, tmp_path: Path) -> None:
    with torch.device("meta"):
        model = timm.create_model(architecture, num_classes=7)
    hub.save_config_for_hf(model, str(tmp_path / "config.json"))
    network = api.load(tmp_path)
    assert network.params == sum(p.numel() for p in model.parameters())
    arrays = {name: np.broadcast_to(np.float32(0), t.shape) for name, t in model.state_dict().items()}
    counters = {name: np.broadcast_to(np.int64(0), a.shape) for name, a in arrays.items() if name.endswith("tracked")}
    report = check_weights(network.program, arrays | counters)
    assert report.ok, report.mismatches[:5]


@pytest.mark.parametrize("architecture", SMALL)
def test_outputs(architecture: str, tmp_path: Path) -> None:
    arguments, size = SMALL[architecture]
    model = timm.create_model(architecture, num_classes=5, **arguments).eval()
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                # by fan-in, so that attention is not uniform
                tensor.uniform_(0.5, 1.5) if tensor.ndim < 2 else tensor.normal_(std=tensor[0].numel() ** -0.5)
    hub.save_for_hf(model, str(tmp_path), model_args=arguments, safe_serialization=True)
    image = torch.randn(2, arguments.get("in_chans", 3), size, size)
    with torch.no_grad():
        expected = model(image).numpy()
    network = api.load(tmp_path, set={"batch": 2, "height": size, "width": size})
    (name,) = (given.name for given in network.program.inputs)
    actual = network.run({name: image.numpy()}, weights=tmp_path).outputs
    (values,) = actual.values()
    assert np.abs(values - expected).max() <= 1e-4 * max(np.abs(expected).max(), 1e-3)
