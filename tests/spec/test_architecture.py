"""The ``architecture`` that specs name, by which conventions of tools know them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import netcalc
from netcalc.analysis.caches.conventions import conventions
from netcalc.spec.shipped import shipped, specs_dir
from netcalc.spec.yaml_document import parse_yaml

#: Architectures that llama.cpp does not know.
NOT_IN_LLAMA_CPP = {"gpt_neo", "paligemma"}


def extended() -> dict[str, set[str]]:
    """Return the model types whose tables extend each spec."""
    types = defaultdict(set)
    for path in specs_dir().glob("*/huggingface/*.yaml"):
        for entry in parse_yaml(path.read_text(), path.name).data.get("models", {}).values():
            types[entry["extends"]].add(path.stem)
    return types


def test_specs_have_the_model_type_of_a_table_that_extends_them() -> None:
    named = 0
    for name, types in extended().items():
        own = netcalc.load(name).program.architecture
        named += bool(own)
        assert own in {"", *types}, name
    assert named > 12


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", shipped())
def test_conventions_know_the_windows_of_shipped_specs(name: str) -> None:
    program = netcalc.load(name).program
    if any(entry.window is not None for entry in netcalc.load(name).request.with_caches().program.caches.entries):
        rule = conventions()["llama.cpp"]
        assert program.architecture in {*(rule.read or ()), *rule.ignored, *NOT_IN_LLAMA_CPP}


def test_an_architecture_is_inherited_with_the_lines(tmp_path: Path) -> None:
    text = "netcalc: 1\nextends: mistral-7b\n"
    assert netcalc.loads(text + "vars: {layers: 2}\n").program.architecture == "mistral"
    assert (
        netcalc.loads(
            text
            + 'layers: [{name: lm_head, from: input_ids, embedding: {num_embeddings: "${vocab}", embedding_dim: 2}}]\n'
        ).program.architecture
        == ""
    )
    (tmp_path / "config.json").write_text('{"model_type": "mistral", "architectures": ["MistralForCausalLM"]}')
    assert netcalc.load(tmp_path).program.architecture == "mistral"
    (tmp_path / "config.json").write_text('{"model_type": "granite", "architectures": ["GraniteForCausalLM"]}')
    assert netcalc.load(tmp_path).program.architecture == "granite"
