"""A configuration of a model of 405 B parameters, and a checkpoint with a header of 100,000 tensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["header_tasks", "write_config"]

#: The configuration of Llama 3.1 405B.
LARGE = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009],
    "hidden_act": "silu",
    "hidden_size": 16384,
    "initializer_range": 0.02,
    "intermediate_size": 53248,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 128,
    "num_hidden_layers": 126,
    "num_key_value_heads": 8,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.42.3",
    "use_cache": True,
    "vocab_size": 128256,
}
#: A mixture of many small experts, each with three tensors of its own in the file.
LAYERS, EXPERTS, WIDTH, HIDDEN = 130, 255, 64, 32
EXPERT_MODEL = {
    "architectures": ["MixtralForCausalLM"],
    "dtype": "bfloat16",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "model_type": "mixtral",
    "num_attention_heads": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": 2,
    "num_local_experts": EXPERTS,
    "vocab_size": 1000,
}


def write_config(folder: Path, config: dict[str, object] = LARGE) -> Path:
    """Write a configuration into a new folder, and return the folder."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    return folder


def header_tasks(folder: Path) -> tuple[Callable[[], object], Callable[[], object]]:
    """Write a checkpoint, and return a task that parses the JSON of its header and one that audits the file.

    The network is elaborated before.  The audit opens the file, reads the header and compares every tensor.
    """
    from netcalc.formats import load_model
    from netcalc.numerics.parameters import check_weights
    from netcalc.spec import elaborate

    write_config(folder, EXPERT_MODEL)
    header = _header()
    file = folder / "model.safetensors"
    with file.open("wb") as out:
        text, size = header
        out.write(len(text).to_bytes(8, "little") + text)
        out.truncate(8 + len(text) + size)
    program = elaborate(load_model(folder), {"length": 4})
    report = check_weights(program, file)
    assert report.ok, report.mismatches[:3]
    assert report.tensors > 99_000
    return lambda: json.loads(text), lambda: check_weights(program, file)


def _header() -> tuple[bytes, int]:
    """Return the JSON of a header, and the bytes of the data."""
    entries, end = {}, 0
    for name, shape in _tensors():
        start, end = end, end + 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        entries[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, end]}
    return json.dumps(entries, separators=(",", ":")).encode(), end


def _tensors() -> Iterator[tuple[str, list[int]]]:
    yield "model.embed_tokens.weight", [1000, WIDTH]
    for layer in range(LAYERS):
        block = f"model.layers.{layer}"
        yield f"{block}.input_layernorm.weight", [WIDTH]
        yield f"{block}.post_attention_layernorm.weight", [WIDTH]
        for part, rows in {"q": WIDTH, "k": WIDTH // 2, "v": WIDTH // 2, "o": WIDTH}.items():
            yield f"{block}.self_attn.{part}_proj.weight", [rows, WIDTH]
        yield f"{block}.block_sparse_moe.gate.weight", [EXPERTS, WIDTH]
        for expert in range(EXPERTS):
            for part, shape in {"w1": [HIDDEN, WIDTH], "w2": [WIDTH, HIDDEN], "w3": [HIDDEN, WIDTH]}.items():
                yield f"{block}.block_sparse_moe.experts.{expert}.{part}.weight", shape
    yield "model.norm.weight", [WIDTH]
    yield "lm_head.weight", [1000, WIDTH]
