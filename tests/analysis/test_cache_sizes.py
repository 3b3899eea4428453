"""Published sizes of the caches of a token, from the outputs of the programs."""

from typing import Any

import pytest

import netcalc
from netcalc.dims import integer

#: DeepSeek-V2: hidden sizes and ranks of arXiv:2405.04434, section 3.1.2.
DEEPSEEK_V2 = {
    "vocab": 102400,
    "d_model": 5120,
    "layers": 60,
    "dense_layers": 1,
    "heads": 128,
    "q_rank": 1536,
    "kv_rank": 512,
    "experts": 160,
    "experts_per_token": 6,
    "d_expert": 1536,
    "shared_experts": 2,
    "d_ff": 12288,
}


def elements_of_a_token(spec: str, **settings: Any) -> int:
    """Return the elements of all caches after one token."""
    program = netcalc.load(spec, set=settings).at_step(0, 1).program
    outputs = dict(zip(program.output_names, program.main.outputs, strict=True))
    return sum(integer(outputs[cache.output].known_type.elements) for cache in program.caches.entries)


@pytest.mark.parametrize(
    ("spec", "settings", "size"),
    [
        # DeepSeek-AI 2025, arXiv:2505.09343, Table 1: kilobytes of a token in bfloat16
        ("deepseek-v3", {}, 70_272),
        ("qwen2-72b", {"vocab": 152064}, 327_680),  # Qwen2.5-72B
        ("llama-3.1-405b", {}, 516_096),
        # gpt-oss-120b, from its released configuration: 36 layers of 8 heads of 64 features
        ("gpt-oss-20b", {"layers": 36, "experts": 128}, 73_728),
    ],
)
def test_bytes_of_a_token_in_bfloat16(spec: str, settings: dict[str, Any], size: int) -> None:
    assert 2 * elements_of_a_token(spec, **settings) == size


def test_latents_of_deepseek_v2() -> None:
    """DeepSeek-AI 2024, arXiv:2405.04434, Table 1: (d_c + d_h^R)·l elements a token."""
    assert elements_of_a_token("deepseek-v2-lite", **DEEPSEEK_V2) == 34_560
