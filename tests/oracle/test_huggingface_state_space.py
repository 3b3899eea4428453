"""Random configurations of state-space models and their hybrids: figures are those of transformers' eager form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees

torch = pytest.importorskip("torch")

Fields = dict[str, Any]
ACTIVATIONS = ["silu", "gelu", "gelu_pytorch_tanh", "relu"]


@st.composite
def mamba2(draw: st.DrawFn) -> Fields:
    """Return fields of Mamba-2; products over a single state or position are not counted as matrix products."""
    groups, size, expand = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    heads = groups * expand * draw(st.integers(1, 3))
    low = draw(st.sampled_from([0.0, 0.01]))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * size // expand,
        "num_heads": heads,
        "head_dim": size,
        "expand": expand,
        "n_groups": groups,
        "state_size": draw(st.integers(2, 9)),
        "num_hidden_layers": draw(st.integers(1, 4)),
        "conv_kernel": draw(st.integers(1, 4)),
        "chunk_size": draw(st.integers(2, 9)),
        "use_bias": draw(st.booleans()),
        "use_conv_bias": draw(st.booleans()),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "time_step_limit": (low, draw(st.sampled_from([float("inf"), 0.1]))),
        "tie_word_embeddings": draw(st.booleans()),
    }


def hybrid(draw: st.DrawFn) -> Fields:
    """Return the fields that hybrids with attention have."""
    kv_heads, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    heads = kv_heads * groups
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * 4 * draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(1, 20)),
        "num_hidden_layers": draw(st.integers(1, 6)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "mamba_d_state": draw(st.integers(2, 9)),
        "mamba_d_conv": draw(st.integers(1, 4)),
        "mamba_expand": draw(st.integers(1, 2)),
        "mamba_conv_bias": draw(st.booleans()),
        "mamba_proj_bias": draw(st.booleans()),
        "tie_word_embeddings": draw(st.booleans()),
    }


@st.composite
def jamba(draw: st.DrawFn) -> Fields:
    experts, attention, sparse = (draw(st.integers(1, 4)) for _ in range(3))
    return hybrid(draw) | {
        "num_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "attn_layer_period": attention,
        "attn_layer_offset": draw(st.integers(0, attention - 1)),
        "expert_layer_period": sparse,
        "expert_layer_offset": draw(st.integers(0, sparse - 1)),
        "mamba_dt_rank": draw(st.just("auto") | st.integers(2, 9)),
    }


@st.composite
def bamba(draw: st.DrawFn) -> Fields:
    fields = hybrid(draw)
    heads = draw(st.sampled_from([2, 4]))
    return fields | {
        "attn_layer_indices": draw(st.none() | st.lists(st.integers(0, 5), max_size=3)),
        "mamba_n_heads": heads,
        "mamba_d_head": draw(st.sampled_from(["auto", fields["mamba_expand"] * fields["hidden_size"] // heads])),
        "mamba_n_groups": draw(st.integers(1, 2)),
        "mamba_chunk_size": draw(st.integers(2, 9)),
        "attention_bias": draw(st.booleans()),
        "mlp_bias": draw(st.booleans()),
    }


@st.composite
def granitemoehybrid(draw: st.DrawFn) -> Fields:
    fields = hybrid(draw)
    heads, experts = draw(st.sampled_from([2, 4])), draw(st.integers(0, 4))
    layers = fields["num_hidden_layers"]
    kinds = st.sampled_from(["linear_attention", "mamba", "full_attention", "attention"])
    return fields | {
        "layer_types": draw(st.none() | st.lists(kinds, min_size=layers, max_size=layers)),
        "mamba_n_heads": heads,
        "mamba_d_head": draw(st.sampled_from(["auto", fields["mamba_expand"] * fields["hidden_size"] // heads])),
        "mamba_n_groups": draw(st.integers(1, 2)),
        "mamba_chunk_size": draw(st.integers(2, 9)),
        "time_step_limit": draw(st.sampled_from([(0.0, float("inf")), (0.01, 0.1)])),
        "attention_bias": draw(st.booleans()),
        "num_local_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, max(experts, 1))),
        "shared_intermediate_size": draw(st.integers(1, 20)),
        "position_embedding_type": draw(st.sampled_from([None, "rope", "nope"])),
    }


def lfm2_sizes(draw: st.DrawFn) -> Fields:
    """Return the fields that both kinds of LFM2 have."""
    kv_heads, groups, layers = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    heads = kv_heads * groups
    kinds = st.sampled_from(["conv", "full_attention"])
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * 2 * draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(2, 30)),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "tie_word_embeddings": draw(st.booleans()),
        "conv_bias": draw(st.booleans()),
        "conv_L_cache": draw(st.integers(1, 4)),
        "layer_types": draw(st.lists(kinds, min_size=layers, max_size=layers)),
    }


@st.composite
def lfm2(draw: st.DrawFn) -> Fields:
    fields = lfm2_sizes(draw)
    if draw(st.booleans()):
        fields |= {"layer_types": None, "full_attn_idxs": draw(st.none() | st.lists(st.integers(0, 4), max_size=3))}
    return fields | {
        "block_auto_adjust_ff_dim": draw(st.booleans()),
        "block_ffn_dim_multiplier": draw(st.sampled_from([1.0, 1.5])),
        "block_multiple_of": draw(st.integers(1, 8)),
    }


@st.composite
def lfm2_moe(draw: st.DrawFn) -> Fields:
    experts = draw(st.integers(1, 5))
    return lfm2_sizes(draw) | {
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "num_dense_layers": draw(st.integers(0, 3)),
        "num_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "use_expert_bias": draw(st.booleans()),
        "norm_topk_prob": draw(st.booleans()),
    }


@st.composite
def qwen3_5(draw: st.DrawFn) -> Fields:
    """Return fields of Qwen3.5, which Qwen3-Next has too, without mixtures of experts."""
    fields = draw(qwen3_next())
    names = "decoder_sparse_step moe_intermediate_size shared_expert_intermediate_size num_experts num_experts_per_tok"
    left_out = {*names.split(), "norm_topk_prob", "mlp_only_layers"}
    if fields["layer_types"] is None:
        fields["full_attention_interval"] = draw(st.integers(1, 3))
    return {name: value for name, value in fields.items() if name not in left_out}


@st.composite
def qwen3_5_moe(draw: st.DrawFn) -> Fields:
    fields, experts = draw(qwen3_5()), draw(st.integers(1, 4))
    return {name: value for name, value in fields.items() if name != "intermediate_size"} | {
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "shared_expert_intermediate_size": draw(st.integers(1, 20)),
        "num_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
    }


@st.composite
def rwkv(draw: st.DrawFn) -> Fields:
    """Return fields of RWKV, whose weights cannot be drawn for one layer or one feature."""
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": draw(st.integers(2, 20)),
        "num_hidden_layers": draw(st.integers(2, 5)),
        "attention_hidden_size": draw(st.none() | st.integers(2, 20)),
        "intermediate_size": draw(st.none() | st.integers(1, 20)),
        "rescale_every": draw(st.integers(0, 3)),
    }


@st.composite
def qwen3_next(draw: st.DrawFn) -> Fields:
    kv_heads, key_heads, experts, layers = (draw(st.integers(1, 3)) for _ in range(4))
    types = st.sampled_from(["full_attention", "linear_attention"])
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": draw(st.integers(1, 20)),
        "intermediate_size": draw(st.integers(1, 20)),
        "num_hidden_layers": layers,
        "num_attention_heads": kv_heads * draw(st.integers(1, 3)),
        "num_key_value_heads": kv_heads,
        "head_dim": 8 * draw(st.integers(1, 2)),
        "hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "tie_word_embeddings": draw(st.booleans()),
        "attention_bias": draw(st.booleans()),
        "linear_conv_kernel_dim": draw(st.integers(1, 4)),
        "linear_key_head_dim": draw(st.integers(1, 5)),
        "linear_value_head_dim": draw(st.integers(1, 5)),
        "linear_num_key_heads": key_heads,
        "linear_num_value_heads": key_heads * draw(st.integers(1, 3)),
        "decoder_sparse_step": draw(st.integers(1, 2)),
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "shared_expert_intermediate_size": draw(st.integers(1, 20)),
        "num_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "norm_topk_prob": draw(st.booleans()),
        "mlp_only_layers": draw(st.none() | st.lists(st.integers(0, 2), max_size=2)),
        "layer_types": draw(st.none() | st.lists(types, min_size=layers, max_size=layers)),
    }


@st.composite
def nemotron_h(draw: st.DrawFn) -> Fields:
    kv_heads, groups, expert_groups = (draw(st.integers(1, 3)) for _ in range(3))
    experts = expert_groups * draw(st.integers(2, 3))
    top_groups = draw(st.integers(1, expert_groups))
    types = st.sampled_from(["linear_attention", "mamba", "full_attention", "mlp", "moe"])
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": draw(st.integers(1, 20)),
        "layers_block_type": draw(st.none() | st.lists(types, min_size=1, max_size=6)),
        "num_attention_heads": kv_heads * draw(st.integers(1, 3)),
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.integers(2, 6)),
        "intermediate_size": draw(st.integers(1, 20)),
        "mlp_hidden_act": draw(st.sampled_from(["relu2", *ACTIVATIONS])),
        "mlp_bias": draw(st.booleans()),
        "ssm_state_size": draw(st.integers(2, 9)),
        "mamba_num_heads": groups * draw(st.integers(1, 3)),
        "mamba_head_dim": draw(st.integers(1, 5)),
        "mamba_hidden_act": draw(st.sampled_from(ACTIVATIONS)),
        "n_groups": groups,
        "conv_kernel": draw(st.integers(1, 4)),
        "use_conv_bias": draw(st.booleans()),
        "chunk_size": draw(st.integers(2, 9)),
        "n_routed_experts": experts,
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "moe_shared_expert_intermediate_size": draw(st.integers(1, 20)),
        "moe_latent_size": draw(st.none() | st.integers(1, 9)),
        "num_experts_per_tok": draw(st.integers(1, experts // expert_groups * top_groups)),
        "n_group": expert_groups,
        "topk_group": top_groups,
        "norm_topk_prob": draw(st.booleans()),
        "use_bias": draw(st.booleans()),
        "tie_word_embeddings": draw(st.booleans()),
    }


HEADS = ["ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"]
#: Base of the names of architectures, the ends of the names, and fields.
CASES = [
    ("Mamba2", ["Model", "ForCausalLM"], mamba2()),
    ("Jamba", ["Model", "ForCausalLM", "ForSequenceClassification"], jamba()),
    ("Bamba", ["Model", "ForCausalLM"], bamba()),
    ("GraniteMoeHybrid", ["Model", "ForCausalLM"], granitemoehybrid()),
    ("Lfm2", ["Model", "ForCausalLM"], lfm2()),
    ("Lfm2Moe", ["Model", "ForCausalLM"], lfm2_moe()),
    ("Qwen3_5", ["TextModel", "ForCausalLM", "TextForSequenceClassification"], qwen3_5()),
    ("Qwen3_5Moe", ["TextModel", "ForCausalLM"], qwen3_5_moe()),
    ("Rwkv", ["Model", "ForCausalLM"], rwkv()),
    ("NemotronH", ["Model", "ForCausalLM"], nemotron_h()),
    ("Qwen3Next", ["Model", "ForCausalLM", *HEADS], qwen3_next()),
]


@pytest.mark.parametrize(("base", "ends", "strategy"), CASES, ids=[base for base, *_ in CASES])
@draws
@given(data=st.data(), batch=st.integers(1, 2), length=st.integers(1, 13))
def test_figures_of_random_configurations(
    base: str, ends: list[str], strategy: st.SearchStrategy[Fields], data: st.DataObject, batch: int, length: int
) -> None:
    """The models run on the CPU and without a cache: it would pad short inputs, and without it masks need values."""
    end = data.draw(st.sampled_from(ends))
    labels = {"num_labels": data.draw(st.integers(2, 4)), "pad_token_id": data.draw(st.integers(0, 7))}
    inputs = {"input_ids": torch.zeros((batch, length), dtype=torch.int64), "use_cache": False}
    assert_agrees(base + end, labels | data.draw(strategy), inputs, {"batch": batch, "length": length}, device="cpu")
