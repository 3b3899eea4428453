"""Small models of timm, imported: outputs, FLOPs and parameters are those of PyTorch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.oracle.module_outputs import Case, assert_agrees, by_name, image

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from timm.layers import GatedMlp, StdConv2d  # noqa: E402
from timm.models import mlp_mixer, nfnet  # noqa: E402
from timm.models.convmixer import ConvMixer  # noqa: E402
from timm.models.metaformer import MetaFormer  # noqa: E402
from timm.models.mlp_mixer import Affine  # noqa: E402
from timm.models.resnetv2 import ResNetV2  # noqa: E402
from timm.models.volo import VOLO  # noqa: E402

TOKENS: dict[str, Any] = {"img_size": 32, "patch_size": 8, "embed_dim": 16}
ViT: dict[str, Any] = TOKENS | {"depth": 2, "num_heads": 2}
MIXER: dict[str, Any] = TOKENS | {"num_blocks": 2, "num_classes": 5}
GATED: dict[str, Any] = {"block_layer": mlp_mixer.SpatialGatingBlock, "mlp_layer": GatedMlp, "mlp_ratio": 2}
STAGES: dict[str, Any] = {"layers": (1, 1, 1, 1), "channels": (128, 128, 128, 128), "stem_chs": 32}


def case(name: str, size: int = 32, **options: Any) -> Case:
    """Return the case of a model with these options, on images of a size."""
    return Case(name, lambda: timm.create_model(name, pretrained=False, num_classes=5, **options), image(size))


def norm_free(name: str) -> Case:
    """Return the case of a network without norms but with standardized weights, of few channels."""
    few = {"depths": (1, 1), "channels": (32, 64), "stem_chs": 16, "num_features": 32, "group_size": 16}
    return Case(name, lambda: nfnet.NormFreeNet(replace(nfnet.model_cfgs[name], **few), num_classes=5), image())


CASES = [
    case("resnet10t"),
    case("seresnext26d_32x4d", layers=(1, 1, 1, 1), channels=(32, 32, 64, 64)),
    case("resnetv2_50", **STAGES),
    Case("ResNetV2 of BiT", lambda: ResNetV2(**STAGES, num_classes=5, conv_layer=StdConv2d), image(128)),
    norm_free("dm_nfnet_f0"),
    norm_free("nf_regnet_b0"),
    Case("MLP-Mixer", lambda: mlp_mixer.MlpMixer(**MIXER), image()),
    Case("gMLP", lambda: mlp_mixer.MlpMixer(**MIXER, **GATED), image()),
    Case(
        "ResMLP",
        lambda: mlp_mixer.MlpMixer(**MIXER, block_layer=mlp_mixer.ResBlock, norm_layer=Affine, mlp_ratio=4),
        image(),
    ),
    case("vit_tiny_patch16_224", **ViT, qkv_bias=False, class_token=False, global_pool="avg"),
    case("deit_tiny_distilled_patch16_224", **ViT),
    case("beit_base_patch16_224", **ViT),
    case("eva02_tiny_patch14_224", **ViT),
    case("cait_xxs24_224", **ViT),
    case("xcit_nano_12_p8_224", **ViT),
    case("coat_lite_tiny", 32, img_size=32, embed_dims=(8, 16, 16, 16), serial_depths=(1, 1, 1, 1)),
    case("levit_128s", 64, img_size=64, embed_dim=(16, 32, 32), num_heads=(2, 4, 4), depth=(1, 1, 1)),
    case("efficientformer_l1", 224, embed_dims=(4, 8, 8, 8), depths=(1, 1, 1, 2)),
    Case("ConvMixer", lambda: ConvMixer(16, 2, kernel_size=5, patch_size=4, num_classes=5), image()),
    case("dla46_c"),
    case("mobilevit_xxs", 64),
    case("ghostnet_050"),
    Case("PoolFormer", lambda: MetaFormer(depths=(1, 1, 2, 1), dims=(8, 16, 16, 16), num_classes=5), image()),
    case("pvt_v2_b0", depths=(1, 1, 1, 1), embed_dims=(8, 16, 16, 16), num_heads=(1, 2, 2, 2)),
    case("edgenext_xx_small", 64, dims=(8, 16, 16, 16), depths=(1, 2, 2, 1)),
    case("sequencer2d_s", 32, img_size=32, embed_dims=(16, 16, 16, 16), hidden_sizes=(4, 4, 4, 4), layers=(1, 1, 1, 1)),
    case("convnext_atto", dims=(8, 16, 16, 16), depths=(1, 1, 2, 1)),
    Case("VOLO", lambda: VOLO((1, 1, 1, 1), 32, embed_dims=(16, 32, 32, 32), num_heads=(2, 2, 2, 2)), image()),
    case("lcnet_035"),
    case("mobileone_s0"),
    case("crossvit_tiny_240", 240, depth=[[1, 1, 0]], embed_dim=[16, 32], num_heads=[2, 2]),
    case("regnetx_002"),
]


@pytest.mark.sampled(3)
@by_name(CASES)
def test_outputs(case: Case) -> None:
    assert_agrees(case)
