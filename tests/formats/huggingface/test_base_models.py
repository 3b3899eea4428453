"""Base models, whose outputs have no head: they return caches and decode as the models of the shipped specs do."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc
from netcalc.spec.document import InputDecl
from netcalc.spec.library import load_document
from tests.formats.huggingface.harness import tables, write_config
from tests.formats.huggingface.tiny_models import TINY

#: Encoders alone, of specs that decode.
ENCODERS = {"MT5EncoderModel", "SwitchTransformersEncoderModel", "T5EncoderModel"}


def _base_models() -> list[tuple[str, str]]:
    """Return type and architecture of the models without a head that extend a spec with caches."""
    found = []
    for table in tables():
        for architecture, entry in table.part("models").items():
            inputs = load_document(entry["extends"]).document.inputs.values()
            if any(isinstance(declared, InputDecl) and declared.cache for declared in inputs):
                found += [(table.model_type, architecture)] * (
                    "last_hidden_state" in list(entry.get("outputs", ()))[:1]
                )
    return found


def _load(folder: Path, model_type: str, architecture: str, **settings: object) -> netcalc.Network:
    config = {"model_type": model_type, "architectures": [architecture], **TINY[model_type]}
    return netcalc.load(write_config(folder, config), set=settings)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("model_type", "architecture"), _base_models())
def test_a_base_model_decodes(model_type: str, architecture: str, tmp_path: Path) -> None:
    positions = str(_load(tmp_path, model_type, architecture).program.caches.new)
    report = _load(tmp_path, model_type, architecture, **{positions: 5}).verify()
    gaps = [gap.reason for gap in report.gaps if "decoding" in gap.what]
    assert report.ok
    assert ("decoding" in report.counts, len(gaps)) == ((False, 1) if architecture in ENCODERS else (True, 0)), gaps


def test_outputs_of_a_base_model_are_those_of_the_class_and_the_caches(tmp_path: Path) -> None:
    step = _load(tmp_path, "llama", "LlamaModel").at_step(3, 1)
    caches = [f"present.{layer}.{kind}" for kind in ("key", "value") for layer in range(2)]
    assert [*step.outputs] == ["last_hidden_state", *caches]
    assert [*_load(tmp_path, "llama", "LlamaModel").outputs] == ["last_hidden_state"]
