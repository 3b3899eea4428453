"""Small configurations of every model type that netcalc imports, by the names that transformers has."""

from __future__ import annotations

from typing import Any

__all__ = ["TINY"]

Fields = dict[str, Any]

WORDS: Fields = {"vocab_size": 40, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
SIZES: Fields = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
WIDTH: Fields = SIZES | {"intermediate_size": 20}
PLACES: Fields = {"max_position_embeddings": 24}
ENCODER = WORDS | WIDTH | PLACES | {"type_vocab_size": 2}
DECODER = WORDS | WIDTH | PLACES | {"num_key_value_heads": 2}
EXPERTS: Fields = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6}
ROUTED: Fields = {
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 6,
    "first_k_dense_replace": 1,
}
LATENT: Fields = ROUTED | {
    "num_key_value_heads": 4,
    "kv_lora_rank": 6,
    "q_lora_rank": 5,
    "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 4,
    "v_head_dim": 3,
}
IMAGES: Fields = {
    "vision_config": WIDTH | {"model_type": "clip_vision_model", "image_size": 12, "patch_size": 6},
    "image_token_index": 9,
}
TOWER: Fields = {"depth": 2, "hidden_size": 16, "intermediate_size": 12, "num_heads": 2, "patch_size": 3}
HYBRID = DECODER | {"num_hidden_layers": 4, "mamba_d_state": 4}
DELTA: Fields = {
    "head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 4,
    "linear_value_head_dim": 6,
    "shared_expert_intermediate_size": 10,
}
NARROW_DELTA = {name: value for name, value in DELTA.items() if name != "shared_expert_intermediate_size"}
TURNED: Fields = {
    "rope_parameters": {"mrope_section": [1, 1, 0], "rope_theta": 100.0, "partial_rotary_factor": 0.5},
}
PLACED_TOWER = TOWER | {"out_hidden_size": 16, "num_position_embeddings": 9}
NEMOTRON_H: Fields = {
    "hidden_size": 16,
    "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"],
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 20,
    "ssm_state_size": 4,
    "mamba_num_heads": 4,
    "mamba_head_dim": 6,
    "n_groups": 2,
    "chunk_size": 4,
    "n_routed_experts": 4,
    "moe_intermediate_size": 6,
    "moe_shared_expert_intermediate_size": 10,
}
SIDES = {
    f"{side}_{name}": size
    for side in ("encoder", "decoder")
    for name, size in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 20))
}
BART = WORDS | SIDES | PLACES | {"d_model": 16, "decoder_start_token_id": 2, "forced_eos_token_id": None}
LED = (
    WORDS
    | SIDES
    | {
        "d_model": 16,
        "attention_window": 4,
        "max_encoder_position_embeddings": 24,
        "max_decoder_position_embeddings": 12,
    }
)
T5: Fields = WORDS | {"d_model": 16, "d_kv": 4, "d_ff": 20, "num_layers": 2, "num_heads": 4}
SPARSE: Fields = {"num_experts": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1}
SOUND: Fields = {"d_model": 16, "num_mel_bins": 6, "max_source_positions": 8, "max_target_positions": 12}
WAVE: Fields = {
    "conv_dim": [6, 8],
    "conv_kernel": [5, 3],
    "conv_stride": [3, 2],
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
STAGES: Fields = {"hidden_sizes": [4, 8], "depths": [1, 2], "num_stages": 2, "image_size": 32}
PATCHES: Fields = {"patch_size": 4, "image_size": 12}
SWIN: Fields = {
    "image_size": 32,
    "patch_size": 2,
    "embed_dim": 8,
    "depths": [2, 1],
    "num_heads": [2, 4],
    "window_size": 4,
}
RESNET: Fields = {"embedding_size": 6, "hidden_sizes": [8, 16], "depths": [2, 1]}
DETR: Fields = SIDES | {"d_model": 16, "num_queries": 3, "backbone_config": RESNET | {"model_type": "resnet"}}

LLAMA4: Fields = {
    "head_dim": 4,
    "intermediate_size_mlp": 12,
    "num_local_experts": 4,
    "interleave_moe_layer_step": 2,
    "attention_chunk_size": 4,
}

#: Fields of a small configuration by model type.
TINY: dict[str, Fields] = {
    "albert": ENCODER | {"embedding_size": 6},
    "audio-spectrogram-transformer": WIDTH | {"patch_size": 4, "max_length": 20, "num_mel_bins": 8},
    "bart": BART,
    "beit": WIDTH | PATCHES | {"use_relative_position_bias": True},
    "bert": ENCODER,
    "bamba": HYBRID | {"attn_layer_indices": [2], "mamba_n_heads": 4, "mamba_chunk_size": 4},
    "big_bird": ENCODER,
    "blip": {"text_config": WORDS | WIDTH | PLACES | {"sep_token_id": 3}, "vision_config": WIDTH | PATCHES},
    "bloom": WORDS | SIZES,
    "camembert": ENCODER,
    "clip": {"text_config": WORDS | WIDTH | PLACES, "vision_config": WIDTH | PATCHES, "projection_dim": 6},
    "clip_text_model": WORDS | WIDTH | PLACES | {"projection_dim": 6},
    "clip_vision_model": WIDTH | PATCHES | {"projection_dim": 6},
    "cohere2": DECODER | {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4},
    "conditional_detr": DETR,
    "convnext": STAGES,
    "convnextv2": STAGES,
    "cvt": {"embed_dim": [4, 8, 12], "num_heads": [1, 2, 3], "depth": [1, 2, 3]},
    "deberta-v2": ENCODER | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "conv_kernel_size": 3},
    "deepseek_v2": WORDS | WIDTH | PLACES | LATENT,
    "deepseek_v3": WORDS | WIDTH | PLACES | LATENT,
    "deit": WIDTH | PATCHES,
    "kimi_k25": {
        "text_config": WORDS | WIDTH | PLACES | LATENT | {"model_type": "deepseek_v3"},
        "vision_config": WIDTH | {"patch_size": 3, "pos_emb_height": 5, "pos_emb_width": 5},
        "projection_hidden_size": 16,
        "image_token_id": 9,
    },
    "detr": DETR,
    "dinov2": SIZES | PATCHES,
    "dinov3_vit": WIDTH | PATCHES,
    "depth_anything": {
        "backbone_config": SIZES
        | PATCHES
        | {"model_type": "dinov2", "num_hidden_layers": 4, "out_indices": [1, 2, 3, 4], "reshape_hidden_states": False},
        "patch_size": 4,
        "reassemble_hidden_size": 16,
        "neck_hidden_sizes": [4, 6, 8, 10],
        "fusion_hidden_size": 6,
        "head_hidden_size": 4,
    },
    "distilbert": WORDS | PLACES | {"dim": 16, "hidden_dim": 20, "n_layers": 2, "n_heads": 4},
    "electra": ENCODER | {"embedding_size": 6},
    "esm": WORDS | WIDTH | PLACES | {"mask_token_id": 3},
    "falcon": WORDS | SIZES | {"num_kv_heads": 2, "new_decoder_architecture": True},
    "fnet": WORDS | PLACES | {"hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 20},
    "gemma": DECODER | {"head_dim": 6},
    "gemma2": DECODER | {"head_dim": 6, "sliding_window": 4},
    "gemma3": IMAGES
    | {"text_config": DECODER | {"head_dim": 6}, "mm_tokens_per_image": 4}
    | {"vision_config": IMAGES["vision_config"] | {"model_type": "siglip_vision_model", "vision_use_head": False}},
    "gemma3_text": DECODER | {"head_dim": 6, "sliding_window": 4},
    "gemma3n": {
        "text_config": DECODER
        | {"vocab_size": 60, "head_dim": 6, "sliding_window": 4, "num_kv_shared_layers": 2, "laurel_rank": 5}
        | {"layer_types": ["sliding_attention", "full_attention"] * 2, "num_hidden_layers": 4}
        | {"hidden_size_per_layer_input": 3, "vocab_size_per_layer_input": 40, "altup_num_inputs": 3},
        "vision_config": {"vocab_size": 10, "vocab_offset": 40, "model_args": {"channel_multiplier": 0.05}},
        "audio_config": {"vocab_size": 10, "vocab_offset": 50, "input_feat_size": 7, "hidden_size": 12}
        | {"conf_num_attention_heads": 2, "conf_num_hidden_layers": 2, "sscp_conv_channel_size": [4, 3]},
        "image_token_id": 42,  # not among the ids that decoding draws: images and sounds are seen in the first step
        "audio_token_id": 53,
    },
    "gemma3n_text": DECODER
    | {"head_dim": 6, "sliding_window": 4, "num_kv_shared_layers": 2, "laurel_rank": 5, "altup_num_inputs": 3}
    | {"layer_types": ["sliding_attention", "full_attention"] * 2, "num_hidden_layers": 4}
    | {"hidden_size_per_layer_input": 3, "vocab_size_per_layer_input": 30},
    "gemma4": {
        "text_config": DECODER
        | {"head_dim": 6, "global_head_dim": 10, "sliding_window": 4, "num_kv_shared_layers": 2}
        | {"layer_types": ["sliding_attention", "full_attention"] * 2, "num_hidden_layers": 4}
        | {"hidden_size_per_layer_input": 3, "vocab_size_per_layer_input": 50},
        "vision_config": WIDTH
        | {"num_key_value_heads": 2, "head_dim": 4, "patch_size": 3, "pooling_kernel_size": 2}
        | {"position_embedding_size": 64, "use_clipped_linears": True},
        "audio_config": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "output_proj_dims": 12}
        | {"subsampling_conv_channels": [8, 4]},
        "image_token_id": 9,
        "audio_token_id": 10,
    },
    "gemma4_text": DECODER
    | {"head_dim": 6, "global_head_dim": 10, "sliding_window": 4, "num_kv_shared_layers": 2}
    | {"layer_types": ["sliding_attention", "full_attention"] * 2, "num_hidden_layers": 4}
    | {"hidden_size_per_layer_input": 3, "vocab_size_per_layer_input": 50},
    "glm4": DECODER | {"head_dim": 4},
    "glm4_moe": DECODER | ROUTED | {"head_dim": 4},
    "gpt2": WORDS | {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24},
    "gpt_neo": WORDS
    | PLACES
    | {"hidden_size": 16, "num_heads": 4, "num_layers": 2, "window_size": 3}
    | {"attention_types": [[["local", "global"], 1]]},
    "gpt_oss": DECODER | {"head_dim": 6, "num_local_experts": 4, "num_experts_per_tok": 2},
    "gpt_neox": WORDS | WIDTH | PLACES,
    "gptj": WORDS | {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24, "rotary_dim": 2},
    "granite": DECODER,
    "granitemoe": DECODER | {"num_local_experts": 4},
    "granitemoehybrid": HYBRID
    | {
        "layer_types": ["linear_attention", "full_attention"] * 2,
        "num_local_experts": 4,
        "position_embedding_type": "rope",
    }
    | {"shared_intermediate_size": 10, "mamba_n_heads": 4, "mamba_chunk_size": 4},
    "hubert": WORDS | WIDTH | WAVE,
    "jamba": HYBRID | {"attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 4},
    "led": LED,
    "levit": {"image_size": 64, "hidden_sizes": [8, 12, 16], "num_attention_heads": [2, 2, 2], "key_dim": [4, 4, 4]},
    "llama": DECODER,
    "llama4": {
        "text_config": DECODER | LLAMA4,
        "vision_config": WIDTH
        | {"num_attention_heads": 2, "intermediate_size": 64, "image_size": 12, "patch_size": 6}
        | {"projector_input_dim": 10, "projector_output_dim": 10, "vision_output_dim": 10},
        "image_token_index": 9,
    },
    "llama4_text": DECODER | LLAMA4,
    "llava": IMAGES | {"text_config": DECODER | {"model_type": "llama"}},
    "longformer": ENCODER | {"attention_window": 4},
    "mamba": WORDS | {"hidden_size": 12, "num_hidden_layers": 2, "state_size": 4},
    "mamba2": WORDS
    | {"hidden_size": 12, "num_hidden_layers": 2, "state_size": 4, "num_heads": 6, "head_dim": 4, "n_groups": 2},
    "marian": BART,
    "m2m_100": BART | {"vocab_size": 400},  # of which few are padding, whose positions a cache does not know
    "mbart": BART,
    "mistral": DECODER | {"sliding_window": 4},
    "mixtral": DECODER | {"num_local_experts": 4},
    "mobilebert": ENCODER | {"embedding_size": 6, "intra_bottleneck_size": 8},
    "mobilevit": {"image_size": 64, "hidden_sizes": [8, 12, 16], "neck_hidden_sizes": [4, 6, 8, 10, 12, 16, 20]},
    "modernbert": WORDS | WIDTH | PLACES | {"local_attention": 6, "cls_token_id": 3, "sep_token_id": 4},
    "mpnet": WORDS | WIDTH | PLACES,
    "mt5": T5 | {"feed_forward_proj": "gated-gelu"},
    "nomic_bert": ENCODER,
    "olmo2": DECODER,
    "olmoe": DECODER | {"num_experts": 4, "num_experts_per_tok": 2},
    "nemotron_h": WORDS | NEMOTRON_H,
    "openai-gpt": WORDS | {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24},
    "opt": WORDS | SIZES | PLACES | {"ffn_dim": 20, "word_embed_proj_dim": 10},
    "pegasus": BART,
    "phi": DECODER,
    "phi3": DECODER,
    "pvt_v2": {"hidden_sizes": [4, 8, 12, 16], "num_attention_heads": [1, 2, 2, 4], "image_size": 64},
    "qwen2": DECODER,
    "qwen2_moe": DECODER | EXPERTS | {"shared_expert_intermediate_size": 8},
    "qwen2_5_vl": {
        "text_config": DECODER | {"rope_parameters": {"mrope_section": [1, 1, 0], "rope_theta": 100.0}},
        "vision_config": TOWER | {"out_hidden_size": 16, "window_size": 12, "fullatt_block_indexes": [1]},
        "image_token_id": 9,
    },
    "qwen2_5_vl_text": DECODER | {"rope_parameters": {"mrope_section": [1, 1, 0], "rope_theta": 100.0}},
    "qwen3_vl": {
        "text_config": DECODER | {"head_dim": 6, "rope_parameters": {"mrope_section": [1, 1, 1], "rope_theta": 100.0}},
        "vision_config": PLACED_TOWER | {"deepstack_visual_indexes": [0]},
        "image_token_id": 9,
    },
    "qwen3_vl_moe": {
        "text_config": DECODER
        | EXPERTS
        | {"head_dim": 6, "rope_parameters": {"mrope_section": [1, 1, 1], "rope_theta": 100.0}},
        "vision_config": PLACED_TOWER | {"deepstack_visual_indexes": [0]},
        "image_token_id": 9,
    },
    "qwen3_vl_moe_text": DECODER
    | EXPERTS
    | {"head_dim": 6, "rope_parameters": {"mrope_section": [1, 1, 1], "rope_theta": 100.0}},
    "qwen3_vl_text": DECODER | {"head_dim": 6, "rope_parameters": {"mrope_section": [1, 1, 1], "rope_theta": 100.0}},
    "smolvlm": {
        "text_config": DECODER | {"model_type": "llama"},
        "vision_config": WIDTH | {"image_size": 12, "patch_size": 3},
        "image_token_id": 9,
    },
    "internvl": {
        "text_config": DECODER | {"model_type": "qwen3", "head_dim": 6},
        "vision_config": WIDTH | {"image_size": 12, "patch_size": 3},
        "image_token_id": 9,
    },
    "mllama": {
        "text_config": DECODER | {"cross_attention_layers": [1]},
        "vision_config": {"hidden_size": 16, "num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 2}
        | {"intermediate_size": 20, "image_size": 12, "patch_size": 6, "max_num_tiles": 2, "vision_output_dim": 32}
        | {"supported_aspect_ratios": [[1, 1], [1, 2]], "intermediate_layers_indices": [0]},
    },
    "idefics3": {
        "text_config": DECODER | {"model_type": "llama"},
        "vision_config": WIDTH | {"image_size": 12, "patch_size": 3},
        "image_token_id": 9,
    },
    "paligemma": {
        "text_config": DECODER | {"model_type": "gemma", "head_dim": 6},
        "vision_config": WIDTH | {"model_type": "siglip_vision_model", "image_size": 12, "patch_size": 6},
        "projection_dim": 16,
        "image_token_index": 9,
    },
    "mistral3": {
        "text_config": DECODER | {"model_type": "mistral"},
        "vision_config": WIDTH | {"model_type": "pixtral", "patch_size": 3},
        "image_token_index": 9,
    },
    "qwen2_vl": {
        "text_config": DECODER | {"rope_parameters": {"mrope_section": [1, 1, 0], "rope_theta": 100.0}},
        "vision_config": {"depth": 2, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "patch_size": 3},
        "image_token_id": 9,
    },
    "qwen3": DECODER | {"head_dim": 6},
    "qwen3_moe": DECODER | EXPERTS | {"head_dim": 6},
    "resnet": RESNET,
    "qwen3_next": DECODER | EXPERTS | DELTA,
    "roberta": ENCODER,
    "rwkv": WORDS | {"hidden_size": 12, "num_hidden_layers": 3, "rescale_every": 2},
    "segformer": {"hidden_sizes": [4, 8, 12, 16], "decoder_hidden_size": 6, "num_attention_heads": [1, 2, 2, 4]},
    "siglip": {"text_config": WORDS | WIDTH | PLACES, "vision_config": WIDTH | PATCHES},
    "siglip2": {"text_config": WORDS | WIDTH | PLACES, "vision_config": WIDTH | {"patch_size": 2, "num_patches": 9}},
    "siglip2_text_model": WORDS | WIDTH | PLACES,
    "siglip2_vision_model": WIDTH | {"patch_size": 2, "num_patches": 9},
    "siglip_text_model": WORDS | WIDTH | PLACES,
    "siglip_vision_model": WIDTH | PATCHES,
    "olmo": DECODER | {"clip_qkv": 0.5},
    "olmo3": DECODER | {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "exaone4": DECODER | {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    "seed_oss": DECODER | {"head_dim": 6},
    "ernie4_5": DECODER | {"head_dim": 6},
    "nemotron": DECODER | {"head_dim": 4},
    "cohere": DECODER | {"use_qk_norm": True},
    "hunyuan_v1_dense": DECODER | {"head_dim": 6},
    "helium": DECODER | {"head_dim": 4},
    "arcee": DECODER,
    "glm": DECODER | {"head_dim": 4},
    "ministral3": DECODER | {"head_dim": 6},
    "apertus": DECODER,
    "smollm3": DECODER | {"no_rope_layers": [1, 0]},
    "stablelm": DECODER | {"partial_rotary_factor": 0.5},
    "starcoder2": DECODER,
    "swin": SWIN,
    "swinv2": SWIN | {"pretrained_window_sizes": [0, 6]},
    "switch_transformers": T5 | SPARSE,
    "t5": T5,
    "rt_detr": {
        "backbone_config": {"model_type": "rt_detr_resnet", "embedding_size": 4, "hidden_sizes": [4, 8, 12, 16]}
        | {"depths": [1, 1, 1, 1], "out_indices": [2, 3, 4]},
        "encoder_in_channels": [8, 12, 16],
        "encoder_hidden_dim": 16,
        "decoder_in_channels": [16, 16, 16],
        "d_model": 16,
        "num_queries": 3,
        "encoder_attention_heads": 4,
        "encoder_ffn_dim": 12,
        "decoder_attention_heads": 4,
        "decoder_ffn_dim": 12,
        "decoder_layers": 2,
    },
    "layoutlmv3": ENCODER
    | {"max_position_embeddings": 18, "coordinate_size": 2, "shape_size": 4, "input_size": 8, "patch_size": 4}
    | {"pad_token_id": 1},
    "upernet": {
        "backbone_config": {"model_type": "swin", "embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 1, 2, 2]}
        | {"window_size": 2, "out_features": ["stage1", "stage2", "stage3", "stage4"]},
        "hidden_size": 6,
        "auxiliary_channels": 4,
    },
    "vilt": ENCODER | PATCHES,
    "vit": WIDTH | PATCHES,
    "vit_mae": WIDTH
    | PATCHES
    | {"decoder_hidden_size": 8, "decoder_num_hidden_layers": 1}
    | {"decoder_num_attention_heads": 2, "decoder_intermediate_size": 6},
    "wav2vec2": WORDS | WIDTH | WAVE,
    "whisper": WORDS | SIDES | SOUND,
    "xlm-roberta": ENCODER,
    "xlnet": WORDS | {"d_model": 16, "n_layer": 2, "n_head": 4, "d_inner": 20},
    "minimax_m2": DECODER | {"head_dim": 6, "num_local_experts": 4, "num_experts_per_tok": 2},
    "ernie4_5_moe": DECODER
    | {"moe_k": 2, "moe_num_experts": 4, "moe_intermediate_size": 6, "moe_num_shared_experts": 1},
    "hunyuan_v1_moe": DECODER | {"head_dim": 6, "num_experts": 4, "moe_topk": [2, 1]},
    "lfm2": DECODER | {"layer_types": ["conv", "full_attention"]},
    "lfm2_moe": DECODER
    | {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"], "num_dense_layers": 1}
    | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 6},
    "qwen3_5": {"text_config": DECODER | NARROW_DELTA | TURNED, "vision_config": PLACED_TOWER, "image_token_id": 9},
    "qwen3_5_moe": {
        "text_config": DECODER | EXPERTS | DELTA | TURNED,
        "vision_config": PLACED_TOWER,
        "image_token_id": 9,
    },
    "qwen3_5_text": DECODER | NARROW_DELTA,
    "qwen3_5_moe_text": DECODER | EXPERTS | DELTA,
    "deepseek_v32": WORDS | WIDTH | PLACES | LATENT | {"index_topk": 5, "index_head_dim": 6, "index_n_heads": 3},
    "glm_moe_dsa": WORDS
    | WIDTH
    | PLACES
    | LATENT
    | {"index_topk": 5, "index_head_dim": 6, "index_n_heads": 3, "indexer_types": ["full", "shared"]},
    "yolos": WIDTH | {"patch_size": 4, "image_size": [8, 12], "num_detection_tokens": 3},
}
