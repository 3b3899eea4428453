"""Small versions of whole language models that have no recorded forward pass, against transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from netcalc.engine.run import forward  # noqa: E402
from netcalc.numerics.parameters import check_weights  # noqa: E402
from tests.zoo.harness import built  # noqa: E402

SIZES = {"batch": 2, "length": 11, "vocab": 40, "d_model": 32, "heads": 4, "layers": 3}
CONFIG = {"vocab_size": 40, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 3, "pad_token_id": 0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4, "beta_fast": 32.0, "beta_slow": 1.0}
LATENT = {"kv_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 8}
LATENT_HERE = {"kv_rank": 12, "nope_dim": 6, "rope_dim": 4, "v_dim": 8}

#: spec: class in transformers, its configuration, the settings of the spec.
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "gemma-2b": (
        "Gemma",
        {"num_key_value_heads": 1, "head_dim": 6, "intermediate_size": 24},
        {"kv_heads": 1, "head_dim": 6, "d_ff": 24},
    ),
    "gemma-3-1b": (
        "Gemma3",
        {"num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 24, "sliding_window": 4}
        | {"query_pre_attn_scalar": 9, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
        {"kv_heads": 2, "head_dim": 6, "d_ff": 24, "window": 4, "score_dim": 9, "period": 3},
    ),
    "phi-3-mini": (
        "Phi3",
        {"num_key_value_heads": 2, "intermediate_size": 24, "sliding_window": 4},
        {"kv_heads": 2, "d_ff": 24, "window": 4},
    ),
    "deepseek-v2-lite": (
        "DeepseekV2",
        LATENT
        | {"intermediate_size": 24, "first_k_dense_replace": 1, "q_lora_rank": None, "topk_method": "greedy"}
        | {"n_routed_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 12, "n_shared_experts": 2}
        | {"routed_scaling_factor": 1.0, "rope_parameters": {**YARN, "mscale": 0.707, "mscale_all_dim": 0.707}},
        LATENT_HERE
        | {"d_ff": 24, "experts": 6, "experts_per_token": 3, "d_expert": 12, "rope_factor": 4.0}
        | {"original_length": 4},
    ),
    "deepseek-v3": (
        "DeepseekV3",
        LATENT
        | {"intermediate_size": 24, "first_k_dense_replace": 1, "q_lora_rank": 14, "num_key_value_heads": 4}
        | {"n_routed_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 12, "n_group": 8, "topk_group": 4}
        | {"rope_parameters": {**YARN, "mscale": 1.0, "mscale_all_dim": 1.0}},
        LATENT_HERE
        | {"d_ff": 24, "dense_layers": 1, "q_rank": 14, "experts": 16, "experts_per_token": 4, "d_expert": 12}
        | {"rope_factor": 4.0, "original_length": 4},
    ),
    "gpt-j-6b": ("GPTJ", {"rotary_dim": 4, "n_positions": 16}, {"rotary_dim": 4}),
    "opt-125m": (
        "OPT",
        {"ffn_dim": 128, "max_position_embeddings": 16, "word_embed_proj_dim": 32},
        {"max_length": 16},
    ),
    "opt-350m": (
        "OPT",
        {"ffn_dim": 128, "max_position_embeddings": 16, "word_embed_proj_dim": 20, "do_layer_norm_before": False},
        {"max_length": 16, "d_embed": 20},
    ),
    "bloom-7b1": ("Bloom", {}, {}),
    "falcon-7b": (
        "Falcon",
        {"multi_query": True, "parallel_attn": True, "new_decoder_architecture": False, "bias": False},
        {},
    ),
    "switch-base-8": (
        "SwitchTransformers",
        {"d_model": 32, "num_heads": 4, "d_kv": 6, "d_ff": 24, "num_layers": 4, "num_decoder_layers": 4}
        | {"num_sparse_encoder_layers": 2, "num_sparse_decoder_layers": 2, "num_experts": 3, "expert_capacity": 4}
        | {"decoder_start_token_id": 0},
        {"head_dim": 6, "d_ff": 24, "encoder_layers": 4, "experts": 3, "capacity": 4},
    ),
}


@pytest.mark.parametrize("spec", MODELS)
def test_logits_equal_transformers(spec: str) -> None:
    family, config, settings = MODELS[spec]
    sizes = SIZES | settings
    if family == "SwitchTransformers":
        sizes |= {"source": sizes.pop("length"), "target": 7, "encoder_layers": sizes.pop("layers")} | settings
        kind, base = transformers.SwitchTransformersForConditionalGeneration, {"vocab_size": 40, "pad_token_id": 0}
    else:
        kind, base = getattr(transformers, f"{family}ForCausalLM"), CONFIG
    model = kind(_configuration(family, base | config)).eval()
    rng = np.random.default_rng(0)
    # files store tied tensors once
    state = {k: v for k, v in [*model.named_parameters(), *model.named_buffers()] if k in model.state_dict()}
    with torch.no_grad():
        for name, tensor in state.items():
            spread = torch.from_numpy(rng.normal(size=tuple(tensor.shape)).astype(np.float32))
            tensor.copy_(1 + spread / 4 if "norm" in name and name.endswith("weight") else spread / 4)
    program = built(spec, **sizes)
    weights = {name: tensor.detach().numpy() for name, tensor in state.items()}
    report = check_weights(program, weights)
    assert report.ok, report.mismatches
    ids = {s.name: rng.integers(1, 40, s.type.shape) for s in program.inputs if s.name != "attention_mask"}
    actual = forward(program, ids, weights=weights).outputs["logits"]
    with torch.no_grad():
        expected = model(
            **{name: torch.from_numpy(array) for name, array in ids.items()}, use_cache=False
        ).logits.numpy()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def _configuration(family: str, settings: dict[str, Any]) -> Any:
    name = f"{family}TextConfig" if family == "Gemma3" else f"{family}Config"
    return getattr(transformers, name)(**settings, attn_implementation="eager")
