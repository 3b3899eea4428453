"""Fields of released files that the classes of transformers no longer read: figures are the same with them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.huggingface.tiny_models import TINY
from tests.oracle.huggingface import assert_agrees, ids

Fields = dict[str, Any]

#: Fields by the architecture, the model type and the sizes of the inputs.
RELEASED: dict[tuple[str, str], Fields] = {
    ("BartForConditionalGeneration", "bart"): {
        "replacing_rate": 0,
        "student_decoder_layers": None,
        "student_encoder_layers": None,
    },
    ("FalconForCausalLM", "falcon"): {"apply_residual_connection_post_layernorm": False},
    ("Gemma2ForCausalLM", "gemma2"): {"sliding_window_size": 3, "cache_implementation": "hybrid", "hidden_act": "gelu"},
    ("Starcoder2ForCausalLM", "starcoder2"): {
        "activation_function": "relu",
        "attention_softmax_in_fp32": True,
        "layer_norm_epsilon": 1e-5,
        "mlp_type": "default",
        "norm_type": "layer_norm",
        "scale_attention_softmax_in_fp32": True,
        "scale_attn_weights": True,
    },
    ("Cohere2ForCausalLM", "cohere2"): {
        "cache_implementation": "hybrid",
        "layer_switch": 4,
        "order_of_interleaved_layers": "local_attn_first",
        "position_embedding_type": "rope_gptj",
        "rotary_pct": 1.0,
        "use_embedding_sharing": True,
        "use_gated_activation": True,
        "use_parallel_block": True,
        "use_parallel_embedding": True,
    },
    ("FNetForMaskedLM", "fnet"): {"actual_seq_length": 512, "use_latest": True},
    ("GPTNeoForCausalLM", "gpt_neo"): {"summary_type": "cls_index", "summary_use_proj": True},
    ("GPT2LMHeadModel", "gpt2"): {"n_ctx": 24, "n_special": 0, "predict_special_tokens": True},
    ("GlmMoeDsaForCausalLM", "glm_moe_dsa"): {"index_share_for_mtp_iteration": True, "moe_router_dtype": "float32"},
    ("Llama4ForCausalLM", "llama4_text"): {"nope_layer_interval": 2},
    ("NemotronHForCausalLM", "nemotron_h"): {
        "attention_head_dim": 4,
        "mtp_hybrid_override_pattern": "*E",
        "partial_rotary_factor": 0.5,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000,
        "time_step_rank": 512,
    },
    ("Qwen3_5ForCausalLM", "qwen3_5_text"): {"output_gate_type": "swish"},
    ("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text"): {"output_gate_type": "swish"},
    ("LlamaForCausalLM", "llama"): {"is_llama_config": True, "rope_interleaved": False, "pretraining_tp": 1},
    ("Phi3ForCausalLM", "phi3"): {"attention_bias": False},
    ("MarianMTModel", "marian"): {"classifier_dropout": 0.0, "normalize_embedding": False, "normalize_before": False},
}


@pytest.mark.parametrize(("architecture", "model_type"), RELEASED)
def test_fields_that_are_not_read(architecture: str, model_type: str) -> None:
    fields = TINY[model_type] | RELEASED[architecture, model_type]
    if model_type in ("bart", "marian"):
        inputs, dims = {"input_ids": ids(1, 5), "decoder_input_ids": ids(1, 5)}, {"source": 5, "target": 5}
    else:
        inputs, dims = {"input_ids": ids(1, 5)}, {"length": 5}
    assert_agrees(architecture, fields, inputs, dims)
