"""Models in GGUF have the figures of the configurations that they were converted from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import parameters
from netcalc.formats.gguf.tables import architectures
from tests.formats.gguf.conversion import ARCHITECTURES, write
from tests.formats.huggingface.harness import config_of, recorded, write_config

KNOWN = [
    name
    for name, entry in recorded().items()
    if ARCHITECTURES.get(entry["as_saved"]["model_type"]) in architectures()
    and entry["as_saved"]["architectures"][0].endswith(("ForCausalLM", "LMHeadModel"))
]


@pytest.mark.parametrize("model", KNOWN)
def test_figures_are_those_recorded(model: str, tmp_path: Path) -> None:
    config = config_of(model, "full")
    spec = netcalc.load(write_config(tmp_path, config))
    empty = {
        p.path: np.broadcast_to(np.float16(0), tuple(map(int, p.param.shape)))
        for p in parameters(spec.program)
        if not p.tied
    }
    file = write(tmp_path / "model.gguf", config, empty)
    for figure in recorded()[model]["figures"]:
        found = netcalc.load(file, set=figure["dims"]).analysis("torch").total
        assert (found.params, found.flops) == (figure["params"], figure["flops_torch"])
