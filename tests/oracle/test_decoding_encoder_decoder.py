"""Encoder–decoders, step by step, against transformers with ``use_cache=True``: logits, keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers.modeling_outputs import BaseModelOutput  # noqa: E402

import netcalc  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, drawn_inputs, transformers_model  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402

SPECS = (
    "bart-base",
    "led-base-16384",
    "m2m100-418m",
    "mbart-large-cc25",
    "mt5-small",
    "opus-mt-en-de",
    "pegasus-large",
    "t5-small",
    "t5-v1_1-small",
    "whisper-tiny",
)
#: Networks whose later steps ignore the padding of the decoder in transformers.
UNPADDED = {"led-base-16384"}
PREFILL, LENGTH = 3, 7


def caches_of(both: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the caches of transformers by the names that the inputs of a spec have."""
    for number, (own, cross) in enumerate(
        zip(both.self_attention_cache.layers, both.cross_attention_cache.layers, strict=True)
    ):
        yield f"past_key_values.{number}.key", own.keys.numpy()
        yield f"past_key_values.{number}.value", own.values.numpy()
        yield f"past_key_values.{number}.cross_key", cross.keys.numpy()
        yield f"past_key_values.{number}.cross_value", cross.values.numpy()


@pytest.mark.parametrize("spec", SPECS)
def test_steps_equal_transformers(spec: str) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model = transformers_model(case)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    network = netcalc.load(spec, set={**case.settings, "batch": 2, "padding_mask": True})
    given = drawn_inputs(network.at_step(0, LENGTH).program)
    ids = given.pop("decoder_input_ids")
    seen = np.ones((2, LENGTH), np.int64)
    seen[0, 1] = seen[1, 4] = int(spec in UNPADDED)
    if "input_ids" in given:
        given["attention_mask"] = np.ones_like(given["input_ids"])
        given["attention_mask"][1, -2:] = 0
    caches: dict[str, np.ndarray] = {}
    theirs: dict[str, Any] = {name: torch.from_numpy(array) for name, array in given.items()}
    theirs |= {name: torch.tensor(value) for name, value in case.arguments.items()}
    for past, new in ((0, PREFILL), *((past, 1) for past in range(PREFILL, LENGTH))):
        step_network = network.at_step(past, new)
        program = step_network.program
        inputs = {"decoder_input_ids": ids[:, past : past + new], "decoder_attention_mask": seen[:, : past + new]}
        step = {name: torch.from_numpy(array) for name, array in inputs.items()}
        outputs = step_network.run({**given, **inputs, **caches}, weights=weights).outputs
        with torch.no_grad():
            expected = model(**theirs, **step, use_cache=True)
        assert_close(outputs["logits"], expected.logits.numpy(), f"logits after {past}")
        caches |= {c.input: outputs[c.output] for c in program.caches.entries if c.output in outputs}
        found = dict(caches_of(expected.past_key_values))
        assert found.keys() == caches.keys()
        for label, array in found.items():
            assert_close(caches[label], array, f"{label} after {past + new}")
        # later steps have neither the inputs of the encoder nor its parameters
        given = {name: array for name, array in given.items() if name == "attention_mask"}
        encoded = BaseModelOutput(last_hidden_state=expected.encoder_last_hidden_state)
        theirs = {name: torch.from_numpy(array) for name, array in given.items()}
        theirs |= {"encoder_outputs": encoded, "past_key_values": expected.past_key_values}
