"""Random configurations of Gemma 3n and 4: figures are those of transformers."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.oracle.huggingface import decoder_test
from tests.oracle.test_huggingface_moe import Fields, common, layer_types

ROPE = st.sampled_from(
    [
        {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 500.0},
        {"rope_type": "proportional", "rope_theta": 500.0, "factor": 2.0},
        {"rope_type": "default", "rope_theta": 500.0},
        {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0},
    ]
)


def shared_layers(draw: st.DrawFn, types: list[str]) -> int:
    """Return a number of last layers each of which has an earlier layer of its type that is not among them."""
    return draw(st.sampled_from([n for n in range(len(types)) if set(types) == set(types[: len(types) - n])]))


@st.composite
def gemma4(draw: st.DrawFn) -> Fields:
    fields = common(draw, activation="hidden_activation", divided=False)
    layers, heads = fields["num_hidden_layers"], fields["num_attention_heads"]
    types = layer_types(draw, layers)
    stated = [*(types or ["sliding_attention"] * 5)[: layers - 1], "full_attention"]
    bidirectional = draw(st.sampled_from([None, "vision", "all"]))
    merged = draw(st.booleans())
    experts = draw(st.integers(1, 4))
    mixture = {"num_experts": experts, "top_k_experts": draw(st.integers(1, experts))}
    mixture |= {"enable_moe_block": True, "moe_intermediate_size": draw(st.integers(1, 20))}
    rope, shared = draw(st.none() | ROPE), shared_layers(draw, stated)
    return (
        fields
        | {
            "head_dim": 2 * draw(st.integers(1, 4)),
            "global_head_dim": 2 * draw(st.integers(1, 4)),
            "attention_k_eq_v": merged,
            "num_global_key_value_heads": draw(st.sampled_from([None, 1, heads])) if merged else None,
            "attention_bias": draw(st.booleans()),
            "sliding_window": draw(st.integers(1, 9)),
            "layer_types": types,
            "num_kv_shared_layers": shared,
            "use_double_wide_mlp": draw(st.booleans()),
            "vocab_size_per_layer_input": draw(st.integers(8, 40)),
            # transformers slices the inputs of layers, which there have to be, where layers share keys and values
            "hidden_size_per_layer_input": draw(st.integers(1 if shared else 0, 4)),
            "final_logit_softcapping": draw(st.none() | st.just(5.0)),
            "use_bidirectional_attention": bidirectional,
            "rope_parameters": rope
            and {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}},
        }
        | (mixture if draw(st.booleans()) else {})
    )


@st.composite
def gemma3n(draw: st.DrawFn) -> Fields:
    fields = common(draw, activation="hidden_activation")
    layers, streams = fields["num_hidden_layers"], draw(st.integers(1, 4))
    types = layer_types(draw, layers)
    stated = types or [*["sliding_attention"] * 4, "full_attention"][:layers]
    sizes = st.integers(1, 20)
    shares = st.lists(st.sampled_from([0.0, 0.5, 0.95]), min_size=layers, max_size=layers)
    rope = draw(st.none() | ROPE)
    return fields | {
        "intermediate_size": draw(sizes | st.lists(sizes, min_size=layers, max_size=layers)),
        "head_dim": 2 * draw(st.integers(1, 4)),
        "attention_bias": draw(st.booleans()),
        "sliding_window": draw(st.integers(1, 9)),
        "layer_types": types,
        "num_kv_shared_layers": shared_layers(draw, stated),
        "vocab_size_per_layer_input": draw(st.integers(8, 40)),
        "hidden_size_per_layer_input": draw(st.integers(1, 4)),
        "final_logit_softcapping": draw(st.sampled_from([5.0, 30.0])),
        "altup_num_inputs": streams,
        "altup_active_idx": draw(st.integers(0, streams - 1)),
        "altup_correct_scale": draw(st.booleans()),
        "laurel_rank": draw(st.integers(1, 5)),
        "activation_sparsity_pattern": draw(st.none() | shares),
        "rope_parameters": rope
        and {"full_attention": rope, "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}},
    }


#: Base of the names of architectures, the ends of the names, and fields.
CASES = [
    ("Gemma4", ["ForCausalLM", "TextModel"], gemma4()),
    ("Gemma3n", ["ForCausalLM", "TextModel"], gemma3n()),
]


test_figures_of_random_configurations = decoder_test(CASES)
