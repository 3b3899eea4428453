"""Vars of the decoders at other values than their defaults, against transformers on small models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from netcalc.engine.run import forward  # noqa: E402
from netcalc.numerics.parameters import check_weights  # noqa: E402
from tests.zoo.harness import built, torch_total  # noqa: E402

SIZES = {"batch": 2, "length": 11, "vocab": 40, "d_model": 32, "heads": 4, "layers": 3}
CONFIG = {"vocab_size": 40, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "pad_token_id": 0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
LINEAR = {"rope_type": "linear", "factor": 2.0}
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8}
ROPE = {"rope_theta": 500.0}
RELU = {"activation": "relu"}
PADDED = {"padding_mask": True}
GROUPED = ({"num_key_value_heads": 2, "intermediate_size": 24}, {"kv_heads": 2, "d_ff": 24})
BIASES = ({"attention_bias": True}, {"attention_bias": True})
TIED = ({"tie_word_embeddings": True}, {"tied": True})
UNTIED = ({"tie_word_embeddings": False}, {"tied": False})
EXPERTS = {"num_experts_per_tok": 3, "moe_intermediate_size": 12}
LATENT = {"kv_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 8, "q_lora_rank": 14}

#: Changes of the configuration and of the settings.
Change = tuple[dict[str, Any], dict[str, Any]]


def rope(scaling: dict[str, Any]) -> Change:
    return {"rope_parameters": {**ROPE, **scaling}}, {**ROPE, "rope_scaling": scaling}


#: spec: class in transformers, the small model, and the changes by name.
FAMILIES: dict[str, tuple[str, Change, dict[str, Change]]] = {
    "llama-3-8b": (
        "Llama",
        (
            {**GROUPED[0], "rms_norm_eps": 1e-5, "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}},
            GROUPED[1],
        ),
        {
            "biases": ({"attention_bias": True, "mlp_bias": True}, {"attention_bias": True, "mlp_bias": True}),
            "head_dim": ({"head_dim": 6}, {"head_dim": 6}),
            "activation": ({"hidden_act": "relu"}, RELU),
            "tied": TIED,
            "eps": ({"rms_norm_eps": 0.1}, {"eps": 0.1}),
            "linear": rope(LINEAR),
            "llama3": rope({"rope_type": "llama3", "factor": 8.0, **LLAMA3}),
            "yarn": rope(YARN),
            "padding": ({}, PADDED),
        },
    ),
    "qwen2-7b": (
        "Qwen2",
        (GROUPED[0] | {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}, GROUPED[1]),
        {
            "head_dim": ({"head_dim": 6}, {"head_dim": 6}),
            "activation": ({"hidden_act": "relu"}, RELU),
            "yarn": rope(YARN),
            "padding": ({}, PADDED),
        },
    ),
    "qwen3-8b": (
        "Qwen3",
        (
            {**GROUPED[0], "head_dim": 6, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
            {**GROUPED[1], "head_dim": 6},
        ),
        {"biases": BIASES, "activation": ({"hidden_act": "relu"}, RELU), "yarn": rope(YARN), "padding": ({}, PADDED)},
    ),
    "qwen1.5-moe-a2.7b": (
        "Qwen2Moe",
        (
            {"num_key_value_heads": 2, "num_experts": 6, "shared_expert_intermediate_size": 20}
            | EXPERTS
            | {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
            {"kv_heads": 2, "experts": 6, "experts_per_token": 3, "d_expert": 12, "d_shared": 20},
        ),
        {
            "biases": ({"qkv_bias": False}, {"attention_bias": False}),
            "activation": ({"hidden_act": "relu"}, RELU),
            "tied": TIED,
            "normalize": ({"norm_topk_prob": True}, {"normalize": True}),
            "padding": ({}, PADDED),
        },
    ),
    "mistral-7b": (
        "Mistral",
        (
            {**GROUPED[0], "head_dim": 6, "sliding_window": 4, "rms_norm_eps": 1e-5},
            {**GROUPED[1], "head_dim": 6, "window": 4},
        ),
        {"activation": ({"hidden_act": "relu"}, RELU), "tied": TIED, "linear": rope(LINEAR), "padding": ({}, PADDED)},
    ),
    "mixtral-8x7b": (
        "Mixtral",
        (
            {**GROUPED[0], "num_local_experts": 4, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
            {"kv_heads": 2, "d_expert": 24, "experts": 4},
        ),
        {
            "window": ({"sliding_window": 4}, {"window": 4}),
            "head_dim": ({"head_dim": 6}, {"head_dim": 6}),
            "activation": ({"hidden_act": "relu"}, RELU),
            "tied": TIED,
            "padding": ({}, PADDED),
        },
    ),
    "phi-3-mini": (
        "Phi3",
        ({**GROUPED[0], "sliding_window": 4}, {**GROUPED[1], "window": 4}),
        {
            "share": (
                {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default", "partial_rotary_factor": 0.5}},
                {"rope_share": 0.5},
            ),
            "activation": ({"hidden_act": "relu"}, RELU),
            "tied": TIED,
            "padding": ({}, PADDED),
        },
    ),
    "gemma-2b": (
        "Gemma",
        (
            {"num_key_value_heads": 1, "head_dim": 6, "intermediate_size": 24},
            {"kv_heads": 1, "head_dim": 6, "d_ff": 24},
        ),
        {
            "biases": BIASES,
            "activation": ({"hidden_act": "relu"}, RELU),
            "untied": UNTIED,
            "linear": rope(LINEAR),
            "padding": ({}, PADDED),
        },
    ),
    "gemma-2-2b": (
        "Gemma2",
        (
            {**GROUPED[0], "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 6},
            {**GROUPED[1], "head_dim": 6, "window": 4},
        ),
        {
            "biases": BIASES,
            "activation": ({"hidden_activation": "relu"}, RELU),
            "no caps": (
                {"final_logit_softcapping": None, "attn_logit_softcapping": None},
                {"logit_cap": None, "score_cap": None},
            ),
            "period": (
                {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
                {"period": 3},
            ),
            "padding": ({}, PADDED),
        },
    ),
    "gemma-3-1b": (
        "Gemma3",
        (
            {**GROUPED[0], "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 6}
            | {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
            {**GROUPED[1], "head_dim": 6, "window": 4, "period": 3},
        ),
        {
            "biases": BIASES,
            "cap": (
                {"final_logit_softcapping": 3.0},
                {"logit_cap": 3.0},
            ),
            "scaling": (
                {
                    "rope_parameters": {
                        "full_attention": {"rope_theta": 1e6, **LINEAR},
                        "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"},
                    }
                },
                {"rope_scaling": LINEAR},
            ),
            "padding": ({}, PADDED),
        },
    ),
    "deepseek-v3": (
        "DeepseekV3",
        (
            LATENT
            | {"intermediate_size": 24, "first_k_dense_replace": 1, "num_key_value_heads": 4, "n_routed_experts": 16}
            | {"num_experts_per_tok": 4, "moe_intermediate_size": 12, "n_group": 8, "topk_group": 4},
            {"kv_rank": 12, "nope_dim": 6, "rope_dim": 4, "v_dim": 8, "d_ff": 24, "dense_layers": 1, "q_rank": 14}
            | {"experts": 16, "experts_per_token": 4, "d_expert": 12, "rope_scaling": None, "scale": None},
        ),
        {
            "biases": BIASES,
            "activation": ({"hidden_act": "relu"}, RELU),
            "shared": ({"n_shared_experts": 2}, {"shared_experts": 2}),
            "tied": TIED,
            "padding": ({}, PADDED),
        },
    ),
    "gpt2": (
        "GPT2",
        ({"n_positions": 16}, {"max_length": 16}),
        {
            "inner": ({"n_inner": 24}, {"d_ff": 24}),
            "activation": ({"activation_function": "relu"}, RELU),
            "eps": ({"layer_norm_epsilon": 0.1}, {"eps": 0.1}),
            "untied": UNTIED,
            "padding": ({}, PADDED),
        },
    ),
    "gpt1": (
        "OpenAIGPT",
        ({"n_positions": 16}, {"max_length": 16}),
        {"activation": ({"afn": "relu"}, RELU), "untied": UNTIED, "padding": ({}, PADDED)},
    ),
    "pythia-1b": (
        "GPTNeoX",
        ({"intermediate_size": 24}, {"d_ff": 24}),
        {
            "sequential": ({"use_parallel_residual": False}, {"parallel": False}),
            "biases": ({"attention_bias": False}, {"attention_bias": False}),
            "activation": ({"hidden_act": "relu"}, RELU),
            "eps": ({"layer_norm_eps": 0.1}, {"eps": 0.1}),
            "tied": TIED,
            # 3 of 6 and of 12 features, of which transformers rotates 4
            "share": (
                {"rope_parameters": {"rope_theta": 1e4, "rope_type": "default", "partial_rotary_factor": 0.5}}
                | {"hidden_size": 24},
                {"rope_share": 0.5, "d_model": 24},
            ),
            "odd": ({"hidden_size": 48}, {"d_model": 48}),
            "linear": (
                {"rope_parameters": {**ROPE, **LINEAR, "partial_rotary_factor": 0.25}},
                {**ROPE, "rope_scaling": LINEAR},
            ),
            "padding": ({}, PADDED),
        },
    ),
    "gpt-j-6b": (
        "GPTJ",
        ({"rotary_dim": 4, "n_positions": 16}, {"rotary_dim": 4}),
        {
            "inner": ({"n_inner": 24}, {"d_ff": 24}),
            "activation": ({"activation_function": "relu"}, RELU),
            "padding": ({}, PADDED),
        },
    ),
    "opt-125m": (
        "OPT",
        (
            {"ffn_dim": 48, "max_position_embeddings": 16, "word_embed_proj_dim": 20},
            {"d_ff": 48, "max_length": 16, "d_embed": 20},
        ),
        {
            "biases": ({"enable_bias": False}, {"attention_bias": False}),
            "activation": ({"activation_function": "gelu"}, {"activation": "gelu"}),
            "post-norm": ({"do_layer_norm_before": False}, {"norm_first": False}),
            "untied": UNTIED,
            "padding": ({}, PADDED),
        },
    ),
    "bloom-7b1": (
        "Bloom",
        ({}, {}),
        {"eps": ({"layer_norm_epsilon": 0.1}, {"eps": 0.1}), "untied": UNTIED, "padding": ({}, PADDED)},
    ),
    "falcon-7b": (
        "Falcon",
        ({"multi_query": True, "parallel_attn": True, "new_decoder_architecture": False}, {}),
        {
            "biases": ({"bias": True}, {"attention_bias": True}),
            "inner": ({"ffn_hidden_size": 24}, {"d_ff": 24}),
            "activation": ({"activation": "relu"}, RELU),
            "eps": ({"layer_norm_epsilon": 0.1}, {"eps": 0.1}),
            "untied": UNTIED,
            "linear": rope(LINEAR),
            "padding": ({}, PADDED),
        },
    ),
}
CASES = [(spec, change) for spec, (_, _, changes) in FAMILIES.items() for change in changes]


@pytest.mark.parametrize(("spec", "change"), CASES, ids=lambda value: value.replace(" ", "-"))
def test_logits_equal_transformers(spec: str, change: str) -> None:
    family, base, changes = FAMILIES[spec]
    config, settings = ({**one, **other} for one, other in zip(base, changes[change], strict=True))
    model = _model(family, CONFIG | config)
    program = built(spec, **{**SIZES, **settings})
    rng = np.random.default_rng(0)
    weights = _drawn(model, rng)
    assert torch_total(program)[0] == sum(p.numel() for p in model.parameters())
    report = check_weights(program, weights)
    assert report.ok, report.mismatches
    inputs = {"input_ids": rng.integers(1, 40, (2, 11))}
    seen = np.ones((2, 11), np.int64)
    if change == "padding":
        seen[0, :4] = 0  # padding on the left, as for generation
        seen[1, 8:] = 0
        inputs["attention_mask"] = seen
    actual = forward(program, inputs, weights=weights).outputs["logits"]
    with torch.no_grad():
        given = {name: torch.from_numpy(array) for name, array in inputs.items()}
        expected = model(**given, use_cache=False).logits.numpy()
    rows = seen == 1
    np.testing.assert_allclose(actual[rows], expected[rows], rtol=0, atol=1e-5 * np.abs(expected).max())


def _model(family: str, settings: dict[str, Any]) -> Any:
    kind = getattr(
        transformers, f"{family}LMHeadModel" if "GPT2" in family or "Open" in family else f"{family}ForCausalLM"
    )
    name = f"{family}TextConfig" if family == "Gemma3" else f"{family}Config"
    return kind(getattr(transformers, name)(**settings, attn_implementation="eager")).eval()


def _drawn(model: Any, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the weights of the model by name, drawn anew; tied ones once."""
    state = {k: v for k, v in [*model.named_parameters(), *model.named_buffers()] if k in model.state_dict()}
    with torch.no_grad():
        for name, tensor in state.items():
            spread = torch.from_numpy(rng.normal(size=tuple(tensor.shape)).astype(np.float32))
            tensor.copy_(1 + spread / 4 if "norm" in name and name.endswith("weight") else spread / 4)
    return {name: tensor.detach().numpy() for name, tensor in state.items()}
