"""Small versions of the networks of torchvision and timm, whose classes name the tensors of their specs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import torch

#: A module, and the settings that give its spec the same sizes.
Reference: TypeAlias = tuple[torch.nn.Module, dict[str, Any]]

IMAGE = {"batch": 2, "height": 64, "width": 64, "classes": 10}
TINY_IMAGE = {"batch": 2, "height": 32, "width": 32, "classes": 10}


def _alexnet() -> Reference:
    from torchvision.models import AlexNet

    model = AlexNet(num_classes=10)
    for number, (features, out) in {1: (256 * 6 * 6, 32), 4: (32, 16), 6: (16, 10)}.items():
        model.classifier[number] = torch.nn.Linear(features, out)
    return model, IMAGE | {"hidden": [32, 16]}


def _vgg(letter: str, batch_norm: bool) -> Reference:
    from torchvision.models.vgg import VGG, cfgs, make_layers

    config = [c if isinstance(c, str) else c // 16 for c in cfgs[letter]]
    model = VGG(make_layers(config, batch_norm=batch_norm), num_classes=10, init_weights=False)
    for number, (features, out) in {0: (32 * 7 * 7, 32), 3: (32, 16), 6: (16, 10)}.items():
        model.classifier[number] = torch.nn.Linear(features, out)
    stages: list[list[Any]] = [[]]
    for channels in config[:-1]:
        if channels == "M":
            stages.append([])
        else:
            stages[-1].append(channels)
    return model, IMAGE | {"stages": stages, "hidden": [32, 16]}


def _resnet(block: str, **widths: int) -> Reference:
    """The channels of torchvision's class are fixed; one block for each stage."""
    from torchvision.models import resnet

    depths = [1, 1, 1, 1] if block == "Bottleneck" else [2, 1, 1, 1]
    return resnet.ResNet(getattr(resnet, block), depths, num_classes=10, **widths), IMAGE | {"depths": depths}


def _densenet(depths: list[int]) -> Reference:
    from torchvision.models import DenseNet

    depths = [min(depth, 3) for depth in depths]
    model = DenseNet(growth_rate=4, block_config=tuple(depths), num_init_features=8, num_classes=10)
    return model, TINY_IMAGE | {"growth_rate": 4, "init_features": 8, "depths": depths}


def _efficientnet(name: str) -> Reference:
    """Blocks of torchvision's configuration, each once and at a quarter of its width."""
    from torchvision.models import efficientnet

    rows, last = efficientnet._efficientnet_conf(name, width_mult=1.0, depth_mult=1.0)
    stages = []
    for row in rows:
        block = {"MBConv": "mbconv", "FusedMBConv": "fused_mbconv"}[row.block.__name__]
        stages.append([block, row.expand_ratio, row.kernel, row.stride, row.out_channels, 1])
        for channels in ("input_channels", "out_channels"):
            setattr(row, channels, row.adjust_channels(getattr(row, channels), 0.25))
        row.num_layers = 1
    original, efficientnet._efficientnet_conf = efficientnet._efficientnet_conf, lambda *_, **__: (rows, last and 64)
    try:
        model = getattr(efficientnet, name)(num_classes=10)
    finally:
        efficientnet._efficientnet_conf = original
    settings = {"multiplier": 0.25, "stages": stages} | ({"last_channels": 64} if last else {"depth": 1.0})
    return model, TINY_IMAGE | settings


def _mobilenet_v3(name: str) -> Reference:
    from torchvision.models.mobilenetv3 import MobileNetV3, _mobilenet_v3_conf

    rows, last = _mobilenet_v3_conf(name, width_mult=0.25)
    return MobileNetV3(rows, last, num_classes=10), TINY_IMAGE | {"multiplier": 0.25}


def _with_auxiliary_classifiers(name: str, size: int) -> Reference:
    import torchvision

    model = getattr(torchvision.models, name)(num_classes=10, aux_logits=True, init_weights=False)
    return model, {"batch": 2, "height": size, "width": size, "classes": 10}


def _plain(name: str, settings: dict[str, Any], **arguments: Any) -> Reference:
    import torchvision

    return getattr(torchvision.models, name)(num_classes=10, **arguments), settings


def _swin(version: int) -> Reference:
    from torchvision.models import swin_transformer as swin

    second = {"block": swin.SwinTransformerBlockV2, "downsample_layer": swin.PatchMergingV2} if version == 2 else {}
    model = swin.SwinTransformer([4, 4], 8, [2, 2], [1, 2], [3, 3], num_classes=10, **second)
    sizes = {"batch": 2, "height": 40, "width": 28, "d_model": 8, "depths": [2, 2], "heads": [1, 2]}
    return model, sizes | {"window": 3, "classes": 10}


def _convnext() -> Reference:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    rows = [CNBlockConfig(8, 16, 2), CNBlockConfig(16, 24, 1), CNBlockConfig(24, 32, 1), CNBlockConfig(32, None, 1)]
    settings = {"channels": [8, 16, 24, 32], "depths": [2, 1, 1, 1]}
    return ConvNeXt(rows, num_classes=10), IMAGE | settings


def _regnet(se_ratio: float | None) -> Reference:
    from torchvision.models.regnet import BlockParams, RegNet

    depths, widths, groups = [1, 2, 2, 1], [16, 24, 40, 48], [8, 8, 8, 8]
    params = BlockParams(depths, widths, groups, [1.0] * 4, [2] * 4, se_ratio)
    return RegNet(params, num_classes=10), TINY_IMAGE | {"depths": depths, "channels": widths, "group_widths": groups}


def _vit(patch: int) -> Reference:
    from torchvision.models import VisionTransformer

    size = 4 * patch
    model = VisionTransformer(size, patch, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=128, num_classes=10)
    sizes = {"batch": 2, "height": size, "width": size, "patch": patch, "d_model": 32, "heads": 4, "layers": 2}
    return model, sizes | {"classes": 10}


def _deit(heads: int) -> Reference:
    from timm.models.vision_transformer import VisionTransformer

    arguments = {"img_size": (32, 48), "patch_size": 8, "embed_dim": 8 * heads, "depth": 2, "num_heads": heads}
    settings = {"batch": 2, "height": 32, "width": 48, "patch": 8, "d_model": 8 * heads, "heads": heads, "layers": 2}
    return VisionTransformer(**arguments, num_classes=10), settings | {"classes": 10}


def _dinov2() -> Reference:
    from timm.models.vision_transformer import VisionTransformer

    sizes: dict[str, Any] = {"patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 4, "num_classes": 0}
    model = VisionTransformer(img_size=32, **sizes, init_values=1.0, global_pool="")
    settings = {"batch": 2, "height": 32, "width": 32, "patch": 8, "grid": 4, "d_model": 32, "heads": 4, "layers": 2}
    return model, settings | {"mask_token": False}


def _mixer() -> Reference:
    from timm.models.mlp_mixer import MlpMixer

    model = MlpMixer(num_classes=10, img_size=(32, 48), patch_size=8, num_blocks=2, embed_dim=32)
    return model, {"batch": 2, "height": 32, "width": 48, "patch": 8, "d_model": 32, "layers": 2, "classes": 10}


def _mobilenet_v1() -> Reference:
    from timm.models.efficientnet import _gen_mobilenet_v1

    model = _gen_mobilenet_v1("mobilenetv1_100", channel_multiplier=0.25, num_classes=10)
    return model, TINY_IMAGE | {"multiplier": 0.25}


def _efficientnet_lite() -> Reference:
    from timm.models.efficientnet import _gen_efficientnet_lite

    model = _gen_efficientnet_lite("efficientnet_lite0", channel_multiplier=0.25, num_classes=10)
    return model, TINY_IMAGE | {"multiplier": 0.25}


def _eva() -> Reference:
    from timm.models.eva import Eva

    sizes = {"embed_dim": 32, "depth": 2, "num_heads": 4, "mlp_ratio": 20 / 32, "patch_size": 8, "img_size": 32}
    kinds = {"qkv_fused": False, "swiglu_mlp": True, "scale_mlp": True, "use_rot_pos_emb": True, "ref_feat_shape": 2}
    model = Eva(num_classes=10, **sizes, **kinds)
    return model, {
        "batch": 2,
        "height": 32,
        "width": 32,
        "patch": 8,
        "reference_grid": 2,
        "d_model": 32,
        "heads": 4,
        "d_ff": 20,
        "layers": 2,
        "classes": 10,
    }


def _recurrent(kind: str) -> Reference:
    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = getattr(torch.nn, kind)(6, 8, 2, bidirectional=True, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.rnn(x)[0]

    return Network(), {"batch": 2, "length": 5, "features": 6, "hidden": 8, "layers": 2, "bidirectional": True}


def _references() -> Iterator[tuple[str, Callable[[], Reference]]]:
    yield "alexnet", _alexnet
    for letter, number in {"A": 11, "B": 13, "D": 16, "E": 19}.items():
        yield f"vgg{number}", partial(_vgg, letter, False)
        yield f"vgg{number}_bn", partial(_vgg, letter, True)
    yield from dict.fromkeys(("resnet18", "resnet34"), partial(_resnet, "BasicBlock")).items()
    yield from dict.fromkeys(("resnet50", "resnet101", "resnet152"), partial(_resnet, "Bottleneck")).items()
    yield "resnext50_32x4d", partial(_resnet, "Bottleneck", groups=32, width_per_group=4)
    yield "resnext101_32x8d", partial(_resnet, "Bottleneck", groups=32, width_per_group=8)
    yield "resnext101_64x4d", partial(_resnet, "Bottleneck", groups=64, width_per_group=4)
    wide = partial(_resnet, "Bottleneck", width_per_group=128)
    yield from dict.fromkeys(("wide_resnet50_2", "wide_resnet101_2"), wide).items()
    depths = {121: [6, 12, 24, 16], 161: [6, 12, 36, 24], 169: [6, 12, 32, 32], 201: [6, 12, 48, 32]}
    for number, blocks in depths.items():
        yield f"densenet{number}", partial(_densenet, blocks)
    for letter in [*(f"b{number}" for number in range(8)), "v2_s", "v2_m", "v2_l"]:
        yield f"efficientnet_{letter}", partial(_efficientnet, f"efficientnet_{letter}")
    for name in ("mobilenet_v3_large", "mobilenet_v3_small"):
        yield name, partial(_mobilenet_v3, name)
    yield "mobilenet_v2", partial(_plain, "mobilenet_v2", TINY_IMAGE | {"multiplier": 0.25}, width_mult=0.25)
    for width in ("0_5", "0_75", "1_0", "1_3"):
        multiplier = {"multiplier": float(width.replace("_", "."))}
        yield f"mnasnet{width}", partial(_plain, f"mnasnet{width}", TINY_IMAGE | multiplier)
    for width in ("0_5", "1_0", "1_5", "2_0"):
        yield f"shufflenet_v2_x{width}", partial(_plain, f"shufflenet_v2_x{width}", TINY_IMAGE)
    for name in ("squeezenet1_0", "squeezenet1_1"):
        yield name, partial(_plain, name, IMAGE)
    yield "googlenet", partial(_with_auxiliary_classifiers, "googlenet", 64)
    yield "inception_v3", partial(_with_auxiliary_classifiers, "inception_v3", 75)
    yield from dict.fromkeys(("swin_t", "swin_s", "swin_b", "swin_l"), partial(_swin, 1)).items()
    yield from dict.fromkeys(("swin_v2_t", "swin_v2_s", "swin_v2_b"), partial(_swin, 2)).items()
    yield from dict.fromkeys((f"convnext_{size}" for size in ("tiny", "small", "base", "large")), _convnext).items()
    for size in ("400mf", "800mf", "1_6gf", "3_2gf", "8gf", "16gf", "32gf"):
        yield f"regnet_x_{size}", partial(_regnet, None)
        yield f"regnet_y_{size}", partial(_regnet, 0.25)
    for name, patch in {"b_16": 16, "b_32": 32, "l_16": 16, "l_32": 32, "h_14": 14}.items():
        yield f"vit_{name}", partial(_vit, patch)
    yield "dinov2-small", _dinov2
    for size, heads in {"tiny": 3, "small": 6, "base": 12}.items():
        yield f"deit-{size}", partial(_deit, heads)
    yield from dict.fromkeys(("mixer_s32", "mixer_b16", "mixer_l16"), _mixer).items()
    yield "mobilenet_v1", _mobilenet_v1
    yield "efficientnet_lite0", _efficientnet_lite
    yield "eva02_base_patch14_448", _eva
    yield from {name.lower(): partial(_recurrent, name) for name in ("RNN", "LSTM", "GRU")}.items()


TORCH_MODELS = dict(_references())
