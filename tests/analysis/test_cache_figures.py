"""Published figures of caches and states.  Models that do not ship have their settings or configuration here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.analysis.caches.conventions import convention_named
from netcalc.analysis.caches.fit import tokens_that_fit
from netcalc.dims import Dim, product

GIB, MIB = 1 << 30, 1 << 20
STEP = {"length": 1}

#: google/gemma-3-4b-it, the part for text.
GEMMA_3_4B = {
    "architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "num_attention_heads": 8,
    "num_hidden_layers": 34,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 1024,
    "sliding_window_pattern": 6,
    "vocab_size": 262208,
}
#: MiniMaxAI/MiniMax-M2, as far as its caches go; of Qwen3-MoE, the nearest spec.
MINIMAX_M2 = {"layers": 62, "d_model": 3072, "heads": 48, "kv_heads": 8, "head_dim": 128}
#: Qwen/Qwen3.6-27B: 16 layers with attention, 48 with a gated delta rule, as far as caches and states go.
QWEN_3_6_27B = {"layers": 64, "d_model": 5120, "heads": 24, "kv_heads": 4, "head_dim": 256, "delta_heads": 48}
#: PaLM 540B, with heads padded from 48 to 64.
PALM_540B = {"layers": 118, "d_model": 18432, "heads": 64}


def memory(spec: str, settings: dict[str, Any], dtype: str = "bfloat16", **options: Any) -> netcalc.MemoryReport:
    return netcalc.load(spec, set=settings, dtype=dtype).memory(**options)


def elements(report: netcalc.MemoryReport) -> Dim:
    """Return the elements of all caches for a token."""
    return sum((product(kept.cell) for kept in report.kept if kept.positions is not None), 0)


def test_elements_of_a_token_with_grouped_heads() -> None:
    """DeepSeek-V2, arXiv:2405.04434, Table 1: 2·n_h·d_h·l, 2·n_g·d_h·l and 2·d_h·l."""
    sizes = {"layers": 60, "d_model": 5120, "heads": 128, "head_dim": 128, **STEP}
    for groups in (128, 8, 1):
        assert elements(memory("llama-2-7b", {**sizes, "kv_heads": groups})) == 2 * groups * 128 * 60


@pytest.mark.parametrize(
    ("spec", "figure"),
    [("qwen2-72b", 327_680), ("llama-3.1-405b", 516_096), ("deepseek-v3", 70_272)],
)
def test_bytes_of_a_token(spec: str, figure: int) -> None:
    """DeepSeek-AI 2025, arXiv:2505.09343, Table 1, in bfloat16; Qwen2.5-72B has the attention of Qwen2-72B."""
    assert memory(spec, STEP).token_bytes == figure


def test_elements_of_a_token_with_latent_attention() -> None:
    """DeepSeek-V2, arXiv:2405.04434, Table 1: (d_c + d_h^R)·l, which is 34,560 for DeepSeek-V2."""
    report = memory("deepseek-v2-lite", {"layers": 60, **STEP})
    assert elements(report) == (512 + 64) * 60 == 34_560


def test_opt_13b() -> None:
    """Kwon et al. 2023, arXiv:2309.06180, section 3: 800 KB a token, 1.6 GB for 2048."""
    settings = {"layers": 40, "d_model": 5120, "heads": 40, "past": 2047, **STEP}
    report = memory("opt-6.7b", settings, "float16", cache="vllm")
    assert report.token_bytes == 800 * 1024
    caches = report.caches("vllm")
    assert isinstance(caches, int) and caches == 2048 * 800 * 1024 and round(caches / GIB, 1) == 1.6


def test_gpt_oss() -> None:
    """Hugging Face's hf-mem: issues 60 (bytes of a token) and 70 (8192 tokens of 32 sequences)."""
    assert memory("gpt-oss-20b", {"layers": 36, "experts": 128, **STEP}).token_bytes == 73_728
    report = memory("gpt-oss-20b", {"batch": 32, "past": 8191, **STEP})
    # vLLM 0.19.1: 137 pages of 16 tokens in the 12 layers with a window of 128, and 512 in the 12 others
    assert report.caches("vllm-hybrid") == 32 * 12 * (137 + 512) * 16 * 2 * 8 * 64 * 2
    assert [round(float(str(report.caches(name))) / GIB, 2) for name in ("ideal", "vllm")] == [6.09, 12.00]


def test_gemma_3_in_llama_cpp(tmp_path: Path) -> None:
    """llama.cpp at a context of 32768: 814 MiB = 640 + 174, of 29 layers with 1024 + 512 cells."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GEMMA_3_4B))
    report = memory(str(path), {"past": 32767, **STEP}, "float16", cache="llama.cpp")
    convention = report.conventions[0]
    windows = sum(int(str(kept.bytes(convention))) for kept in report.kept if kept.window is not None)
    assert (windows, report.caches("llama.cpp")) == (174 * MIB, 814 * MIB)
    assert {kept.cells(convention) for kept in report.kept if kept.window is not None} == {1024 + 512}
    assert len({kept.layer for kept in report.kept if kept.window is not None}) == 29


def test_gemma_3_1b() -> None:
    """lablup/mlxcel, issue 172: 139 MiB at a context of 32768, with windows of 512 cells."""
    assert memory("gemma-3-1b", {"past": 32767, **STEP}).caches("ideal") == 139 * MIB


@pytest.mark.parametrize(("spec", "name"), [("mistral-7b", "llama"), ("phi-3-mini", "phi3")])
def test_windows_that_llama_cpp_does_not_read(spec: str, name: str) -> None:
    """llama.cpp 0c1e570: src/models/llama.cpp has no window, and src/models/phi3.cpp disables the one that it finds."""
    net = netcalc.load(spec, set={"past": 16_383, **STEP}, dtype="bfloat16")
    report = net.memory(cache="llama.cpp")
    assert report.caches("llama.cpp") == 16_384 * report.token_bytes
    assert f"Windows are not read here ({name})" in str(report).replace("\n  ", " ")


def test_tokens_of_mistral_in_llama_cpp() -> None:
    """Of 16 GiB 14,483,464,192 bytes are weights; 131,072 bytes for each token, in contexts of 256."""
    fitting = memory("mistral-7b", STEP, tokens_in="16GiB").tokens_in
    assert fitting is not None
    assert fitting.tokens["llama.cpp"] == (16 * GIB - 14_483_464_192) // (256 * 131_072) * 256 == 20_480
    assert fitting.tokens["ideal"] is None


def test_an_architecture_that_is_not_known_is_named() -> None:
    report = memory("gpt-neo-125m", {"past": 600, **STEP})
    assert "No window is taken as read: the architecture is gpt_neo" in str(report).replace("\n  ", " ")
    assert report.caches("llama.cpp") == 768 * report.token_bytes


def test_chunks_turn_the_hybrid_manager_of_vllm_off() -> None:
    report = memory("llama-4-scout", {"past": 32_767, **STEP})
    assert report.caches("vllm-hybrid") == report.caches("vllm") == 32_768 * report.token_bytes


@pytest.mark.parametrize(("dtype", "model"), [("bfloat16", 12_451_840), ("float32", 24_903_680)])
def test_states_of_mamba(dtype: str, model: int) -> None:
    """64 layers with 5120·(3 + 16) elements: float32 in llama.cpp, of the model's type in vLLM."""
    report = memory("mamba-2.8b", STEP, dtype)
    assert [report.caches(name) for name in ("vllm", "vllm-hybrid", "llama.cpp")] == [model, model, 24_903_680]


def test_states_of_nemotron_h_have_the_type_of_its_configuration() -> None:
    """vLLM 0.19.1, NemotronHForCausalLMConfig: mamba_ssm_cache_dtype, float32 in transformers."""
    report = memory("nemotron-h-8b", STEP)
    states = [state for state in report.kept if state.kind == "state"]
    widths = {(state.name.rpartition(".")[2], state.cell_bytes_under(report.conventions[1])) for state in states}
    assert widths == {("conv", 10_240 * 3 * 2), ("ssm", 128 * 64 * 128 * 4)}


def test_minimax_m2() -> None:
    """hf-mem's README: keys and values of 196,608 tokens in fp8."""
    report = memory("qwen3-30b-a3b", {**MINIMAX_M2, "past": 196_607, **STEP}, cache_dtype="fp8")
    assert report.caches("ideal") == 24_964_497_408


def test_qwen_3_6() -> None:
    """LM Studio, issue 1862: 16,384 MiB of keys and values at 262,144, 598.5 MiB of states for 4 sequences."""
    report = memory("qwen3-next-80b-a3b", {**QWEN_3_6_27B, "past": 262_143, **STEP})
    ideal = report.conventions[0]
    attention = [kept for kept in report.kept if kept.positions is not None]
    assert len({kept.layer for kept in attention}) == 16
    assert sum(int(str(kept.bytes(ideal))) for kept in attention) == 16_384 * MIB
    for dtype in ("float32", "bfloat16"):
        states = memory("qwen3-next-80b-a3b", {**QWEN_3_6_27B, "batch": 4, **STEP}, dtype, cache="llama.cpp")
        reserved = sum(int(str(kept.bytes(states.conventions[0]))) for kept in states.kept if kept.kind == "state")
        assert reserved == 598.5 * MIB


@pytest.mark.parametrize(
    ("settings", "chips", "published"),
    [
        ({"kv_heads": 64, "head_dim": 128}, 64, {128: 1320, 512: 330}),
        ({"kv_heads": 64, "head_dim": 256}, 64, {128: 660, 512: 165}),  # one head, a copy on each chip
        ({"kv_heads": 1, "head_dim": 256}, 64, {128: 43_000, 512: 10_700}),
    ],
)
def test_pope(settings: dict[str, int], chips: int, published: dict[int, int]) -> None:
    """Pope et al. 2022, arXiv:2211.05102, Table 1: context in 30 % of the memory of 64 chips of 32 GiB."""
    for batch, tokens in published.items():
        report = memory("llama-2-7b", {**PALM_540B, **settings, "batch": batch, **STEP})
        found = tokens_that_fit(report.kept, convention_named("ideal"), chips * 32 * GIB * 30 // 100)
        assert found is not None and abs(found - tokens) <= 0.011 * tokens


def test_scaling_book() -> None:
    """Austin et al. 2025, How to scale your model: Llama-3-70B in int8, 160 kB a token, 112 GB at 8192 of 32 sequences.

    The book rounds the parameters to 70 billion and the bytes of a token to 160,000; both make the difference.
    """
    net = netcalc.load("llama-3-70b", set={"batch": 32, "past": 8191, **STEP}, dtype="bfloat16")
    report = net.memory(cache_dtype="int8")
    assert report.token_bytes == 160 * 1024
    whole = net.params + report.caches("ideal")
    rounded = (net.params - 70 * 10**9) + 32 * 8192 * (160 * 1024 - 160_000)
    assert isinstance(whole, int) and round(int(str(whole - rounded)) / 10**9) == 112
