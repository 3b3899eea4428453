"""Figures that seven tools print for three networks, each by a convention."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

import netcalc
from netcalc.cli import main

MODELS: Mapping[str, Mapping[str, Any]] = {"vit_b_16": {}, "swin_t": {}, "gpt2": {"length": 128}}
#: GMAC as printed, for the models in their order; measured with the tools at their defaults, in evaluation mode on the
#: CPU under no_grad: torch 2.13 (half of its FLOPs), fvcore 0.1.5, ptflops 0.7.5, thop 0.1.1, torchinfo 1.8.0.
PRINTED = {
    "torchvision": ("17.564", "4.491", "16.114"),
    "torch-cpu": ("11.271", "4.491", "15.812"),
    "fvcore-no-grad": ("11.290", "4.509", "15.824"),
    "ptflops": ("17.606", "3.128", "15.815"),
    "ptflops-aten": ("11.280", "4.504", "15.823"),
    "thop": ("11.286", "2.978", "4.950"),
    "torchinfo": ("0.173", "0.034", "163.3"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tool", PRINTED)
def test_a_cell_comes_out_to_the_printed_digits(tool: str, model: str) -> None:
    printed = Decimal(PRINTED[tool][list(MODELS).index(model)])
    flops = netcalc.load(model, set=dict(MODELS[model])).analysis(tool).total.flops
    giga = Decimal(int(flops)) / 10**9 / (2 if tool == "torch-cpu" else 1)
    assert giga.quantize(printed) == printed


def test_torchlens_counts_as_torchvision_does() -> None:
    """TorchLens 2.36 prints 17.56 GMAC for vit_b_16."""
    assert round(netcalc.load("vit_b_16").analysis("torchvision").total.flops / 1e9, 2) == 17.56


def test_a_fault_of_a_tool_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flops", "vit_b_16", "--convention", "thop", "--depth", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "11.29 GFLOP at one for each MAC" in text
    assert "no rule for nn.MultiheadAttention" in text and "pytorch-OpCounter#197" in text
