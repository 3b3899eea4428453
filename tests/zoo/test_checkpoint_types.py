"""Element types of the published checkpoints of the shipped language models.

They are the ``torch_dtype`` of the config.json on the Hub, or the type of the tensors where it has none; for BLOOM
Table 3 of arXiv:2211.05100, in which the largest model alone was trained in bfloat16.
"""

from __future__ import annotations

import pytest

import netcalc
from netcalc.spec.shipped import catalogue

FLOAT16 = """
bloom-560m bloom-7b1 command-r-35b deberta-v3-base llama-2-13b llama-2-70b llama-2-7b llava-1.5-7b opt-1.3b opt-125m
opt-13b opt-2.7b opt-30b opt-350m opt-6.7b opt-66b phi-2 pythia-1b pythia-410m pythia-6.9b pythia-70m
"""
BFLOAT16 = """
afm-4.5b apertus-8b bamba-9b bloom-176b command-r7b deepseek-v2 deepseek-v2-lite deepseek-v3 deepseek-v3.2
ernie-4.5-0.3b ernie-4.5-21b-a3b exaone-4.0-32b falcon-180b falcon-40b falcon-7b gemma-2b gemma-3-12b gemma-3-1b
gemma-3-270m gemma-3-27b gemma-3-4b gemma-3n-e2b gemma-3n-e2b-multimodal gemma-3n-e4b gemma-3n-e4b-multimodal
gemma-4-26b-a4b gemma-4-26b-a4b-vision gemma-4-31b gemma-4-31b-vision gemma-4-e2b gemma-4-e2b-multimodal gemma-4-e4b
gemma-4-e4b-multimodal gemma-7b glm-4-9b glm-4-9b-chat glm-4.5 glm-4.5-air glm-5 gpt-oss-120b gpt-oss-20b granite-3.0-2b
granite-3.0-3b-a800m granite-4.0-h-small helium-1-2b hunyuan-7b hunyuan-a13b internvl3-8b internvl3.5-8b jamba-v0.1
kimi-k2.5 kimi-k2.5-vision lfm2-1.2b lfm2-8b-a1b llama-3-70b llama-3-8b llama-3.1-405b llama-3.1-70b llama-3.1-8b
llama-3.2-11b-vision llama-3.2-1b llama-3.2-3b llama-3.2-90b-vision llama-4-maverick llama-4-maverick-vision
llama-4-scout llama-4-scout-vision minimax-m2 ministral-3-8b ministral-3-8b-vision minitron-4b mistral-7b
mistral-7b-v0.3 mistral-large-123b mistral-nemo-12b mistral-small-22b mistral-small-24b mistral-small-3.1-24b
mixtral-8x22b mixtral-8x7b nemotron-h-8b olmo-3-7b olmoe-1b-7b paligemma2-3b phi-3-medium phi-3-mini phi-4 phi-4-mini
qwen1.5-moe-a2.7b qwen2-0.5b qwen2-72b qwen2-7b qwen2-vl-7b qwen2.5-1.5b qwen2.5-14b qwen2.5-32b qwen2.5-3b qwen2.5-72b
qwen2.5-vl-7b qwen3-0.6b qwen3-1.7b qwen3-14b qwen3-235b-a22b qwen3-30b-a3b qwen3-32b qwen3-4b qwen3-8b
qwen3-next-80b-a3b qwen3-vl-30b-a3b qwen3-vl-8b qwen3.5-0.8b qwen3.5-0.8b-vision qwen3.5-122b-a10b
qwen3.5-122b-a10b-vision qwen3.5-2b qwen3.5-2b-vision qwen3.5-27b qwen3.5-4b qwen3.5-4b-vision
qwen3.5-27b-vision qwen3.5-35b-a3b qwen3.5-35b-a3b-vision qwen3.5-397b-a17b qwen3.5-397b-a17b-vision qwen3.5-9b
qwen3.5-9b-vision seed-oss-36b smollm2-1.7b smollm2-135m smollm2-360m smollm3-3b smolvlm2-2.2b stablelm-3b-4e1t
"""
TYPES = dict.fromkeys(FLOAT16.split(), "float16") | dict.fromkeys(BFLOAT16.split(), "bfloat16")


@pytest.mark.parametrize("spec", catalogue())
def test_types(spec: str) -> None:
    net = netcalc.load(spec)
    assert net.program.dtype == TYPES.get(spec, "float32")
    assert net.request.executed.program.dtype == "float32"


def test_weights_of_llama_3_70b() -> None:
    net = netcalc.load("llama-3-70b")
    assert net.memory().weights == net.cost().weight_bytes == 2 * 70_553_706_496  # 131 GiB
    assert netcalc.load("llama-3-70b", dtype="float32").memory().weights == 4 * 70_553_706_496
