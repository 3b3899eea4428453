"""Files of llama.cpp: sizes against its documentation, the types of tensors against its source, blocks against gguf."""

import gguf
import pytest

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.analysis.precision import stored
from netcalc.analysis.walk import parameters
from netcalc.schemes.scheme import is_scheme

#: llama.cpp, tools/quantize/README.md at 311c2c9, for meta-llama/Llama-3.1-8B: bits a weight and GiB.
README = {
    "f16": (16.0005, 14.96),
    "q8_0": (8.5008, 7.95),
    "q6_k": (6.5633, 6.14),
    "q5_k_m": (5.7036, 5.33),
    "q5_k_s": (5.5704, 5.21),
    "q4_k_m": (4.8944, 4.58),
    "q4_k_s": (4.6672, 4.36),
    "q3_k_l": (4.2979, 4.02),
    "q3_k_s": (3.6429, 3.41),
    "q2_k": (3.1593, 2.95),
    "q2_k_s": (2.9697, 2.78),
    "iq4_nl": (4.6818, 4.38),
    "iq4_xs": (4.4597, 4.17),
    "iq3_m": (3.7628, 3.52),
    "iq3_s": (3.6606, 3.42),
    "iq3_xs": (3.4977, 3.27),
    "iq3_xxs": (3.2548, 3.04),
}


@pytest.fixture(scope="module")
def llama():
    return netcalc.load("llama-3.1-8b").program


@pytest.mark.parametrize("name", README)
def test_sizes_of_llama_3_1_8b_are_those_of_the_documentation(llama, name):
    cost = analyze(stored(llama, name)).total
    bits, size = README[name]
    assert round(8 * cost.weight_bytes / cost.params, 4) == bits
    # its GiB are rounded up or down: 4.575 is given as 4.58
    assert abs(cost.weight_bytes / 2**30 - size) < 0.0051


def schemes(program):
    return {p.path: p.param.storage.scheme for p in parameters(program) if p.param.storage}


def test_a_mixture_gives_more_bits_to_the_first_the_last_and_every_third_layer(llama):
    """use_more_bits of 32 layers: i < 4, i >= 28, and those with (i - 4) mod 3 = 2."""
    found = schemes(stored(llama, "Q4_K_M".lower()))
    more = [i for i in range(32) if found[f"model.layers.{i}.self_attn.v_proj.weight"] == "q6_k"]
    assert more == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]
    assert [i for i in range(32) if found[f"model.layers.{i}.mlp.down_proj.weight"] == "q6_k"] == more
    assert found["lm_head.weight"] == "q6_k"
    assert found["model.embed_tokens.weight"] == "q4_k"
    assert found["model.norm.weight"] == "float32"


def test_a_tied_embedding_has_the_type_of_the_output():
    found = schemes(stored(netcalc.load("llama-3.2-1b").program, "q4_k_m"))
    assert found["model.embed_tokens.weight"] == "q6_k"


def test_the_mixture_of_eight_experts_keeps_keys_and_values_in_8_bits():
    found = schemes(stored(netcalc.load("mixtral-8x7b").program, "q4_k_m"))
    layer = "model.layers.5."
    assert found[layer + "self_attn.v_proj.weight"] == found[layer + "self_attn.k_proj.weight"] == "q8_0"
    assert found[layer + "self_attn.o_proj.weight"] == "q5_k"
    assert found[layer + "mlp.gate.weight"] == "float32"


def test_rows_that_are_no_multiple_of_256_fall_back():
    """qwen2-0.5b has rows of 896 and 4864 elements: 896 is no multiple of 256, 4864 is."""
    found = schemes(stored(netcalc.load("qwen2-0.5b").program, "q4_k_m"))
    assert found["model.layers.12.self_attn.q_proj.weight"] == "q5_0"
    assert found["model.layers.0.self_attn.v_proj.weight"] == "q8_0"  # in place of q6_k
    assert found["model.layers.0.mlp.down_proj.weight"] == "q6_k"


def test_a_convolution_whose_rows_fill_no_block_is_stored_as_float16():
    found = schemes(stored(netcalc.load("resnet18").program, "q4_0"))
    assert found["layer1.0.conv1.weight"] == "float16"


def test_block_types_have_the_sizes_of_the_gguf_library(llama):
    checked = 0
    for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
        name = kind.name.lower()
        if elements == 1 or not is_scheme(name) or name in ("mxfp4", "nvfp4"):
            continue
        program = stored(llama, f"model.layers.0.mlp.down_proj.weight={name}")
        found = next(p.param.storage for p in parameters(program) if p.path == "model.layers.0.mlp.down_proj.weight")
        assert found.bytes == 4096 * 14336 // elements * size
        checked += 1
    assert checked == 22


@pytest.mark.parametrize(
    "name", ["llama-3.1-8b", "gemma-3-1b", "qwen3-30b-a3b", "phi-3-mini", "gpt2", "falcon-7b", "mamba-130m"]
)
def test_parameters_become_the_tensors_of_the_converters(name):
    """The names that gguf's own tables give, from which llama.cpp derives the place of a tensor."""
    from netcalc.analysis.precision.recipes import tensor_of

    architectures = {"llama-3.1-8b": "LLAMA", "gemma-3-1b": "GEMMA3", "qwen3-30b-a3b": "QWEN3MOE", "phi-3-mini": "PHI3"}
    architectures |= {"gpt2": "GPT2", "falcon-7b": "FALCON", "mamba-130m": "MAMBA"}
    known = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architectures[name]], 64)
    named = (
        "output",
        "token_embd",
        "attn_qkv",
        "attn_v",
        "attn_k",
        "attn_q",
        "attn_output",
        "ffn_down",
        "ffn_up",
        "ffn_gate",
    )
    seen = set()
    for found in parameters(netcalc.load(name).program):
        if len(found.param.shape) < 2 or found.param.is_buffer or found.tied:
            continue
        theirs = known.get_name(found.path, try_suffixes=(".weight",))
        if theirs is None:
            continue
        tensor = theirs.split(".", 2)[-1] if theirs.startswith("blk.") else theirs
        tensor = tensor.removesuffix(".weight").removesuffix("_exps")
        if tensor in named:
            assert tensor_of(found.path) == tensor, found.path
            seen.add(tensor)
    assert seen
