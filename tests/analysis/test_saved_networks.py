"""Tensors that a forward pass keeps for the backward pass, against figures recorded with PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netcalc.analysis.saved import saved_bytes, saved_tensors
from netcalc.loading import load

RECORD = Path(__file__).parents[1] / "truth" / "saved_networks.json"
RECORDED: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))


@pytest.mark.parametrize("name", RECORDED)
def test_networks(name: str) -> None:
    figure = RECORDED[name]
    program = load(figure["spec"], set=figure["settings"], dtype="float32", mode=figure["mode"]).program
    kept = saved_bytes(saved_tensors(program, "eager", figure["attention"]))
    assert kept == figure["netcalc"]
    assert kept == pytest.approx(figure["torch"], rel=0.03)


def test_most_networks_agree_to_the_byte() -> None:
    networks = {figure["spec"] for figure in RECORDED.values()}
    exact = {figure["spec"] for figure in RECORDED.values() if figure["netcalc"] == figure["torch"]}
    assert len(networks) >= 28 and len(exact) >= 24
