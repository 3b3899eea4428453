"""Steps of training whose repeats are cut, against the same unrolled, and moments of the peak."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.training_memory import Training, training_memory
from netcalc.analysis.training_step import cuts
from netcalc.ir import Program

SHALLOW = {"length": 16}
#: Specs with single repeats, repeats in a row, repeats inside each other, shared weights and ties, made deep.
DEEP: dict[str, dict[str, Any]] = {
    "llama-3-8b": {"layers": 13, **SHALLOW},
    "bert-base": {"layers": 11, **SHALLOW},
    "gpt2": {"layers": 12, **SHALLOW},
    "t5-small": {"encoder_layers": 9, "decoder_layers": 8, "source": 12, "target": 10},
    "bart-base": {"encoder_layers": 7, "decoder_layers": 8, "source": 12, "target": 10},
    "mixtral-8x7b": {"layers": 9, **SHALLOW},
    "deepseek-v3": {"layers": 14, **SHALLOW},
    "gemma-3-1b": {"length": 16},
    "mamba-130m": {"length": 16},
    "resnet152": {"height": 64, "width": 64},
    "densenet121": {"height": 64, "width": 64},
    "swin_t": {"height": 64, "width": 64, "depths": [2, 2, 12, 2]},
    "vit_b_16": {},
    "convnext_tiny": {"height": 64, "width": 64, "depths": [3, 3, 9, 3]},
}


def unrolled(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make nothing worth being cut."""
    monkeypatch.setattr(cuts, "_WORTH", 10**9)


@pytest.mark.parametrize("recompute", ["none", "full", "every:2", "selective"])
@pytest.mark.parametrize("name", DEEP)
def test_folded_steps_equal_unrolled_ones(name: str, recompute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if recompute != "none" and name not in ("llama-3-8b", "t5-small", "deepseek-v3", "swin_t"):
        pytest.skip("the same repeats as in others")
    training = Training("adafactor", recompute=recompute)
    program = netcalc.load(name, set=DEEP[name], mode="train").program
    cut = training_memory(program, training)
    unrolled(program, monkeypatch)
    assert cut == training_memory(program, training)
