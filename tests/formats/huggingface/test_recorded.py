"""Configurations give the recorded figures, as transformers saves them and in full."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc
from netcalc.formats.huggingface.tables import model_types
from tests.formats.huggingface.harness import config_of, recorded, write_config

#: Recorded models whose type has a table.
KNOWN = [name for name, entry in recorded().items() if entry["as_saved"]["model_type"] in model_types()]

#: Work that transformers did not do, since the random weights sent tokens to experts that were full.
NOT_DONE = {"hf/switch-base-8": 448 * 2 * 2 * 768 * 3072}


@pytest.mark.parametrize("model", KNOWN)
@pytest.mark.parametrize("form", ["as_saved", "full"])
def test_figures_are_those_recorded(model: str, form: str, tmp_path: Path) -> None:
    file = write_config(tmp_path, config_of(model, form))
    for figure in recorded()[model]["figures"]:
        found = netcalc.load(file, set=figure["dims"]).analysis("torch").total
        flops = figure["flops_torch"] + NOT_DONE.get(model, 0)
        assert (found.params, found.flops_expected if model in NOT_DONE else found.flops) == (figure["params"], flops)
