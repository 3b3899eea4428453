"""Networks of torchvision; their own random numbers are drawn only where that cannot be avoided."""

from __future__ import annotations

from functools import partial

from torchvision.models import (
    convnext_tiny,
    densenet121,
    efficientnet_b0,
    mobilenet_v2,
    mobilenet_v3_large,
    regnet_y_400mf,
    resnet34,
    resnet50,
    shufflenet_v2_x1_0,
    swin_t,
    vit_b_16,
)
from torchvision.models import googlenet as _googlenet
from torchvision.models import inception_v3 as _inception_v3
from torchvision.models import vgg16 as _vgg16

__all__ = [
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "googlenet",
    "inception_v3",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "regnet_y_400mf",
    "resnet34",
    "resnet50",
    "shufflenet_v2_x1_0",
    "swin_t",
    "vgg16",
    "vit_b_16",
]

googlenet = partial(_googlenet, init_weights=False, aux_logits=False)
inception_v3 = partial(_inception_v3, init_weights=False, aux_logits=False)
vgg16 = partial(_vgg16, init_weights=False)
