"""Small language models with recorded weights against recorded outputs of transformers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.blocks.harness import check_case

EPS = {"rms_norm": {"eps": 1e-6}}
LOGITS = {"logits": "logits"}


def attention(**args: Any) -> dict[str, Any]:
    return {"grouped_query_attention": args}


def gated(hidden: int, **args: Any) -> dict[str, Any]:
    return {"gated_feed_forward": {"hidden": hidden, **args}}


def mixture(**args: Any) -> dict[str, Any]:
    return {"mixture_of_experts": args}


def rope(**args: Any) -> dict[str, Any]:
    return {"rotary_embedding": args}


def sizes(length: int, vocab: int, features: int, **others: Any) -> dict[str, Any]:
    return {"length": length, "vocab": vocab, "features": features, "layers": 2, "norm": EPS} | others


GEMMA = {"heads": 2, "kv_heads": 1, "head_dim": 16, "scale": 12**-0.5, "softcap": 4.0}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
DEEPSEEK = {
    "scoring": "sigmoid",
    "normalize": True,
    "eps": 1e-20,
    "scale": 2.5,
    "groups": 2,
    "top_groups": 1,
    "group_score": "top2_sum",
    "correction_bias": True,
}

CASES: dict[str, dict[str, Any]] = {
    "llama_gqa_l2_d64": sizes(
        19,
        256,
        64,
        batch=2,
        norm={"rms_norm": {"eps": 1e-5}},
        attention=attention(heads=8, kv_heads=2),
        mlp=gated(160),
    ),
    "llama3rope_l1": sizes(
        36,
        70,
        40,
        layers=1,
        tied=True,
        attention=attention(
            heads=4,
            kv_heads=2,
            head_dim=16,
            rope=rope(theta=1e5, scaling=LLAMA3 | {"original_max_position_embeddings": 32}),
        ),
        mlp=gated(60),
    ),
    "mistral_sw_l2": sizes(20, 99, 48, attention=attention(heads=4, kv_heads=2, window=6), mlp=gated(80)),
    "qwen2_bias_l2": sizes(10, 70, 32, tied=True, attention=attention(heads=4, kv_heads=1, bias=True), mlp=gated(48)),
    "qwen3_qknorm_hd12": sizes(
        10, 70, 36, attention=attention(heads=3, kv_heads=1, head_dim=12, qk_norm=EPS), mlp=gated(50)
    ),
    "gemma2_softcap_l2": sizes(
        11,
        70,
        32,
        tied=True,
        norms="sandwich",
        norm={"rms_norm": {"eps": 1e-6, "offset": 1.0}},
        scale=32**0.5,
        softcap=2.5,
        attention=attention(**GEMMA, window=4),
        full=attention(**GEMMA),
        mlp=gated(64, activation={"gelu": {"approximate": "tanh"}}),
    ),
    "mixtral_tiny_e4k2": sizes(
        12,
        128,
        48,
        batch=2,
        norm={"rms_norm": {"eps": 1e-5}},
        attention=attention(heads=4, kv_heads=2, rope=rope(theta=1e6)),
        mlp=mixture(experts=4, k=2, hidden=64),
    ),
    "qwen2moe_e4k2": sizes(
        9,
        60,
        32,
        attention=attention(heads=4, kv_heads=2, bias=True),
        mlp=mixture(experts=4, k=2, hidden=20, shared=gated(28), shared_gate=True),
    ),
    "deepseekv3_mla_mini": sizes(
        9,
        60,
        32,
        attention={
            "latent_attention": {
                "heads": 2,
                "kv_lora_rank": 12,
                "qk_nope_head_dim": 8,
                "qk_rope_head_dim": 4,
                "v_head_dim": 8,
            }
        },
        dense=1,
        first_mlp=gated(48),
        mlp=mixture(experts=4, k=2, hidden=16, shared=gated(32), router={"top_k_router": DEEPSEEK}),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_decoder_equals_transformers(case: str) -> None:
    check_case(case, "decoder", CASES[case], outputs=LOGITS)
