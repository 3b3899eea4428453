"""The table of foreign formats: rows, the modules that they name, and recognition of models."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

import netcalc.formats
from netcalc.formats.libraries.packages import LIBRARIES
from netcalc.formats.table import FOLDER_FILES, FORMATS, Format, json_format, named_format
from tests.conftest import CommandResult

#: Folders of what several formats share, and of the files that are written.
SHARED = {"export", "graph", "hub", "libraries"}
#: Libraries that build models, which have a folder each.
BUILDERS = {row.library for row in FORMATS if row.library is not None}


def _arguments(module: str, function: str) -> list[str]:
    return list(signature(getattr(import_module(f"netcalc.formats.{module}"), function)).parameters)


def test_every_folder_has_a_row() -> None:
    folder = Path(str(netcalc.formats.__file__)).parent
    folders = {path.parent.name for path in folder.glob("*/__init__.py")}
    documents = {row.document.partition(".")[0] for row in FORMATS if row.document is not None}
    assert documents | BUILDERS == folders - SHARED


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.document or row.library)
def test_rows_name_functions(row: Format) -> None:
    if row.library is not None:
        assert _arguments(f"{row.library}.building", "built") == ["model", "settings"]
    if row.document is None:
        assert row.library is not None
    elif row.only_import is None:
        assert _arguments(row.document, "describe") == ["source", "max_size"]
    else:
        assert _arguments(row.document, "import_document") == ["model", "settings"]
    if row.weights is not None:
        assert _arguments(row.weights, "own_weights") == ["source"]


@pytest.mark.parametrize("library", sorted(BUILDERS))
def test_libraries_have_a_function(library: str) -> None:
    assert _arguments(f"{library}.building", "built") == ["model", "settings"]
    assert library in LIBRARIES


def test_every_row_can_be_recognized() -> None:
    assert [row.document for row in FORMATS if not (row.prefix or row.suffix or row.filename)] == []


@pytest.mark.parametrize(
    ("model", "document"),
    [
        ("torch:package.module:factory", "torch.sources"),
        ("net.PT2", "torch.sources"),
        ("model.gguf", "gguf.document"),
        ("hf:org/model.gguf", None),
        ("resnet34", None),
        ("model.json", None),
    ],
)
def test_names(model: str, document: str | None) -> None:
    row = named_format(model)
    assert (row and row.document) == document


@pytest.mark.parametrize(
    ("filename", "data", "document"),
    [
        ("modules.json", [], "sentence_transformers.document"),
        ("config.json", {"model_type": "bert"}, "huggingface.document"),
        ("config.json", {"model_type": "bert", "architecture": "x"}, "huggingface.document"),
        ("config.json", {"architecture": "resnet18"}, "timm.document"),
        ("other.json", {"architecture": "resnet18"}, "timm.document"),
        ("adapter_config.json", {"peft_type": "LORA"}, "peft.document"),
        ("other.json", {"peft_type": "LORA", "architecture": "x"}, "peft.document"),
        ("model_index.json", {"_class_name": "FluxPipeline"}, "diffusers.document"),
        ("config.json", {"_class_name": "UNet2DModel"}, "diffusers.document"),
        ("config.json", {"_class_name": "x", "weight_map": {}}, "huggingface.document"),
        ("adapter_config.json", {}, "huggingface.document"),
        ("other.json", [], "huggingface.document"),
    ],
)
def test_json_files(filename: str, data: object, document: str | None) -> None:
    assert json_format(filename, data).document == document


def test_order_of_the_files_in_a_folder() -> None:
    assert FOLDER_FILES == ("modules.json", "config.json", "adapter_config.json", "model_index.json")


def test_a_spec_imports_no_format() -> None:
    code = "import sys; from netcalc.formats import load_model; load_model('mlp'); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(ran.stdout.split())
    folders = {str(row.document or row.library).partition(".")[0] for row in FORMATS}
    assert imported.isdisjoint({f"netcalc.formats.{folder}" for folder in folders})
    assert imported.isdisjoint({"numpy", "torch", "gguf", "huggingface_hub"})


@pytest.mark.parametrize("row", [row for row in FORMATS if row.prefix or row.suffix], ids=lambda row: row.prefix)
def test_help_names_every_beginning_and_end(row: Format, netcalc: Callable[..., CommandResult]) -> None:
    page = netcalc("import", "--help").out
    assert row.prefix in page
    assert row.suffix in page
