"""Conventions of tools against the tools, run on the networks that are quick to build and to run."""

from __future__ import annotations

import pytest

import netcalc
from tests.oracle.counting_tools import TOOLS, figure_of
from tests.oracle.tool_networks import NETWORKS

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("transformers")

QUICK = ("resnet18", "mobilenet_v3_large", "vit_b_16", "swin_t", "lstm", "mixture of experts")
#: Tools that patch PyTorch while they count; each leaves it as it was.
LIVE = ("torch-cpu", "fvcore-no-grad", "ptflops", "ptflops-aten", "thop", "torchinfo")


@pytest.mark.parametrize("network", QUICK)
@pytest.mark.parametrize("tool", LIVE)
def test_a_convention_counts_as_its_tool(tool: str, network: str) -> None:
    pytest.importorskip(TOOLS[tool].package)
    reference = NETWORKS[network]
    ours = netcalc.load(reference.spec, set=dict(reference.settings)).analysis(tool).total.flops
    assert ours == figure_of(tool, network)
