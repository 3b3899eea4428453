"""Fields that the configuration of any model may have, and that neither shapes nor work depend on."""

from __future__ import annotations

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

#: Fields that change a model in a way that netcalc does not know, with the values that are harmless; a table may name
#: one all the same.
REFUSED = {
    "add_cross_attention": (None, False),
    "auto_map": (None, {}),
    "cross_attention_hidden_size": (None,),
    "is_decoder": (None, False),
    "is_encoder_decoder": (None, False),
    "pruned_heads": (None, {}),
    "tie_encoder_decoder": (None, False),
}

#: Hints at what to do about a field that is refused.
HINTS = {
    "auto_map": "the model has code of its own; without the field it is read as the class of transformers computes it"
}

_BOOKKEEPING = """
_attn_implementation _attn_implementation_autoset _commit_hash _name_or_path _num_labels attn_implementation
experts_implementation finetuning_task gradient_checkpointing label2id language model_max_length output_past
problem_type task_specific_params tf_legacy_loss tokenizer_class torchscript transformers_version use_bfloat16
transformers.js_config
"""
_OUTPUTS = "output_attentions output_hidden_states return_dict use_cache use_return_dict"
_TOKENS = """
begin_suppress_tokens bos_token_id cls_token_id decoder_start_token_id eos_token_id forced_bos_token_id
forced_decoder_ids forced_eos_token_id mask_token_id pad_token_id prefix sep_token_id suppress_tokens unk_token_id
"""
_GENERATION = """
bad_words_ids diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size
exponential_decay_length_penalty length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams
num_return_sequences output_scores remove_invalid_values repetition_penalty return_dict_in_generate temperature top_k
top_p typical_p
"""
_WORKING = "chunk_size_feed_forward initializer_range"

#: Fields of PreTrainedConfig, now or in earlier versions of transformers, that are not looked at.
WITHOUT_EFFECT = frozenset(f"{_BOOKKEEPING} {_OUTPUTS} {_TOKENS} {_GENERATION} {_WORKING}".split())
