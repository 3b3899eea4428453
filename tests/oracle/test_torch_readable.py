"""Specs of well-known modules are as short as those that were written by hand, and count the same."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.network import Network
from tests.formats.graph.layer_lines import count, read, shipped

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
transformers = pytest.importorskip("transformers")


def vision(name: str, **options: Any) -> Network:
    with torch.device("meta"):
        return netcalc.from_torch(
            getattr(torchvision.models, name)(weights=None, **options), torch.empty(1, 3, 224, 224)
        )


def text(model: str, config: str, **options: Any) -> Network:
    with torch.device("meta"):
        module = getattr(transformers, model)(getattr(transformers, config)(use_cache=False, **options))
        return netcalc.from_torch(module, input_ids=torch.empty(1, 128, dtype=torch.int64))


MODULES = {
    "resnet34": (lambda: vision("resnet34"), {}),
    "vit_b_16": (lambda: vision("vit_b_16"), {}),
    "bert-base": (lambda: text("BertModel", "BertConfig"), {"length": 128}),
    "llama-2-7b": (lambda: text("LlamaForCausalLM", "LlamaConfig", rms_norm_eps=1e-5), {"length": 128}),
}


@pytest.mark.parametrize("spec", MODULES)
def test_an_import_has_the_totals_of_the_shipped_spec_in_few_lines(spec: str) -> None:
    make, settings = MODULES[spec]
    network, reference = make(), netcalc.load(spec, set=settings, dtype="float32")
    written = network.to_yaml()
    assert max(map(len, written.splitlines())) <= 120
    assert count(read(written)) <= 2 * count(shipped(spec), shipped_blocks=True)
    totals = netcalc.compare(reference, network).totals
    for figure in ("params", "params_trainable", "weight_bytes", "macs", "flops"):  # the modules have further buffers
        assert getattr(totals[0], figure) == getattr(totals[1], figure)
    assert network.cost("torch").flops == reference.cost("torch").flops


LAYERS = {
    "BertModel": (
        "BertConfig",
        "num_hidden_layers",
        {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48},
    ),
    "LlamaForCausalLM": (
        "LlamaConfig",
        "num_hidden_layers",
        {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48},
    ),
    "GPT2LMHeadModel": ("GPT2Config", "n_layer", {"n_embd": 32, "n_head": 4}),
    "AlbertModel": (
        "AlbertConfig",
        "num_hidden_layers",
        {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48},
    ),
    "Gemma3ForCausalLM": (
        "Gemma3TextConfig",
        "num_hidden_layers",
        {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "num_key_value_heads": 2, "head_dim": 8},
    ),
}


@pytest.mark.parametrize("model", LAYERS)
def test_twice_as_many_layers_take_no_more_lines(model: str) -> None:
    config, layers, options = LAYERS[model]
    short, long = (text(model, config, **options, **{layers: number}).to_yaml() for number in (6, 12))
    assert len(short.splitlines()) == len(long.splitlines())


def test_equal_modules_are_one_block() -> None:
    blocks = read(vision("resnet34").to_yaml())["blocks"]
    assert sorted(blocks) == ["basic_block", "basic_block_1"]  # without and with a projection
    assert len(read(vision("vit_b_16").to_yaml())["blocks"]) == 1
