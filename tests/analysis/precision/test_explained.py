"""Bytes of stored parameters open in explanations: formula, numbers, result and source."""

import pytest

import netcalc

#: A layer of each network, a scheme for it, and its bytes by hand.
LAYERS = {
    "llama-3-8b": ("model.layers.5.mlp.down_proj", "q4_k_m", 4096 * 14336 // 256 * 144),
    "qwen3-30b-a3b": ("model.layers.7.mlp.experts", "int4-g128", 128 * 1536 * (2048 // 2 + 2048 // 128 * 2)),
    "deepseek-v3": ("model.layers.3.self_attn.kv_b_proj", "float8_e4m3-b128", 32768 * 512 + 256 * 4 * 4),
    "gemma-3-1b": ("model.layers.0.mlp.up_proj", "nf4", 6912 * 1152 // 2 + 6912 * 1152 // 64 * 4 + 16 * 4),
    "mamba-130m": ("backbone.layers.0.mixer.in_proj", "int8", 3072 * 768 + 3072 * 4),
    "resnet50": ("layer1.0.conv1", "*.conv1.*=int8", 64 * 64 + 64 * 4),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_bytes_of_a_layer_follow_from_formulas_with_a_source(name):
    path, scheme, expected = LAYERS[name]
    explanation = netcalc.load(name).quantized(scheme).explain(path)
    section = next(section for section in explanation.sections if " stored as " in section.title)
    assert section.rule
    steps = [step for step in section.steps if step.formula and step.label != "bits each"]
    assert all(step.substituted for step in steps)
    assert sum(step.value for step in steps) == expected


@pytest.mark.parametrize("name", ["llama-3-8b", "resnet50"])
def test_the_bytes_of_a_network_are_the_sum_of_its_parts(name):
    network = netcalc.load(name).quantized("int8")
    section = next(s for s in network.explain().sections if s.title == "bytes of weights")
    *parts, last = section.steps
    assert sum(step.value for step in parts) == last.value == network.cost().weight_bytes
