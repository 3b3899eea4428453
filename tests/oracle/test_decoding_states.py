"""Decoders with states, step by step, against transformers with ``use_cache=True``: logits, states, keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import netcalc  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, transformers_model  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402

#: The name of the recurrent state beside that of the convolution, if there is one.
STATES = {
    "mamba-130m": "ssm",
    "mamba2-130m": "ssm",
    "jamba-v0.1": "ssm",
    "bamba-9b": "ssm",
    "nemotron-h-8b": "ssm",
    "granite-4.0-h-small": "ssm",
    "qwen3.5-35b-a3b": "rule",
    "qwen3.5-9b": "rule",
    "lfm2-1.2b": "",
    "lfm2-8b-a1b": "",
    "qwen3-next-80b-a3b": "rule",
    "rwkv-4-169m": "",
}
#: Networks to which transformers' generate gives the positions; without them they start at 0 in every step.
WITH_POSITIONS = {"bamba-9b"}
#: Networks for a single sequence: transformers' RWKV mixes those of a batch in a step of one token, as it broadcasts
#: (batch, features) against (batch, 1, features).
SINGLE = {"rwkv-4-169m"}
#: The states of RWKV in transformers' order.
RWKV = ("feed_forward", "attention", "numerator", "denominator", "exponent")
LENGTH = 11


def caches_of(output: Any, state: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the caches of transformers by the names that the inputs of a spec have.

    A convolution keeps as many columns as its kernel has there, the first of which no further output reads.
    """
    if "state" in output:  # of RWKV, with an axis of layers
        for name, array in zip(RWKV, output.state, strict=True):
            for number in range(array.shape[2]):
                yield f"past_states.{number}.{name}", array[:, :, number].numpy()
        return
    for number, layer in enumerate(output[argument_of(output)].layers):
        if hasattr(layer, "conv_states"):
            yield f"past_states.{number}.conv", layer.conv_states[0].numpy()[..., 1:]
            if state:
                yield f"past_states.{number}.{state}", layer.recurrent_states[0].numpy()
        elif torch.is_tensor(layer.keys):
            yield f"past_key_values.{number}.key", layer.keys.numpy()
            yield f"past_key_values.{number}.value", layer.values.numpy()


def argument_of(output: Any) -> str:
    """Return the name of the caches among the outputs and the arguments of a model."""
    return next(name for name in ("cache_params", "past_key_values", "state") if name in output)


@pytest.mark.parametrize("prefill", [2, 7])  # fewer positions than a convolution reads, and more than a chunk has
@pytest.mark.parametrize("spec", STATES)
def test_steps_equal_transformers(spec: str, prefill: int) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model = transformers_model(case)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    batch = 1 if spec in SINGLE else 2
    network = netcalc.load(spec, set={**case.settings, "batch": batch})
    ids = np.random.default_rng(1).integers(3, 50, (batch, LENGTH))
    caches: dict[str, np.ndarray] = {}
    given: dict[str, Any] = {}
    for past, new in ((0, prefill), *((past, 1) for past in range(prefill, LENGTH))):
        step = network.at_step(past, new)
        program = step.program
        inputs = {"input_ids": ids[:, past : past + new], **caches}
        assert {s.name for s in program.inputs} == inputs.keys()
        outputs = step.run(inputs, weights=weights).outputs
        if spec in WITH_POSITIONS:
            given["position_ids"] = torch.arange(past, past + new)[None]
        with torch.no_grad():
            expected = model(torch.from_numpy(ids[:, past : past + new]), use_cache=True, **given)
        given = {argument_of(expected): expected[argument_of(expected)]}
        assert_close(outputs["logits"], expected.logits.numpy(), f"logits after {past}")
        caches = {cache.input: outputs[cache.output] for cache in program.caches.entries}
        theirs = dict(caches_of(expected, STATES[spec]))
        assert theirs.keys() == caches.keys()
        for label, array in theirs.items():
            assert_close(caches[label], array, f"{label} after {past + new}")
