"""Small models that transformers saves: the folder, loaded as it is, has the outputs of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.oracle.checkpoints.harness import assert_close, randomise  # noqa: E402

SMALL = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 7}
LABELS = {"num_labels": 3}
GROUPED = SMALL | LABELS | {"intermediate_size": 20, "num_key_value_heads": 2, "max_position_embeddings": 16}
FALCON = SMALL | LABELS | {"num_kv_heads": 2, "new_decoder_architecture": True}
SEQUENTIAL = SMALL | {"alibi": True, "parallel_attn": False, "multi_query": False, "bias": True}
PLACES = {"max_position_embeddings": 16}
GPT_OSS = {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4, "swiglu_limit": 0.5}
LLAMA4 = {"head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "intermediate_size_mlp": 16}
QWEN3_MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
GLM4_MOE = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "routed_scaling_factor": 1.5}
MAMBA2 = {"vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 2, "num_heads": 6, "head_dim": 4, "n_groups": 1}
MAMBA2 |= {"state_size": 5, "chunk_size": 4, "layer_norm_epsilon": 1e-5}
HYBRID = GROUPED | {"num_hidden_layers": 4, "mamba_d_state": 5}
JAMBA = HYBRID | {"attn_layer_period": 3, "attn_layer_offset": 1, "num_experts": 4, "tie_word_embeddings": True}
BAMBA = HYBRID | {"attn_layer_indices": [2], "mamba_n_heads": 6, "mamba_chunk_size": 4}
RWKV = {"vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 5}
QWEN3_NEXT = GROUPED | QWEN3_MOE | {"layer_types": ["linear_attention", "full_attention"], "mlp_only_layers": [1]}
QWEN3_NEXT |= {"head_dim": 8, "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 5}
QWEN3_NEXT |= {"linear_value_head_dim": 6, "shared_expert_intermediate_size": 12}
NEMOTRON_H = {"vocab_size": 50, "hidden_size": 24, "layers_block_type": ["linear_attention", "moe", "full_attention"]}
NEMOTRON_H |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "ssm_state_size": 5, "chunk_size": 4}
NEMOTRON_H |= {
    "mamba_num_heads": 4,
    "mamba_head_dim": 6,
    "n_groups": 1,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
}
NEMOTRON_H |= {"moe_intermediate_size": 12, "moe_shared_expert_intermediate_size": 10, "routed_scaling_factor": 1.5}
SMOLLM3 = {"use_sliding_window": True, "sliding_window": 4, "no_rope_layer_interval": 2, "attention_bias": True}
SMOLLM3 |= {"mlp_bias": True, "head_dim": 8}
OLMO3: dict[str, Any] = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4, "head_dim": 8}
OLMO3 |= {
    "rope_parameters": {
        "full_attention": {"rope_type": "yarn", "factor": 2.0, "rope_theta": 100.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
    }
}
EXAONE4 = {"num_hidden_layers": 3, "sliding_window": 4, "sliding_window_pattern": 2, "head_dim": 8}
SEED_OSS = {"head_dim": 8, "attention_bias": True, "attention_out_bias": True, "mlp_bias": True}
NEMOTRON = {"head_dim": 8, "attention_bias": True, "mlp_bias": True, "rope_parameters": {"partial_rotary_factor": 0.25}}
HUNYUAN = {
    "head_dim": 6,
    "rope_parameters": {"rope_type": "dynamic", "alpha": 30.0, "factor": 1.0, "rope_theta": 100.0},
}
MINISTRAL3 = {
    "head_dim": 8,
    "sliding_window": 6,
    "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 100.0, "llama_4_scaling_beta": 0.3}
    | {"original_max_position_embeddings": 3, "max_position_embeddings": 12},
}
GEMMA4 = {"head_dim": 6, "global_head_dim": 10, "sliding_window": 4, "vocab_size_per_layer_input": 50}
GEMMA4 |= {"num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2}
GEMMA4 |= {"hidden_size_per_layer_input": 3, "final_logit_softcapping": 5.0}
GEMMA3N = {name: value for name, value in GEMMA4.items() if name != "global_head_dim"}
GEMMA3N |= {"num_kv_shared_layers": 2, "laurel_rank": 5, "altup_num_inputs": 3, "vocab_size_per_layer_input": 30}
GEMMA3N |= {"activation_sparsity_pattern": [0.95, 0.0, 0.5, 0.0], "intermediate_size": [20, 18, 20, 16]}
GEMMA3N_OTHER = {"altup_active_idx": 1, "altup_correct_scale": False, "activation_sparsity_pattern": [0.0] * 4}
GEMMA4_EXPERTS = {"enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 12}
GEMMA4_EXPERTS |= {"attention_k_eq_v": True, "num_global_key_value_heads": 1}
EVERY = ("Model", "ForCausalLM", "ForSequenceClassification", "ForTokenClassification")

CASES: list[tuple[str, dict[str, Any]]] = [
    *((f"Llama{head}", GROUPED) for head in EVERY),
    *((f"Mistral{head}", GROUPED | {"sliding_window": 4}) for head in EVERY[2:]),
    ("Phi3ForSequenceClassification", GROUPED),
    ("MixtralModel", GROUPED | {"num_local_experts": 3}),
    ("GPT2Model", SMALL | {"n_positions": 16}),
    ("GPT2LMHeadModel", SMALL | {"n_positions": 16, "scale_attn_by_inverse_layer_idx": True}),
    ("GPT2LMHeadModel", SMALL | {"n_positions": 16, "scale_attn_weights": False}),
    ("GPT2ForSequenceClassification", SMALL | LABELS | {"n_positions": 16}),
    ("OpenAIGPTLMHeadModel", SMALL | {"n_positions": 16, "afn": "gelu"}),
    ("GPTJForSequenceClassification", SMALL | {"rotary_dim": 4}),
    ("GPTNeoXForTokenClassification", SMALL | LABELS | {"intermediate_size": 20, "rotary_pct": 1.0}),
    ("GPTNeoXModel", SMALL | {"use_parallel_residual": False, "intermediate_size": 20, "rotary_pct": 1.0}),
    ("OPTModel", SMALL | PLACES | {"ffn_dim": 20, "word_embed_proj_dim": 10}),
    ("OPTForSequenceClassification", SMALL | PLACES | {"ffn_dim": 20, "layer_norm_elementwise_affine": False}),
    ("BloomForTokenClassification", SMALL | LABELS),
    ("FalconForCausalLM", FALCON),
    ("FalconModel", FALCON | {"num_ln_in_parallel_attn": 1}),
    ("FalconForSequenceClassification", SEQUENTIAL),
    ("MambaModel", {"vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 2}),
    ("Mamba2Model", MAMBA2 | {"n_groups": 2, "time_step_limit": (0.01, 0.5)}),
    ("Mamba2ForCausalLM", MAMBA2),
    ("JambaForCausalLM", JAMBA | {"mamba_dt_rank": 4}),
    ("JambaForSequenceClassification", JAMBA | LABELS | {"hidden_act": "gelu"}),
    ("BambaForCausalLM", BAMBA),
    ("RwkvForCausalLM", RWKV),
    ("RwkvModel", RWKV | {"intermediate_size": 10, "rescale_every": 2}),
    ("NemotronHForCausalLM", NEMOTRON_H),
    ("NemotronHModel", NEMOTRON_H | {"moe_latent_size": 8, "mlp_bias": True, "n_group": 2, "n_groups": 2}),
    ("Qwen3NextForCausalLM", QWEN3_NEXT),
    ("Qwen3NextForSequenceClassification", QWEN3_NEXT | LABELS | {"layer_types": ["full_attention"] * 2}),
    ("BambaModel", BAMBA | {"mamba_n_groups": 3, "attention_bias": True, "mlp_bias": True}),
    ("StableLmModel", GROUPED | {"use_parallel_residual": True, "use_qkv_bias": True, "partial_rotary_factor": 0.7}),
    ("StableLmForCausalLM", GROUPED | {"qk_layernorm": True, "partial_rotary_factor": 1.0}),
    ("PhiModel", GROUPED | {"qk_layernorm": True, "partial_rotary_factor": 0.7}),
    ("Starcoder2ForTokenClassification", GROUPED),
    ("Olmo2ForSequenceClassification", GROUPED),
    ("OlmoeForCausalLM", GROUPED | {"num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True}),
    ("GraniteModel", GROUPED | {"residual_multiplier": 0.3, "attention_multiplier": 0.2}),
    ("Cohere2ForCausalLM", GROUPED | {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4}),
    ("OlmoForCausalLM", GROUPED | {"clip_qkv": 0.3, "attention_bias": True}),
    ("OlmoForSequenceClassification", GROUPED | {"head_dim": 8}),
    ("Olmo3ForCausalLM", GROUPED | OLMO3),
    ("Olmo3ForSequenceClassification", GROUPED | {"num_hidden_layers": 4, "sliding_window": 3, "attention_bias": True}),
    *((f"Exaone4{head}", GROUPED | EXAONE4) for head in (*EVERY, "ForQuestionAnswering")),
    ("Exaone4ForCausalLM", GROUPED | {"sliding_window": None, "layer_types": ["full_attention"] * 2, "head_dim": 8}),
    *((f"SeedOss{head}", GROUPED | SEED_OSS) for head in (*EVERY, "ForQuestionAnswering")),
    ("Ernie4_5Model", GROUPED | {"head_dim": 8, "use_bias": True}),
    ("Ernie4_5ForCausalLM", GROUPED | {"head_dim": 6, "tie_word_embeddings": False}),
    *((f"Nemotron{head}", GROUPED | NEMOTRON) for head in (*EVERY, "ForQuestionAnswering")),
    ("CohereModel", GROUPED | {"use_qk_norm": True, "attention_bias": True}),
    ("CohereForCausalLM", GROUPED | {"head_dim": 8, "logit_scale": 0.3, "tie_word_embeddings": False}),
    ("HunYuanDenseV1ForCausalLM", GROUPED | HUNYUAN),
    ("HunYuanDenseV1ForSequenceClassification", GROUPED | {"head_dim": 8, "attention_bias": True}),
    *((f"Helium{head}", GROUPED | {"head_dim": 6, "attention_bias": True, "mlp_bias": True}) for head in EVERY),
    *((f"Arcee{head}", GROUPED | {"head_dim": 8, "mlp_bias": True}) for head in (*EVERY, "ForQuestionAnswering")),
    *((f"Glm{head}", GROUPED | {"head_dim": 8, "attention_bias": False}) for head in EVERY),
    *((f"Ministral3{head}", GROUPED | MINISTRAL3) for head in (*EVERY, "ForQuestionAnswering")),
    *((f"Apertus{head}", GROUPED | {"head_dim": 8}) for head in (*EVERY[:2], EVERY[3])),
    ("ApertusForCausalLM", GROUPED | {"hidden_act": "relu2", "attention_bias": True}),
    *((f"SmolLM3{head}", GROUPED | SMOLLM3) for head in (*EVERY, "ForQuestionAnswering")),
    ("SmolLM3ForCausalLM", GROUPED | {"no_rope_layers": [0, 1, 1], "layer_types": ["full_attention"] * 2}),
    ("GPTNeoForTokenClassification", SMALL | LABELS | {"attention_types": [[["local"], 2]], "window_size": 3}),
    ("Qwen3MoeForCausalLM", GROUPED | QWEN3_MOE | {"mlp_only_layers": [0], "norm_topk_prob": True}),
    ("Qwen2Model", GROUPED | {"is_causal": False}),
    (
        "Qwen2ForCausalLM",
        GROUPED | {"is_causal": False, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    ("Qwen3MoeForQuestionAnswering", GROUPED | QWEN3_MOE | {"use_sliding_window": True, "sliding_window": 4}),
    ("Glm4ForSequenceClassification", GROUPED | {"head_dim": 8}),
    ("GptOssForCausalLM", GROUPED | GPT_OSS),
    ("GptOssForSequenceClassification", GROUPED | GPT_OSS | {"layer_types": ["full_attention", "sliding_attention"]}),
    (
        "Llama4ForCausalLM",
        GROUPED
        | LLAMA4
        | {"attention_chunk_size": 4, "floor_scale": 3, "no_rope_layers": [0, 1], "interleave_moe_layer_step": 2},
    ),
    ("Llama4TextModel", GROUPED | LLAMA4 | {"layer_types": ["full_attention"] * 2, "use_qk_norm": False}),
    ("Gemma3nForCausalLM", GROUPED | GEMMA3N),
    ("Gemma3nTextModel", GROUPED | GEMMA3N | GEMMA3N_OTHER),
    ("Gemma4ForCausalLM", GROUPED | GEMMA4 | {"num_kv_shared_layers": 2, "use_double_wide_mlp": True}),
    ("Gemma4TextModel", GROUPED | GEMMA4 | GEMMA4_EXPERTS | {"use_bidirectional_attention": "all"}),
    ("Glm4MoeForCausalLM", GROUPED | GLM4_MOE | {"head_dim": 8, "use_qk_norm": True}),
]


@pytest.mark.parametrize(("architecture", "fields"), CASES, ids=[name for name, _ in CASES])
def test_outputs_are_those_of_transformers(architecture: str, fields: dict[str, Any], tmp_path: Path) -> None:
    model_class = getattr(transformers, architecture)
    model = randomise(model_class(model_class.config_class(**fields)))
    model.save_pretrained(tmp_path)
    ids = np.random.default_rng(1).integers(8, 50, (2, 9))
    ids[1, 6:] = 7  # padding, which the classification of sequences leaves out
    with torch.no_grad():
        expected = model(torch.from_numpy(ids), attention_mask=torch.ones(2, 9, dtype=torch.int64))
    network = netcalc.load(tmp_path, set={"batch": 2, "length": 9})
    for name, array in network.run({"input_ids": ids}, weights=tmp_path).outputs.items():
        assert_close(array, expected[name].numpy(), name)
