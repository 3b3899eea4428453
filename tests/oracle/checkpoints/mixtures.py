"""Later decoders of transformers with mixtures of experts, small."""

from __future__ import annotations

from collections.abc import Iterator

from tests.oracle.checkpoints.decoders import CONFIG, GROUPED, GROUPED_SIZES, SIZES, YARN, rope
from tests.oracle.checkpoints.model import Model, models

__all__ = ["mixtures"]


def mixtures() -> Iterator[Model]:
    yield from _granite()
    yield from _with_correction_bias()
    yield from _hunyuan()
    yield from _lfm2()
    yield from _qwen3_5()
    yield from _indexed()


def _granite() -> Iterator[Model]:
    multipliers = {"embedding_multiplier": 12.0, "residual_multiplier": 0.22, "attention_multiplier": 0.015625}
    yield from models(
        "GraniteMoeForCausalLM",
        "granite-3.0-3b-a800m",
        config=GROUPED | {"num_local_experts": 6, "num_experts_per_tok": 2},
        settings=GROUPED_SIZES | {"experts": 6, "experts_per_token": 2},
        rms_norm_eps=1e-6,
        rope_parameters=rope(1e4),
        tie_word_embeddings=True,
        logits_scaling=6.0,
        **multipliers,
    )
    types = ["linear_attention", "full_attention"]
    yield from models(
        "GraniteMoeHybridForCausalLM",
        "granite-4.0-h-small",
        config=GROUPED
        | {"num_local_experts": 6, "num_experts_per_tok": 2, "shared_intermediate_size": 12, "mamba_d_state": 5}
        | {"mamba_n_heads": 8, "mamba_chunk_size": 4, "layer_types": types},
        settings=SIZES
        | {"kv_heads": 2, "experts": 6, "experts_per_token": 2, "d_expert": 24, "d_shared": 12, "state": 5}
        | {"mixer_heads": 8, "mixer_head_dim": 8, "chunk": 4, "layer_types": types},
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        logits_scaling=16.0,
        **multipliers | {"attention_multiplier": 0.0078125},
    )


def _with_correction_bias() -> Iterator[Model]:
    """Mixtures whose router adds a bias to the scores that select."""
    yield from models(
        "MiniMaxM2ForCausalLM",
        "minimax-m2",
        config=GROUPED | {"head_dim": 8, "num_local_experts": 6, "num_experts_per_tok": 2},
        settings=GROUPED_SIZES | {"head_dim": 8, "experts": 6, "experts_per_token": 2},
        rope_parameters=rope(5e6, partial_rotary_factor=0.5),
    )
    experts = {"moe_num_experts": 6, "moe_k": 2, "moe_intermediate_size": 12}
    yield from models(
        "Ernie4_5_MoeForCausalLM",
        "ernie-4.5-21b-a3b",
        config=GROUPED | experts,
        settings=GROUPED_SIZES | {"experts": 6, "experts_per_token": 2, "d_expert": 12},
        rope_parameters=rope(5e5),
    )


def _hunyuan() -> Iterator[Model]:
    yield from models(
        "HunYuanMoEV1ForCausalLM",
        "hunyuan-a13b",
        config=GROUPED | {"head_dim": 8, "num_experts": 6, "moe_topk": [2, 3]},
        settings=GROUPED_SIZES | {"head_dim": 8, "experts": 6, "experts_per_token": [2, 3]},
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "alpha": 1000.0, "factor": 1.0},
    )


def _lfm2() -> Iterator[Model]:
    types = ["conv", "full_attention", "conv"]
    config = GROUPED | {"num_hidden_layers": 3, "layer_types": types}
    sizes = GROUPED_SIZES | {"layers": 3, "layer_types": types}
    yield from models(
        "Lfm2ForCausalLM", "lfm2-1.2b", config=config | {"block_auto_adjust_ff_dim": False}, settings=sizes
    )
    experts = {"num_dense_layers": 1, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
    yield from models(
        "Lfm2MoeForCausalLM",
        "lfm2-8b-a1b",
        config=config | experts,
        settings=sizes | {"dense_layers": 1, "experts": 6, "experts_per_token": 2, "d_expert": 12},
    )


def _qwen3_5() -> Iterator[Model]:
    types = ["linear_attention", "full_attention"]  # rounding grows in small layers with random weights
    delta = {"linear_num_value_heads": 4, "linear_num_key_heads": 2}
    delta |= {"linear_key_head_dim": 5, "linear_value_head_dim": 6}
    config = GROUPED | delta | {"head_dim": 8, "layer_types": types}
    sizes = GROUPED_SIZES | {"head_dim": 8, "layer_types": types}
    sizes |= {"delta_heads": 4, "delta_key_heads": 2, "delta_key_dim": 5, "delta_value_dim": 6}
    position = rope(1e7, partial_rotary_factor=0.25)
    yield from models("Qwen3_5ForCausalLM", "qwen3.5-9b", config=config, settings=sizes, rope_parameters=position)
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
    yield from models(
        "Qwen3_5MoeForCausalLM",
        "qwen3.5-35b-a3b",
        config={name: size for name, size in config.items() if name != "intermediate_size"}
        | experts
        | {"shared_expert_intermediate_size": 10},
        settings={name: size for name, size in sizes.items() if name != "d_ff"}
        | {"experts": 4, "experts_per_token": 2, "d_expert": 12, "d_shared": 10},
        rope_parameters=position,
    )


def _indexed() -> Iterator[Model]:
    """Latent attention to keys that an indexer selects, with many heads, so that no two scores are equal."""
    latent = CONFIG | {"intermediate_size": 24, "num_key_value_heads": 4, "moe_intermediate_size": 12}
    latent |= {"kv_lora_rank": 12, "q_lora_rank": 14, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 8}
    latent |= {"n_routed_experts": 16, "index_topk": 4, "index_head_dim": 7, "index_n_heads": 40}
    sizes = SIZES | {"d_ff": 24, "d_expert": 12, "kv_rank": 12, "q_rank": 14, "nope_dim": 6, "rope_dim": 4, "v_dim": 8}
    sizes |= {"experts": 16, "index_top": 4, "index_dim": 7, "index_heads": 40}
    yield from models(
        "DeepseekV32ForCausalLM",
        "deepseek-v3.2",
        config=latent | {"first_k_dense_replace": 1},
        settings=sizes | {"dense_layers": 1},
        rope_parameters=rope(1e4, mscale=1.0, mscale_all_dim=1.0, **YARN),
    )
    yield from models(
        "GlmMoeDsaForCausalLM",
        "glm-5",
        config=latent
        | {"first_k_dense_replace": 1, "num_hidden_layers": 3, "indexer_types": ["full", "shared", "full"]},
        settings=sizes | {"dense_layers": 1, "layers": 3, "indexer_types": ["full", "shared", "full"]},
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e6),
    )
