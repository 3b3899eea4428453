"""Fields that the configuration of any model may have, and that neither shapes nor work depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Fields that are read in every configuration.
READ = frozenset(
    {
        "architectures",
        "dtype",
        "id2label",
        "model_type",
        "num_labels",
        "quantization",
        "quantization_config",
        "torch_dtype",
    }
)

_FLAG = (None, False)
_NUMBER = (None, 0)

#: Fields of parts that few classes have, with the values that say that a model has no such part. Other values change it
#: in a way that netcalc does not know, unless the table of its type names the field or what it says.
ABSENT: Mapping[str, tuple[Any, ...]] = {
    "add_cross_attention": _FLAG,
    "attention_bias": _FLAG,
    "attention_dropout": _NUMBER,
    "attn_logit_softcapping": (None,),
    "attn_pdrop": _NUMBER,
    "cross_attention_hidden_size": (None,),
    "do_blenderbot_90_layernorm": _FLAG,
    "drop_vision_last_layer": _FLAG,
    "embd_pdrop": _NUMBER,
    "embedding_dropout": _NUMBER,
    "final_logit_softcapping": (None,),
    "hidden_dropout": _NUMBER,
    "is_decoder": _FLAG,
    "is_encoder_decoder": _FLAG,
    "lm_head_bias": _FLAG,
    "mlp_bias": _FLAG,
    "mlp_only_layers": (None, []),
    "moe_frequency": (None, 1),
    "n_routed_experts": _NUMBER,
    "n_shared_experts": _NUMBER,
    "num_experts": _NUMBER,
    "num_local_experts": _NUMBER,
    "num_shared_experts": _NUMBER,
    "pruned_heads": (None, {}),
    "qk_layernorm": _FLAG,
    "qkv_bias": _FLAG,
    "resid_pdrop": _NUMBER,
    "shared_expert_intermediate_size": _NUMBER,
    "sliding_window": (None,),
    "tie_encoder_decoder": _FLAG,
    "use_qk_norm": _FLAG,
    "use_qkv_bias": _FLAG,
    "use_sliding_window": _FLAG,
}

#: Vars that say the same as a field of another name, in a family whose classes lack the field.
STATED = {
    "qk_layernorm": "qk_norm",
    "qkv_bias": "attention_bias",
    "use_qk_norm": "qk_norm",
    "use_qkv_bias": "attention_bias",
}

_SIZES = """
d_kv d_model decoder_attention_heads decoder_layers dim embed_dim encoder_attention_heads encoder_layers head_dim
hidden_dim hidden_size image_size max_position_embeddings n_embd n_head n_heads n_layer n_layers n_positions
num_attention_heads num_channels num_decoder_layers num_heads num_hidden_layers num_key_value_heads num_kv_heads
num_layers patch_size vocab_size
"""

#: Sizes and numbers of parts that every model with such a field has, so that they are at least 1.
AT_LEAST_ONE = frozenset(_SIZES.split())

#: Fields that say how often a layer is repeated.
NUMBERS_OF_LAYERS = frozenset(
    ["decoder_layers", "encoder_layers", "n_layer", "n_layers", "num_decoder_layers", "num_hidden_layers", "num_layers"]
)

#: ``auto_map`` names code beside the class that ``architectures`` names, which is not run.
_BOOKKEEPING = """
adapters attn_implementation auto_map custom_pipelines experts_implementation finetuning_task gradient_checkpointing
internal_version label2id language max_seq_length max_sequence_length model_max_length move_model_to_device
neftune_noise_alpha output_past pretraining_tp problem_type sbert_ce_default_activation_function
selective_checkpoint_enabled sentence_transformers sequence_parallel_enabled task_specific_params tf_legacy_loss
tokenizer_class torchscript transformers_version transformers.js_config unsloth_fixed unsloth_version use_bfloat16
use_flash_attention use_flash_attention_2 use_flash_attn vocab_file xla_device
"""
_OUTPUTS = "output_attentions output_hidden_states return_dict use_cache use_return_dict"
_TOKENS = "begin_suppress_tokens eos_token_ids forced_decoder_ids prefix suppress_tokens"
_GENERATION = """
bad_words_ids cache_implementation constraints diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
encoder_repetition_penalty epsilon_cutoff eta_cutoff exponential_decay_length_penalty force_words_ids guidance_scale
length_penalty low_memory max_length max_new_tokens max_time min_length min_new_tokens min_p no_repeat_ngram_size
num_beam_groups num_beams num_return_sequences output_logits output_scores penalty_alpha prompt_lookup_num_tokens
remove_invalid_values renormalize_logits repetition_penalty return_dict_in_generate sequence_bias stop_strings
temperature token_healing top_k top_p typical_p watermarking_config
"""
#: A class that reads another epsilon leaves ``norm_eps`` unread.
_WORKING = "chunk_size_feed_forward initializer_range norm_eps"

#: Fields of PreTrainedConfig and GenerationConfig, now or in earlier versions, and of libraries around transformers.
_WITHOUT_EFFECT = frozenset(f"{_BOOKKEEPING} {_OUTPUTS} {_TOKENS} {_GENERATION} {_WORKING}".split())


def has_no_effect(field: str) -> bool:
    """Return True for a field that is not looked at, unless the table of a type names it."""
    return field in _WITHOUT_EFFECT or field.startswith("_") or field.endswith("_token_id")
