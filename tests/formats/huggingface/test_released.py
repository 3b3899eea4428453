"""Configurations with the fields that earlier versions of transformers wrote, as released models have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.formats.huggingface.harness import write_config

MODELS = json.loads((Path(__file__).parent / "released.json").read_text())["models"]


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry["model"]) for entry in MODELS])
def test_a_released_configuration_has_the_parameters_of_its_page(entry: dict[str, Any], tmp_path: Path) -> None:
    network = netcalc.load(write_config(tmp_path, entry["config"]))
    assert network.params == entry["params"]
    assumed = "bfloat16" if "quantization_config" in entry["config"] else "float32"
    stated = entry["config"].get("dtype") or entry["config"].get("torch_dtype")
    assert network.program.dtype == (stated or assumed)
