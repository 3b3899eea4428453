"""Networks of torchvision; their own random numbers are drawn only where that cannot be avoided."""

from __future__ import annotations

from functools import partial

from torchvision.models import (
    alexnet,
    convnext_tiny,
    densenet121,
    efficientnet_b0,
    efficientnet_v2_s,
    mnasnet1_0,
    mobilenet_v2,
    mobilenet_v3_large,
    mobilenet_v3_small,
    regnet_x_400mf,
    regnet_y_400mf,
    resnet34,
    resnet50,
    resnext50_32x4d,
    shufflenet_v2_x1_0,
    squeezenet1_1,
    swin_t,
    swin_v2_t,
    vit_b_16,
    vit_b_32,
    wide_resnet50_2,
)
from torchvision.models import googlenet as _googlenet
from torchvision.models import inception_v3 as _inception_v3
from torchvision.models import vgg16 as _vgg16

__all__ = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "googlenet",
    "inception_v3",
    "mnasnet1_0",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "regnet_x_400mf",
    "regnet_y_400mf",
    "resnet34",
    "resnet50",
    "resnext50_32x4d",
    "shufflenet_v2_x1_0",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vgg16",
    "vit_b_16",
    "vit_b_32",
    "wide_resnet50_2",
]

googlenet = partial(_googlenet, init_weights=False, aux_logits=False)
inception_v3 = partial(_inception_v3, init_weights=False, aux_logits=False)
vgg16 = partial(_vgg16, init_weights=False)
