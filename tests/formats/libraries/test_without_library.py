"""Models that only a library could build, where it is not installed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.formats.libraries import packages


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_version", lambda package: None)


def config(folder: Path, **fields: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("model", "command"),
    [
        ("timm:caformer_s18", 'pip install "timm>=1.0" "torch>=2.9" "torchvision>=0.24"'),
        ("torchvision:raft_small", 'pip install "torchvision>=0.24" "torch>=2.9"'),
    ],
)
def test_names_need_their_library(model: str, command: str) -> None:
    with pytest.raises(netcalc.NetcalcError) as caught:
        netcalc.load(model)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E007"
    assert command in str(problem.hint)


def test_extras_have_the_requirements() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for library, requirements in packages.LIBRARIES.items():
        assert project["optional-dependencies"][library] == [*requirements]


def test_an_unknown_type_is_the_table_s_error_with_a_hint_at_the_library(tmp_path: Path) -> None:
    path = config(tmp_path, model_type="zamba9", architectures=["Zamba9Model"])
    with pytest.raises(netcalc.NetcalcError, match="'zamba9' cannot be imported") as caught:
        netcalc.load(path)
    hint = str(caught.value.diagnostics[-1].hint)
    assert '`pip install "transformers>=5.0" "torch>=2.9"` lets transformers build it' in hint


def test_a_table_needs_no_library(tmp_path: Path) -> None:
    path = config(tmp_path, model_type="llama", architectures=["LlamaForCausalLM"], num_hidden_layers=1)
    assert netcalc.load(path, via="table").params == netcalc.load(path).params
    with pytest.raises(netcalc.NetcalcError, match="needs transformers and torch"):
        netcalc.load(path, via="library")


def test_timm_has_tables_too() -> None:
    assert netcalc.load("timm:resnet18").params == netcalc.load("resnet18").params


def test_a_file_that_is_wrong_is_no_case_for_a_library(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(netcalc.NetcalcError, match="E001"):
        netcalc.load(path)


@pytest.mark.parametrize("options", [{"via": "library"}, {"example": ["x=float32:1"]}])
def test_a_spec_has_no_library(options: dict[str, Any]) -> None:
    with pytest.raises(netcalc.NetcalcError, match="E502"):
        netcalc.load("resnet18", **options)


def test_a_gguf_file_has_no_library(tmp_path: Path) -> None:
    with pytest.raises(netcalc.NetcalcError, match="no library builds"):
        netcalc.load(tmp_path / "x.gguf", via="library")
