"""Models that only a library could build, where it is not installed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.formats.huggingface.tables import unnamed_fields
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


def test_what_a_table_s_spec_cannot_express_is_its_error_with_a_hint_at_the_library(tmp_path: Path) -> None:
    path = config(
        tmp_path, model_type="detr", architectures=["DetrForObjectDetection"], backbone_kwargs={"in_chans": 3}
    )
    with pytest.raises(netcalc.NetcalcError, match="E108: backbone_kwargs are not known") as caught:
        netcalc.load(path)
    (problem,) = caught.value.diagnostics
    assert "lets transformers build it" in str(problem.hint)
    params = netcalc.load(path, set={"backbone_kwargs": None}).params
    assert params == netcalc.load(config(tmp_path, model_type="detr", architectures=["DetrForObjectDetection"])).params


def test_fields_that_a_table_names_are_no_error_of_the_library() -> None:
    fields = {"model_type": "wav2vec2", "mask_time_min_space": 1, "hiden_size": 2, "_name": "x", "sep_token_id": 3}
    assert unnamed_fields({**fields, "layer_norm_eps": 1e-5, "tie_encoder_decoder": False}) == ["hiden_size"]
    assert unnamed_fields({"model_type": "qwen2_5_vl", "hidden_size": 8, "depth": 2}) == ["depth"]
    assert unnamed_fields({"model_type": "bitnet", "hiden_size": 2}) == []


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
