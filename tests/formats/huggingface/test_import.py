"""Specs that are written from configurations, and settings by names of fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import config_of, write_config
from tests.formats.huggingface.test_recorded import KNOWN
from tests.records.test_records import validated

Run = Callable[..., CommandResult]
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 2}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("model", KNOWN)
def test_the_written_spec_gives_the_same_figures(model: str, tmp_path: Path, netcalc: Run) -> None:
    folder = write_config(tmp_path / "model", config_of(model)).parent
    spec = tmp_path / "spec.yaml"
    ran = netcalc("import", str(folder), "-o", str(spec))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    totals = [json.loads(netcalc("summary", str(given), "-f", "json").out)["totals"] for given in (folder, spec)]
    assert totals[0] == totals[1]


def test_settings_take_fields_dims_and_vars(tmp_path: Path) -> None:
    file = write_config(tmp_path, LLAMA)
    by_field = netcalc.load(file, set={"num_hidden_layers": 1, "hidden_size": 64, "length": 8})
    by_var = netcalc.load(file, set={"layers": 1, "d_model": 64, "head_dim": 2, "length": 8})
    assert by_field.params == by_var.params
    assert netcalc.load(file, symbolic=["length"]).specialize(length=8).params == netcalc.load(file).params


def test_a_setting_is_in_the_written_spec(tmp_path: Path, netcalc: Run) -> None:
    folder = write_config(tmp_path / "net", LLAMA).parent
    ran = netcalc("import", str(folder), "--set", "num_hidden_layers=5", "--set", "batch=3")
    assert "layers: 5" in ran.out
    assert "batch: 3" in ran.out


def test_a_golden_spec(tmp_path: Path, netcalc: Run, golden: Callable[[str, str], None]) -> None:
    folder = write_config(tmp_path / "tiny-llama", LLAMA).parent
    golden("import/llama.yaml", netcalc("import", str(folder)).out)


def test_a_spec_is_not_imported(netcalc: Run) -> None:
    ran = netcalc("import", "resnet18")
    assert (ran.code, ran.out) == (2, "")
    assert "error[E502]" in ran.err
    assert "hint" in ran.err


def test_the_model_types_are_listed(netcalc: Run) -> None:
    record = validated(netcalc("import", "-f", "json"), "model-types")
    families = {entry["model_type"]: entry["family"] for entry in record["model_types"]}
    assert families["llama"] == "llama"
    for format_ in ("table", "csv", "markdown"):
        assert "LlamaForCausalLM" in netcalc("import", "-f", format_).out
