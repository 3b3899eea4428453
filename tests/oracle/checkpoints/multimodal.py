"""Decoders of transformers that take images, small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.oracle.checkpoints.model import Model
from tests.zoo.harness import FAMILIES

__all__ = ["multimodal"]

TEXT = {"vocab_size": 50, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 24}
VISION = {"hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 20}
VISION |= {"image_size": 12, "patch_size": 6}
SIZES: dict[str, Any] = {"batch": 2, "length": 11, "vocab": 50, "d_model": 32, "heads": 4, "layers": 2, "d_ff": 24}
SIZES |= {"images": 2, "height": 12, "width": 12, "patch": 6, "vision_d_model": 24, "vision_heads": 4}
SIZES |= {"vision_layers": 2, "vision_d_ff": 20, "image_token": 9}
#: One image in the first text, and one in the second.
IDS = [[8, 9, 9, 9, 9, 20, 21, 22, 23, 24, 25], [8, 30, 31, 9, 9, 9, 9, 32, 33, 34, 35]]
#: The same with an image of nine features each.
LONG = [[8, *[9] * 9, *range(20, 30)], [8, 30, 31, *[9] * 9, *range(32, 40)]]
#: Rotary angles for contexts that are longer than four positions, and queries that grow behind each four.
SCALING: dict[str, Any] = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4}
SCALING |= {"beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
YARN = SCALING | {"rope_theta": 1e6, "llama_4_scaling_beta": 0.1}


def multimodal() -> Iterator[Model]:
    llama = {
        "model_type": "llama",
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
    }
    yield Model(
        "llava-1.5-7b",
        "LlavaForConditionalGeneration",
        {
            "text_config": TEXT | llama,
            "vision_config": VISION | {"model_type": "clip_vision_model"},
            "image_token_index": 9,
        },
        SIZES,
        values={"input_ids": IDS},
    )
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    yield Model(
        "gemma-3-4b",
        "Gemma3ForConditionalGeneration",
        {
            "text_config": TEXT
            | {"num_hidden_layers": 3, "num_key_value_heads": 2, "head_dim": 6, "query_pre_attn_scalar": 6}
            | {"sliding_window": 4, "layer_types": kinds, "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
            "vision_config": VISION | {"patch_size": 3, "vision_use_head": False},
            "mm_tokens_per_image": 4,
            "image_token_index": 9,
        },
        SIZES | {"layers": 3, "kv_heads": 2, "head_dim": 6, "window": 4, "period": 3, "patch": 3, "image_side": 2},
        values={"input_ids": IDS},
    )
    turned = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 1, 1]}}
    sizes = {name: size for name, size in SIZES.items() if name not in ("height", "width", "patch")}
    yield Model(
        "qwen2-vl-7b",
        "Qwen2VLForConditionalGeneration",
        {
            "text_config": TEXT | turned | {"num_key_value_heads": 2, "rms_norm_eps": 1e-6},
            "vision_config": {"depth": 2, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "patch_size": 3},
            "image_token_id": 9,
        },
        sizes
        | {"height": 12, "width": 12, "patch": 3, "kv_heads": 2, "rope_sections": [2, 1, 1]}
        | {"vision_d_model": 16, "vision_heads": 2, "vision_d_ff": 64},
        arguments={"image_grid_thw": [[1, 4, 4]] * 2, "mm_token_type_ids": (np.array(IDS) == 9).astype(int).tolist()},
        values={"input_ids": IDS},
    )
    yield Model(
        "qwen2.5-vl-7b",
        "Qwen2_5_VLForConditionalGeneration",
        {
            "text_config": TEXT | turned | {"num_key_value_heads": 2, "rms_norm_eps": 1e-6},
            "vision_config": {"depth": 2, "hidden_size": 16, "intermediate_size": 20, "out_hidden_size": 32}
            | {"num_heads": 2, "patch_size": 2, "window_size": 8, "fullatt_block_indexes": [0]},
            "image_token_id": 9,
        },
        sizes
        | {"height": 12, "width": 12, "patch": 2, "kv_heads": 2, "rope_sections": [2, 1, 1], "vision_d_model": 16}
        | {"vision_heads": 2, "vision_d_ff": 20, "vision_window": 8, "vision_full_layers": [0], "length": 20},
        arguments={"image_grid_thw": [[1, 6, 6]] * 2, "mm_token_type_ids": (np.array(LONG) == 9).astype(int).tolist()},
        values={"input_ids": LONG},
    )
    yield from _gemma4()
    yield _gemma3n()
    yield from _qwen3_vl(sizes)
    yield from _qwen3_5(sizes)
    yield _kimi(sizes)
    yield Model(
        "smolvlm2-2.2b",
        "SmolVLMForConditionalGeneration",
        {
            "text_config": TEXT | llama | {"pad_token_id": 2, "num_key_value_heads": 2},
            "vision_config": VISION | {"patch_size": 3},
            "scale_factor": 2,
            "image_token_id": 9,
        },
        SIZES | {"patch": 3, "grid": 4, "merge": 2, "kv_heads": 2, "images": 1, "rope_theta": 1e4},
        values={"input_ids": IDS},
    )
    # the second image is of one tile; a text begins with a token that sees none, and ends with some that see one
    shown = np.ones((2, 11, 1, 2), np.int64)
    shown[:, 0], shown[:, 7:, :, 0] = 0, 0
    scaling = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0}
    scaling |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    yield Model(
        "llama-3.2-11b-vision",
        "MllamaForConditionalGeneration",
        {
            "text_config": TEXT
            | {"num_hidden_layers": 3, "num_key_value_heads": 2, "cross_attention_layers": [1], "pad_token_id": None}
            | {"rope_parameters": scaling},
            "vision_config": {"hidden_size": 24, "num_hidden_layers": 3, "num_global_layers": 1, "attention_heads": 4}
            | {"intermediate_size": 20, "image_size": 12, "patch_size": 6, "vision_output_dim": 72, "max_num_tiles": 2}
            | {"supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]], "intermediate_layers_indices": [0, 2]},
        },
        {name: SIZES[name] for name in ("batch", "length", "vocab", "d_model", "heads", "d_ff", "height", "width")}
        | {"patch": 6, "kv_heads": 2, "layers": 3, "cross_layers": [1], "image_mask": True, "images": 1}
        | {"vision_d_model": 24, "vision_heads": 4, "vision_layers": 3, "global_layers": 1, "kept_layers": [0, 2]}
        | {"vision_d_ff": 20, "tiles": 2, "aspect_ratios": 3},
        values={"input_ids": IDS, "aspect_ratio_ids": [[2], [1]], "aspect_ratio_mask": [[[1, 1]], [[1, 0]]]}
        | {"cross_attention_mask": shown.tolist()},
    )
    dynamic = {"rope_type": "dynamic", "rope_theta": 1e6, "factor": 2.0}
    yield Model(
        "internvl3-8b",
        "InternVLForConditionalGeneration",
        {
            "text_config": TEXT
            | {"model_type": "qwen2", "num_key_value_heads": 2, "rms_norm_eps": 1e-6}
            | {"max_position_embeddings": 32768, "rope_parameters": dynamic},
            "vision_config": VISION | {"patch_size": 3, "attention_bias": True},
            "image_token_id": 9,
            "tie_word_embeddings": False,
        },
        SIZES | {"patch": 3, "grid": 4, "kv_heads": 2},
        values={"input_ids": IDS},
    )
    yield Model(
        "llama-4-scout-vision",
        "Llama4ForConditionalGeneration",
        {
            "text_config": TEXT
            | {"intermediate_size": 12, "intermediate_size_mlp": 24, "num_hidden_layers": 4, "num_local_experts": 3}
            | {"num_key_value_heads": 2, "head_dim": 8, "moe_layers": [1, 3]}
            | {"attention_chunk_size": 4, "floor_scale": 3},
            "vision_config": VISION
            | {"hidden_size": 16, "intermediate_size": 64, "patch_size": 3}
            | {"projector_input_dim": 10, "projector_output_dim": 10, "vision_output_dim": 10},
            "image_token_index": 9,
        },
        SIZES
        | {"layers": 4, "kv_heads": 2, "head_dim": 8, "d_expert": 12, "experts": 3, "moe_layers": [1, 3]}
        | {"chunk": 4, "temperature_floor": 3, "rope_scaling": None, "patch": 3, "vision_d_model": 16}
        | {"vision_d_ff": 64, "adapter_hidden": 10, "adapter_out": 10},
        values={"input_ids": IDS},
    )
    pixtral = {"model_type": "pixtral", "patch_size": 3, "hidden_act": "silu", "num_attention_heads": 3}
    for spec, own, turns, sizes in (
        ("mistral-small-3.1-24b", {"model_type": "mistral", "sliding_window": None}, {"rope_theta": 1e9}, {}),
        (
            "ministral-3-8b-vision",
            {"model_type": "ministral3"},
            YARN,
            {"temperature_floor": 4, "rope_scaling": SCALING},
        ),
    ):
        yield Model(
            spec,
            "Mistral3ForConditionalGeneration",
            {
                "text_config": TEXT
                | {"rms_norm_eps": 1e-5, "num_key_value_heads": 2, "head_dim": 6, "rope_parameters": turns}
                | own,
                "vision_config": VISION | pixtral,
                "image_token_index": 9,
                "tie_word_embeddings": False,
            },
            SIZES | {"kv_heads": 2, "head_dim": 6, "patch": 3, "merge": 2, "vision_heads": 3} | sizes,
            values={"input_ids": IDS},
            arguments={"image_sizes": [[12, 12]] * 2},
        )
    towers: dict[str, Any] = {"vision_config": VISION | {"model_type": "siglip_vision_model", "vision_use_head": False}}
    towers |= {"projection_dim": 32, "image_token_index": 9}
    words = TEXT | {"num_key_value_heads": 2, "head_dim": 6}
    sizes = SIZES | {"kv_heads": 2, "head_dim": 6}
    yield Model(
        "paligemma-3b",
        "PaliGemmaForConditionalGeneration",
        towers | {"text_config": words | {"model_type": "gemma"}},
        sizes,
        values={"input_ids": IDS},
    )
    yield Model(
        "paligemma2-3b",
        "PaliGemmaForConditionalGeneration",
        towers | {"text_config": words | {"model_type": "gemma2", "query_pre_attn_scalar": 6, "sliding_window": 4}},
        sizes | {"window": 4},
        values={"input_ids": IDS},
    )
    towers = {"vision_config": VISION | {"image_size": 16, "patch_size": 8}}
    towers["text_config"] = TEXT | {"intermediate_size": 28, "max_position_embeddings": 9}
    spec = "blip-image-captioning-base"
    yield Model(spec, "BlipForConditionalGeneration", towers, FAMILIES["blip"]["small"][spec])


def _gemma4() -> Iterator[Model]:
    types = ["sliding_attention", "full_attention"] * 2
    theta = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 1e6}
    text: dict[str, Any] = TEXT | {"num_hidden_layers": 4, "num_key_value_heads": 2, "head_dim": 6}
    text |= {"global_head_dim": 8, "sliding_window": 4, "layer_types": types, "final_logit_softcapping": 30.0}
    text["rope_parameters"] = {
        "full_attention": theta,
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    vision = VISION | {"patch_size": 3, "num_key_value_heads": 2, "head_dim": 8, "pooling_kernel_size": 2}
    vision |= {"position_embedding_size": 9}
    del vision["image_size"]
    sizes = {name: size for name, size in SIZES.items() if name != "layers"}
    sizes |= {"layers": 4, "kv_heads": 2, "head_dim": 6, "global_head_dim": 8, "window": 4, "period": 2, "patch": 3}
    sizes |= {"pool": 2, "vision_kv_heads": 2, "vision_head_dim": 8, "vision_positions": 9}
    sizes |= {"rope_scaling": {"rope_type": "proportional", "partial_rotary_factor": 0.5}, "per_layer_vocab": 50}
    places = [[[x, y] for y in range(4) for x in range(4)]] * 2
    yield Model(
        "gemma-4-31b-vision",
        "Gemma4ForConditionalGeneration",
        {
            "text_config": text
            | {"attention_k_eq_v": True, "num_global_key_value_heads": 1, "hidden_size_per_layer_input": 0},
            "vision_config": vision | {"standardize": True},
            "image_token_id": 9,
        },
        sizes | {"global_kv_heads": 1},
        arguments={"image_position_ids": places},
        values={"input_ids": IDS},
    )
    audio = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "output_proj_dims": 10}
    audio |= {"subsampling_conv_channels": [8, 3], "attention_chunk_size": 4, "attention_context_left": 3}
    heard = {"mels": 8, "audio_channels": [8, 3], "audio_d_model": 12, "audio_heads": 2, "audio_layers": 2}
    heard |= {"audio_chunk": 4, "audio_left": 3, "audio_right": 2, "audio_out": 10, "audio_token": 7}
    yield Model(
        "gemma-4-e2b-multimodal",
        "Gemma4ForConditionalGeneration",
        {
            "text_config": text
            | {"num_kv_shared_layers": 2, "use_double_wide_mlp": True, "hidden_size_per_layer_input": 4}
            | {"vocab_size_per_layer_input": 50},
            "vision_config": vision | {"use_clipped_linears": True},
            "audio_config": audio | {"attention_context_right": 2},
            "image_token_id": 9,
            "audio_token_id": 7,
        },
        sizes | {"shared_layers": 2, "d_per_layer": 4, "sounds": 2, "frames": 27, "length": 18} | heard,
        arguments={"image_position_ids": places, "input_features_mask": np.ones((2, 27), bool).tolist()},
        values={"input_ids": [[*ids, *[7] * 7] for ids in IDS]},
    )


def _gemma3n() -> Model:
    types = ["sliding_attention", "full_attention"] * 2
    text: dict[str, Any] = TEXT | {"vocab_size": 60, "num_hidden_layers": 4, "num_key_value_heads": 2, "head_dim": 6}
    text |= {"layer_types": types, "sliding_window": 4, "num_kv_shared_layers": 2, "vocab_size_per_layer_input": 40}
    text |= {"hidden_size_per_layer_input": 4, "laurel_rank": 5, "altup_num_inputs": 3}
    text |= {"activation_sparsity_pattern": [0.95, 0.0, 0.5, 0.0]}
    audio = {"vocab_size": 10, "vocab_offset": 50, "input_feat_size": 7, "hidden_size": 12, "conf_reduction_factor": 2}
    audio |= {"conf_num_hidden_layers": 2, "conf_num_attention_heads": 2, "conf_attention_chunk_size": 4}
    audio |= {"sscp_conv_channel_size": [4, 3], "conf_attention_context_left": 3, "conf_attention_context_right": 2}
    settings = SIZES | {"vocab": 60, "layers": 4, "kv_heads": 2, "head_dim": 6, "window": 4, "period": 2}
    settings |= {"shared_layers": 2, "per_layer_vocab": 40, "d_per_layer": 4, "laurel_rank": 5, "streams": 3}
    settings |= {"sparsity": [0.95, 0.0, 0.5, 0.0], "image_token": 41, "vision_vocab": 10, "vision_offset": 40}
    settings |= {
        "vision_channels": [8, 16, 32, 64],
        "height": 32,
        "width": 48,
        "length": 270,
        "sounds": 1,
        "frames": 27,
    }
    settings |= {"audio_token": 51, "audio_vocab": 10, "audio_offset": 50, "mels": 7, "audio_channels": [4, 3]}
    settings |= {"audio_d_model": 12, "audio_heads": 2, "audio_layers": 2, "audio_chunk": 4, "audio_left": 3}
    settings |= {"audio_right": 2, "audio_reduction": 2, "audio_tokens": 6}
    unset = ("patch", "vision_d_model", "vision_heads", "vision_layers", "vision_d_ff")
    return Model(
        "gemma-3n-e4b-multimodal",
        "Gemma3nForConditionalGeneration",
        {
            "text_config": text,
            "vision_config": {"vocab_size": 10, "vocab_offset": 40, "model_args": {"channel_multiplier": 0.05}},
            "audio_config": audio,
            "image_token_id": 41,
            "audio_token_id": 51,
            "audio_soft_tokens_per_image": 6,
        },
        {name: size for name, size in settings.items() if name not in unset},
        arguments={"input_features_mask": np.ones((1, 27), bool).tolist()},
        values={"input_ids": [[8, *[41] * 256, *[51] * 6, 44, 50, *range(20, 25)], [8, *[41] * 256, *range(8, 21)]]},
    )


def _qwen3_vl(sizes: dict[str, Any]) -> Iterator[Model]:
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "mlp_only_layers": [1]}
    sparse = {"experts": 4, "experts_per_token": 2, "d_expert": 12, "mlp_only_layers": [1]}
    for spec, kind, own, others in (
        ("qwen3-vl-8b", "Qwen3VL", {}, {}),
        ("qwen3-vl-30b-a3b", "Qwen3VLMoe", experts, sparse),
    ):
        yield Model(
            spec,
            f"{kind}ForConditionalGeneration",
            {
                "text_config": TEXT
                | {"num_key_value_heads": 2, "rms_norm_eps": 1e-6, "head_dim": 12}
                | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [2, 2, 2]}}
                | own,
                "vision_config": {"depth": 2, "hidden_size": 16, "intermediate_size": 20, "out_hidden_size": 32}
                | {"num_heads": 2, "patch_size": 3, "num_position_embeddings": 9, "deepstack_visual_indexes": [0, 1]},
                "image_token_id": 9,
            },
            sizes
            | {"height": 12, "width": 12, "patch": 3, "kv_heads": 2, "head_dim": 12, "rope_sections": [2, 2, 2]}
            | {"vision_d_model": 16, "vision_heads": 2, "vision_d_ff": 20, "vision_positions": 9}
            | {"deep_layers": [0, 1]}
            | others,
            arguments={
                "image_grid_thw": [[1, 4, 4]] * 2,
                "mm_token_type_ids": (np.array(IDS) == 9).astype(int).tolist(),
            },
            values={"input_ids": IDS},
        )


def _qwen3_5(sizes: dict[str, Any]) -> Iterator[Model]:
    types = ["linear_attention", "full_attention"]
    delta = {"linear_num_value_heads": 4, "linear_num_key_heads": 2}
    delta |= {"linear_key_head_dim": 5, "linear_value_head_dim": 6}
    rope = {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 1]}
    text = TEXT | delta | {"num_key_value_heads": 2, "head_dim": 12, "layer_types": types, "rope_parameters": rope}
    settings = {"delta_heads": 4, "delta_key_heads": 2, "delta_key_dim": 5, "delta_value_dim": 6, "layer_types": types}
    settings |= {"height": 12, "width": 12, "patch": 3, "kv_heads": 2, "head_dim": 12, "rope_share": 0.5}
    settings |= {"rope_sections": [1, 1, 1], "vision_d_model": 16, "vision_heads": 2, "vision_d_ff": 20}
    settings |= {"vision_positions": 9}
    vision = {"depth": 2, "hidden_size": 16, "intermediate_size": 20, "out_hidden_size": 32}
    vision |= {"num_heads": 2, "patch_size": 3, "num_position_embeddings": 9}
    placed = {"image_grid_thw": [[1, 4, 4]] * 2, "mm_token_type_ids": (np.array(IDS) == 9).astype(int).tolist()}
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
    sparse = {"experts": 4, "experts_per_token": 2, "d_expert": 12, "d_shared": 10}
    for spec, kind, own, others in (
        ("qwen3.5-9b-vision", "Qwen3_5", {}, {}),
        ("qwen3.5-35b-a3b-vision", "Qwen3_5Moe", experts | {"shared_expert_intermediate_size": 10}, sparse),
    ):
        left_out = "intermediate_size" if own else ""
        yield Model(
            spec,
            f"{kind}ForConditionalGeneration",
            {
                "text_config": {name: size for name, size in text.items() if name != left_out} | own,
                "vision_config": vision,
                "image_token_id": 9,
            },
            {name: size for name, size in sizes.items() if not own or name != "d_ff"} | settings | others,
            arguments=placed,
            values={"input_ids": IDS},
        )


def _kimi(sizes: dict[str, Any]) -> Model:
    latent = {"kv_lora_rank": 8, "q_lora_rank": 14, "qk_nope_head_dim": 4, "qk_rope_head_dim": 6, "v_head_dim": 5}
    routed = {"n_routed_experts": 6, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 3}
    routed |= {"routed_scaling_factor": 2.827, "moe_intermediate_size": 12, "first_k_dense_replace": 1}
    scaling = SCALING | {"rope_theta": 5e4, "factor": 64.0, "original_max_position_embeddings": 4096}
    return Model(
        "kimi-k2.5-vision",
        "Kimi_K25ForConditionalGeneration",
        {
            "text_config": TEXT
            | latent
            | routed
            | {"model_type": "deepseek_v3", "num_key_value_heads": 4, "rms_norm_eps": 1e-5, "rope_parameters": scaling},
            "vision_config": {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}
            | {"intermediate_size": 20, "patch_size": 3, "pos_emb_height": 5, "pos_emb_width": 5},
            "projection_hidden_size": 16,
            "image_token_id": 9,
            "tie_word_embeddings": False,
        },
        sizes
        | {"height": 12, "width": 12, "patch": 3, "vision_d_model": 16, "vision_heads": 2, "vision_d_ff": 20}
        | {"vision_side": 5, "kv_rank": 8, "q_rank": 14, "nope_dim": 4, "rope_dim": 6, "v_dim": 5, "experts": 6}
        | {"experts_per_token": 3, "d_expert": 12},
        arguments={"image_grid_thw": [[1, 4, 4]] * 2},
        values={"input_ids": IDS},
    )
