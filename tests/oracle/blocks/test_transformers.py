"""Blocks of transformer networks against modules of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arrays import normal
from tests.oracle.blocks.harness import agree
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from transformers import GPT2Config, OpenAIGPTConfig, ViTConfig  # noqa: E402
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek2  # noqa: E402
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek3  # noqa: E402
from transformers.models.gemma2 import modeling_gemma2 as gemma2  # noqa: E402
from transformers.models.gpt2 import modeling_gpt2 as gpt2  # noqa: E402
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss  # noqa: E402
from transformers.models.llama import modeling_llama as llama  # noqa: E402
from transformers.models.mixtral import modeling_mixtral as mixtral  # noqa: E402
from transformers.models.olmo2 import modeling_olmo2 as olmo2  # noqa: E402
from transformers.models.openai import modeling_openai as gpt  # noqa: E402
from transformers.models.phi3 import modeling_phi3 as phi3  # noqa: E402
from transformers.models.qwen2_moe import modeling_qwen2_moe as qwen2_moe  # noqa: E402
from transformers.models.qwen3 import modeling_qwen3 as qwen3  # noqa: E402
from transformers.models.vit import modeling_vit as vit  # noqa: E402

from tests.oracle.blocks.swin import ShiftedWindowAttention  # noqa: E402

POSITIONS = np.array([[0, 2, 3, 4, 7, 8, 11], [1, 2, 3, 5, 6, 9, 10]])


def hidden(mask: np.ndarray) -> Any:
    """Return the additive mask of transformers, (batch, heads, queries, keys), of a boolean mask."""
    return torch.where(torch.from_numpy(mask), 0.0, torch.finfo(torch.float32).min)[None, None]


def causal(length: int, window: int | None = None) -> np.ndarray:
    back = np.arange(length)[:, None] - np.arange(length)[None]
    return (back >= 0) & (back < (window or length))


def eager(config: Any) -> Any:
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    return config


def rotary_caller(rotary: Any, mask: Any) -> Any:
    """Return a function of (x, positions) that calls an attention module or a decoder layer."""

    def run_with(module: Any) -> Any:
        def run(x: Any, *rest: Any) -> Any:
            table = rotary(x, rest[-1])
            result = module(x, position_embeddings=table, attention_mask=mask)
            return result[0] if isinstance(result, tuple) else result

        return run

    return run_with


@pytest.mark.parametrize(("act", "ours"), [("silu", "silu"), ("gelu_pytorch_tanh", {"gelu": {"approximate": "tanh"}})])
@pytest.mark.parametrize("bias", [False, True])
def test_gated_feed_forward(act: str, ours: Any, bias: bool) -> None:
    config = llama.LlamaConfig(
        hidden_size=12, num_attention_heads=2, intermediate_size=20, hidden_act=act, mlp_bias=bias
    )
    args = {"hidden": 20, "activation": ours, "bias": bias}
    agree("gated_feed_forward", args, llama.LlamaMLP(config), normal(2, 5, 12))


def test_fused_gated_feed_forward() -> None:
    config = phi3.Phi3Config(hidden_size=12, num_attention_heads=2, intermediate_size=20, pad_token_id=0)
    agree("gated_feed_forward", {"hidden": 20, "fused": True}, phi3.Phi3MLP(config), normal(2, 5, 12))


@given(
    heads=st.sampled_from([(4, 4), (4, 2), (6, 3), (4, 1)]),
    head_dim=st.sampled_from([4, 6]),
    theta=st.sampled_from([100.0, 10_000.0]),
    bias=st.booleans(),
)
@draws
def test_grouped_query_attention(heads: tuple[int, int], head_dim: int, theta: float, bias: bool) -> None:
    config = eager(
        llama.LlamaConfig(
            hidden_size=24,
            num_attention_heads=heads[0],
            num_key_value_heads=heads[1],
            head_dim=head_dim,
            attention_bias=bias,
            rope_parameters={"rope_type": "default", "rope_theta": theta},
        )
    )
    module = llama.LlamaAttention(config, 0)
    args = {"heads": heads[0], "kv_heads": heads[1], "head_dim": head_dim, "bias": bias, "out_bias": bias}
    args["rope"] = {"rotary_embedding": {"theta": theta}}
    run = rotary_caller(llama.LlamaRotaryEmbedding(config), hidden(causal(7)))(module)
    agree("grouped_query_attention", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


def test_normalized_queries_and_keys() -> None:
    config = eager(
        qwen3.Qwen3Config(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=1e-6)
    )
    module = qwen3.Qwen3Attention(config, 0)
    args = {"heads": 4, "kv_heads": 2, "qk_norm": {"rms_norm": {"eps": 1e-6}}}
    run = rotary_caller(qwen3.Qwen3RotaryEmbedding(config), hidden(causal(7)))(module)
    agree("grouped_query_attention", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


def test_queries_and_keys_normalized_over_all_heads() -> None:
    config = eager(olmo2.Olmo2Config(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6))
    module = olmo2.Olmo2Attention(config, 0)
    args = {"heads": 4, "kv_heads": 2, "qk_norm": {"rms_norm": {"eps": 1e-6}}, "qk_norm_whole": True}
    run = rotary_caller(olmo2.Olmo2RotaryEmbedding(config), hidden(causal(7)))(module)
    agree("grouped_query_attention", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


def test_one_projection_and_a_window() -> None:
    config = eager(phi3.Phi3Config(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0))
    module = phi3.Phi3Attention(config, 0)
    args = {"heads": 4, "kv_heads": 2, "fused": True, "window": 3}
    run = rotary_caller(phi3.Phi3RotaryEmbedding(config), hidden(causal(7, 3)))(module)
    agree("grouped_query_attention", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


def test_sinks() -> None:
    rope = {"rope_type": "default", "rope_theta": 10_000.0}
    config = eager(
        gpt_oss.GptOssConfig(
            hidden_size=24, num_attention_heads=4, num_key_value_heads=2, head_dim=6, rope_parameters=rope
        )
    )
    module = gpt_oss.GptOssAttention(config, 0)
    args = {"heads": 4, "kv_heads": 2, "bias": True, "out_bias": True, "sinks": True}
    run = rotary_caller(gpt_oss.GptOssRotaryEmbedding(config), hidden(causal(7)))(module)
    agree("grouped_query_attention", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


def test_a_mask_in_addition_to_the_causal_one() -> None:
    config = eager(llama.LlamaConfig(hidden_size=24, num_attention_heads=4, num_key_value_heads=4))
    module = llama.LlamaAttention(config, 0)
    mask = np.random.default_rng(0).random((7, 7)) < 0.5
    mask |= np.eye(7, dtype=bool)
    run = rotary_caller(llama.LlamaRotaryEmbedding(config), hidden(mask & causal(7)))(module)
    agree("grouped_query_attention", {"heads": 4}, module, normal(2, 7, 24), mask, None, POSITIONS, call=run)


GEMMA = {"heads": 4, "kv_heads": 2, "head_dim": 6, "scale": 10**-0.5, "softcap": 3.0}


def test_decoder_layer() -> None:
    config = eager(llama.LlamaConfig(hidden_size=24, intermediate_size=30, num_attention_heads=4, rms_norm_eps=1e-5))
    module = llama.LlamaDecoderLayer(config, 0)
    args = {
        "attention": {"grouped_query_attention": {"heads": 4}},
        "mlp": {"gated_feed_forward": {"hidden": 30}},
        "norm": {"rms_norm": {"eps": 1e-5}},
    }
    run = rotary_caller(llama.LlamaRotaryEmbedding(config), hidden(causal(7)))(module)
    agree("decoder_layer", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


def test_norms_on_both_sides() -> None:
    config = eager(
        gemma2.Gemma2Config(
            hidden_size=24,
            intermediate_size=30,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=6,
            num_hidden_layers=2,
            query_pre_attn_scalar=10,
            attn_logit_softcapping=3.0,
            sliding_window=3,
        )
    )
    module = gemma2.Gemma2DecoderLayer(config, 0)
    args = {
        "attention": {"grouped_query_attention": GEMMA | {"window": 3}},
        "mlp": {"gated_feed_forward": {"hidden": 30, "activation": {"gelu": {"approximate": "tanh"}}}},
        "norm": {"rms_norm": {"eps": 1e-6, "offset": 1.0}},
        "norms": "sandwich",
    }
    run = rotary_caller(gemma2.Gemma2RotaryEmbedding(config), hidden(causal(7, 3)))(module)
    agree("decoder_layer", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


class PostNorm(torch.nn.Module):  # type: ignore[name-defined,misc]
    """Llama's attention and MLP with norms in the order of Olmo2DecoderLayer."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.self_attn, self.mlp = llama.LlamaAttention(config, 0), llama.LlamaMLP(config)
        self.post_attention_layernorm = llama.LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_feedforward_layernorm = llama.LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x: Any, **how: Any) -> Any:
        x = x + self.post_attention_layernorm(self.self_attn(x, **how)[0])
        return x + self.post_feedforward_layernorm(self.mlp(x))


def test_norms_after_attention_and_mlp() -> None:
    config = eager(llama.LlamaConfig(hidden_size=24, intermediate_size=30, num_attention_heads=4, rms_norm_eps=1e-6))
    module = PostNorm(config)
    args = {
        "attention": {"grouped_query_attention": {"heads": 4}},
        "mlp": {"gated_feed_forward": {"hidden": 30}},
        "norms": "post",
    }
    run = rotary_caller(llama.LlamaRotaryEmbedding(config), hidden(causal(7)))(module)
    agree("decoder_layer", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


LATENT = {"kv_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5}


@pytest.mark.parametrize("version", ["V2", "V3"])
@pytest.mark.parametrize("rank", [None, 8])
@pytest.mark.parametrize("bias", [False, True])
def test_latent_attention(version: str, rank: int | None, bias: bool) -> None:
    library = deepseek2 if version == "V2" else deepseek3
    config = eager(
        getattr(library, f"Deepseek{version}Config")(
            hidden_size=24,
            num_attention_heads=3,
            num_key_value_heads=3,
            q_lora_rank=rank,
            attention_bias=bias,
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
            **LATENT,
        )
    )
    module = getattr(library, f"Deepseek{version}Attention")(config, 0)
    run = rotary_caller(getattr(library, f"Deepseek{version}RotaryEmbedding")(config), hidden(causal(7)))(module)
    args = {"heads": 3, "q_lora_rank": rank, "bias": bias, **LATENT}
    agree("latent_attention", args, module, normal(2, 7, 24), None, None, POSITIONS, call=run)


MOE = {"hidden_size": 12, "num_attention_heads": 2, "num_key_value_heads": 2, "num_experts_per_tok": 2}


def test_mixture() -> None:
    module = mixtral.MixtralSparseMoeBlock(
        eager(mixtral.MixtralConfig(intermediate_size=10, num_local_experts=5, **MOE))
    )
    args = {"experts": 5, "k": 2, "hidden": 10}
    agree("mixture_of_experts", args, module, normal(2, 7, 12), flops=False)


@pytest.mark.parametrize("normalize", [False, True])
def test_mixture_with_a_weighted_shared_expert(normalize: bool) -> None:
    config = qwen2_moe.Qwen2MoeConfig(
        moe_intermediate_size=10,
        shared_expert_intermediate_size=7,
        num_experts=5,
        norm_topk_prob=normalize,
        **MOE,
    )
    module = qwen2_moe.Qwen2MoeSparseMoeBlock(eager(config))
    args = {
        "experts": 5,
        "k": 2,
        "hidden": 10,
        "router": {"top_k_router": {"normalize": normalize}},
        "shared": {"gated_feed_forward": {"hidden": 7}},
        "shared_gate": True,
    }
    agree("mixture_of_experts", args, module, normal(2, 7, 12), flops=False)


def test_mixture_of_groups_with_shared_experts() -> None:
    config = deepseek3.DeepseekV3Config(
        moe_intermediate_size=10,
        n_shared_experts=2,
        n_routed_experts=8,
        n_group=4,
        topk_group=2,
        routed_scaling_factor=1.5,
        norm_topk_prob=True,
        **MOE,
    )
    router = {"scoring": "sigmoid", "normalize": True, "eps": 1e-20, "scale": 1.5, "correction_bias": True}
    args = {
        "experts": 8,
        "k": 2,
        "hidden": 10,
        "router": {"top_k_router": router | {"groups": 4, "top_groups": 2, "group_score": "top2_sum"}},
        "shared": {"gated_feed_forward": {"hidden": 20}},
    }
    agree("mixture_of_experts", args, deepseek3.DeepseekV3MoE(eager(config)), normal(2, 7, 12), flops=False)


def test_gpt2_layer() -> None:
    module = gpt2.GPT2Block(eager(GPT2Config(n_embd=24, n_head=4, n_inner=50)), 0)
    mask = hidden(causal(7))

    def run(x: Any) -> Any:
        result = module(x, attention_mask=mask)
        return result[0] if isinstance(result, tuple) else result

    agree("gpt_layer", {"heads": 4, "hidden": 50}, module, normal(2, 7, 24), call=run, buffers=False)


def test_gpt_layer() -> None:
    module = gpt.Block(7, OpenAIGPTConfig(n_embd=24, n_head=4, n_positions=7), scale=True)
    args = {"heads": 4, "norm_first": False}
    agree("gpt_layer", args, module, normal(2, 7, 24), call=lambda x: module(x)[0], buffers=False)


def test_patch_embedding() -> None:
    config = ViTConfig(hidden_size=12, num_attention_heads=2, image_size=[16, 24], patch_size=[4, 8])
    agree("patch_embedding", {"features": 12, "patch": [4, 8]}, vit.ViTEmbeddings(config), normal(2, 3, 16, 24))


@given(st.data())
@draws
def test_window_attention(data: Any) -> None:
    window = data.draw(st.lists(st.integers(2, 4), min_size=2, max_size=2))
    shift = [data.draw(st.integers(0, side - 1)) for side in window]
    size = [data.draw(st.integers(2, 9)) for _ in window]
    bias = data.draw(st.booleans())
    module = ShiftedWindowAttention(8, window, shift, 2, bias)
    args = {"heads": 2, "window": window, "shift": shift, "qkv_bias": bias, "proj_bias": bias}
    agree("window_attention", args, module, normal(2, *size, 8))
