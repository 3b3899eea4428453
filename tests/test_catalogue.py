"""The catalogue of the shipped specs against the specs (``pytest --update`` writes it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as package
from netcalc.spec.shipped import CATALOGUE, catalogue, shipped, specs_dir, unaliased
from tests.conftest import CommandResult
from tests.generators.catalogue import catalogue_entry, catalogue_text


def test_the_catalogue_is_that_of_the_specs(request: pytest.FixtureRequest) -> None:
    entries: dict[str, dict[str, Any]] = {name: catalogue_entry(name) for name in shipped()}
    path = specs_dir() / CATALOGUE
    if request.config.getoption("--update"):
        path.write_text(catalogue_text(entries.items()), encoding="utf-8")
    lines = catalogue_text(entries.items()).splitlines()
    stale = set(lines) ^ set(path.read_text(encoding="utf-8").splitlines())
    assert not stale, "the catalogue is not that of the specs: pytest tests/test_catalogue.py --update"


def test_lists_in_python_are_iterated() -> None:
    specs = package.list_specs()
    assert [spec.name for spec in specs] == [spec.name for spec in specs.specs]
    assert {spec.name for spec in specs} == {*shipped()} and len(specs) == len(shipped())
    assert [spec.name for spec in package.list_specs("alexnet")] == ["alexnet", "alexnet-original"]
    operations = package.list_operations()
    assert {"conv2d", "linear", "multi_head_attention"} <= {operation.name for operation in operations}
    assert len(operations) == len({*operations})


def test_an_alias_names_one_spec() -> None:
    owners = Counter(
        (alias.lower() if whole else alias.lower().rpartition("/")[2], spec.name)
        for spec in catalogue().values()
        for alias in spec.aliases
        for whole in (True, False)
        if whole or "/" in alias
    )
    assert [pair for pair, count in owners.items() if count > 1] == []
    assert [name for name, count in Counter(alias for alias, _ in owners).items() if count > 1] == []
    assert [pair for pair in owners if pair[0] in shipped() and pair[0] != pair[1]] == []


@pytest.mark.parametrize(
    ("alias", "spec"),
    [
        ("bert-base-uncased", "bert-base"),
        ("google-bert/bert-base-uncased", "bert-base"),
        ("vit-base-patch16-224", "vit_b_16"),
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("facebook/opt-125m", "opt-125m"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2-7b"),
        ("qwen2.5-7b", "qwen2-7b"),
        ("Llama-3.3-70B-Instruct", "llama-3.1-70b"),
        ("BAAI/bge-base-en-v1.5", "bert-base"),
        ("sentence-transformers/all-MiniLM-L6-v2", "minilm-l6-h384"),
        ("OpenAI-Community/GPT2-XL", "gpt2-xl"),
    ],
)
def test_an_alias_finds_the_spec(alias: str, spec: str, netcalc: Callable[..., CommandResult]) -> None:
    assert unaliased(alias) == spec
    assert package.load(alias).name == spec
    assert netcalc("params", alias, "-f", "json") == netcalc("params", spec, "-f", "json")
    assert netcalc("specs", alias).out.startswith(f"{spec}: ")


def test_aliases_are_not_inherited(tmp_path: Path) -> None:
    child = tmp_path / "child.yaml"
    child.write_text("netcalc: 1\nname: child\nextends: bert-base\n")
    assert package.describe("bert-base").aliases
    assert package.describe(child).aliases == ()


def test_a_file_that_exists_comes_before_an_alias(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facebook").mkdir()
    for name in ("facebook/opt-125m", "mlp"):
        (tmp_path / name).write_text("netcalc: 1\nname: mine\ninputs: {x: [2, 3]}\nlayers: [{linear: 4}]\n")
    assert package.load("facebook/opt-125m").name == "mine"
    assert package.load("opt-125m").name == "opt-125m"
    assert package.load("mlp").name == "mlp"  # a shipped name comes before a file without a suffix
    assert package.load("./mlp").name == "mine"
