"""Recorded configurations, and networks that are imported from configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from netcalc.formats.huggingface.tables import Table, model_types, read_table

#: Vars of which a configuration says nothing: caches and ways to compute are asked for in a run, and the operations on
#: queries and keys have a default that is made of other vars, and of the past.
NOT_READ = {"use_cache", "logits", "absorbed", "rope", "query_scale", "whole_heads", "head_norm"}

RECORDED = Path(__file__).parent / "recorded.json"


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """Return the recorded models by name: two forms of the configuration, and figures by sizes of the input."""
    return {entry["model"]: entry for entry in json.loads(RECORDED.read_text())["models"]}


def config_of(model: str, form: str = "as_saved") -> dict[str, Any]:
    """Return a recorded configuration, as saved or in full."""
    entry = recorded()[model]
    config = entry["as_saved"] | (entry["full"] if form == "full" else {})
    if isinstance(config.get("id2label"), int):
        labels = [f"LABEL_{number}" for number in range(config["id2label"])]
        config["id2label"] = {str(number): label for number, label in enumerate(labels)}
        config["label2id"] = {label: number for number, label in enumerate(labels)}
    return config


def write_config(folder: Path, config: Mapping[str, Any]) -> Path:
    """Write a configuration into a folder, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "config.json"
    file.write_text(json.dumps(config, indent=2))
    return file


def tables() -> list[Table]:
    """Return every table."""
    return [table for name in model_types() if (table := read_table(name)) is not None]
