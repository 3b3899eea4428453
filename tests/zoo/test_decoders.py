"""Decoders: Llama, Mistral, Qwen, Gemma, Phi, GPT-NeoX; and mixtures of experts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.walk import parameters
from netcalc.engine.run import forward
from netcalc.spec.library import load_document
from netcalc.verification.verify import verify
from tests.zoo.harness import FAMILIES, built, check_case, torch_total

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama_gqa_l2_d64": (
        "llama-2-7b",
        {"batch": 2, "length": 19, "vocab": 256, "d_model": 64, "layers": 2, "heads": 8, "kv_heads": 2, "d_ff": 160},
    ),
    "llama3rope_l1": (
        "llama-3.2-1b",
        {"length": 36, "vocab": 70, "d_model": 40, "layers": 1, "heads": 4, "kv_heads": 2, "head_dim": 16, "d_ff": 60}
        | {"rope_theta": 1e5, "rope_scaling": LLAMA3, "eps": 1e-6},
    ),
    "mistral_sw_l2": (
        "mistral-7b",
        {"length": 20, "vocab": 99, "d_model": 48, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 12, "d_ff": 80}
        | {"window": 6, "eps": 1e-6},
    ),
    "qwen2_bias_l2": (
        "qwen2-0.5b",
        {"length": 10, "vocab": 70, "d_model": 32, "layers": 2, "heads": 4, "kv_heads": 1, "d_ff": 48}
        | {"rope_theta": 1e4},
    ),
    "qwen3_qknorm_hd12": (
        "qwen3-8b",
        {"length": 10, "vocab": 70, "d_model": 36, "layers": 2, "heads": 3, "kv_heads": 1, "head_dim": 12, "d_ff": 50}
        | {"rope_theta": 1e4},
    ),
    "gemma2_softcap_l2": (
        "gemma-2-2b",
        {"length": 11, "vocab": 70, "d_model": 32, "layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 16, "d_ff": 64}
        | {"window": 4, "score_dim": 12, "score_cap": 4.0, "logit_cap": 2.5},
    ),
    "mixtral_tiny_e4k2": (
        "mixtral-8x7b",
        {"batch": 2, "length": 12, "vocab": 128, "d_model": 48, "layers": 2, "heads": 4, "kv_heads": 2, "d_expert": 64}
        | {"experts": 4},
    ),
    "qwen2moe_e4k2": (
        "qwen1.5-moe-a2.7b",
        {"length": 9, "vocab": 60, "d_model": 32, "layers": 2, "heads": 4, "kv_heads": 2, "rope_theta": 1e4}
        | {"experts": 4, "experts_per_token": 2, "normalize": True, "d_expert": 20, "d_shared": 28},
    ),
    "gptneox_l1_d40": (
        "pythia-1b",
        {"length": 11, "vocab": 90, "d_model": 40, "layers": 1, "heads": 2, "d_ff": 80, "rotary_dim": 10},
    ),
    "deepseekv3_mla_mini": (
        "deepseek-v3",
        {"length": 9, "vocab": 60, "d_model": 32, "layers": 2, "dense_layers": 1, "d_ff": 48, "heads": 2}
        | {"q_rank": None, "kv_rank": 12, "nope_dim": 8, "rope_dim": 4, "v_dim": 8, "rope_scaling": None, "scale": None}
        | {"experts": 4, "experts_per_token": 2, "d_expert": 16, "shared_experts": 2}
        | {
            "router": {
                "top_k_router": {
                    "scoring": "sigmoid",
                    "correction_bias": True,
                    "groups": 2,
                    "group_score": "top2_sum",
                    "normalize": True,
                    "eps": 1e-20,
                    "scale": 2.5,
                }
            }
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_forward_pass_equals_transformers(case: str) -> None:
    spec, settings = CASES[case]
    check_case(case, spec, settings)


#: Number of keys that a query attends to in each layer; None for all preceding ones.
WINDOWS: dict[str, list[int | None]] = {
    "llama-2-7b": [None] * 32,
    "mistral-7b": [4096] * 32,
    "gemma-2-2b": [4096, None] * 13,
    "gemma-3-1b": [512, 512, 512, 512, 512, None] * 4 + [512, 512],
    "phi-3-mini": [2047] * 32,
}


@pytest.mark.parametrize("spec", WINDOWS)
@pytest.mark.parametrize("length", [128, 6000])
def test_sparse_attention_skips_masked_pairs(spec: str, length: int) -> None:
    """torch counts the full rectangle of scores; ``sparse`` counts the pairs that mask and window leave."""
    full, sparse = (built(spec, length=length, sparse=sparse) for sparse in (False, True))
    settings = full.vars
    pair = 4 * settings["heads"] * settings.get("head_dim", settings["d_model"] // settings["heads"])
    hidden = sum(
        length**2 - sum(min(query + 1, window or length) for query in range(length)) for window in WINDOWS[spec]
    )
    assert torch_total(full)[1] - torch_total(sparse)[1] == pair * hidden


@pytest.mark.parametrize("spec", WINDOWS)
def test_predictions_hold_for_sparse_attention(spec: str) -> None:
    settings = next(family["small"][spec] for family in FAMILIES.values() if spec in family["small"])
    report = verify(built(spec, **settings, sparse=True))
    assert report.ok, report.failures


def test_fused_projections_are_mistrals_concatenated() -> None:
    """Phi-3 stores queries, keys and values in one tensor, and gate and up in another, in this order."""
    sizes = {"length": 9, "vocab": 50, "d_model": 32, "heads": 4, "kv_heads": 2, "d_ff": 24, "layers": 2, "window": 4}
    apart, fused = built("mistral-7b", **sizes, head_dim=8), built("phi-3-mini", **sizes)
    rng = np.random.default_rng(0)
    given = {p.path: rng.normal(size=p.param.shape).astype(np.float32) / 6 for p in parameters(apart)}
    joined = dict(given)
    for layer in ("model.layers.0.", "model.layers.1."):
        for whole, parts in {
            "self_attn.qkv_proj": [f"self_attn.{part}_proj" for part in "qkv"],
            "mlp.gate_up_proj": ["mlp.gate_proj", "mlp.up_proj"],
        }.items():
            joined[f"{layer}{whole}.weight"] = np.concatenate([joined.pop(f"{layer}{part}.weight") for part in parts])
    ids = {"input_ids": rng.integers(0, 50, (1, 9))}
    one, other = (forward(net, ids, weights=w).outputs["logits"] for net, w in ((apart, given), (fused, joined)))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(one).max())


@pytest.mark.parametrize(("spec", "few"), [("llama-3.1-405b", 1), ("deepseek-v3", 4)])
def test_large_models_are_analyzed_as_fast_as_small_ones(spec: str, few: int) -> None:
    found, short = (Analysis(built(spec, **settings), CONVENTIONS["torch"]) for settings in ({}, {"layers": few}))
    assert len(list(found.leaves())) == len(list(short.leaves()))


def test_deepseek_publishes_active_parameters_without_the_embedding() -> None:
    for spec, places in (("deepseek-v3", 0), ("deepseek-v2-lite", 2)):
        program = built(spec)
        active = Analysis(program, CONVENTIONS["torch"]).total.params_active
        embedding = program.vars["vocab"] * program.vars["d_model"]
        stated = load_document(spec).document.published[1]
        assert f"{(int(active) - embedding) / 1e9:.{places}f} B" in (
            str(stated.value),
            *str(stated.note).split(" without"),
        )


def test_gemma_publishes_128_further_embedding_rows() -> None:
    for spec in ("gemma-2b", "gemma-7b", "gemma-2-2b"):
        (published,) = load_document(spec).document.published
        params, _ = torch_total(built(spec, vocab=256_128))
        assert published.agrees(params), spec
