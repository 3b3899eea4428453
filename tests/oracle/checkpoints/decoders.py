"""Decoders of transformers, small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.oracle.checkpoints.model import Model, models

__all__ = ["decoders"]

CONFIG = {"vocab_size": 50, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 0}
SIZES = {"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "heads": 4, "layers": 2}
GROUPED = CONFIG | {"intermediate_size": 24, "num_key_value_heads": 2}
GROUPED_SIZES = SIZES | {"d_ff": 24, "kv_heads": 2}
# heads whose features are not d_model together
WIDE = GROUPED | {"head_dim": 6}
WIDE_SIZES = GROUPED_SIZES | {"head_dim": 6}


def rope(theta: float, **scaling: Any) -> dict[str, Any]:
    """Rotary positions as configurations state them."""
    return {"rope_type": "default", "rope_theta": theta, **scaling}


LLAMA3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA3 |= {"original_max_position_embeddings": 8192}
YARN = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096}
YARN |= {"beta_fast": 32.0, "beta_slow": 1.0}


def decoders() -> Iterator[Model]:
    yield from _llama()
    yield from _gemma()
    yield from _qwen()
    yield from _experts()
    yield from _gpt()
    yield from _layer_norms()
    yield from _later()
    yield from _later_experts()
    yield from _hybrids()


def _llama() -> Iterator[Model]:
    kind = "LlamaForCausalLM"
    sizes: dict[str, Any] = {"config": GROUPED, "settings": GROUPED_SIZES, "rms_norm_eps": 1e-5}
    yield from models(kind, "llama-2-7b", "llama-2-13b", "llama-2-70b", rope_parameters=rope(1e4), **sizes)
    yield from models(kind, "llama-3-8b", "llama-3-70b", rope_parameters=rope(5e5), **sizes)
    yield from models(kind, "llama-3.1-8b", "llama-3.1-405b", rope_parameters=rope(5e5, factor=8.0, **LLAMA3), **sizes)
    tied = {"tie_word_embeddings": True, "rope_parameters": rope(5e5, factor=32.0, **LLAMA3)}
    yield from models(kind, "llama-3.2-1b", **tied, **sizes)
    yield from models(
        "MistralForCausalLM",
        "mistral-7b",
        config=WIDE | {"sliding_window": 4},
        settings=WIDE_SIZES | {"window": 4},
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e4),
    )
    yield from models(
        "Phi3ForCausalLM",
        "phi-3-mini",
        config=GROUPED | {"sliding_window": 4},
        settings=GROUPED_SIZES | {"window": 4},
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e4),
    )


def _gemma() -> Iterator[Model]:
    sizes: dict[str, Any] = {"config": WIDE, "settings": WIDE_SIZES}
    yield from models("GemmaForCausalLM", "gemma-2b", "gemma-7b", **sizes, rope_parameters=rope(1e4))
    yield from models(
        "Gemma2ForCausalLM",
        "gemma-2-2b",
        config=WIDE | {"query_pre_attn_scalar": 6, "sliding_window": 4},
        settings=WIDE_SIZES | {"window": 4},
        attn_logit_softcapping=50.0,
        final_logit_softcapping=30.0,
        rope_parameters=rope(1e4),
    )
    layers = ["sliding_attention", "sliding_attention", "full_attention"]
    yield from models(
        "Gemma3ForCausalLM",
        "gemma-3-1b",
        config=WIDE | {"query_pre_attn_scalar": 9, "sliding_window": 4, "num_hidden_layers": 3, "layer_types": layers},
        settings=WIDE_SIZES | {"window": 4, "score_dim": 9, "layers": 3, "period": 3},
        rope_parameters={"sliding_attention": rope(1e4), "full_attention": rope(1e6)},
    )

    streams = ["sliding_attention", "full_attention"] * 2  # rounding grows in layers with random weights
    yield from models(
        "Gemma3nForCausalLM",
        "gemma-3n-e4b",
        config=WIDE
        | {"num_hidden_layers": 4, "num_kv_shared_layers": 2, "layer_types": streams, "sliding_window": 4}
        | {"vocab_size_per_layer_input": 40, "hidden_size_per_layer_input": 4, "laurel_rank": 5}
        | {"activation_sparsity_pattern": [0.95, 0.0, 0.5, 0.0], "altup_num_inputs": 3},
        settings=WIDE_SIZES
        | {"layers": 4, "shared_layers": 2, "period": 2, "window": 4, "d_per_layer": 4, "per_layer_vocab": 40}
        | {"laurel_rank": 5, "sparsity": [0.95, 0.0, 0.5, 0.0], "streams": 3},
        rope_parameters={"sliding_attention": rope(1e4), "full_attention": rope(1e6)},
    )
    yield from _gemma4()


def _gemma4() -> Iterator[Model]:
    share = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25}
    rotary = {"sliding_attention": rope(1e4), "full_attention": share}
    config = WIDE | {"global_head_dim": 10, "sliding_window": 4}
    sizes = WIDE_SIZES | {"global_head_dim": 10, "window": 4}
    types = ["sliding_attention", "full_attention"] * 3
    yield from models(
        "Gemma4ForCausalLM",
        "gemma-4-e2b",
        config=config
        | {"num_hidden_layers": 6, "num_kv_shared_layers": 3, "layer_types": types}
        | {"vocab_size_per_layer_input": 50, "hidden_size_per_layer_input": 4},
        settings=sizes | {"layers": 6, "shared_layers": 3, "period": 2, "d_per_layer": 4},
        use_double_wide_mlp=True,
        final_logit_softcapping=30.0,
        rope_parameters=rotary,
    )
    yield from models(
        "Gemma4ForCausalLM",
        "gemma-4-26b-a4b",
        config=config
        | {"num_hidden_layers": 3, "num_global_key_value_heads": 1, "layer_types": types[1:4]}
        | {"num_experts": 6, "top_k_experts": 2, "moe_intermediate_size": 12},
        settings=sizes
        | {"layers": 3, "global_kv_heads": 1, "layer_types": types[1:4]}
        | {"experts": 6, "experts_per_token": 2, "d_expert": 12},
        attention_k_eq_v=True,
        enable_moe_block=True,
        hidden_size_per_layer_input=0,
        final_logit_softcapping=30.0,
        rope_parameters=rotary,
    )
    yield from models(
        "Gemma4ForCausalLM",
        "gemma-4-31b",
        config=config | {"num_hidden_layers": 4, "num_global_key_value_heads": 1, "layer_types": types[:4]},
        settings=sizes | {"layers": 4, "global_kv_heads": 1, "period": 2},
        attention_k_eq_v=True,
        hidden_size_per_layer_input=0,
        final_logit_softcapping=30.0,
        rope_parameters=rotary,
    )


def _qwen() -> Iterator[Model]:
    two: dict[str, Any] = {"config": GROUPED, "settings": GROUPED_SIZES, "rope_parameters": rope(1e6)}
    yield from models("Qwen2ForCausalLM", "qwen2-7b", "qwen2-72b", **two)
    yield from models("Qwen2ForCausalLM", "qwen2-0.5b", **two, tie_word_embeddings=True)
    three: dict[str, Any] = {"config": WIDE, "settings": WIDE_SIZES, "rope_parameters": rope(1e6)}
    yield from models("Qwen3ForCausalLM", "qwen3-8b", "qwen3-32b", **three)
    yield from models("Qwen3ForCausalLM", "qwen3-0.6b", **three, tie_word_embeddings=True)


def _experts() -> Iterator[Model]:
    yield from models(
        "MixtralForCausalLM",
        "mixtral-8x7b",
        config=GROUPED | {"num_local_experts": 4},
        settings=SIZES | {"kv_heads": 2, "d_expert": 24, "experts": 4},
        num_experts_per_tok=2,
        rms_norm_eps=1e-5,
        sliding_window=None,
        rope_parameters=rope(1e6),
    )
    experts = {"num_experts": 6, "moe_intermediate_size": 12, "shared_expert_intermediate_size": 20}
    yield from models(
        "Qwen2MoeForCausalLM",
        "qwen1.5-moe-a2.7b",
        config=GROUPED | experts,
        settings=SIZES | {"kv_heads": 2, "experts": 6, "d_expert": 12, "d_shared": 20},
        num_experts_per_tok=4,
        norm_topk_prob=False,
        rope_parameters=rope(1e6),
    )
    latent = CONFIG | {"intermediate_size": 24, "num_key_value_heads": 4, "moe_intermediate_size": 12, "head_dim": 4}
    latent |= {"kv_lora_rank": 12, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 8}
    sizes = SIZES | {"d_ff": 24, "d_expert": 12, "kv_rank": 12, "nope_dim": 6, "rope_dim": 4, "v_dim": 8}
    yield from models(
        "DeepseekV2ForCausalLM",
        "deepseek-v2-lite",
        config=latent | {"n_routed_experts": 8},
        settings=sizes | {"experts": 8},
        first_k_dense_replace=1,
        num_experts_per_tok=6,
        n_shared_experts=2,
        q_lora_rank=None,
        topk_method="greedy",
        routed_scaling_factor=1.0,
        norm_topk_prob=False,
        rope_parameters=rope(1e4, mscale=0.707, mscale_all_dim=0.707, **YARN),
    )
    yield from models(
        "DeepseekV3ForCausalLM",
        "deepseek-v3",
        config=latent | {"n_routed_experts": 16, "q_lora_rank": 14, "first_k_dense_replace": 1},
        settings=sizes | {"experts": 16, "q_rank": 14, "dense_layers": 1},
        num_experts_per_tok=8,
        n_shared_experts=1,
        n_group=8,
        topk_group=4,
        routed_scaling_factor=2.5,
        norm_topk_prob=True,
        rope_parameters=rope(1e4, mscale=1.0, mscale_all_dim=1.0, **YARN),
    )


def _gpt() -> Iterator[Model]:
    sizes: dict[str, Any] = {"config": CONFIG | {"n_positions": 16}, "settings": SIZES | {"max_length": 16}}
    yield from models("GPT2LMHeadModel", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", **sizes)
    names = ("small", "medium", "large", "xl", "2.7b", "6.7b", "13b", "175b")
    yield from models("GPT2LMHeadModel", *(f"gpt3-{name}" for name in names), "megatron-530b", **sizes)
    yield from models("OpenAIGPTLMHeadModel", "gpt1", **sizes)
    yield from models(
        "GPTJForCausalLM", "gpt-j-6b", config=CONFIG | {"rotary_dim": 4}, settings=SIZES | {"rotary_dim": 4}
    )
    yield from models(
        "GPTNeoXForCausalLM",
        *("pythia-70m", "pythia-410m", "pythia-1b", "pythia-6.9b"),
        config=CONFIG | {"intermediate_size": 128},
        settings=SIZES,
    )


def _layer_norms() -> Iterator[Model]:
    opt = CONFIG | {"ffn_dim": 128, "max_position_embeddings": 16, "pad_token_id": 1}
    sizes = SIZES | {"max_length": 16}
    names = ("opt-125m", "opt-1.3b", "opt-6.7b")
    yield from models("OPTForCausalLM", *names, config=opt | {"word_embed_proj_dim": 32}, settings=sizes)
    yield from models(
        "OPTForCausalLM",
        "opt-350m",
        config=opt | {"word_embed_proj_dim": 20},
        settings=sizes | {"d_embed": 20},
        do_layer_norm_before=False,
    )
    yield from models("BloomForCausalLM", "bloom-560m", "bloom-7b1", "bloom-176b", config=CONFIG, settings=SIZES)
    yield from models(
        "FalconForCausalLM",
        "falcon-7b",
        config=CONFIG,
        settings=SIZES,
        multi_query=True,
        parallel_attn=True,
        new_decoder_architecture=False,
        bias=False,
    )
    yield from models(
        "MambaForCausalLM",
        *("mamba-130m", "mamba-370m", "mamba-2.8b"),
        config={"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 5, "pad_token_id": 0},
        settings={"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "layers": 2, "state": 5},
    )
    yield from models(
        "Mamba2ForCausalLM",
        "mamba2-130m",
        config={"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 5, "pad_token_id": 0}
        | {"num_heads": 8, "head_dim": 8, "chunk_size": 4},
        settings={"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "layers": 2, "state": 5}
        | {"mixer_heads": 8, "mixer_head_dim": 8, "chunk": 4},
        n_groups=1,
        tie_word_embeddings=True,
    )


def _later() -> Iterator[Model]:
    sizes: dict[str, Any] = {"config": GROUPED, "settings": GROUPED_SIZES}
    partial = rope(1e4, partial_rotary_factor=0.5)
    for kind, spec in (("PhiForCausalLM", "phi-2"), ("StableLmForCausalLM", "stablelm-3b-4e1t")):
        settings = GROUPED_SIZES | {"rotary_dim": 4}
        yield from models(kind, spec, config=GROUPED, settings=settings, rope_parameters=partial)
    yield from models(
        "Starcoder2ForCausalLM",
        "starcoder2-3b",
        config=GROUPED | {"sliding_window": 4},
        settings=GROUPED_SIZES | {"window": 4},
        rope_parameters=rope(999999.4420358813),
    )
    yield from models("Olmo2ForCausalLM", "olmo-2-7b", **sizes, rms_norm_eps=1e-6, rope_parameters=rope(5e5))
    yield from models(
        "OlmoeForCausalLM",
        "olmoe-1b-7b",
        config=GROUPED | {"num_experts": 4, "num_experts_per_tok": 2},
        settings=GROUPED_SIZES | {"experts": 4, "experts_per_token": 2},
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e4),
    )
    yield from models(
        "GraniteForCausalLM",
        "granite-3.0-2b",
        **sizes,
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e4),
        tie_word_embeddings=True,
        embedding_multiplier=12.0,
        residual_multiplier=0.22,
        attention_multiplier=0.015625,
        logits_scaling=8.0,
    )
    yield from models(
        "Cohere2ForCausalLM",
        "command-r7b",
        config=GROUPED | {"num_hidden_layers": 4, "sliding_window": 4},
        settings=GROUPED_SIZES | {"layers": 4, "window": 4},
        rope_parameters=rope(5e4),
        logit_scale=0.25,
    )
    neo = {name: CONFIG[name] for name in ("vocab_size", "hidden_size", "pad_token_id")}
    yield from models(
        "GPTNeoForCausalLM",
        "gpt-neo-125m",
        config=neo | {"num_layers": 2, "num_heads": 4, "max_position_embeddings": 16, "window_size": 4},
        settings=SIZES | {"max_length": 16, "window": 4},
        attention_types=[[["global", "local"], 1]],
    )


def _later_experts() -> Iterator[Model]:
    wide = WIDE | {"head_dim": 8, "moe_intermediate_size": 12}
    wide_sizes = WIDE_SIZES | {"head_dim": 8}
    experts = {"experts": 6, "experts_per_token": 2, "d_expert": 12}
    yield from models(
        "Qwen3MoeForCausalLM",
        "qwen3-30b-a3b",
        config=wide | {"num_experts": 6, "num_experts_per_tok": 2},
        settings=wide_sizes | experts,
        norm_topk_prob=True,
        rope_parameters=rope(1e6),
    )
    yield from models(
        "GptOssForCausalLM",
        "gpt-oss-20b",
        config=WIDE | {"num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 4},
        settings=WIDE_SIZES | {"experts": 6, "experts_per_token": 2, "window": 4},
    )
    yield from models(
        "Llama4ForCausalLM",
        "llama-4-scout",
        config=wide
        | {"intermediate_size": 12, "intermediate_size_mlp": 24, "num_hidden_layers": 4, "num_local_experts": 3}
        | {"attention_chunk_size": 4, "floor_scale": 3, "moe_layers": [1, 3]},
        settings=wide_sizes
        | {"layers": 4, "d_expert": 12, "experts": 3, "moe_layers": [1, 3], "chunk": 4, "temperature_floor": 3},
        rope_parameters=rope(5e5, **LLAMA3 | {"factor": 16.0, "high_freq_factor": 1.0}),
    )
    yield from models(
        "Glm4ForCausalLM",
        "glm-4-9b",
        config=WIDE | {"head_dim": 8},
        settings=wide_sizes,
        rms_norm_eps=1e-5,
        rope_parameters=rope(1e4, partial_rotary_factor=0.5),
    )
    yield from models(
        "Glm4MoeForCausalLM",
        "glm-4.5-air",
        config=wide | {"n_routed_experts": 6, "num_experts_per_tok": 2},
        settings=wide_sizes | experts,
        attention_bias=True,
        rope_parameters=rope(1e6, partial_rotary_factor=0.5),
    )


def _hybrids() -> Iterator[Model]:
    hybrid = GROUPED | {"num_hidden_layers": 4, "mamba_d_state": 5}
    sizes = GROUPED_SIZES | {"layers": 4, "state": 5}
    yield from models(
        "JambaForCausalLM",
        "jamba-v0.1",
        config=hybrid | {"attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 4},
        settings=sizes | {"attention_period": 3, "attention_offset": 1, "experts": 4},
        rms_norm_eps=1e-6,
    )
    yield from models(
        "BambaForCausalLM",
        "bamba-9b",
        config=hybrid | {"attn_layer_indices": [2], "mamba_n_heads": 8, "mamba_chunk_size": 4},
        settings=sizes | {"attention_layers": [2], "mixer_heads": 8, "mixer_head_dim": 8, "chunk": 4},
        rms_norm_eps=1e-5,
    )
    yield from models(
        "RwkvForCausalLM",
        "rwkv-4-169m",
        config={"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3},
        settings={"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "layers": 3, "rescale_every": 0},
        rescale_every=0,  # otherwise the first run of the model changes its weights
    )
    types = ["linear_attention", "full_attention"]  # rounding grows in small layers with random weights
    delta: dict[str, Any] = {
        "layer_types": types,
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 5,
    }
    delta |= {"linear_value_head_dim": 6, "shared_expert_intermediate_size": 10, "moe_intermediate_size": 12}
    yield from models(
        "Qwen3NextForCausalLM",
        "qwen3-next-80b-a3b",
        config=GROUPED | delta | {"head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2},
        settings=GROUPED_SIZES
        | {"head_dim": 8, "layer_types": types, "experts": 4, "experts_per_token": 2, "d_expert": 12, "d_shared": 10}
        | {"delta_heads": 4, "delta_key_heads": 2, "delta_key_dim": 5, "delta_value_dim": 6},
        rope_parameters=rope(1e7, partial_rotary_factor=0.25),
    )
    types = ["linear_attention", "moe", "full_attention", "mlp"]
    yield from models(
        "NemotronHForCausalLM",
        "nemotron-h-8b",
        config={"vocab_size": 50, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6}
        | {"mamba_num_heads": 4, "mamba_head_dim": 6, "n_groups": 2, "ssm_state_size": 5, "intermediate_size": 24}
        | {"n_routed_experts": 4, "moe_intermediate_size": 12, "moe_shared_expert_intermediate_size": 10}
        | {"layers_block_type": types, "chunk_size": 4},
        settings={"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "heads": 4, "kv_heads": 2, "head_dim": 6}
        | {"mixer_heads": 4, "mixer_head_dim": 6, "groups": 2, "state": 5, "d_ff": 24}
        | {"experts": 4, "d_expert": 12, "d_shared": 10, "layer_types": types, "chunk": 4},
    )
