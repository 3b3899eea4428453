"""Small models of torchvision, imported: outputs, FLOPs and parameters are those of PyTorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.oracle.module_outputs import Case, assert_agrees, by_name, image

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torch import nn  # noqa: E402
from torchvision.models import (  # noqa: E402
    AlexNet,
    GoogLeNet,
    convnext,
    densenet,
    efficientnet,
    inception,
    maxvit,
    mnasnet,
    mobilenetv2,
    mobilenetv3,
    regnet,
    resnet,
    segmentation,
    shufflenetv2,
    squeezenet,
    swin_transformer,
    vgg,
    vision_transformer,
)
from torchvision.models.video import swin_transformer as video_swin  # noqa: E402
from torchvision.ops import FeaturePyramidNetwork  # noqa: E402


def classified(make: Any, width: int) -> Any:
    """Return a network with a small classifier in place of one of a hundred million parameters."""
    with torch.device("meta"):
        module = make()
    module.classifier = nn.Sequential(nn.Dropout(), nn.Linear(width, 20), nn.ReLU(inplace=True), nn.Linear(20, 5))
    return module.to_empty(device="cpu")


def inception_stages() -> Any:
    """Return one of each of the stages of Inception v3."""
    return nn.Sequential(
        inception.InceptionA(16, 8),
        inception.InceptionB(232),
        inception.InceptionC(712, 16),
        inception.InceptionD(768),
        inception.InceptionE(1280),
    )


def efficient() -> Any:
    expanding, fused = efficientnet.MBConvConfig, efficientnet.FusedMBConvConfig
    setting = [fused(1, 3, 1, 8, 8, 1), fused(4, 3, 2, 8, 16, 1), expanding(6, 5, 2, 16, 24, 2)]
    return efficientnet.EfficientNet(setting, dropout=0.2, num_classes=5, last_channel=32)


def convnext_stages() -> Any:
    stages = [convnext.CNBlockConfig(8, 16, 2), convnext.CNBlockConfig(16, None, 2)]
    return convnext.ConvNeXt(stages, num_classes=5)


def deeplab() -> Any:
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.ReLU())

    class Backbone(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.stem = backbone

        def forward(self, x: Any) -> Any:
            return {"out": self.stem(x)}

    return segmentation.DeepLabV3(Backbone(), segmentation.deeplabv3.DeepLabHead(8, 5, atrous_rates=(2, 3)))


SWIN: Any = {"patch_size": [2, 2], "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 2], "window_size": [4, 4]}
VIDEO: Any = {"patch_size": [2, 4, 4], "embed_dim": 8, "depths": [2], "num_heads": [2], "window_size": [2, 2, 2]}

CASES = [
    Case("ResNet", lambda: resnet.ResNet(resnet.BasicBlock, [1, 2, 1, 1], num_classes=5), image()),
    Case(
        "ResNeXt",
        lambda: resnet.ResNet(resnet.Bottleneck, [1, 1, 2, 1], num_classes=5, groups=4, width_per_group=4),
        image(),
    ),
    Case("DenseNet", lambda: densenet.DenseNet(4, (2, 2, 2), 8, num_classes=5), image()),
    Case(
        "VGG",
        lambda: classified(lambda: vgg.VGG(vgg.make_layers([8, "M", 16, 16, "M"], True), init_weights=False), 784),
        image(),
    ),
    Case("AlexNet", lambda: classified(AlexNet, 9216), image(64)),
    Case("SqueezeNet", lambda: squeezenet.SqueezeNet("1_1", num_classes=5), image(48)),
    Case(
        "MobileNetV2",
        lambda: mobilenetv2.MobileNetV2(
            5, 0.25, inverted_residual_setting=[[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 2, 2]]
        ),
        image(),
    ),
    Case("MobileNetV3", lambda: mobilenetv3.mobilenet_v3_small(width_mult=0.25, num_classes=5), image()),
    Case("MNASNet", lambda: mnasnet.MNASNet(0.25, num_classes=5), image()),
    Case("EfficientNet", efficient, image()),
    Case("ShuffleNetV2", lambda: shufflenetv2.ShuffleNetV2([1, 2, 1], [8, 8, 16, 32, 16], num_classes=5), image()),
    Case("GoogLeNet", lambda: GoogLeNet(5, False, True, init_weights=False), image()),
    Case("Inception", inception_stages, (torch.zeros(1, 16, 17, 17),)),
    Case("ConvNeXt", convnext_stages, image()),
    Case(
        "RegNet",
        lambda: regnet.RegNet(regnet.BlockParams.from_init_params(5, 8, 8.0, 2.0, 8, se_ratio=0.25), num_classes=5),
        image(),
    ),
    Case("Swin", lambda: swin_transformer.SwinTransformer(**SWIN, num_classes=5), image()),
    Case(
        "SwinV2",
        lambda: swin_transformer.SwinTransformer(
            **SWIN,
            num_classes=5,
            block=swin_transformer.SwinTransformerBlockV2,
            downsample_layer=swin_transformer.PatchMergingV2,
        ),
        image(),
    ),
    Case("ViT", lambda: vision_transformer.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5), image()),
    Case("MaxViT", lambda: maxvit.MaxVit((32, 32), 8, 4, [8, 16], [1, 1], 4, 0.0, num_classes=5), image()),
    Case("DeepLabV3", deeplab, image()),
    Case("Swin3D", lambda: video_swin.SwinTransformer3d(**VIDEO, num_classes=5), (torch.zeros(1, 3, 4, 16, 16),)),
    Case(
        "FPN",
        partial(FeaturePyramidNetwork, [4, 8], 6),
        ({"fine": torch.zeros(1, 4, 12, 12), "coarse": torch.zeros(1, 8, 6, 6)},),
    ),
]


@by_name(CASES)
def test_outputs(case: Case) -> None:
    assert_agrees(case)
