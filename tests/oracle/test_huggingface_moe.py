"""Random configurations of Gemma, Qwen, GLM, gpt-oss, Llama 4 and DeepSeek: figures are those of transformers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.oracle.huggingface import decoder_test

Fields = dict[str, Any]
LAYER_TYPES = ["full_attention", "sliding_attention"]
ACTIVATIONS = ["silu", "gelu", "gelu_pytorch_tanh", "relu"]


def common(draw: st.DrawFn, *, activation: str = "hidden_act", divided: bool = True) -> Fields:
    """Return the fields that all these decoders have."""
    kv_heads, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    heads = kv_heads * groups
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * 2 * draw(st.integers(1, 4)) if divided else draw(st.integers(1, 40)),
        "intermediate_size": draw(st.integers(1, 40)),
        "num_hidden_layers": draw(st.integers(1, 5)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        activation: draw(st.sampled_from(ACTIVATIONS)),
        "tie_word_embeddings": draw(st.booleans()),
    }


def layer_types(draw: st.DrawFn, layers: int) -> list[str] | None:
    """Return a type for each layer, in any order."""
    return draw(st.none() | st.lists(st.sampled_from(LAYER_TYPES), min_size=layers, max_size=layers))


def windows(draw: st.DrawFn, layers: int) -> Fields:
    """Return fields of Qwen that say which layers have a sliding window."""
    used = draw(st.booleans())
    fields: Fields = {"use_sliding_window": used, "max_window_layers": draw(st.integers(0, 6))}
    if used:
        fields |= {"sliding_window": draw(st.integers(1, 9)), "layer_types": layer_types(draw, layers)}
    return fields


@st.composite
def gemma(draw: st.DrawFn) -> Fields:
    fields = common(draw, divided=False)
    return fields | {"head_dim": 2 * draw(st.integers(1, 4)), "attention_bias": draw(st.booleans())}


@st.composite
def gemma2(draw: st.DrawFn) -> Fields:
    fields = common(draw, activation="hidden_activation")
    cap = st.none() | st.just(5.0)
    return fields | {
        "head_dim": 2 * draw(st.integers(1, 4)),
        "attention_bias": draw(st.booleans()),
        "query_pre_attn_scalar": draw(st.integers(1, 9)),
        "sliding_window": draw(st.integers(1, 9)),
        "layer_types": layer_types(draw, fields["num_hidden_layers"]),
        "final_logit_softcapping": draw(cap),
        "attn_logit_softcapping": draw(cap),
    }


@st.composite
def gemma3(draw: st.DrawFn) -> Fields:
    fields = draw(gemma2())
    if fields["layer_types"] is None:
        fields["sliding_window_pattern"] = draw(st.integers(1, 4))
    return fields | {"use_bidirectional_attention": draw(st.booleans())}


@st.composite
def qwen2(draw: st.DrawFn) -> Fields:
    fields = common(draw)
    return fields | windows(draw, fields["num_hidden_layers"])


@st.composite
def qwen3(draw: st.DrawFn) -> Fields:
    fields = common(draw, divided=False)
    fields |= windows(draw, fields["num_hidden_layers"])
    return fields | {"head_dim": 2 * draw(st.integers(1, 4)), "attention_bias": draw(st.booleans())}


@st.composite
def qwen2_moe(draw: st.DrawFn) -> Fields:
    fields = draw(qwen2())
    experts = draw(st.integers(0, 5))
    return fields | {
        "num_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, max(experts, 1))),
        "decoder_sparse_step": draw(st.integers(1, 3)),
        "mlp_only_layers": draw(st.none() | st.lists(st.integers(0, 5), max_size=3)),
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "shared_expert_intermediate_size": draw(st.integers(1, 20)),
        "norm_topk_prob": draw(st.booleans()),
        "qkv_bias": draw(st.booleans()),
    }


@st.composite
def qwen3_moe(draw: st.DrawFn) -> Fields:
    fields = draw(qwen2_moe())
    names = ("max_window_layers", "layer_types", "shared_expert_intermediate_size", "qkv_bias")
    fields = {name: value for name, value in fields.items() if name not in names}
    head_dim = draw(st.sampled_from([{}, {"head_dim": 2}, {"head_dim": 6}]))
    return fields | head_dim | {"attention_bias": draw(st.booleans())}


@st.composite
def glm4(draw: st.DrawFn) -> Fields:
    fields = common(draw, divided=False)
    return fields | {"head_dim": 4 * draw(st.integers(1, 3)), "attention_bias": draw(st.booleans())}


@st.composite
def glm4_moe(draw: st.DrawFn) -> Fields:
    fields = draw(glm4())
    groups, each = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    top_groups = draw(st.integers(1, groups))
    return fields | {
        "first_k_dense_replace": draw(st.integers(0, 6)),
        "n_group": groups,
        "topk_group": top_groups,
        "n_routed_experts": groups * each,
        "n_shared_experts": draw(st.integers(1, 3)),
        "num_experts_per_tok": draw(st.integers(1, top_groups * each)),
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "norm_topk_prob": draw(st.booleans()),
        "use_qk_norm": draw(st.booleans()),
    }


@st.composite
def gpt_oss(draw: st.DrawFn) -> Fields:
    fields = common(draw, divided=False)
    experts = draw(st.integers(1, 5))
    return fields | {
        "head_dim": draw(st.sampled_from([2, 6])),
        "num_local_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "sliding_window": draw(st.integers(1, 9)),
        "layer_types": layer_types(draw, fields["num_hidden_layers"]),
        "attention_bias": draw(st.booleans()),
        "swiglu_alpha": draw(st.sampled_from([1.0, 1.702])),
    }


@st.composite
def llama4(draw: st.DrawFn) -> Fields:
    fields = common(draw, divided=False)
    layers, experts = fields["num_hidden_layers"], draw(st.integers(1, 5))
    kinds = st.lists(st.sampled_from(["full_attention", "chunked_attention"]), min_size=layers, max_size=layers)
    places = st.lists(st.integers(0, layers - 1), max_size=3)
    rotary = st.lists(st.integers(0, 1), min_size=layers, max_size=layers)
    return fields | {
        "head_dim": 2 * draw(st.integers(1, 4)),
        "intermediate_size_mlp": draw(st.integers(1, 40)),
        "num_local_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "moe_layers": draw(st.none() | places),
        "interleave_moe_layer_step": draw(st.integers(1, 3)),
        "no_rope_layers": draw(st.none() | rotary),
        "no_rope_layer_interval": draw(st.integers(1, 3)),
        "attention_chunk_size": draw(st.integers(1, 9)),
        "layer_types": draw(st.none() | kinds),
        "floor_scale": draw(st.integers(1, 9)),
        "use_qk_norm": draw(st.booleans()),
        "attn_temperature_tuning": draw(st.booleans()),
        "attention_bias": draw(st.booleans()),
    }


@st.composite
def deepseek_v3(draw: st.DrawFn) -> Fields:
    fields = common(draw)
    groups, each = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    top_groups = draw(st.integers(1, groups))
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "rope_theta": 100.0}
    yarn |= {"mscale": 0.7, "mscale_all_dim": 0.7}
    return fields | {
        "num_key_value_heads": fields["num_attention_heads"],
        "first_k_dense_replace": draw(st.integers(0, 6)),
        "kv_lora_rank": 2 * draw(st.integers(1, 4)),  # torch rotates pairs of features as complex numbers in place
        "q_lora_rank": draw(st.none() | st.integers(1, 9)),
        "n_group": groups,
        "topk_group": top_groups,
        "n_routed_experts": groups * each,
        "n_shared_experts": draw(st.integers(1, 3)),
        "num_experts_per_tok": draw(st.integers(1, top_groups * each)),
        "qk_nope_head_dim": 2 * draw(st.integers(1, 4)),
        "qk_rope_head_dim": 2 * draw(st.integers(1, 4)),
        "v_head_dim": draw(st.integers(1, 9)),
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "attention_bias": draw(st.booleans()),
        "norm_topk_prob": draw(st.booleans()),
        "rope_parameters": draw(st.none() | st.just(yarn)),
    }


@st.composite
def deepseek_v2(draw: st.DrawFn) -> Fields:
    fields = draw(deepseek_v3())
    method = draw(st.sampled_from(["greedy", "group_limited_greedy"]))
    return fields | {"mlp_bias": draw(st.booleans()), "topk_method": method}


@st.composite
def granitemoe(draw: st.DrawFn) -> Fields:
    experts = draw(st.integers(1, 5))
    return common(draw) | {
        "num_local_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        "attention_bias": draw(st.booleans()),
        "embedding_multiplier": draw(st.sampled_from([1.0, 12.0])),
        "residual_multiplier": draw(st.sampled_from([1.0, 0.22])),
        "attention_multiplier": draw(st.sampled_from([1.0, 0.5])),
        "logits_scaling": draw(st.sampled_from([1.0, 6.0])),
    }


@st.composite
def minimax_m2(draw: st.DrawFn) -> Fields:
    experts, head_dim = draw(st.integers(1, 5)), draw(st.sampled_from([4, 8]))
    rotary = draw(st.sampled_from([{}, {"rotary_dim": 2}, {"rope_parameters": {"partial_rotary_factor": 0.5}}]))
    return common(draw, divided=False) | {
        "head_dim": head_dim,
        "num_local_experts": experts,
        "num_experts_per_tok": draw(st.integers(1, experts)),
        **rotary,
    }


@st.composite
def ernie4_5_moe(draw: st.DrawFn) -> Fields:
    experts = draw(st.integers(1, 5))
    return common(draw) | {
        "use_bias": draw(st.booleans()),
        "moe_intermediate_size": draw(st.integers(1, 20)),
        "moe_num_experts": experts,
        "moe_k": draw(st.integers(1, experts)),
        "moe_num_shared_experts": draw(st.integers(0, 2)),
        "moe_layer_start_index": draw(st.integers(0, 3)),
        "moe_layer_end_index": draw(st.integers(-1, 4)),
        "moe_layer_interval": draw(st.integers(1, 2)),
    }


@st.composite
def hunyuan_v1_moe(draw: st.DrawFn) -> Fields:
    fields, experts = common(draw, divided=False), draw(st.integers(1, 5))
    layers, chosen = fields["num_hidden_layers"], st.integers(1, experts)
    scaled = {"rope_type": "dynamic", "rope_theta": 100.0, "alpha": 1000.0, "factor": 1.0}
    return fields | {
        "head_dim": draw(st.sampled_from([4, 6])),
        "attention_bias": draw(st.booleans()),
        "num_experts": experts,
        "moe_topk": draw(chosen | st.lists(chosen, min_size=layers, max_size=layers)),
        "rope_parameters": draw(st.none() | st.just(scaled)),
    }


@st.composite
def deepseek_v32(draw: st.DrawFn) -> Fields:
    fields = draw(deepseek_v3())
    layers = fields["num_hidden_layers"]
    kinds = st.lists(st.sampled_from(["dense", "sparse"]), min_size=layers, max_size=layers)
    return fields | {
        "q_lora_rank": draw(st.integers(1, 9)),
        "mlp_layer_types": draw(st.none() | kinds),
        "mlp_bias": draw(st.booleans()),
        "index_topk": draw(st.integers(1, 9)),
        "index_head_dim": fields["qk_rope_head_dim"] + draw(st.integers(1, 5)),
        "index_n_heads": draw(st.integers(1, 4)),
    }


@st.composite
def glm_moe_dsa(draw: st.DrawFn) -> Fields:
    """Return fields of GLM-5, whose first layer must have an indexer."""
    fields = draw(deepseek_v32())
    layers = fields["num_hidden_layers"]
    rest = st.lists(st.sampled_from(["full", "shared"]), min_size=layers - 1, max_size=layers - 1)
    period = {"index_topk_freq": draw(st.integers(0, 3)), "index_skip_topk_offset": draw(st.integers(1, 3))}
    pattern = "F" + "".join(kind[0].upper() for kind in draw(rest))
    chosen = {"indexer_types": ["full", *draw(rest)]}
    return fields | draw(st.sampled_from([{}, period, chosen, {"index_topk_pattern": pattern}]))


SEQUENCE, TOKEN, ANSWER = "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"
#: Base of the names of architectures, the ends of the names, and fields.
CASES = [
    ("Gemma", ["Model", SEQUENCE, TOKEN], gemma()),
    ("Gemma2", ["Model", SEQUENCE, TOKEN], gemma2()),
    ("Gemma3", [], gemma3()),
    ("Gemma3Text", ["Model", SEQUENCE], gemma3()),
    ("Qwen2", ["Model", SEQUENCE, TOKEN, ANSWER], qwen2()),
    ("Qwen3", ["Model", SEQUENCE, TOKEN, ANSWER], qwen3()),
    ("Qwen2Moe", ["Model", SEQUENCE, TOKEN, ANSWER], qwen2_moe()),
    ("Qwen3Moe", ["Model", SEQUENCE, TOKEN, ANSWER], qwen3_moe()),
    ("Glm4", ["Model", SEQUENCE, TOKEN], glm4()),
    ("Glm4Moe", ["Model"], glm4_moe()),
    ("GptOss", ["Model", SEQUENCE, TOKEN], gpt_oss()),
    ("Llama4", [], llama4()),
    ("Llama4Text", ["Model"], llama4()),
    ("MiniMaxM2", ["Model"], minimax_m2()),
    ("Ernie4_5_Moe", ["Model"], ernie4_5_moe()),
    ("HunYuanMoEV1", ["Model", SEQUENCE], hunyuan_v1_moe()),
    ("DeepseekV32", ["Model"], deepseek_v32()),
    ("GlmMoeDsa", ["Model"], glm_moe_dsa()),
    ("GraniteMoe", ["Model"], granitemoe()),
    ("DeepseekV2", ["Model", SEQUENCE], deepseek_v2()),
    ("DeepseekV3", ["Model", SEQUENCE, TOKEN], deepseek_v3()),
]


test_figures_of_random_configurations = decoder_test(
    (base, ends if base.endswith("Text") else ["ForCausalLM", *ends], strategy) for base, ends, strategy in CASES
)
