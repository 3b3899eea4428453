"""Models of transformers written as GGUF, as llama.cpp's convert_hf_to_gguf.py does.

Names come from the tables of the library ``gguf``; metadata and changes of tensors follow the classes of the converter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

Arrays = Mapping[str, np.ndarray[Any, Any]]

#: The architecture of each model type.
ARCHITECTURES = {
    "bert": "bert",
    "bloom": "bloom",
    "cohere2": "cohere2",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "falcon": "falcon",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "gpt2": "gpt2",
    "gpt_neox": "gptneox",
    "gpt_oss": "gpt-oss",
    "glm4": "glm4",
    "granite": "granite",
    "llama": "llama",
    "mamba": "mamba",
    "mamba2": "mamba2",
    "mistral": "llama",
    "mixtral": "llama",
    "olmo2": "olmo2",
    "olmoe": "olmoe",
    "phi": "phi2",
    "phi3": "phi3",
    "qwen2": "qwen2",
    "qwen2_moe": "qwen2moe",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "stablelm": "stablelm",
    "starcoder2": "starcoder2",
}
#: Keys that every class of the converter writes, with the fields that they are read from.
_COMMON = {
    "block_count": ("num_hidden_layers", "n_layer"),
    "context_length": ("max_position_embeddings", "n_positions", "seq_length"),
    "embedding_length": ("hidden_size", "n_embd", "n_embed"),
    "feed_forward_length": ("intermediate_size", "n_inner"),
    "attention.head_count": ("num_attention_heads", "n_head"),
    "attention.head_count_kv": ("num_key_value_heads",),
    "attention.layer_norm_rms_epsilon": ("rms_norm_eps",),
    "attention.layer_norm_epsilon": ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"),
    "expert_count": ("num_local_experts", "num_experts"),
    "expert_used_count": ("num_experts_per_tok",),
    "attention.key_length": ("head_dim",),
    "attention.value_length": ("head_dim",),
    "rope.freq_base": ("rope_theta",),
}


def metadata(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a configuration, without the name of the architecture before the keys."""
    kind = config["model_type"]
    rope = config.get("rope_parameters") or {}
    rope = rope.get("full_attention", rope)
    fields = {**config, **rope}
    found: dict[str, Any] = {}
    for key, names in _COMMON.items():
        value = next((fields[name] for name in names if fields.get(name) is not None), None)
        if value is not None:
            found[key] = value
    width, heads = found["embedding_length"], found.get("attention.head_count", 0)
    if kind in ("bloom", "falcon", "phi", "gpt2"):
        found["feed_forward_length"] = 4 * width
    share = rope.get("partial_rotary_factor", fields.get("partial_rotary_factor", fields.get("rotary_pct", 1.0)))
    if kind in ("phi", "phi3", "gpt_neox", "stablelm", "cohere2"):
        found["rope.dimension_count"] = int(share * (width // heads))
    if kind in ("llama", "mistral", "mixtral", "granite"):
        found["rope.dimension_count"] = config.get("head_dim") or width // heads
        found["vocab_size"] = config["vocab_size"]
    if kind in ("gemma2", "gemma3_text", "cohere2", "phi3"):
        found["attention.sliding_window"] = config.get("sliding_window") or 0
    for key, name in _OWN.get(kind, {}).items():
        found[key] = config[name]
    if kind == "falcon":
        multi = config["multi_query"] and not config["new_decoder_architecture"]
        found["attention.head_count_kv"] = 1 if multi else config["num_kv_heads"]
        found["tensor_data_layout"] = "jploski"
    if kind == "bloom":
        found |= {"context_length": 2048, "attention.head_count_kv": heads}
    if kind == "mamba":
        rank = config["time_step_rank"]
        found |= {
            "ssm.time_step_rank": -(-width // 16) if rank in ("auto", None) else rank,
            "ssm.inner_size": 2 * width,
        }
        found |= {"attention.head_count": 0, "feed_forward_length": 0, "context_length": 1 << 20}
        found |= {"attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"], "ssm.dt_b_c_rms": False}
        del found["attention.layer_norm_epsilon"]
    if kind in ("deepseek_v2", "deepseek_v3"):
        found |= _latent(config)
    if kind == "mamba2":
        found |= {"ssm.time_step_rank": config["num_heads"], "ssm.inner_size": config["num_heads"] * config["head_dim"]}
        found |= {"attention.head_count": 0, "feed_forward_length": 0, "context_length": 1 << 20}
        found |= {"attention.layer_norm_rms_epsilon": config["layer_norm_epsilon"]}
        for key in ("attention.layer_norm_epsilon", "attention.key_length", "attention.value_length"):
            del found[key]
    if kind == "glm4":
        found["rope.dimension_count"] = int(config["head_dim"] * share)
    if kind == "bert":
        found["attention.causal"] = False
    return found


def _latent(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that the converter's class DeepseekV2Model adds."""
    found = {key: config[name] for key, name in _LATENT.items() if config.get(name) is not None}
    rank, rotated = config["kv_lora_rank"], config["qk_rope_head_dim"]
    found |= {"attention.head_count_kv": 1, "attention.key_length": rank + rotated, "attention.value_length": rank}
    found["attention.key_length_mla"] = config["qk_nope_head_dim"] + rotated
    scoring = config.get("scoring_func", "softmax" if config["model_type"] == "deepseek_v2" else "sigmoid")
    found["expert_gating_func"] = 2 if scoring == "sigmoid" else 1
    scaling = config.get("rope_scaling") or {}
    if scaling:
        found |= {"rope.scaling.type": "yarn", "rope.scaling.factor": scaling["factor"]}
        found["rope.scaling.original_context_length"] = scaling["original_max_position_embeddings"]
        found["rope.scaling.yarn_log_multiplier"] = 0.1 * scaling["mscale_all_dim"]
    return found


_LATENT = {
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.value_length_mla": "v_head_dim",
    "expert_count": "n_routed_experts",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_group_count": "n_group",
    "expert_group_used_count": "topk_group",
    "expert_shared_count": "n_shared_experts",
    "expert_weights_norm": "norm_topk_prob",
    "expert_weights_scale": "routed_scaling_factor",
    "leading_dense_block_count": "first_k_dense_replace",
    "rope.dimension_count": "qk_rope_head_dim",
}
_OWN = {
    "cohere2": {"logit_scale": "logit_scale", "vocab_size": "vocab_size"},
    "gemma2": {
        "attn_logit_softcapping": "attn_logit_softcapping",
        "final_logit_softcapping": "final_logit_softcapping",
    },
    "gpt_neox": {"use_parallel_residual": "use_parallel_residual"},
    "gpt_oss": {"attention.sliding_window": "sliding_window", "expert_feed_forward_length": "intermediate_size"},
    "granite": {
        "attention.scale": "attention_multiplier",
        "embedding_scale": "embedding_multiplier",
        "residual_scale": "residual_multiplier",
        "logit_scale": "logits_scaling",
    },
    "mamba": {"ssm.conv_kernel": "conv_kernel", "ssm.state_size": "state_size"},
    "mamba2": {
        "ssm.conv_kernel": "conv_kernel",
        "ssm.state_size": "state_size",
        "ssm.group_count": "n_groups",
    },
    "qwen2_moe": {
        "expert_feed_forward_length": "moe_intermediate_size",
        "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    },
    "qwen3_moe": {"expert_feed_forward_length": "moe_intermediate_size"},
    "stablelm": {"use_parallel_residual": "use_parallel_residual"},
}


def tensors(config: Mapping[str, Any], parameters: Arrays) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield the tensors of a file for the parameters of a model, by their names in transformers.

    Parameters without elements of their own (of stride 0) keep them.
    """
    kind = config["model_type"]
    blocks = metadata(config)["block_count"]
    names = gguf.get_tensor_name_map(_architecture(ARCHITECTURES[kind]), blocks)
    for path, array in parameters.items():
        for name, part in _parts(config, path, array):
            name = name.replace(".dt_bias", ".dt_proj.bias")
            candidates = (
                name,
                name.removeprefix("transformer."),
                re.sub(r"^model\.layers\.(\d+)\.mlp\.gate\.", _gate, name),
            )
            found = next(filter(None, (names.get_name(c, (".weight", ".bias")) for c in candidates)), None)
            assert found is not None, name
            yield found, _changed(config, found, part)


def _gate(match: re.Match[str]) -> str:
    return f"model.layers.{match[1]}.block_sparse_moe.gate."


def _parts(
    config: Mapping[str, Any], path: str, array: np.ndarray[Any, Any]
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield a parameter, or the parts of one that the converter stores apart."""
    if config["model_type"] == "gpt_oss" and ".experts." in path:
        names = ("gate", "up") if "gate_up" in path else ("down",)
        array = array.swapaxes(-1, -2) if array.ndim > 2 else array
        for start, part in enumerate(names):
            name = path.replace("gate_up_proj", f"{part}_proj")
            name = name.removesuffix("_bias") + (".bias" if name.endswith("_bias") else ".weight")
            yield name, array[:, start :: len(names)]
    elif path.endswith("kv_b_proj.weight"):
        kept = config["qk_nope_head_dim"]
        both = array.reshape(config["num_attention_heads"], kept + config["v_head_dim"], -1)
        yield path.replace("kv_b_proj", "k_b_proj"), both[:, :kept].swapaxes(1, 2)
        yield path.replace("kv_b_proj", "v_b_proj"), both[:, kept:]
    elif path.endswith("e_score_correction_bias"):
        yield path.replace("router.e_score_correction_bias", "gate.e_score_correction.bias"), array
    elif path.endswith(".sinks"):
        yield f"{path}.weight", array
    elif path.endswith("experts.gate_up_proj"):
        half = array.shape[1] // 2
        yield path.replace("gate_up_proj", "gate_proj.weight"), array[:, :half]
        yield path.replace("gate_up_proj", "up_proj.weight"), array[:, half:]
    elif path.endswith("experts.down_proj"):
        yield f"{path}.weight", array
    else:
        yield path, array


def _changed(config: Mapping[str, Any], name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a tensor as modify_tensors of the converter's class gives it."""
    kind = config["model_type"]
    if kind in ("mamba", "mamba2") and name.endswith("ssm_conv1d.weight"):
        array = array[:, 0]
    if kind == "mamba2" and name.endswith(("ssm_a", "ssm_d")):
        array = array[:, None]
    if kind == "mamba2" and name.endswith("ssm_norm.weight"):
        array = array.reshape(config["n_groups"], -1)
    if not any(array.strides):
        return array
    if kind == "gpt2" and re.search(r"(qkv|output|up|down)\.weight", name) and "norm" not in name:
        return array.T  # Conv1D
    found = metadata(config)
    heads = found.get("attention.head_count", 0)
    kv_heads = found.get("attention.head_count_kv", heads)
    if kind in ("llama", "mistral", "mixtral", "granite") and re.search(r"attn_[qk]\.", name):
        count = heads if ".attn_q." in name else kv_heads
        halves = array.reshape(count, 2, array.shape[0] // count // 2, *array.shape[1:])
        return halves.swapaxes(1, 2).reshape(array.shape)
    if kind in ("gemma", "gemma2", "gemma3_text") and name.endswith("norm.weight"):
        return array + 1
    if kind in ("mamba", "mamba2") and name.endswith("ssm_a"):
        return -np.exp(array)
    if kind in ("bloom", "gpt_neox") and ".attn_qkv." in name:
        qkv = array.reshape(heads, 3, -1, *array.shape[1:])
        return np.concatenate([qkv[:, part].reshape(-1, *array.shape[1:]) for part in range(3)])
    if kind == "falcon" and ".attn_qkv." in name:
        width = found["embedding_length"] // heads
        qkv = array.reshape(kv_heads, heads // kv_heads + 2, width, *array.shape[1:])
        parts = qkv[:, :-2], qkv[:, [-2]], qkv[:, [-1]]
        return np.concatenate([part.reshape(-1, *array.shape[1:]) for part in parts])
    return array


def write(
    path: Path,
    config: Mapping[str, Any],
    parameters: Arrays,
    *,
    quantized: gguf.GGMLQuantizationType | None = None,
    extra: Mapping[str, Any] | None = None,
    others: Arrays | None = None,
    **options: Any,
) -> Path:
    """Write a model; parameters of stride 0 have no data in the file, which is as long all the same.

    Matrices whose rows are whole blocks are ``quantized``.  ``extra`` are further metadata, ``others`` further tensors.
    """
    architecture = ARCHITECTURES[config["model_type"]]
    writer = gguf.GGUFWriter(path, architecture, **options)
    for key, value in {**metadata(config), **(extra or {})}.items():
        add(writer, f"{architecture}.{key}", value)
    writer.add_token_list(["token"] * 10)
    written = {**dict(tensors(config, parameters)), **(others or {})}
    data = all(any(array.strides) for array in written.values())
    for name, array in written.items():
        block = gguf.GGML_QUANT_SIZES[quantized][0] if quantized is not None else 0
        if not data:
            writer.add_tensor_info(name, array.shape, array.dtype, array.size * array.itemsize)
        elif quantized is not None and array.ndim > 1 and array.shape[-1] % block == 0:
            writer.add_tensor(name, gguf.quantize(np.ascontiguousarray(array), quantized), raw_dtype=quantized)
        else:
            writer.add_tensor(name, np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if data:
        writer.write_tensors_to_file()
    else:
        writer.write_ti_data_to_file()
    writer.close()
    if not data:
        size = sum(-(-array.size * array.itemsize // 32) * 32 for array in written.values())
        with path.open("r+b") as file:
            file.truncate(-(-path.stat().st_size // 32) * 32 + size)
    return path


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    """Add a value to the metadata, in the type that the converter gives it."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _architecture(name: str) -> gguf.MODEL_ARCH:
    return next(arch for arch, known in gguf.MODEL_ARCH_NAMES.items() if known == name)
