"""Folders of small models that transformers writes, for every architecture that netcalc imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netcalc.formats.huggingface.tables import model_types
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import tables
from tests.formats.huggingface.tiny_models import TINY

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

Run = Callable[..., CommandResult]
CASES: dict[str, str] = {name: table.model_type for table in tables() for name in table.part("models")}
#: Images of model types whose configuration names no size, for the commands to be quick.
SIZES = dict.fromkeys(("conditional_detr", "detr"), ("--set", "height=64", "--set", "width=96"))


def saved(architecture: str, folder: Path, **options: str) -> str:
    """Write a small model of an architecture as transformers does, and return its folder."""
    kind = getattr(transformers, architecture)
    kind(kind.config_class(**TINY[CASES[architecture]])).save_pretrained(folder, **options)
    return str(folder)


@pytest.mark.parametrize("architecture", CASES)
def test_the_weights_of_a_folder_fit(architecture: str, tmp_path: Path, netcalc: Run) -> None:
    ran = netcalc("verify", saved(architecture, tmp_path))
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert "every name, shape and type fits" in ran.out


@pytest.mark.sampled(4)
@pytest.mark.parametrize("model_type", model_types())
def test_the_commands(model_type: str, tmp_path: Path, netcalc: Run) -> None:
    folder = saved(_architecture(model_type), tmp_path)
    assert not (tmp_path / "model.safetensors.index.json").exists()
    for command in (["summary"], ["verify", "--execute"], ["run", "--weights", "."]):
        ran = netcalc(command[0], folder, *command[1:], *SIZES.get(model_type, ()))
        assert (ran.code, ran.err) == (0, ""), ran.out


@pytest.mark.sampled(4)
@pytest.mark.parametrize("model_type", model_types())
def test_weights_in_shards(model_type: str, tmp_path: Path, netcalc: Run) -> None:
    """Only what reads the weights differs from a folder with one file."""
    folder = saved(_architecture(model_type), tmp_path, max_shard_size="4KB")
    assert (tmp_path / "model.safetensors.index.json").is_file()
    ran = netcalc("run", folder, "--weights", ".", *SIZES.get(model_type, ()))
    assert (ran.code, ran.err) == (0, ""), ran.out


def _architecture(model_type: str) -> str:
    """Return the first architecture of a model type."""
    return next(name for name, kind in CASES.items() if kind == model_type)
