"""Rows of padding tokens in embeddings of imported models, which are zero at the start and have no gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import instances
from netcalc.numerics.parameters import Parameters
from tests.formats.huggingface.tiny_models import TINY
from tests.oracle.test_huggingface_folders import CASES

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import randomise  # noqa: E402
from tests.oracle.network_gradients import assert_same_gradients  # noqa: E402


@pytest.mark.parametrize("architecture", CASES)
def test_padding_rows_are_those_of_transformers(architecture: str, tmp_path: Path) -> None:
    """Tables of the model are 1 in the rows of padding tokens and 0 elsewhere, and the spec looks up the same rows."""
    kind = getattr(transformers, architecture)
    model = kind(kind.config_class(**TINY[CASES[architecture]]))
    tables = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    with torch.no_grad():
        for table in tables:
            table.weight.zero_()
        for table in tables:
            if table.padding_idx is not None:
                table.weight[table.padding_idx] = 1
    model.save_pretrained(tmp_path)
    program = netcalc.load(tmp_path).program
    weights = Parameters(program, tmp_path)
    for instance in instances(program):
        if instance.node.op.name == "embedding":
            (param,), row = instance.node.params, instance.node.op.padding_idx
            rows = weights.fetch(instance, param).any(axis=1).nonzero()[0]
            assert rows.tolist() == ([] if row is None else [row]), instance.path


@pytest.mark.parametrize(
    ("architecture", "fields"),
    [
        ("BertModel", {}),
        ("GemmaForCausalLM", {"tie_word_embeddings": True}),  # the row has a gradient as a row of the output matrix
        ("LlamaForCausalLM", {}),
        ("ModernBertModel", {}),
        ("OPTModel", {}),
    ],
)
def test_gradients_of_texts_with_padding(architecture: str, fields: dict[str, bool], tmp_path: Path) -> None:
    kind = getattr(transformers, architecture)
    model = kind(kind.config_class(**TINY[CASES[architecture]] | fields))
    model.save_pretrained(tmp_path)
    ids = np.array([[5, 7, 1, 9, 5, 1]])
    program = netcalc.load(tmp_path, set={"length": ids.shape[1]}).program
    outputs = randomise(model)(torch.from_numpy(ids))
    names = {name: outputs[name] for name in program.output_names}
    assert_same_gradients(program, model, {"input_ids": ids}, names)
