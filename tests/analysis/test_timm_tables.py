"""Figures of timm's tables of results, for networks that netcalc ships under other names."""

from __future__ import annotations

import pytest

import netcalc

#: infer_gmacs and infer_macts of results/benchmark-infer-amp-nhwc-pt240-cu124-rtx3090.csv at 224×224.
TABLE = {
    "resnet18": (1.82, 2.48),
    "resnet101": (7.83, 16.23),
    "mobilenet_v3_large": (0.23, 4.41),
    "densenet201": (4.34, 7.85),
    "vgg16": (15.47, 13.56),
    "convnext_small": (8.71, 21.56),
    "swin_t": (4.51, 17.06),
    "deit-small": (4.61, 11.95),
    "deit-base": (17.58, 23.9),
}


@pytest.mark.parametrize("name", TABLE)
def test_gmacs_and_macts(name: str) -> None:
    total = netcalc.load(name).analysis("timm").total
    assert (round(total.flops / 1e9, 2), round(total.macts / 1e6, 2)) == TABLE[name]


#: ActivationCountAnalysis of fvcore 0.1.5 on the reference implementations.
ACTIVATIONS = {"resnet18": 2_484_712, "mobilenet_v3_large": 4_407_168, "swin_t": 17_055_352, "unet-padded": 159_907_840}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_fvcore(name: str) -> None:
    assert netcalc.load(name).cost().macts == ACTIVATIONS[name]
