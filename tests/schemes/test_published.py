"""Stored bytes of released quantized models against the figures of ``tests/truth/quantized_models.yaml``."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import netcalc
from tests.formats.huggingface.harness import write_config

FILE = Path(__file__).parents[1] / "truth" / "quantized_models.yaml"
PUBLISHED = YAML(typ="safe").load(FILE)
MODELS: list[dict[str, Any]] = PUBLISHED["models"]
UNITS = {"GiB": 2**30, "GB": 10**9}
#: What is measured, and by which share of the figure a count may differ; None means by the rounding of its digits.
WITHIN = {"tensors": 0.0, "file": 0.001, "files": 0.001, "memory": 0.001, "card": None}
KEYS = {"model", "source", "method", "base", "config", "quantize", "figure", "of", "within", "extra"}


def figure_of(entry: dict[str, Any]) -> tuple[float, float]:
    """Return the bytes of an entry's figure, and how far from them a count may be."""
    ((unit, value),) = entry["figure"].items()
    share = entry.get("within", WITHIN[entry["of"]])
    if unit == "bytes":
        return value, share * value
    texts = [value] if isinstance(value, str) else value
    size = float(sum(Decimal(text) for text in texts) * UNITS[unit])
    rounding = sum(Decimal(10) ** -len(text.partition(".")[2]) / 2 for text in texts)
    return size, float(rounding * UNITS[unit]) if share is None else share * size


def counted(entry: dict[str, Any], folder: Path) -> int:
    """Return the bytes that netcalc counts for an entry, with what its figure includes besides."""
    config = PUBLISHED["bases"].get(entry.get("base"), {}) | entry.get("config", {})
    options = {"quantize": entry["quantize"]} if "quantize" in entry else {}
    network = netcalc.load(write_config(folder, config), **options)
    return network.cost().weight_bytes + sum(part["bytes"] for part in entry.get("extra", ()))


@pytest.mark.parametrize("entry", MODELS, ids=lambda entry: str(entry["model"]))
def test_the_bytes_are_those_that_were_published(entry: dict[str, Any], tmp_path: Path) -> None:
    size, tolerance = figure_of(entry)
    assert counted(entry, tmp_path) == pytest.approx(size, rel=0, abs=tolerance)


def test_entries_have_the_fields_that_the_file_describes() -> None:
    names = [entry["model"] for entry in MODELS]
    assert len(set(names)) == len(names)
    assert {entry.get("base") for entry in MODELS} - {None} == set(PUBLISHED["bases"])
    for entry in MODELS:
        assert set(entry) <= KEYS
        assert entry["source"] and entry["of"] in WITHIN
        ((unit, value),) = entry["figure"].items()
        assert isinstance(value, int) if unit == "bytes" else isinstance(value, str | list) and unit in UNITS
        assert all(isinstance(part["bytes"], int) and part["what"] for part in entry.get("extra", ()))


def test_there_are_models_of_many_schemes() -> None:
    assert len(MODELS) >= 65
    assert len({entry["method"] for entry in MODELS}) >= 17
    assert FILE.stat().st_size < 100_000
