"""Small models of every type that is converted, with random parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import netcalc
from netcalc.analysis.walk import parameters
from tests.formats.huggingface.harness import write_config

_COMMON: dict[str, Any] = {
    "pad_token_id": 0,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 60,
    "max_position_embeddings": 64,
}
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
_LATENT = {
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 12,
    "first_k_dense_replace": 1,
    "rms_norm_eps": 1e-6,
}


def _config(architecture: str, model_type: str, **fields: Any) -> dict[str, Any]:
    return {"architectures": [architecture], "model_type": model_type, **_COMMON, **fields}


def _without(config: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in fields}


SMALL = {
    "bert": _without(
        _config("BertModel", "bert", num_hidden_layers=2, type_vocab_size=2, layer_norm_eps=1e-12),
        "num_key_value_heads",
    ),
    "bloom": {
        "architectures": ["BloomForCausalLM"],
        "model_type": "bloom",
        "hidden_size": 32,
        "n_layer": 2,
        "n_head": 4,
        "vocab_size": 60,
        "layer_norm_epsilon": 1e-5,
    },
    "cohere2": _config("Cohere2ForCausalLM", "cohere2", logit_scale=0.5, sliding_window=8, layer_norm_eps=1e-5),
    "deepseek_v2": _config(
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        **_LATENT,
        num_key_value_heads=4,
        q_lora_rank=None,
        n_shared_experts=2,
        routed_scaling_factor=1.5,
        topk_method="greedy",
        norm_topk_prob=False,
    ),
    "deepseek_v3": _config(
        "DeepseekV3ForCausalLM",
        "deepseek_v3",
        **_LATENT,
        num_key_value_heads=4,
        q_lora_rank=12,
        n_shared_experts=1,
        n_group=2,
        topk_group=1,
        routed_scaling_factor=2.5,
        norm_topk_prob=True,
        rope_scaling={
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 16,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 0.7,
            "mscale_all_dim": 0.7,
        },
    ),
    "falcon": {
        "architectures": ["FalconForCausalLM"],
        "model_type": "falcon",
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 60,
        "layer_norm_epsilon": 1e-5,
        "multi_query": True,
        "new_decoder_architecture": False,
        "max_position_embeddings": 2048,
    },
    "gemma": _config("GemmaForCausalLM", "gemma", head_dim=16, rms_norm_eps=1e-6),
    "gemma2": _config(
        "Gemma2ForCausalLM",
        "gemma2",
        head_dim=16,
        rms_norm_eps=1e-6,
        sliding_window=8,
        attn_logit_softcapping=20.0,
        final_logit_softcapping=10.0,
        query_pre_attn_scalar=16,
    ),
    "gemma3": _config(
        "Gemma3ForCausalLM",
        "gemma3_text",
        head_dim=16,
        rms_norm_eps=1e-6,
        sliding_window=8,
        query_pre_attn_scalar=16,
        rope_theta=1e6,
        num_hidden_layers=7,
    ),
    "gpt2": {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 64,
        "vocab_size": 60,
        "layer_norm_epsilon": 1e-5,
    },
    "gpt_neox": _without(
        _config(
            "GPTNeoXForCausalLM",
            "gpt_neox",
            rotary_pct=0.5,
            layer_norm_eps=1e-5,
            use_parallel_residual=True,
        ),
        "num_key_value_heads",
    ),
    "gpt_neox serial": _without(
        _config(
            "GPTNeoXForCausalLM",
            "gpt_neox",
            rotary_pct=0.25,
            layer_norm_eps=1e-5,
            use_parallel_residual=False,
        ),
        "num_key_value_heads",
    ),
    "glm4": _config("Glm4ForCausalLM", "glm4", head_dim=16, rms_norm_eps=1e-5, partial_rotary_factor=0.5),
    "gpt_oss": _config(
        "GptOssForCausalLM",
        "gpt_oss",
        head_dim=16,
        num_local_experts=4,
        num_experts_per_tok=2,
        rms_norm_eps=1e-5,
        sliding_window=6,
        rope_theta=1e4,
        rope_scaling=None,
    ),
    "granite": _config(
        "GraniteForCausalLM",
        "granite",
        attention_multiplier=0.3,
        embedding_multiplier=3.0,
        residual_multiplier=0.5,
        logits_scaling=4.0,
        rms_norm_eps=1e-6,
        rope_theta=1e4,
    ),
    "llama": _config("LlamaForCausalLM", "llama", rms_norm_eps=1e-5, rope_theta=5e5),
    "llama tied, biases": _config(
        "LlamaForCausalLM",
        "llama",
        rms_norm_eps=1e-5,
        attention_bias=True,
        mlp_bias=True,
        tie_word_embeddings=True,
        head_dim=16,
    ),
    "mamba": {
        "architectures": ["MambaForCausalLM"],
        "model_type": "mamba",
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "state_size": 4,
        "conv_kernel": 3,
        "time_step_rank": 5,
        "layer_norm_epsilon": 1e-5,
        "vocab_size": 64,
    },
    "mamba2": {
        "architectures": ["Mamba2ForCausalLM"],
        "model_type": "mamba2",
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_heads": 4,
        "head_dim": 16,
        "state_size": 8,
        "n_groups": 2,
        "conv_kernel": 3,
        "layer_norm_epsilon": 1e-5,
        "vocab_size": 64,
        "tie_word_embeddings": True,
    },
    "mistral": _config("MistralForCausalLM", "mistral", rms_norm_eps=1e-5, sliding_window=None),
    "mixtral": _config(
        "MixtralForCausalLM", "mixtral", rms_norm_eps=1e-5, num_local_experts=4, num_experts_per_tok=2, rope_theta=1e6
    ),
    "olmo2": _config("Olmo2ForCausalLM", "olmo2", rms_norm_eps=1e-5),
    "olmoe": _config("OlmoeForCausalLM", "olmoe", rms_norm_eps=1e-5, **_EXPERTS),
    "phi": _without(
        _config("PhiForCausalLM", "phi", layer_norm_eps=1e-5, partial_rotary_factor=0.5, intermediate_size=128),
        "num_key_value_heads",
    ),
    "phi3": _config("Phi3ForCausalLM", "phi3", rms_norm_eps=1e-5, sliding_window=6, rope_theta=1e4),
    "qwen2": _config("Qwen2ForCausalLM", "qwen2", rms_norm_eps=1e-6, rope_theta=1e6),
    "qwen2_moe": _config(
        "Qwen2MoeForCausalLM",
        "qwen2_moe",
        rms_norm_eps=1e-6,
        moe_intermediate_size=12,
        shared_expert_intermediate_size=20,
        **_EXPERTS,
    ),
    "qwen3": _config("Qwen3ForCausalLM", "qwen3", rms_norm_eps=1e-6, head_dim=16, rope_theta=1e6),
    "qwen3_moe": _config(
        "Qwen3MoeForCausalLM",
        "qwen3_moe",
        rms_norm_eps=1e-6,
        head_dim=16,
        moe_intermediate_size=12,
        norm_topk_prob=True,
        **_EXPERTS,
    ),
    "stablelm": _config(
        "StableLmForCausalLM", "stablelm", layer_norm_eps=1e-5, partial_rotary_factor=0.25, use_parallel_residual=False
    ),
    "stablelm parallel": _config(
        "StableLmForCausalLM",
        "stablelm",
        layer_norm_eps=1e-5,
        partial_rotary_factor=0.5,
        use_parallel_residual=True,
        use_qkv_bias=True,
        qk_layernorm=True,
    ),
    "starcoder2": _config("Starcoder2ForCausalLM", "starcoder2", norm_epsilon=1e-5, sliding_window=None),
}


def drawn(folder: Path, config: dict[str, Any]) -> tuple[netcalc.Network, dict[str, np.ndarray[Any, Any]]]:
    """Return the network of a configuration, and random parameters for it, by their names in transformers."""
    settings = {"length": 12} | ({"pooler": False} if config["model_type"] == "bert" else {})
    network = netcalc.load(write_config(folder, config), set=settings)
    rng = np.random.default_rng(0)
    gpt2, gpt_oss = config["model_type"] == "gpt2", config["model_type"] == "gpt_oss"  # which store weights transposed
    arrays = {}
    for parameter in parameters(network.program):
        if not parameter.tied and (not parameter.param.is_buffer or parameter.path.endswith("correction_bias")):
            shape = tuple(map(int, parameter.param.shape))
            centre = 1.0 if "norm" in parameter.path or "ln_" in parameter.path else 0.0
            array = (centre + rng.normal(size=shape) / 4).astype(np.float32)
            turned = (gpt2 and ".c_" in parameter.path) or (
                ".experts." in parameter.path and gpt_oss and len(shape) > 2
            )
            arrays[parameter.path] = array.swapaxes(-1, -2) if turned and len(shape) > 1 else array
    return network, arrays
