"""Tensors that PyTorch keeps of a forward pass for the backward pass, by network: measured, recorded, and by netcalc.

``tests/truth/saved_networks.json`` is the list with its figures, which ``pytest --update`` measures anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

from tests.oracle.saved_networks import CASES, kept_by_netcalc, kept_by_torch

RECORD = Path(__file__).parents[1] / "truth" / "saved_networks.json"
RECORDED: dict[str, dict[str, Any]] = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
#: Largest deviation.
TOLERANCE = 0.03


@pytest.mark.parametrize("name", CASES)
def test_networks(name: str, measured: dict[str, dict[str, Any]], request: pytest.FixtureRequest) -> None:
    case = CASES[name]
    theirs, ours = kept_by_torch(case), kept_by_netcalc(case)
    choices = {"spec": case.spec, "settings": case.settings, "mode": case.mode, "attention": case.attention}
    measured[name] = choices | {"torch": theirs, "netcalc": ours}
    assert abs(ours / theirs - 1) <= TOLERANCE
    if not request.config.getoption("--update"):
        assert json.loads(json.dumps(measured[name])) == RECORDED[name]
