"""Decoding step by step against transformers with ``use_cache=True``: logits, and shapes of the caches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import netcalc  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, transformers_model  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402

#: Windows and chunks are 4 positions, which the prefill exceeds in some cases and a step in all.
PREFILLS = (3, 7)
STEPS = 3
SPECS = (
    "gpt2",
    "gpt-neo-125m",
    "opt-125m",
    "bloom-560m",
    "falcon-7b",
    "gpt-j-6b",
    "pythia-70m",
    "llama-3.2-1b",
    "mistral-7b",
    "qwen3-8b",
    "gemma-2-2b",
    "gemma-3-1b",
    "gemma-3n-e4b",
    "gemma-4-e2b",
    "gemma-4-26b-a4b",
    "phi-3-mini",
    "command-r7b",
    "gpt-oss-20b",
    "llama-4-scout",
    "deepseek-v3",
    "deepseek-v2-lite",
    "granite-3.0-3b-a800m",
    "glm-5",
    "deepseek-v3.2",
    "hunyuan-a13b",
    "ernie-4.5-21b-a3b",
    "minimax-m2",
    "olmo-7b",
    "olmo-3-7b",
    "exaone-4.0-32b",
    "seed-oss-36b",
    "ernie-4.5-0.3b",
    "minitron-4b",
    "command-r-35b",
    "hunyuan-7b",
    "helium-1-2b",
    "afm-4.5b",
    "glm-4-9b-chat",
    "ministral-3-8b",
    "apertus-8b",
    "smollm3-3b",
)
#: transformers counts the positions of a chunk from the first that is no padding, and netcalc from the first of all.
WITHOUT_PADDING = {"llama-4-scout"}
#: Networks that keep latents and rotary keys.
LATENT = {"deepseek-v3", "deepseek-v2-lite", "deepseek-v3.2", "glm-5"}
#: transformers keeps all positions of these in layers with a window too.
KEEPS_ALL = {"gpt-neo-125m"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("prefill", PREFILLS)
@pytest.mark.parametrize("spec", SPECS)
def test_steps_of_transformers(spec: str, prefill: int, tmp_path: Path) -> None:
    case = TRANSFORMERS_MODELS[spec]
    model = transformers_model(case)
    model.save_pretrained(tmp_path)
    length = prefill + STEPS
    settings = {**case.settings, "length": length, "padding_mask": True}
    network = netcalc.load(spec, set=settings)
    tokens = np.random.default_rng(1).integers(3, 50, (2, length))
    mask = np.ones((2, length), np.int64)
    if spec not in WITHOUT_PADDING:
        mask[0, :2] = 0
    cache, caches = None, {}
    for first, end in ((0, prefill), *((i, i + 1) for i in range(prefill, length))):
        with torch.no_grad():
            expected = model(
                input_ids=torch.from_numpy(tokens[:, first:end]),
                attention_mask=torch.from_numpy(mask[:, :end]),
                past_key_values=cache,
                use_cache=True,
            )
        cache = expected.past_key_values
        step = network.at_step(first, end - first)
        given = {"input_ids": tokens[:, first:end], "attention_mask": mask[:, :end], **caches}
        outputs = step.run(given, weights=tmp_path).outputs
        caches = {entry.input: outputs[entry.output] for entry in step.program.caches.entries}
        seen = mask[:, first:end, None].astype(bool)  # what padding attends to is of no use
        assert_close(np.where(seen, outputs["logits"], 0), np.where(seen, expected.logits.numpy(), 0), f"{first}")
        for layer, kept in enumerate(cache.layers):
            if kept.keys is None:  # it shares the keys and values of an earlier layer
                assert f"past_key_values.{layer}.key" not in caches
                continue
            first_name, second_name = ("latent", "rope_key") if spec in LATENT else ("key", "value")
            mine = [caches[f"past_key_values.{layer}.{name}"].shape for name in (first_name, second_name)]
            theirs = [tuple(kept.keys.shape), tuple(kept.values.shape)]
            if spec in LATENT:  # transformers has an axis for one head
                mine = [(batch, 1, past, features) for batch, past, features in mine]
            if spec in KEEPS_ALL and mine != theirs:
                theirs = [(*shape[:2], min(shape[2], case.settings["window"] - 1), shape[3]) for shape in theirs]
            assert mine == theirs, layer
