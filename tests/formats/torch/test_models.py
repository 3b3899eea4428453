"""The recorded models and their operators hang together."""

from __future__ import annotations

import json

from tests.formats.huggingface.harness import recorded
from tests.formats.torch.models import records
from tests.formats.torch.record_operators import OPERATORS, representatives


def test_every_model_was_exported_or_has_a_reason() -> None:
    found = json.loads(OPERATORS.read_text(encoding="utf-8"))
    assert found["models"] + len(found["failures"]) == len(representatives())
    assert found["failures"].keys() <= {record.model for record in representatives()}
    assert {counts["example"] for counts in found["operators"].values()} <= {r.model for r in representatives()}


def test_models_of_transformers_have_a_configuration() -> None:
    assert {record.model for record in records().values() if record.library == "hf"} == recorded().keys()
