"""Published sizes of quantized networks."""

import pytest

import netcalc

#: LLaMA 65B: Touvron et al. 2023, arXiv:2302.13971, Table 2.
LLAMA_65B = {"d_model": 8192, "layers": 80, "heads": 64, "d_ff": 22016}
#: The released configuration of MiniMaxAI/MiniMax-M2, with norms of all heads together and a router by sigmoid.
MINIMAX_M2 = """
netcalc: 1
extends: mixtral-8x7b
vars:
  {vocab: 200064, d_model: 3072, layers: 62, heads: 48, kv_heads: 8, head_dim: 128, experts: 256, experts_per_token: 8,
   d_expert: 1536, rope_theta: 5.0e6}
patch:
  - {at: "model.layers.*.self_attn", set: {qk_norm: {rms_norm: {eps: 1.0e-6}}, qk_norm_whole: true}}
  - at: "model.layers.*.mlp"
    set: {router: {top_k_router: {scoring: sigmoid, normalize: true, correction_bias: true}}}
"""


def test_double_quantization_takes_0_127_bits_and_saves_3_gb_at_65b():
    """Dettmers et al. 2023, arXiv:2305.14314, section 3: 0.5 → 0.127 bits a parameter, about 3 GB for a 65B model."""
    network = netcalc.load("llama-2-7b", set=LLAMA_65B)
    single, double = (network.quantized(name).storage() for name in ("nf4", "nf4-dq"))
    bits = []
    for report in (single, double):
        (group,) = (g for g in report.groups if g.scheme.startswith("nf4"))
        bits.append(8 * (group.parts["scales"] + group.parts.get("scales of scales", 0)) / group.params)
    assert [round(number, 3) for number in bits] == [0.5, 0.127]
    assert (single.bytes - double.bytes) / 1e9 == pytest.approx(3.0, abs=0.05)


def test_bert_base_cased_has_the_size_that_accelerate_gives():
    """accelerate, docs/source/usage_guides/model_size_estimator.md: 413.18 MB (MiB), and 206.59 MB in float16.

    It counts two buffers of 512 ids in int64 too, those of positions and of token types, and halves all for float16.
    """
    network = netcalc.load("bert-base-cased")
    buffers = 2 * 512 * 8
    size = network.cost().weight_bytes + buffers
    assert round(size / 2**20, 2) == 413.18
    assert round((network.quantized("float16").cost().weight_bytes + buffers / 2) / 2**20, 2) == 206.59


def test_resnet50_has_the_size_that_accelerate_gives():
    """accelerate, the same page: timm/resnet50.a1_in1k, 97.7 MB, buffers of batch norms included."""
    cost = netcalc.load("resnet50").cost()
    assert round((cost.weight_bytes + cost.buffer_bytes) / 2**20, 1) == 97.7


def test_minimax_m2_has_the_bytes_of_its_release():
    """hf-mem, README: 230,121,630,720 bytes of weights in MiniMaxAI/MiniMax-M2.

    Tiles of 128 × 128 in float8; routers and their correction biases (buffers) in float32, all else in bfloat16.
    """
    network = netcalc.loads(MINIMAX_M2, dtype="bfloat16").quantized(["*.mlp.gate.weight=float32", "float8_e4m3-b128"])
    biases = 62 * 256 * 4
    assert network.cost().weight_bytes + biases == 230_121_630_720
    reasons = {group.scheme: group.reason for group in network.storage().groups if group.reason}
    assert reasons["bfloat16"] in ("an embedding", "the last linear layer", "one axis (rms_norm)")


def test_gpt_oss_20b_has_the_size_of_its_checkpoint():
    """OpenAI 2025, gpt-oss-120b & gpt-oss-20b Model Card, arXiv:2508.10925, Table 1: checkpoint of 12.8 GiB."""
    network = netcalc.load("gpt-oss-20b", dtype="bfloat16").quantized("mxfp4")
    assert round(network.cost().weight_bytes / 2**30, 1) == 12.8
    assert network.storage().groups[0].bits == 4.25


def test_gpt_oss_120b_has_the_size_that_llama_bench_prints():
    """llama.cpp, pull request 19922: gpt-oss 120B MXFP4 MoE, 59.02 GiB; the biases of experts are in float32."""
    network = netcalc.load("gpt-oss-20b", set={"layers": 36, "experts": 128}).quantized("mxfp4_moe")
    assert round(network.cost().weight_bytes / 2**30, 2) == 59.02
