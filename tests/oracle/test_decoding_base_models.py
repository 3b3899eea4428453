"""Base models of transformers, step by step with ``use_cache=True``: states of the last layer, keys and values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import netcalc  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402

SMALL = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 20}
GROUPED = SMALL | {"num_key_value_heads": 2}
CASES: dict[str, dict[str, Any]] = {
    "LlamaModel": GROUPED,
    "Qwen2Model": GROUPED | {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    "Gemma3TextModel": GROUPED
    | {"head_dim": 8, "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "GPT2Model": {"vocab_size": 50, "n_embd": 24, "n_head": 4, "n_layer": 2},
    "BloomModel": {"vocab_size": 50, "hidden_size": 24, "n_head": 4, "n_layer": 2},
    "OPTModel": {name: size for name, size in SMALL.items() if name != "intermediate_size"}
    | {"ffn_dim": 20, "word_embed_proj_dim": 24},
    "Phi3Model": GROUPED | {"pad_token_id": 0},
}
PREFILL, LENGTH = 5, 8
PARTS = ("key", "value")


@pytest.mark.parametrize("architecture", CASES)
def test_steps_of_transformers(architecture: str, tmp_path: Path) -> None:
    kind = getattr(transformers, architecture)
    model = randomise(kind(kind.config_class(**CASES[architecture], attn_implementation="eager")))
    model.save_pretrained(tmp_path)
    network = netcalc.load(tmp_path, set={"batch": 2, "length": LENGTH})
    tokens = np.random.default_rng(1).integers(3, 50, (2, LENGTH))
    cache, caches = None, {}
    for first, end in ((0, PREFILL), *((i, i + 1) for i in range(PREFILL, LENGTH))):
        with torch.no_grad():
            expected = model(input_ids=torch.from_numpy(tokens[:, first:end]), past_key_values=cache, use_cache=True)
        cache = expected.past_key_values
        step = network.at_step(first, end - first)
        outputs = step.run({"input_ids": tokens[:, first:end], **caches}, weights=tmp_path).outputs
        caches = {entry.input: outputs[entry.output] for entry in step.program.caches.entries}
        assert_close(outputs["last_hidden_state"], expected.last_hidden_state.numpy(), f"{first}")
        theirs = {f"{n}.{part}": getattr(kept, f"{part}s") for n, kept in enumerate(cache.layers) for part in PARTS}
        assert len(caches) == len(theirs)
        for name, tensor in theirs.items():
            assert_close(caches[f"past_key_values.{name}"], tensor.numpy(), name)


def test_steps_of_an_encoder_decoder(tmp_path: Path) -> None:
    sizes = {"encoder_ffn_dim": 20, "decoder_ffn_dim": 20, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    config = transformers.BartConfig(
        vocab_size=50, d_model=24, encoder_layers=1, decoder_layers=2, attn_implementation="eager", **sizes
    )
    model = randomise(transformers.BartModel(config))
    model.save_pretrained(tmp_path)
    network = netcalc.load(tmp_path, set={"batch": 2, "source": 6, "target": LENGTH})
    random = np.random.default_rng(1)
    source, target = random.integers(3, 50, (2, 6)), random.integers(3, 50, (2, LENGTH))
    cache, encoded, caches = None, None, {}
    for first, end in ((0, PREFILL), *((i, i + 1) for i in range(PREFILL, LENGTH))):
        ids = target[:, first:end]
        with torch.no_grad():
            given = {"input_ids": torch.from_numpy(source)} if encoded is None else {"encoder_outputs": (encoded,)}
            expected = model(decoder_input_ids=torch.from_numpy(ids), past_key_values=cache, use_cache=True, **given)
        cache, encoded = expected.past_key_values, expected.encoder_last_hidden_state
        step = network.at_step(first, end - first)
        inputs = {"decoder_input_ids": ids, **caches} | ({"input_ids": source} if first == 0 else {})
        outputs = step.run(inputs, weights=tmp_path).outputs
        caches |= {
            entry.input: outputs[entry.output] for entry in step.program.caches.entries if entry.output in outputs
        }
        assert_close(outputs["last_hidden_state"], expected.last_hidden_state.numpy(), f"{first}")
        assert ("encoder_last_hidden_state" in outputs) == (first == 0)
