"""Fields that a class does not read: without effect where they say what it computes, and else one error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config
from tests.formats.huggingface.test_ignored import LLAMA

Run = Callable[..., CommandResult]
QWEN2 = LLAMA | {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_key_value_heads": 2}
QWEN3 = LLAMA | {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "head_dim": 8, "num_key_value_heads": 2}
GLM4 = QWEN3 | {"model_type": "glm4", "architectures": ["Glm4ForCausalLM"], "head_dim": 16, "pad_token_id": None}
NOMIC = {
    "model_type": "nomic_bert",
    "architectures": ["NomicBertModel"],
}
GEMMA3 = {
    "model_type": "gemma3",
    "architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 2, "use_qk_norm": True},
    "vision_config": {"num_hidden_layers": 1, "image_size": 896, "patch_size": 14},
}

QWEN2_5_VL = {
    "model_type": "qwen2_5_vl",
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "text_config": {"model_type": "qwen2_5_vl_text", "num_hidden_layers": 2},
    "vision_config": {"depth": 2, "fullatt_block_indexes": [1], "out_hidden_size": 8192},
}

#: Fields that agree with the model, and that transformers does not read.
HARMLESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "code beside the class": (LLAMA, {"auto_map": {"AutoModelForCausalLM": "modeling_llama.LlamaForCausalLM"}}),
    "generation": (LLAMA, {"max_new_tokens": 20, "do_sample": True, "min_p": 0.1}),
    "bookkeeping": (LLAMA, {"internal_version": "1.2", "_flash_attn_2_enabled": True, "norm_eps": 1e-5}),
    "no biases": (QWEN3, {"qkv_bias": False, "mlp_bias": False}),
    "biases": (QWEN2, {"qkv_bias": True, "attention_bias": True}),
    "norms of queries and keys": (QWEN3, {"use_qk_norm": True}),
    "no such norms": (LLAMA, {"use_qk_norm": False, "qk_layernorm": False}),
    "no shared expert": (QWEN3, {"shared_expert_intermediate_size": 0, "num_experts": 0, "mlp_only_layers": []}),
    "rotary features": (GLM4, {"rotary_dim": 8}),
    "a configuration within": (GEMMA3, {}),
    "tokens": (LLAMA, {"audio_bos_token_id": 7, "pad_token_id": None, "suppress_tokens": [1]}),
    "libraries around it": (LLAMA, {"sentence_transformers": {"version": "5.1"}, "pretraining_tp": 2}),
    "an image for another encoder": ({"model_type": "layoutlmv3", "num_hidden_layers": 2}, {"second_input_size": 112}),
    "training": (LLAMA, {"sequence_parallel_enabled": False, "use_flash_attention_2": True, "xla_device": True}),
    "experts in every layer": (LLAMA, {"moe_frequency": 1}),
    "names of a file with code of its own": (
        NOMIC,
        {"n_embd": 768, "n_layer": 12, "n_head": 12, "rotary_emb_base": 1000, "prenorm": False, "use_xentropy": True},
    ),
    "what training left": (
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0, "finetuned": True, "beta_fast": 32}},
    ),
    "fields of a configuration that is there": (QWEN2_5_VL, {"hidden_size": 9, "rope_theta": 5.0, "vocab_size": 1}),
}


@pytest.mark.parametrize("case", HARMLESS)
def test_fields_that_agree_have_no_effect(case: str, tmp_path: Path) -> None:
    config, added = HARMLESS[case]
    network = api.load(write_config(tmp_path / "with", config | added))
    own = {key: value for key, value in config.items() if key != "text_config"}
    if "text_config" in config:
        own["text_config"] = {key: value for key, value in config["text_config"].items() if key != "use_qk_norm"}
    assert network.params == api.load(write_config(tmp_path / "without", own)).params


#: Fields that contradict the model.
CONTRADICTING: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "biases": (QWEN2, {"qkv_bias": False}, "qkv_bias = false, and a model of type qwen2 has it true"),
    "norms": (QWEN3, {"use_qk_norm": False}, "use_qk_norm = false, and a model of type qwen3 has it true"),
    "norms elsewhere": (LLAMA, {"use_qk_norm": True}, "'use_qk_norm' of llama is not known; it is true"),
    "a shared expert": (QWEN3, {"shared_expert_intermediate_size": 48}, "'shared_expert_intermediate_size'"),
    "rotary features": (GLM4, {"rotary_dim": 4}, "rotary_dim = 4, and by the other fields it is 8"),
    "experts in some layers": (LLAMA, {"moe_frequency": 2}, "'moe_frequency' of llama is not known; it is 2"),
    "another number of layers": (NOMIC, {"n_layer": 6}, "n_layer = 6, and a model of type nomic_bert has it 12"),
    "norms before": (NOMIC, {"prenorm": True}, "prenorm = true, and a model of type nomic_bert has it false"),
}


@pytest.mark.parametrize("case", CONTRADICTING)
def test_fields_that_contradict_are_refused(case: str, tmp_path: Path) -> None:
    config, added, message = CONTRADICTING[case]
    path = write_config(tmp_path, config | added)
    with pytest.raises(NetcalcError) as caught:
        api.load(path)
    (found,) = caught.value.diagnostics
    (field,) = added
    assert message in found.message
    assert f"--ignore {field} goes on without it" in (found.hint or "")
    assert found.span is not None and field in found.span.text
    assert api.load(path, ignore=[field]).params == api.load(write_config(tmp_path / "own", config)).params


def test_a_class_tells_the_type_of_an_early_configuration(tmp_path: Path) -> None:
    early = {key: value for key, value in LLAMA.items() if key != "model_type"}
    assert api.load(write_config(tmp_path / "early", early)).params == api.load(write_config(tmp_path, LLAMA)).params


def test_a_class_tells_the_type_where_a_release_has_one_of_its_own(tmp_path: Path) -> None:
    own = LLAMA | {"model_type": "acme_llama", "auto_map": {"AutoModelForCausalLM": "modeling_acme.LlamaForCausalLM"}}
    network = api.load(write_config(tmp_path / "own", own))
    assert network.params == api.load(write_config(tmp_path, LLAMA)).params
    with pytest.raises(api.NetcalcError, match="'acme_llama' cannot be imported"):
        api.load(write_config(tmp_path / "unknown", own | {"architectures": ["AcmeForCausalLM"]}))


def test_a_configuration_without_a_class_is_that_of_the_base_model(tmp_path: Path) -> None:
    base = api.load(write_config(tmp_path / "base", LLAMA | {"architectures": ["LlamaModel"]}))
    for named in (None, []):
        network = api.load(write_config(tmp_path / "none", LLAMA | {"architectures": named}))
        assert network.params == base.params


def test_all_unknown_fields_are_one_error(tmp_path: Path, netcalc: Run) -> None:
    config = str(write_config(tmp_path, LLAMA | {"first": 1, "second": None, "hidden_sizes": 64}))
    ran = netcalc("summary", config, "--format", "json")
    (error,) = json.loads(ran.out)["errors"]
    assert error["message"] == "3 fields of llama are not known: first, second, hidden_sizes"
    assert [related["text"] for related in error["related"]] == [
        "first is 1",
        "second is null",
        "hidden_sizes is 64; did you mean 'hidden_size'?",
    ]
    ignored = [word for field in ("first", "second", "hidden_sizes") for word in ("--ignore", field)]
    assert netcalc("summary", config, *ignored).code == 0


def test_unknown_fields_of_all_configurations_are_one_error(tmp_path: Path) -> None:
    config: dict[str, Any] = GEMMA3 | {"outer": 1}
    config |= {"text_config": config["text_config"] | {"inner": 2}}
    with pytest.raises(NetcalcError, match=r"2 fields of gemma3 are not known: outer, text_config\.inner"):
        api.load(write_config(tmp_path, config))
