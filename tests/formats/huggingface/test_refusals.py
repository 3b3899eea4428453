"""Configurations that are refused, with the place of what is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.diagnostics import NetcalcError, UnhintedError, with_hint
from netcalc.formats.huggingface import tables
from netcalc.spec.plain_data import read_data
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import config_of, write_config

Run = Callable[..., CommandResult]
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}

#: Name, configuration, code and a part of the message.
REFUSED: dict[str, tuple[Any, str, str]] = {
    "unknown model type": ({"model_type": "lama", "architectures": []}, "E007", "the nearest known type is 'llama'"),
    "path as a model type": ({"model_type": "../../llama", "architectures": []}, "E007", "cannot be imported"),
    "no model type": ({"architectures": ["LlamaForAll"]}, "E007", "has no model_type"),
    "a class of two types": ({"architectures": ["T5EncoderModel", "BertModel"]}, "E007", "has no model_type"),
    "adapter without a base": ({"peft_type": "LORA", "r": 8}, "E007", "base_model_name_or_path should name"),
    "adapter of a model that is not here": (
        {"peft_type": "LORA", "base_model_name_or_path": "acme/tiny"},
        "E007",
        "the base model 'acme/tiny' is no folder of a model here",
    ),
    "index of a checkpoint": ({"weight_map": {}}, "E004", "index of a checkpoint"),
    "not an object": ([1], "E004", "should be an object"),
    "no architecture": ({"model_type": "t5"}, "E007", "architectures should name one class"),
    "two architectures": (LLAMA | {"architectures": ["A", "B"]}, "E007", "should name one class"),
    "unknown architecture": (LLAMA | {"architectures": ["LlamaForAll"]}, "E007", "'LlamaForAll' is not known"),
    "added field": (LLAMA | {"mixture_depth": 2}, "E007", "'mixture_depth'"),
    "added null": (LLAMA | {"mixture_depth": None}, "E007", "'mixture_depth'"),
    "renamed field": (LLAMA | {"hidden_sizes": 64}, "E007", "'hidden_sizes'"),
    "text for a number": (LLAMA | {"hidden_size": "64"}, "E104", "whole number"),
    "fraction for a whole number": (LLAMA | {"num_hidden_layers": 2.5}, "E104", "whole number"),
    "true for a number": (LLAMA | {"num_hidden_layers": True}, "E104", "whole number"),
    "null for a number": (LLAMA | {"hidden_size": None}, "E007", "hidden_size should not be null"),
    "heads that do not divide": (LLAMA | {"num_key_value_heads": 5}, "E108", "must serve the same number"),
    "activation": (LLAMA | {"hidden_act": "xielu"}, "E007", "'xielu' is not known"),
    "code of its own": (
        LLAMA | {"architectures": ["LlamaForAll"], "auto_map": {"AutoModel": "m.M"}},
        "E007",
        "code of its own for it, which is not run",
    ),
    "quantization": (LLAMA | {"quantization_config": {"quant_method": "x"}}, "E007", "quant_method"),
    "a list for an element type": (
        LLAMA | {"torch_dtype": ["float16"]},
        "E007",
        "torch_dtype = ['float16'] is not known",
    ),
    "an object for an element type": (LLAMA | {"dtype": {"a": 1}}, "E007", "dtype = {a: 1} is not known"),
    "more layers than a repeat has": (
        LLAMA | {"num_hidden_layers": 10**12},
        "E104",
        "'num_hidden_layers' should be at most",
    ),
    "a number for labels": (
        {"model_type": "bert", "architectures": ["BertForTokenClassification"], "id2label": 5},
        "E007",
        "id2label should be an object, not 5",
    ),
    "a list for a kind of scaling": (
        LLAMA | {"rope_scaling": {"rope_type": [1]}},
        "E007",
        "rope_type [1] is not known",
    ),
    "element type": (LLAMA | {"dtype": "int8"}, "E007", "dtype = 'int8'"),
    "rotary scaling": (LLAMA | {"rope_scaling": {"type": "spiral", "factor": 2.0}}, "E007", "'spiral' is not known"),
    "a parameter of no scaling": (
        LLAMA | {"rope_scaling": {"type": "yarn", "factor": 2.0, "twist": 1}},
        "E007",
        "rope_scaling: 'twist' of yarn is not known",
    ),
    "a scaling without its factor": (
        LLAMA | {"rope_scaling": {"rope_type": "linear"}},
        "E007",
        "rope_scaling: 'factor' of linear is missing",
    ),
    "rotary parameters": (LLAMA | {"rope_parameters": [1]}, "E007", "rope_parameters"),
    "pruned heads": (LLAMA | {"pruned_heads": {"0": [1]}}, "E007", "pruned_heads"),
    "decoder with cross attention": (LLAMA | {"add_cross_attention": True}, "E007", "add_cross_attention"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_known_is_refused(case: str, tmp_path: Path, netcalc: Run) -> None:
    config, code, part = REFUSED[case]
    ran = netcalc("summary", str(write_config(tmp_path, config)))
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    assert part in " ".join(ran.err.split())
    assert "config.json:" in ran.err


BERT = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 32, "num_attention_heads": 4}


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (LLAMA, "num_hidden_layers", 0),
        (LLAMA, "num_attention_heads", 0),
        (LLAMA, "num_attention_heads", 5),
        (LLAMA, "num_key_value_heads", 0),
        (LLAMA, "num_key_value_heads", 5),
        (LLAMA, "head_dim", 7),
        (LLAMA, "attention_dropout", 2.0),
        (LLAMA, "vocab_size", -1),
        (BERT, "num_attention_heads", 5),
        (BERT, "num_hidden_layers", 0),
        ({"model_type": "gpt2", "architectures": ["GPT2Model"], "n_embd": 32}, "n_head", 5),
        (LLAMA | {"model_type": "mixtral", "architectures": ["MixtralModel"]}, "num_experts_per_tok", 9),
    ],
)
def test_degenerate_values_are_errors_at_their_field(
    config: dict[str, Any], field: str, value: Any, tmp_path: Path
) -> None:
    path = write_config(tmp_path, config | {field: value})
    with pytest.raises(NetcalcError) as caught:
        _ = api.load(path).program
    found = caught.value.diagnostics[0]
    assert found.span is not None
    assert found.span.file == str(path)
    assert f'"{field}": {value}' in found.span.text


@pytest.mark.parametrize(
    ("model", "near"),
    [
        ("hf/gemma-2-2b", "gemma2"),
        ("hf/qwen1.5-moe-a2.7b", "qwen2_moe"),
        ("hf/mamba-130m", "mamba"),
        ("hf/detr-resnet-50", "detr"),
        ("hf/longformer-base-4096", "longformer"),
    ],
)
def test_the_nearest_type_is_that_with_the_fields(model: str, near: str, tmp_path: Path, netcalc: Run) -> None:
    unknown = {"model_type": "acme", "architectures": ["AcmeModel"]}
    ran = netcalc("summary", str(write_config(tmp_path, config_of(model, "full") | unknown)))
    assert ran.code == 2
    assert f"the nearest known type is {near!r}, whose table names" in ran.err
    assert "`netcalc import torch:" in " ".join(ran.err.split())
    assert "netcalc init" not in ran.err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "E001"),
        ('{"model_type": "llama",}', "E001"),
        ('{"model_type": "llama", "model_type": "bert"}', "E002"),
        ("[" * 100_000, "E003"),
        ('{"a": ' + "9" * 10_000 + "}", "E003"),
        ('{"model_type": "\\ud800"}', "E001"),
        ("", "E001"),
        ("\x00", "E001"),
    ],
)
def test_malformed_json_is_an_error_with_its_place(text: str, code: str, tmp_path: Path, netcalc: Run) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    ran = netcalc("summary", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    assert "config.json" in ran.err


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("adapter_config.json", {"peft_type": "LORA", "r": 8}, "base_model_name_or_path should name the base model"),
        ("model_index.json", {"_class_name": "FluxPipeline"}, "a pipeline of diffusers (FluxPipeline)"),
        ("config.json", {"_class_name": "UNet2DConditionModel"}, "a model of diffusers (UNet2DConditionModel)"),
    ],
)
def test_folders_of_other_kinds_of_models(
    name: str, data: dict[str, Any], part: str, tmp_path: Path, netcalc: Run
) -> None:
    (tmp_path / name).write_text(json.dumps(data))
    for command in ("summary", "params", "verify", "import"):
        ran = netcalc(command, str(tmp_path))
        assert (ran.code, ran.out) == (2, "")
        assert "error[E007]" in ran.err
        assert part in " ".join(ran.err.split())


def test_a_folder_without_a_configuration(tmp_path: Path, netcalc: Run) -> None:
    ran = netcalc("summary", str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert "error[E004]" in ran.err
    assert "without config.json" in " ".join(ran.err.split())


def test_the_nearest_type_is_looked_for_when_the_error_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    config = read_data({"model_type": "lama", "hidden_size": 8}, "config.json")
    with monkeypatch.context() as patch, pytest.raises(UnhintedError) as caught:
        patch.setattr(tables, "model_types", lambda: pytest.fail("every table is read"))
        tables.table_of(config)
    (problem,) = with_hint(caught.value).diagnostics
    assert "the nearest known type is 'llama'" in str(problem.hint)
