"""The files of schemes are read entry by entry, and say the same as when they are read as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import netcalc
from netcalc.schemes import files
from netcalc.schemes.files import entries, families

FILES = sorted((Path(netcalc.__file__).parent / "data" / "schemes").glob("*.yaml"))


def plain(value: Any) -> Any:
    return {name: plain(entry) for name, entry in value.items()} if isinstance(value, Mapping) else value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_the_entries_are_those_of_the_file(file: Path) -> None:
    whole = YAML(typ="safe").load(file)  # which refuses keys that are there twice
    assert plain(families()[file.stem]) == whole
    assert list(families()[file.stem]) == list(whole)
    for key, value in whole.items():
        if key in ("schemes", "blocks", "kinds", "classes", "indices"):
            assert {name: plain(entries(key)[name]) for name in value} == value


def test_an_entry_is_parsed_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str, name: str) -> Any:
        parsed.append(text)
        return original(text, name)

    original = files.parse_yaml
    monkeypatch.setattr(files, "parse_yaml", parse)
    families.cache_clear()
    try:
        assert families()["fp8"]["configuration"]["quant_method"] == "fp8"
        assert families()["fp8"]["configuration"]["quant_method"] == "fp8"
    finally:
        families.cache_clear()
    assert parsed == ["  quant_method: fp8\n"]
