"""Steps of training by network: measured with PyTorch, recorded, and by netcalc.

``tests/truth/training_memory.json`` is the list with its figures, which ``pytest --update`` measures anew; without it a
few networks are measured.
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

from tests.oracle.training_steps import (
    RECOMPUTED,
    STEPS,
    kept_by_netcalc,
    kept_by_torch,
    peak_by_netcalc,
    peak_by_torch,
)

RECORD = Path(__file__).parents[1] / "truth" / "training_memory.json"
LIVE = ("resnet18, train, sdpa-cpu", "gpt2, train, sdpa-cpu", "llama-3-8b, eval, eager")


@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str, measured: dict[str, dict[str, Any]], request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update")
    if name not in LIVE and not update:
        pytest.skip("measured with --update")
    case = STEPS[name]
    choices = {"spec": case.spec, "settings": case.settings, "mode": case.mode, "attention": case.attention}
    figures = {
        "peak": peak_by_torch(case, None),
        "peak_with_adamw": peak_by_torch(case, "adamw"),
        "kept_in_bf16": kept_by_torch(case),
    }
    measured[name] = choices | figures
    if not update:
        assert peak_by_netcalc(case, None) == pytest.approx(figures["peak"], rel=0.05)
        assert peak_by_netcalc(case, "adamw") == pytest.approx(figures["peak_with_adamw"], rel=0.05)
        assert kept_by_netcalc(case) == pytest.approx(figures["kept_in_bf16"], rel=0.03)
        recorded = json.loads(RECORD.read_text("utf-8"))[name]
        assert figures["kept_in_bf16"] == recorded["kept_in_bf16"]


@pytest.mark.parametrize("name", RECOMPUTED)
def test_recomputed_and_accumulated_steps(name: str) -> None:
    case = STEPS[name]
    recomputed = peak_by_torch(case, recompute=True)
    assert peak_by_netcalc(case, recompute="full") == pytest.approx(recomputed, rel=0.05)
    accumulated = peak_by_torch(case, accumulate=True)
    assert peak_by_netcalc(case, accumulate=2) == pytest.approx(accumulated, rel=0.05)
