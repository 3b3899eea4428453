"""Settings that transformers refuses, which the requirements of the specs refuse too."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.spec import elaborate, load_document

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL = {"hidden_size": 30, "num_attention_heads": 4, "num_hidden_layers": 1, "vocab_size": 20, "intermediate_size": 8}
HEADS = {"d_model": 30, "heads": 4}


@pytest.mark.parametrize(
    ("spec", "settings", "kind", "config"),
    [
        ("llama-3-8b", HEADS, "LlamaForCausalLM", SMALL),
        ("gemma-2-2b", HEADS, "Gemma2ForCausalLM", SMALL),
        ("pythia-1b", HEADS, "GPTNeoXForCausalLM", SMALL),
        ("opt-125m", HEADS, "OPTForCausalLM", SMALL),
        ("bert-base", HEADS, "BertModel", SMALL),
        ("roberta-base", HEADS, "RobertaModel", SMALL),
        ("vilt-b32", HEADS, "ViltModel", SMALL),
        ("gpt2", HEADS, "GPT2LMHeadModel", {"n_embd": 30, "n_head": 4, "n_layer": 1}),
        ("gpt-j-6b", HEADS, "GPTJForCausalLM", {"n_embd": 30, "n_head": 4, "n_layer": 1}),
        ("bloom-7b1", HEADS, "BloomForCausalLM", {"hidden_size": 30, "n_head": 4, "n_layer": 1}),
        ("bart-base", HEADS, "BartForConditionalGeneration", {"d_model": 30, "encoder_attention_heads": 4}),
        (
            "bart-base",
            {"d_model": 32, "heads": 4, "decoder_heads": 5},
            "BartForConditionalGeneration",
            {"d_model": 32, "encoder_attention_heads": 4, "decoder_attention_heads": 5},
        ),
        ("whisper-tiny", HEADS, "WhisperForConditionalGeneration", {"d_model": 30, "encoder_attention_heads": 4}),
        ("longformer-base-4096", {"window": 7}, "LongformerModel", {**SMALL, "hidden_size": 32, "attention_window": 7}),
    ],
)
def test_both_refuse(spec: str, settings: dict[str, Any], kind: str, config: dict[str, Any]) -> None:
    model = getattr(transformers, kind)
    # configurations are validated with an error of huggingface_hub that is no ValueError
    with pytest.raises(Exception, match=r"ultiple of|divisible by|even value|heads"):
        model(model.config_class(**config))
    with pytest.raises(NetcalcError) as refused:
        elaborate(load_document(spec), settings)
    assert {found.code for found in refused.value.diagnostics} == {"E108"}


@pytest.mark.parametrize(
    ("spec", "settings", "kind", "config"),
    [
        (
            "mistral-7b",
            {"d_model": 32, "heads": 4, "kv_heads": 3},
            "MistralForCausalLM",
            {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 3},
        ),
        (
            "qwen3-8b",
            {"d_model": 32, "heads": 4, "kv_heads": 2, "head_dim": 7},
            "Qwen3ForCausalLM",
            {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 7},
        ),
        (
            "gpt-j-6b",
            {"d_model": 32, "heads": 4, "rotary_dim": 5},
            "GPTJForCausalLM",
            {"n_embd": 32, "n_head": 4, "n_layer": 1, "rotary_dim": 5},
        ),
    ],
)
def test_both_refuse_to_run(spec: str, settings: dict[str, Any], kind: str, config: dict[str, Any]) -> None:
    cls = getattr(transformers, kind)
    more = {"num_hidden_layers": 1, "vocab_size": 20, "pad_token_id": 0, "attn_implementation": "eager"}
    with pytest.raises(Exception, match=r"must match the size|even rotary"):
        cls(cls.config_class(**config, **more))(torch.ones(1, 5, dtype=torch.int64))
    with pytest.raises(NetcalcError) as refused:
        elaborate(load_document(spec), settings)
    assert {found.code for found in refused.value.diagnostics} == {"E108"}
