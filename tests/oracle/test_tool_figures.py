"""Figures that tools show beside work, live, on the networks that are quick to build and to run."""

from __future__ import annotations

import pytest

import netcalc
from netcalc.analysis.own_figures import own_figures
from tests.oracle.tool_figures import TOOLS, comparable, figures_of
from tests.oracle.tool_networks import NETWORKS

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("transformers")


@pytest.mark.parametrize("network", ["resnet18", "vit_b_16", "swin_t", "lstm", "mixture of experts"])
@pytest.mark.parametrize("tool", TOOLS)
def test_figures_are_those_of_the_tool(tool: str, network: str) -> None:
    pytest.importorskip(TOOLS[tool][0])
    reference = NETWORKS[network]
    ours = netcalc.load(reference.spec, set=dict(reference.settings), dtype="float32").analysis(tool)
    values = {figure.name: figure.value for figure in own_figures(ours)}
    assert comparable(tool, network, figures_of(tool, network)).items() <= values.items()
