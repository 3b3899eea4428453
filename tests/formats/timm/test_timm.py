"""Models of timm: the recorded figures, the tables, settings, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.formats.timm.tables import KEYS, Table, architectures, tables
from netcalc.spec.evaluate import words_in
from netcalc.spec.library import load_document
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config

Run = Callable[..., CommandResult]
RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
MODELS = RECORDED["architectures"]
SAVED = RECORDED["saved"]  # ResNet-18 with 5 classes
TABLES = {table.cursor.data["source"]: table for table in tables()}


def config(architecture: str, **changes: Any) -> dict[str, Any]:
    """Return a configuration as the Hub has them."""
    size = MODELS[architecture]["input_size"]
    return {"architecture": architecture, "num_classes": 1000, "pretrained_cfg": {"input_size": size}} | changes


def test_every_architecture_of_the_tables_is_recorded() -> None:
    assert MODELS.keys() == set(architectures())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("architecture", MODELS)
def test_figures_are_the_recorded_ones(architecture: str, tmp_path: Path) -> None:
    network = api.load(write_config(tmp_path, config(architecture)))
    assert network.params == MODELS[architecture]["params"]
    assert network.cost("torch").flops == MODELS[architecture]["flops_torch"]
    alone = api.load(write_config(tmp_path, {"architecture": architecture}))  # with the defaults of the architecture
    assert alone.params == network.params
    assert alone.flops == network.flops


@pytest.mark.parametrize("source", TABLES)
def test_a_table_sets_every_var_and_uses_every_field(source: str) -> None:
    table: Table = TABLES[source]
    assert set(table.cursor.data) <= set(KEYS)
    common = table.part("vars")
    for name, entry in table.part("models").items():
        parent = load_document(entry["extends"]).document
        assert parent.vars.keys() == {*common, *entry.get("vars", {})}, name
        assert set(entry.get("fields", {})) <= set(table.part("fields"))
    entries = [entry.get("vars", {}) for entry in table.part("models").values()]
    used = words_in([entries, *(table.part(key) for key in ("vars", "dims", "require"))])
    for field, declared in table.part("fields").items():
        assert {field, f"config_{field}"} & used or "choices" in declared, field


def test_a_saved_configuration(tmp_path: Path, netcalc: Run) -> None:
    folder = write_config(tmp_path / "net", SAVED).parent
    network = api.load(folder)
    assert network.params == MODELS["resnet18"]["params"] - 995 * 513
    spec = tmp_path / "spec.yaml"
    assert netcalc("import", str(folder), "-o", str(spec)).code == 0
    assert "extends: resnet34" in spec.read_text()
    assert api.load(spec).params == network.params
    assert api.load(folder, set={"num_classes": 1000}).params == MODELS["resnet18"]["params"]


def test_arguments_of_the_model_and_sizes_of_images(tmp_path: Path) -> None:
    small = {"embed_dim": 192, "num_heads": 3, "drop_rate": 0.1, "img_size": 224}
    file = write_config(tmp_path, config("vit_base_patch16_224", model_args=small))
    assert api.load(file).params == MODELS["vit_tiny_patch16_224"]["params"]
    for changes in ({"pretrained_cfg": {"input_size": [3, 384, 384]}}, {"model_args": {"img_size": [384, 384]}}):
        file = write_config(tmp_path, config("vit_base_patch16_224", **changes))
        assert api.load(file).params == MODELS["vit_base_patch16_384"]["params"]
    file = write_config(tmp_path, config("vit_base_patch16_384"))
    assert api.load(file).params == MODELS["vit_base_patch16_384"]["params"]


ViT = "vit_base_patch16_224"
#: Name, configuration and a part of the message.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown architecture": ({"architecture": "resnet51"}, "the nearest known one is 'resnet"),
    "another kind of name": ({"architecture": 50}, "the architecture 50 of timm"),
    "unknown field": (config(ViT, depth=3), "the field 'depth' of timm is not known; it is 3"),
    "unknown argument": (config(ViT, model_args={"class_token": False}), "model_args.class_token = false"),
    "size of images as an argument": (config(ViT, model_args={"image_height": 32}), "model_args.image_height"),
    "size that is not fixed": (config("resnet18", model_args={"img_size": 224}), "model_args.img_size = 224"),
    "sides": (config(ViT, model_args={"img_size": [224]}), "whole number"),
    "unknown part": (config(ViT, pretrained_cfg={"head_init": 1}), "pretrained_cfg.head_init"),
    "size of images": (config(ViT, pretrained_cfg={"input_size": 224}), "input_size should be three numbers"),
    "height of images": (config(ViT, pretrained_cfg={"input_size": [3, "224", 224]}), "whole number"),
    "channels": (config(ViT, pretrained_cfg={"input_size": [1, 224, 224]}), "image_channels"),
    "pooling": (config(ViT, global_pool="map"), "global_pool"),
    "no classifier": (config(ViT, num_classes=0), "num_classes"),
    "no object": (config(ViT, model_args=[1]), "model_args should be an object"),
    "five stages": (config("resnet18", model_args={"layers": [1, 1, 1, 1, 1]}), "stages in layers is not 4"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_is_refused(case: str, tmp_path: Path, netcalc: Run) -> None:
    data, part = REFUSED[case]
    ran = netcalc("summary", str(write_config(tmp_path, data)))
    assert (ran.code, ran.out) == (2, "")
    assert "error[E" in ran.err
    assert part in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
