"""Forward passes of whole networks against recorded results of torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from netcalc.engine.run import RunResult, forward
from netcalc.numerics.parameters import check_weights
from netcalc.spec import elaborate, load_document
from tests.zoo.harness import assert_close

TRUTH = Path(__file__).parent.parent / "truth"


def parts(case: str, kind: str) -> dict[str, np.ndarray]:
    tensors = load_file(TRUTH / f"{case}.safetensors")
    return {name.removeprefix(f"{kind}/"): t for name, t in tensors.items() if name.startswith(f"{kind}/")}


def transformer(case: str, **settings: Any) -> tuple[RunResult, RunResult]:
    """Return the outputs of the shipped Transformer for a recorded case, by the reference path and planned."""
    given = parts(case, "in")
    batch, source = given["src"].shape
    sizes = {"batch": batch, "source": source, "target": given["tgt"].shape[1]}
    program = elaborate(load_document("transformer"), sizes | settings)
    weights = parts(case, "w")
    assert check_weights(program, weights).ok
    inputs = {spec.name: given[spec.name] for spec in program.inputs}
    traced = forward(program, inputs, weights=weights, trace=["*"], keep=True)
    return traced, forward(program, inputs, weights=weights, threads=2)


@pytest.mark.parametrize(
    ("case", "settings"),
    [
        (
            "transformer_mt_l2_d32",
            {"vocab": 200, "d_model": 32, "heads": 4, "d_ff": 64, "encoder_layers": 2, "max_length": 40},
        ),
        (
            "transformer_mt_prenorm",
            {"vocab": 90, "d_model": 24, "heads": 3, "d_ff": 60, "encoder_layers": 1, "max_length": 30}
            | {"norm_first": True, "activation": "gelu"},
        ),
    ],
)
def test_the_transformer_equals_torch(case: str, settings: dict[str, Any]) -> None:
    record = json.loads((TRUTH / f"{case}.json").read_text())
    result, planned = transformer(case, decoder_layers=2, **settings)
    assert (result.plan, planned.plan) == ("reference", "fast")
    for run in (result, planned):
        assert_close(run.outputs["logits"], parts(case, "out")[""], 1e-5, "logits")
    traced = {row.path: row.array for row in result.trace}
    ours = {
        "pos": "pos_tgt",  # in torch one module is called twice, and the second call is recorded
        "transformer.encoder": "transformer.encoder.norm",
        "transformer.decoder": "transformer.decoder.norm",
    }
    for name in record["activations"]:
        array = traced[ours.get(name, name)]
        assert array is not None
        assert_close(array, parts(case, "act")[name], 1e-5, name)
