"""Random configurations of decoders: figures are those of transformers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import draws
from tests.oracle.huggingface import assert_agrees, ids

Head = tuple[str, dict[str, Any], int, int]


@st.composite
def heads(draw: st.DrawFn, *ends: str) -> Head:
    """Draw the end of an architecture's name, fields of its head, batch and length."""
    fields = {"num_labels": draw(st.integers(2, 4)), "pad_token_id": draw(st.integers(0, 7))}
    return draw(st.sampled_from(ends)), fields, draw(st.integers(1, 2)), draw(st.integers(1, 9))


def check(name: str, fields: dict[str, Any], head: Head) -> None:
    end, more, batch, length = head
    inputs = {"input_ids": ids(batch, length)}
    assert_agrees(name + end, more | fields, inputs, {"batch": batch, "length": length})


ALL = ("Model", "ForCausalLM", "ForSequenceClassification", "ForTokenClassification")
ACTIVATION = st.sampled_from(["silu", "gelu", "gelu_new", "relu"])


@st.composite
def llama(draw: st.DrawFn) -> dict[str, Any]:
    kv_heads, groups = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    heads, head_dim = kv_heads * groups, 2 * draw(st.integers(1, 4))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * head_dim,
        "intermediate_size": draw(st.integers(1, 40)),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "hidden_act": draw(ACTIVATION),
        "tie_word_embeddings": draw(st.booleans()),
    }


def also(
    base: st.SearchStrategy[dict[str, Any]], **fields: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw more fields than those of ``base``."""
    return st.builds(lambda first, second: first | second, base, st.fixed_dictionaries(fields))


HEAD_DIM = st.sampled_from([None, 2, 6])


@st.composite
def gpt(draw: st.DrawFn) -> dict[str, Any]:
    heads = draw(st.integers(1, 3))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "n_positions": draw(st.integers(9, 12)),
        "n_embd": heads * 2 * draw(st.integers(1, 4)),
        "n_layer": draw(st.integers(1, 3)),
        "n_head": heads,
        "tie_word_embeddings": draw(st.booleans()),
    }


@st.composite
def dense(draw: st.DrawFn) -> dict[str, Any]:
    """Draw fields that most decoders without grouped queries have."""
    heads = draw(st.integers(1, 3))
    return {
        "vocab_size": draw(st.integers(8, 40)),
        "hidden_size": heads * 2 * draw(st.integers(1, 4)),
        "num_hidden_layers": draw(st.integers(1, 3)),
        "num_attention_heads": heads,
        "tie_word_embeddings": draw(st.booleans()),
    }


@draws
@given(also(llama(), head_dim=HEAD_DIM, attention_bias=st.booleans(), mlp_bias=st.booleans()), heads(*ALL))
def test_llama(fields: dict[str, Any], head: Head) -> None:
    check("Llama", fields, head)


@draws
@given(also(llama(), head_dim=HEAD_DIM, sliding_window=st.sampled_from([None, 3])), heads(*ALL))
def test_mistral(fields: dict[str, Any], head: Head) -> None:
    check("Mistral", fields, head)


@draws
@given(
    also(llama(), head_dim=HEAD_DIM, num_local_experts=st.integers(2, 4), num_experts_per_tok=st.integers(1, 2)),
    heads(*ALL),
)
def test_mixtral(fields: dict[str, Any], head: Head) -> None:
    check("Mixtral", fields, head)


@draws
@given(also(llama(), sliding_window=st.sampled_from([None, 3])), heads(*ALL))
def test_phi3(fields: dict[str, Any], head: Head) -> None:
    check("Phi3", fields, head)


@draws
@given(
    also(gpt(), n_inner=st.sampled_from([None, 5]), activation_function=ACTIVATION),
    heads("Model", "LMHeadModel", *ALL[2:]),
)
def test_gpt2(fields: dict[str, Any], head: Head) -> None:
    check("GPT2", fields, head)


@draws
@given(also(gpt(), afn=st.sampled_from(["gelu", "relu", "swish"])), heads("Model", "LMHeadModel", ALL[2]))
def test_openai_gpt(fields: dict[str, Any], head: Head) -> None:
    check("OpenAIGPT", fields, head)


@draws
@given(
    also(gpt(), n_inner=st.sampled_from([None, 5]), activation_function=ACTIVATION, rotary_dim=st.just(2)),
    heads(*ALL[:3]),
)
def test_gptj(fields: dict[str, Any], head: Head) -> None:
    check("GPTJ", fields, head)


@draws
@given(
    also(
        dense(),
        intermediate_size=st.integers(1, 40),
        hidden_act=ACTIVATION,
        use_parallel_residual=st.booleans(),
        attention_bias=st.booleans(),
        rotary_pct=st.just(1.0),
    ),
    heads(*ALL),
)
def test_gpt_neox(fields: dict[str, Any], head: Head) -> None:
    check("GPTNeoX", fields, head)


@draws
@given(
    also(
        dense(),
        ffn_dim=st.integers(1, 40),
        word_embed_proj_dim=st.sampled_from([None, 5]),
        do_layer_norm_before=st.booleans(),
        _remove_final_layer_norm=st.booleans(),
        enable_bias=st.booleans(),
        layer_norm_elementwise_affine=st.booleans(),
        activation_function=ACTIVATION,
    ),
    heads(*ALL[:3]),
)
def test_opt(fields: dict[str, Any], head: Head) -> None:
    check("OPT", fields, head)


@draws
@given(dense(), heads(*ALL))
def test_bloom(fields: dict[str, Any], head: Head) -> None:
    check("Bloom", fields, head)


@st.composite
def falcon(draw: st.DrawFn) -> dict[str, Any]:
    fields = draw(dense()) | {
        "ffn_hidden_size": draw(st.sampled_from([None, 5])),
        "bias": draw(st.booleans()),
        "alibi": draw(st.booleans()),
        "activation": draw(ACTIVATION),
        "new_decoder_architecture": draw(st.booleans()),
    }
    if fields["new_decoder_architecture"]:
        groups = draw(st.integers(1, 3))
        heads = fields["num_attention_heads"]
        more = {"num_attention_heads": heads * groups, "hidden_size": fields["hidden_size"] * groups}
        return fields | more | {"num_kv_heads": heads, "num_ln_in_parallel_attn": draw(st.sampled_from([None, 1, 2]))}
    return fields | {"multi_query": draw(st.booleans()), "parallel_attn": draw(st.booleans())}


@draws
@given(falcon(), heads(*ALL))
def test_falcon(fields: dict[str, Any], head: Head) -> None:
    check("Falcon", fields, head)


@draws
@given(
    st.fixed_dictionaries(
        {
            "vocab_size": st.integers(8, 40),
            "hidden_size": st.integers(1, 20),
            "state_size": st.integers(1, 5),
            "num_hidden_layers": st.integers(1, 3),
            "expand": st.integers(1, 3),
            "conv_kernel": st.integers(1, 4),
            "use_cache": st.just(False),  # which would pad sequences that are shorter than the kernel
            "use_bias": st.booleans(),
            "use_conv_bias": st.booleans(),
            "time_step_rank": st.sampled_from(["auto", 3]),
            "tie_word_embeddings": st.booleans(),
        }
    ),
    heads("Model", "ForCausalLM"),
)
def test_mamba(fields: dict[str, Any], head: Head) -> None:
    check("Mamba", fields, head)


NORM_EXPERTS = {
    "norm_topk_prob": st.booleans(),
    "num_experts": st.integers(2, 4),
    "num_experts_per_tok": st.integers(1, 2),
}


@draws
@given(also(llama(), partial_rotary_factor=st.just(1.0), qk_layernorm=st.booleans()), heads(*ALL))
def test_phi(fields: dict[str, Any], head: Head) -> None:
    check("Phi", fields, head)


@draws
@given(
    also(
        llama(),
        partial_rotary_factor=st.just(1.0),
        use_qkv_bias=st.booleans(),
        qk_layernorm=st.booleans(),
        use_parallel_residual=st.booleans(),
    ),
    heads(*ALL),
)
def test_stablelm(fields: dict[str, Any], head: Head) -> None:
    check("StableLm", fields, head)


@draws
@given(also(llama(), use_bias=st.booleans(), sliding_window=st.sampled_from([None, 3])), heads(*ALL))
def test_starcoder2(fields: dict[str, Any], head: Head) -> None:
    check("Starcoder2", fields, head)


@draws
@given(also(llama(), attention_bias=st.booleans()), heads(*ALL[:3]))
def test_olmo2(fields: dict[str, Any], head: Head) -> None:
    check("Olmo2", fields, head)


@draws
@given(also(llama(), attention_bias=st.booleans(), **NORM_EXPERTS), heads(*ALL[:2]))
def test_olmoe(fields: dict[str, Any], head: Head) -> None:
    check("Olmoe", fields, head)


@draws
@given(also(llama(), attention_bias=st.booleans(), mlp_bias=st.booleans()), heads(*ALL[:2]))
def test_granite(fields: dict[str, Any], head: Head) -> None:
    check("Granite", fields, head)


@draws
@given(
    also(llama(), attention_bias=st.booleans(), sliding_window=st.just(3), sliding_window_pattern=st.integers(1, 3)),
    heads(*ALL[:2]),
)
def test_cohere2(fields: dict[str, Any], head: Head) -> None:
    check("Cohere2", fields, head)


@draws
@given(
    dense(),
    st.lists(st.sampled_from(["global", "local"]), min_size=1, max_size=2),
    st.integers(1, 2),
    heads(*ALL),
)
def test_gpt_neo(fields: dict[str, Any], pattern: list[str], times: int, head: Head) -> None:
    more = {"attention_types": [[pattern, times]], "num_hidden_layers": times * len(pattern), "window_size": 3}
    check("GPTNeo", fields | more, head)
