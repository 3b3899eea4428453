"""The page of layers that are known, written from the record of ``tests/oracle/keras``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netcalc.formats.keras.layers import rules

ROOT = Path(__file__).parents[3]
RECORD = ROOT / "tests" / "oracle" / "keras" / "layers.json"
PAGE = ROOT / "docs" / "keras-coverage.md"
#: Classes that are no rule: inputs, and models.
READ = ("InputLayer",)


def test_page_follows_from_the_record(request: pytest.FixtureRequest) -> None:
    text = _page(json.loads(RECORD.read_text(encoding="utf-8")))
    if request.config.getoption("--update"):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8")


def _page(record: dict[str, Any]) -> str:
    layers = record["layers"]
    known = [name for name in layers if name in rules() or name in READ]
    operations = sorted(name.removeprefix("ops.") for name in rules() if name.startswith("ops."))
    others = [name for name in layers if name not in known]
    lines = [
        "# Layers of Keras",
        "",
        f"netcalc [reads](keras.md) {len(known)} of the {len(layers)} classes that `keras.layers` of Keras"
        f" {record['keras']} has. A live test compares weights, shapes and",
        "outputs of small models with Keras; the models that have a layer are named. `pytest --update` writes this",
        "page.",
        "",
        "| layer | models of the test |",
        "| --- | --- |",
        *(f"| `{name}` | {', '.join(layers[name])} |" for name in known),
        "",
        "## Layers that are errors",
        "",
        ", ".join(f"`{name}`" for name in others) + ".",
        "",
        "## Operations",
        "",
        "Of `keras.ops`, by the names of their classes: " + ", ".join(f"`{name}`" for name in operations) + ".",
        "",
        "## Layers of keras.applications",
        "",
        "`CustomScaleLayer`, `LayerScale` and `StochasticDepth`.",
    ]
    return "\n".join(lines) + "\n"
