"""A prefill and single steps give what one full pass gives, for every shipped spec with caches."""

from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import parameters
from netcalc.diagnostics import NetcalcError
from netcalc.verification.verify import verify
from tests.zoo.harness import SMALL

#: Settings of small versions in which positions and windows matter: more steps than a window is wide.
DECODERS: dict[str, dict[str, Any]] = {
    "blip-image-captioning-base": {"length": 7, "batch": 2, "max_length": 16},
    "bart-base": {"target": 7, "padding_mask": True, "batch": 2, "max_length": 16},
    "led-base-16384": {"target": 7, "padding_mask": True, "batch": 2, "decoder_max_length": 16},
    # transformers and netcalc count all past tokens, a full pass only those that are no padding
    "m2m100-418m": {"target": 7, "padding_mask": True, "batch": 2, "padding_idx": 59, "max_length": 16},
    "mbart-large-cc25": {"target": 7, "padding_mask": True, "batch": 2, "max_length": 16},
    "opus-mt-en-de": {"target": 7, "padding_mask": True, "batch": 2, "max_length": 16},
    "pegasus-large": {"target": 7, "padding_mask": True, "batch": 2, "max_length": 16},
    "transformer": {"target": 7, "batch": 2},
    "transformer-big": {"target": 7, "batch": 2, "norm_first": True, "final_norm": False},
    "whisper-base": {"target": 7, "padding_mask": True, "batch": 2, "max_length": 16},
    "whisper-small": {"target": 7, "batch": 2, "max_length": 16},
    "whisper-tiny": {"target": 7, "batch": 2, "max_length": 16},
    "mt5-small": {"target": 7, "padding_mask": True, "batch": 2},
    # an expert has the capacity for all tokens of a full pass
    "switch-base-8": {"target": 7, "padding_mask": True, "batch": 2, "capacity": 9},
    "t5-base": {"target": 7, "batch": 2},
    "t5-large": {"target": 7, "batch": 2},
    "t5-small": {"target": 7, "padding_mask": True, "batch": 2, "buckets": 8, "max_distance": 6},
    "t5-v1_1-small": {"target": 7, "padding_mask": True, "batch": 2},
    "gpt2": {"length": 7, "padding_mask": True, "batch": 2},
    "gpt-neo-125m": {"length": 7, "window": 3, "padding_mask": True, "batch": 2},
    "mistral-7b": {"length": 7, "window": 3, "padding_mask": True},
    "mixtral-8x7b": {"length": 7, "padding_mask": True},
    "qwen2-7b": {
        "length": 7,
        "window": 3,
        "layer_types": ["full_attention", "sliding_attention"],
        "padding_mask": True,
    },
    "qwen3-8b": {
        "length": 7,
        "window": 3,
        "layer_types": ["sliding_attention", "full_attention"],
        "padding_mask": True,
    },
    "qwen1.5-moe-a2.7b": {"length": 7, "padding_mask": True},
    "qwen3-30b-a3b": {"length": 7, "padding_mask": True},
    "olmo-2-7b": {"length": 7, "padding_mask": True},
    "olmoe-1b-7b": {"length": 7, "padding_mask": True},
    "granite-3.0-2b": {"length": 7, "padding_mask": True},
    "granite-3.0-3b-a800m": {"length": 7, "padding_mask": True},
    "olmo-7b": {"length": 7, "clip_qkv": 0.5, "padding_mask": True},
    "olmo-3-7b": {"length": 7, "window": 3, "padding_mask": True},
    "exaone-4.0-32b": {"length": 7, "window": 3, "padding_mask": True},
    "seed-oss-36b": {"length": 7, "padding_mask": True},
    "ernie-4.5-0.3b": {"length": 7, "padding_mask": True},
    "minitron-4b": {"length": 7, "padding_mask": True},
    "command-r-35b": {"length": 7, "qk_norm": True, "padding_mask": True},
    "palm-540b": {"length": 7, "padding_mask": True},
    "hunyuan-7b": {"length": 7, "padding_mask": True},
    "helium-1-2b": {"length": 7, "padding_mask": True},
    "afm-4.5b": {"length": 7, "padding_mask": True},
    "glm-4-9b-chat": {"length": 7, "padding_mask": True},
    "ministral-3-8b": {"length": 7, "temperature_floor": 2, "padding_mask": True},
    "apertus-8b": {"length": 7, "padding_mask": True},
    "smollm3-3b": {
        "length": 7,
        "window": 3,
        "layer_types": ["full_attention", "sliding_attention"],
        "padding_mask": True,
    },
    "starcoder2-3b": {"length": 7, "window": 3, "padding_mask": True},
    "stablelm-3b-4e1t": {"length": 7, "padding_mask": True},
    "glm-4-9b": {"length": 7, "padding_mask": True},
    "glm-4.5-air": {"length": 7, "padding_mask": True},
    "gemma-2b": {"length": 7, "padding_mask": True},
    "gemma-2-2b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-3-1b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-3n-e4b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-4-e2b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-4-26b-a4b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-4-31b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-4-31b-vision": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-4-e2b-multimodal": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-3n-e4b-multimodal": {"length": 7, "window": 3, "padding_mask": True},
    "phi-2": {"length": 7, "padding_mask": True},
    "phi-3-mini": {"length": 7, "window": 3, "padding_mask": True},
    "command-r7b": {"length": 7, "window": 3, "padding_mask": True},
    "gpt-oss-20b": {"length": 7, "window": 3, "padding_mask": True},
    "llama-4-scout": {"length": 7, "chunk": 3, "padding_mask": True},
    "gpt1": {"length": 7, "padding_mask": True},
    "opt-125m": {"length": 7, "padding_mask": True},
    "opt-350m": {"length": 7},
    "bloom-7b1": {"length": 7, "padding_mask": True},
    "falcon-7b": {"length": 7, "padding_mask": True},
    "gpt-j-6b": {"length": 7, "padding_mask": True},
    "pythia-1b": {"length": 7, "padding_mask": True},
    "deepseek-v3": {"length": 7, "padding_mask": True},
    "deepseek-v2-lite": {"length": 7, "padding_mask": True, "absorbed": False},
    "kimi-k2.5-vision": {"length": 7, "padding_mask": True},
    "qwen2-vl-7b": {"length": 7, "window": 3, "layer_types": ["sliding_attention", "full_attention"]},
    "qwen2.5-vl-7b": {"length": 7, "window": 3, "layer_types": ["sliding_attention", "full_attention"]},
    "qwen3-vl-8b": {"length": 7},
    "qwen3-vl-30b-a3b": {"length": 7},
    "qwen3.5-35b-a3b-vision": {"length": 7},
    "qwen3.5-9b-vision": {"length": 7},
    "smolvlm2-2.2b": {"length": 7, "window": 3, "padding_mask": True},
    "paligemma-3b": {"length": 7, "padding_mask": True},
    "paligemma2-3b": {"length": 7, "window": 3, "padding_mask": True},
    "mistral-small-3.1-24b": {"length": 7, "window": 3, "padding_mask": True},
    "ministral-3-8b-vision": {"length": 7, "window": 3, "padding_mask": True},
    "internvl3-8b": {"length": 7, "padding_mask": True},
    "llama-3.2-11b-vision": {"length": 7, "padding_mask": True, "image_mask": True},
    "llava-1.5-7b": {"length": 7, "window": 3, "padding_mask": True},
    "gemma-3-4b": {"length": 7, "window": 3, "padding_mask": True},
    "llama-4-scout-vision": {"length": 7, "chunk": 3, "padding_mask": True},
    "gpt2-medium": {"length": 7, "padding_mask": True},
    "gpt2-large": {"length": 7, "padding_mask": True},
    "gpt2-xl": {"length": 7, "padding_mask": True},
    "gpt3-small": {"length": 7, "padding_mask": True},
    "gpt3-medium": {"length": 7, "padding_mask": True},
    "gpt3-large": {"length": 7, "padding_mask": True},
    "gpt3-xl": {"length": 7, "padding_mask": True},
    "gpt3-2.7b": {"length": 7, "padding_mask": True},
    "gpt3-6.7b": {"length": 7, "padding_mask": True},
    "gpt3-13b": {"length": 7, "padding_mask": True},
    "gpt3-175b": {"length": 7, "padding_mask": True},
    "megatron-530b": {"length": 7, "padding_mask": True},
    "opt-1.3b": {"length": 7, "padding_mask": True},
    "opt-6.7b": {"length": 7, "padding_mask": True},
    "bloom-560m": {"length": 7, "padding_mask": True},
    "bloom-176b": {"length": 7, "padding_mask": True},
    "pythia-70m": {"length": 7, "padding_mask": True},
    "pythia-410m": {"length": 7, "padding_mask": True},
    "pythia-6.9b": {"length": 7, "padding_mask": True},
    "llama-2-13b": {"length": 7, "padding_mask": True},
    "llama-2-70b": {"length": 7, "padding_mask": True},
    "llama-3-8b": {"length": 7, "padding_mask": True},
    "llama-3-70b": {"length": 7, "padding_mask": True},
    "llama-3.1-8b": {"length": 7, "padding_mask": True},
    "llama-3.1-405b": {"length": 7, "padding_mask": True},
    "llama-3.2-1b": {"length": 7, "padding_mask": True},
    "gemma-7b": {"length": 7, "padding_mask": True},
    "qwen2-0.5b": {"length": 7, "padding_mask": True},
    "qwen2-72b": {"length": 7, "padding_mask": True},
    "qwen3-0.6b": {"length": 7, "padding_mask": True},
    "qwen3-32b": {"length": 7, "padding_mask": True},
    "llama-2-7b": {"length": 7, "padding_mask": True, "batch": 2},
    "mamba-130m": {"length": 7},
    "mamba-2.8b": {"length": 7},
    "mamba-370m": {"length": 7},
    "mamba2-130m": {"length": 7},
    "jamba-v0.1": {"length": 7},
    "bamba-9b": {"length": 7},
    "nemotron-h-8b": {"length": 7},
    "granite-4.0-h-small": {"length": 7},
    "glm-5": {"length": 7, "padding_mask": True},
    "deepseek-v3.2": {"length": 7, "padding_mask": True},
    "qwen3.5-35b-a3b": {"length": 7},
    "qwen3.5-9b": {"length": 7},
    "lfm2-8b-a1b": {"length": 7},
    "lfm2-1.2b": {"length": 7},
    "hunyuan-a13b": {"length": 7, "padding_mask": True},
    "ernie-4.5-21b-a3b": {"length": 7, "padding_mask": True},
    "minimax-m2": {"length": 7, "padding_mask": True},
    "qwen3-next-80b-a3b": {"length": 7},
    "rwkv-4-169m": {"length": 7},
    "lstm-lm-ptb-small": {"length": 7},
    "lstm-lm-ptb-medium": {"length": 7},
    "lstm-lm-ptb-large": {"length": 7},
    "seq2seq-attention": {"target": 7, "batch": 2},
    "seq2seq-lstm": {"target": 7, "batch": 2},
    "rnnsearch-50": {"target": 7, "batch": 2},
}

#: Layers of other orders and positions than those of the shipped settings.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("opt-350m", {"padding_mask": True, "batch": 2}),
    ("bloom-560m", {"padding_mask": True, "batch": 3}),
    ("falcon-7b", {"alibi": True}),
    ("falcon-7b", {"parallel": False, "norms": 2, "padding_mask": True, "batch": 2}),
    ("falcon-7b", {"alibi": True, "norms": 2, "padding_mask": True}),
    ("pythia-70m", {"parallel": False, "padding_mask": True}),
]


def without_padding(network: netcalc.Network, padding: int | None) -> dict[str, np.ndarray[Any, Any]]:
    """Return ids of other tokens, where the positions of a step count earlier tokens as no padding."""
    ids = {name: kind.shape for name, kind in network.inputs.items() if name.endswith("input_ids")}
    random = np.random.default_rng(0)
    return {} if padding is None else {name: random.integers(0, padding, shape) for name, shape in ids.items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "settings"), [*DECODERS.items(), *((name, {"length": 7} | settings) for name, settings in VARIANTS)]
)
def test_steps_give_the_outputs_of_a_full_pass(name: str, settings: dict[str, Any]) -> None:
    network = netcalc.load(name, set={**SMALL[name], **settings})
    request = network.request.executed
    ids = without_padding(network, settings.get("padding_idx"))
    report = verify(request.program, ids, at_step=lambda past, new: request.at_step(past, new).program)
    checks = [check for check in report.checks if check.group == "decoding"]
    assert {check.what.partition(" output")[0] for check in checks} == {"decoded", "planned decoding of"}
    assert [check for check in report.checks if not check.ok] == []
    assert [gap for gap in report.gaps if "decoding" in gap.what] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DECODERS)
def test_caches_of_a_step_have_the_shapes_of_its_outputs(name: str) -> None:
    network = netcalc.load(name, set={**SMALL[name], **DECODERS[name]})
    first, before, after = (network.at_step(*step).program for step in ((0, 5), (5, 2), (7, 1)))
    outputs = {  # the keys and values of an encoder are outputs of the first step only
        name: value.known_type
        for step in (first, before)
        for name, value in zip(step.output_names, step.main.outputs, strict=True)
    }
    inputs = {spec.name: spec.type for spec in after.inputs}
    assert after.caches.entries
    assert [outputs[c.output] for c in after.caches.entries] == [inputs[c.input] for c in after.caches.entries]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", DECODERS)
def test_a_symbolic_past_may_be_zero(name: str) -> None:
    network = netcalc.load(name, set={**SMALL[name], **DECODERS[name]})
    first, later = network.at_step(0, 1).program, network.at_step(1, 1).program
    # the caches of an encoder–decoder have what its encoder gives in the first step
    pasts = (
        (0, 1, 2, 3, 5) if {spec.name for spec in first.inputs} < {spec.name for spec in later.inputs} else (1, 2, 3, 5)
    )
    settings = {**SMALL[name], **DECODERS[name], "use_cache": True}
    symbolic = netcalc.load(name, set=settings, symbolic=["past"])
    # latents are expanded in a first pass, and absorbed in the steps that a formula stands for
    settings |= {var: symbolic.program.vars[var] for var in ("absorbed",) if var in symbolic.program.vars}
    for past in pasts:
        step = symbolic.specialize(past=past)
        expected = netcalc.load(name, set={**settings, "past": past})
        assert (step.params, step.macs) == (expected.params, expected.macs)


def test_a_step_takes_the_weights_of_the_whole_network() -> None:
    network = netcalc.load("t5-small", set=SMALL["t5-small"])
    weights = {
        p.path: np.zeros([*map(int, p.param.shape)], np.float32) for p in parameters(network.program) if not p.tied
    }
    step = network.at_step(3, 1)
    assert step.audit(weights=weights).ok
    report = step.audit(weights=weights | {"encoder.block.2.layer.0.layer_norm.weight": np.zeros(24, np.float32)})
    assert [(m.kind, m.name) for m in report.mismatches] == [
        ("unexpected", "encoder.block.2.layer.0.layer_norm.weight")
    ]
    del weights["decoder.final_layer_norm.weight"]
    assert not step.audit(weights=weights).ok


def verified(network: netcalc.Network, ids: Any) -> netcalc.VerifyReport:
    at_step = network.request.at_step
    return verify(network.program, {"input_ids": ids}, at_step=lambda past, new: at_step(past, new).program)


def test_tokens_behind_an_image_follow_its_places() -> None:
    # images of 2×3 features at different places of two sequences: the next position is that of no earlier token
    network = netcalc.load("qwen2-vl-7b", set={**SMALL["qwen2-vl-7b"], "length": 14})
    image = [9] * 6
    ids = np.array([[1, *image, *range(10, 17)], [1, 2, 3, 4, *image, *range(10, 14)]])
    report = verified(network, ids)
    assert report.ok
    assert report.counts["decoding"] == 2


def test_images_behind_the_prefill_are_no_failure() -> None:
    network = netcalc.load("qwen2-vl-7b", set={**SMALL["qwen2-vl-7b"], "length": 8, "batch": 1})
    report = verified(network, np.array([[1, 2, *[9] * 6]]))
    assert report.ok
    assert [gap.reason for gap in report.gaps if "decoding" in gap.what] == [
        "input_ids has features of an image in the last 3 positions, and steps take text only"
    ]


def test_experts_that_drop_tokens_of_a_full_pass_are_no_failure() -> None:
    report = netcalc.load("switch-base-8", set={**SMALL["switch-base-8"], "capacity": 2}).verify()
    assert report.ok
    assert [gap.reason for gap in report.gaps if "decoding" in gap.what and "capacity" in gap.reason]
    assert not [check for check in report.checks if check.group == "decoding"]


def test_networks_without_caches_do_not_decode() -> None:
    with pytest.raises(NetcalcError, match="E502"):
        netcalc.load("mlp").at_step(1, 1)


#: A decoder whose own layers read no caches: its steps see one position each.
WITHOUT_CACHES = """
netcalc: 1
extends: llama-2-7b
vars: {layers: 2, d_model: 16, heads: 2, d_ff: 8, vocab: 9}
layers:
  - {from: input_ids, embedding: {num_embeddings: "${vocab}", embedding_dim: "${d_model}"}}
  - name: layers
    repeat: "${layers}"
    decoder_layer:
      attention: {grouped_query_attention: {heads: "${heads}", rope: {rotary_embedding: {}}}}
      mlp: {gated_feed_forward: {hidden: "${d_ff}"}}
  - {name: lm_head, linear: "${vocab}"}
"""


def test_caches_that_no_line_reads_are_a_gap_and_no_failure() -> None:
    report = netcalc.loads(WITHOUT_CACHES, set={"length": 7}).verify()
    assert report.ok
    assert report.gaps == (
        ("decoding step by step", "no line reads past_key_values.0–1.key, past_key_values.0–1.value"),
    )
    later = netcalc.loads(WITHOUT_CACHES, set={"length": 7, "past": 3}).verify()
    assert later.ok
    assert later.gaps[:2] == tuple((f"input past_key_values.0–1.{k}", "no line reads it") for k in ("key", "value"))


def test_caches_that_no_output_returns_are_a_gap_and_no_failure() -> None:
    text = "netcalc: 1\nextends: llama-2-7b\nloss: null\noutputs: {logits: lm_head}\n"
    report = netcalc.loads(text, set=dict(SMALL["llama-2-7b"]) | {"length": 5}).verify()
    assert report.ok
    (gap,) = [gap for gap in report.gaps if "decoding" in gap.what]
    assert "no output of a first step is" in gap.reason
    assert "of the next one" in gap.reason
