"""Assignments of ``--quantize`` that store parameters as released checkpoints do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import netcalc
from netcalc.analysis.precision.written import assignments_of

TRUTH = YAML(typ="safe").load(Path(__file__).parent.parent.parent / "truth/quantized_models.yaml")
MODELS = (
    "TheBloke/Llama-2-7B-AWQ",
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-V3",
    "unsloth/QwQ-32B-bnb-4bit",  # some layers in full precision
    "mlx-community/SmolLM2-135M-Instruct-8bit",
)


@pytest.mark.parametrize("model", MODELS)
def test_assignments_give_the_bytes_of_the_checkpoint(model: str, tmp_path: Path) -> None:
    truth = next(each for each in TRUTH["models"] if each["model"].startswith(model))
    config = TRUTH["bases"].get(truth.get("base"), {}) | truth.get("config", {})
    (tmp_path / "config.json").write_text(json.dumps(config))
    network = netcalc.load(tmp_path / "config.json")
    rules = assignments_of(network.request.program)
    text = netcalc.import_spec(tmp_path / "config.json")
    assert netcalc.loads(text, quantize=rules).storage().bytes == network.storage().bytes
    assert netcalc.loads(text).storage().bytes != network.storage().bytes


def test_parameters_of_the_element_type_need_none() -> None:
    assert assignments_of(netcalc.load("resnet18").request.program) == ()
