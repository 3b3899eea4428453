"""Random configurations of dense decoders: figures are those of transformers."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.oracle.huggingface import decoder_test
from tests.oracle.test_huggingface_moe import Fields, common, layer_types

ROPE = st.sampled_from(
    [
        None,
        {"rope_type": "default", "rope_theta": 500.0},
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "attention_factor": 1.1},
        {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    ]
)

#: The same for each type of layer; scaling is known of layers without a window alone.
ROPE_BY_TYPE = st.builds(
    lambda full, local: full and {"full_attention": full, "sliding_attention": local},
    ROPE,
    st.sampled_from([None, {"rope_type": "default", "rope_theta": 50.0}]),
)


def dense(draw: st.DrawFn, *, divided: bool = True) -> Fields:
    """Return the fields that all these decoders have."""
    return common(draw, divided=divided) | {"rope_parameters": draw(ROPE), "attention_dropout": 0.1}


def head_dim(draw: st.DrawFn) -> Fields:
    """Return the features of a head, which many classes read and few name among their fields."""
    return {"head_dim": size} if (size := draw(st.none() | st.sampled_from([2, 6]))) else {}


@st.composite
def smollm3(draw: st.DrawFn) -> Fields:
    fields = dense(draw) | head_dim(draw)
    layers = fields["num_hidden_layers"]
    rotary = st.lists(st.integers(0, 1), min_size=layers, max_size=layers + 1)
    types = layer_types(draw, layers)
    windowed = draw(st.booleans())
    return fields | {
        "use_sliding_window": windowed,
        "sliding_window": draw(st.integers(1, 9)) if windowed or types else None,
        "no_rope_layers": draw(st.none() | rotary),
        "no_rope_layer_interval": draw(st.integers(1, 3)),
        "layer_types": types,
        "attention_bias": draw(st.booleans()),
        "mlp_bias": draw(st.booleans()),
    }


@st.composite
def olmo(draw: st.DrawFn) -> Fields:
    more = {"attention_bias": draw(st.booleans()), "clip_qkv": draw(st.none() | st.just(0.5))}
    return dense(draw) | head_dim(draw) | more


@st.composite
def olmo3(draw: st.DrawFn) -> Fields:
    fields = dense(draw) | head_dim(draw)
    layers = fields["num_hidden_layers"]
    more = {"attention_bias": draw(st.booleans()), "sliding_window": draw(st.integers(1, 9))}
    return fields | more | {"layer_types": layer_types(draw, layers), "rope_parameters": draw(ROPE_BY_TYPE)}


@st.composite
def exaone4(draw: st.DrawFn) -> Fields:
    fields = dense(draw) | head_dim(draw)
    layers = fields["num_hidden_layers"]
    types = layer_types(draw, layers) if draw(st.booleans()) else ["full_attention"] * layers
    if types == ["full_attention"] * layers:
        return fields | {"sliding_window": draw(st.none() | st.integers(1, 9)), "layer_types": types}
    pattern = draw(st.integers(1, 4)) if types is None else draw(st.sampled_from([4, "LLLG"]))
    more = {"sliding_window": draw(st.integers(1, 9)), "sliding_window_pattern": pattern}
    return fields | more | {"layer_types": types}


@st.composite
def seed_oss(draw: st.DrawFn) -> Fields:
    biases = {name: draw(st.booleans()) for name in ("attention_bias", "attention_out_bias", "mlp_bias")}
    more = {"head_dim": 2 * draw(st.integers(1, 4)), "residual_dropout": 0.2}
    return dense(draw, divided=False) | biases | more


@st.composite
def ernie4_5(draw: st.DrawFn) -> Fields:
    fields = dense(draw, divided=False) | {"head_dim": 2 * draw(st.integers(1, 4)), "use_bias": draw(st.booleans())}
    del fields["attention_dropout"]
    return fields


@st.composite
def nemotron(draw: st.DrawFn) -> Fields:
    # a scaling leaves the share of an odd number of features to one that lacks a frequency
    size, share = draw(st.sampled_from([(4, 0.5), (8, 0.5), (8, 1.0), (8, 0.25)]))
    rope = {"rope_type": "default"} | (draw(ROPE) or {}) | {"partial_rotary_factor": share}
    more = {"attention_bias": draw(st.booleans()), "mlp_bias": draw(st.booleans()), "head_dim": size}
    return dense(draw, divided=False) | more | {"rope_parameters": rope}


@st.composite
def cohere(draw: st.DrawFn) -> Fields:
    more = {"attention_bias": draw(st.booleans()), "use_qk_norm": draw(st.booleans()), "logit_scale": 0.5}
    return dense(draw) | head_dim(draw) | more


@st.composite
def hunyuan_dense(draw: st.DrawFn) -> Fields:
    size = 2 * draw(st.integers(2, 4))
    alpha = {"rope_type": "dynamic", "alpha": 50.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0}
    rope = draw(ROPE | st.just(alpha))
    more = {"head_dim": size, "attention_bias": draw(st.booleans()), "rope_parameters": rope}
    return dense(draw, divided=False) | more


@st.composite
def helium(draw: st.DrawFn) -> Fields:
    fields = dense(draw)
    more = {"attention_bias": draw(st.booleans()), "mlp_bias": draw(st.booleans())}
    return fields | more | {"head_dim": fields["hidden_size"] // fields["num_attention_heads"]}


@st.composite
def arcee(draw: st.DrawFn) -> Fields:
    more = {"attention_bias": draw(st.booleans()), "mlp_bias": draw(st.booleans())}
    return dense(draw) | head_dim(draw) | more


@st.composite
def glm(draw: st.DrawFn) -> Fields:
    size, share = draw(st.sampled_from([(4, 0.5), (8, 0.5), (8, 1.0), (8, 0.25)]))
    rope = {"rope_type": "default"} | (draw(ROPE) or {}) | {"partial_rotary_factor": share}
    more = {"attention_bias": draw(st.booleans()), "head_dim": size, "rope_parameters": rope}
    return dense(draw, divided=False) | more


@st.composite
def ministral3(draw: st.DrawFn) -> Fields:
    rope = draw(ROPE)
    if rope is not None:
        rope = rope | {"llama_4_scaling_beta": 0.2, "original_max_position_embeddings": draw(st.integers(1, 8))}
    more = {"sliding_window": draw(st.none() | st.integers(1, 9)), "head_dim": 2 * draw(st.integers(1, 4))}
    return dense(draw, divided=False) | more | {"rope_parameters": rope}


@st.composite
def apertus(draw: st.DrawFn) -> Fields:
    more = {"attention_bias": draw(st.booleans()), "hidden_act": draw(st.sampled_from(["xielu", "relu2", "silu"]))}
    return dense(draw) | head_dim(draw) | more


SEQUENCE, TOKEN, ANSWER = "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"
HEADS = ["Model", "ForCausalLM", SEQUENCE, TOKEN, ANSWER]
#: Base of the names of architectures, the ends of the names, and fields.
CASES = [
    ("SmolLM3", HEADS, smollm3()),
    ("Olmo", HEADS[:3], olmo()),
    ("Olmo3", HEADS[:3], olmo3()),
    ("Exaone4", HEADS, exaone4()),
    ("SeedOss", HEADS, seed_oss()),
    ("Ernie4_5", HEADS[:2], ernie4_5()),
    ("Nemotron", HEADS, nemotron()),
    ("Cohere", HEADS[:2], cohere()),
    ("HunYuanDenseV1", HEADS[:3], hunyuan_dense()),
    ("Helium", HEADS[:4], helium()),
    ("Arcee", HEADS, arcee()),
    ("Glm", HEADS[:4], glm()),
    ("Ministral3", HEADS, ministral3()),
    ("Apertus", [*HEADS[:2], TOKEN], apertus()),
]


test_figures_of_random_configurations = decoder_test(CASES)
