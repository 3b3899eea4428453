"""The recorded plans of tensor parallelism against the configuration classes of transformers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TRUTH = json.loads((Path(__file__).parents[1] / "truth" / "tensor_parallel.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("model_type", TRUTH["models"])
def test_recorded_plans_are_those_of_the_library(model_type: str) -> None:
    transformers = pytest.importorskip("transformers")
    if transformers.__version__ != TRUTH["version"]:
        pytest.skip(f"recorded with {TRUTH['version']}")
    mapping = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    assert mapping[model_type].base_model_tp_plan == TRUTH["models"][model_type]["plan"]
