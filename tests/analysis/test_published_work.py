"""Published FLOPs of whole models: reproduced, or different by what each source leaves out or counts otherwise."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.walk import parameters
from netcalc.dims import integer


def macs(network: netcalc.Network, op: str, end: str = "") -> int:
    """Return the multiply-adds of all operations of a kind, whose paths end so."""
    layers = (layer for layer in network.layers if layer.op == op and layer.path.endswith(end))
    return sum(integer(layer.macs) * layer.repeat for layer in layers)


def forward(network: netcalc.Network) -> int:
    return integer(network.cost("torch").flops)


# -- torch/test/test_flop_counter.py ---------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "flops"), [(128, 134_217_728), (256, 268_435_456)])
def test_attention_as_torch_tests_it(keys: int, flops: int) -> None:
    """Queries of (4, 8, 128, 64); a backward pass has twice the work, as torch's composition of products."""
    line = {"from": ["q", "k", "v"], "scaled_dot_product_attention": {}}
    inputs = {"q": [4, 8, 128, 64], "k": [4, 8, keys, 64], "v": [4, 8, keys, 64]}
    network = netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [line]})
    both = network.cost("torch", backward=True, input_gradients=["q", "k", "v"])
    assert (both.flops, both.flops_total) == (flops, 3 * flops)
    if keys == 256:
        # FlashAttention computes the scores again: 5 products in its backward pass, where the composition has 4
        assert (both.flops_total, flops + flops * 5 // 2) == (805_306_368, 939_524_096)


def test_the_first_convolutions_of_resnet18() -> None:
    """A forward pass of layer1, and a backward pass of twice that."""
    network = netcalc.load("resnet18")
    layer = 2 * sum(
        integer(row.macs) * row.repeat for row in network.layers if row.op == "conv2d" and row.path.startswith("layer1")
    )
    assert (layer, 2 * layer) == (924_844_032, 1_849_688_064)
    assert network.cost("torch", backward=True, input_gradients=["image"]).flops_total == 10_884_440_064


# -- nanoGPT, transformer_sizing.ipynb -------------------------------------------------------------------


def test_nanogpt_sizes() -> None:
    """GPT-2 without biases; N of the formula of PaLM leaves out the embeddings of positions."""
    network = netcalc.load("gpt2", set={"length": 1024})
    biases = sum(integer(one.param.elements) for one in parameters(network.program) if one.path.endswith(".bias"))
    size = integer(network.params) - biases
    assert size == 124_337_664
    assert forward(network) == 291_648_307_200
    assert network.cost("torch", backward=True).flops_total == 874_944_921_600
    assert 1024 * (6 * (size - 1024 * 768) + 12 * 12 * 12 * 64 * 1024) == 875_062_886_400


# -- Megatron-Bridge, functional_tests/…/test_flop_utils.py ----------------------------------------------


@pytest.mark.parametrize(
    ("name", "length", "printed"),
    [
        ("llama-3-8b", 8192, 4.22e14),
        ("llama-3-70b", 8192, 3.68e15),
        ("qwen3-30b-a3b", 4096, 9.42e13),
        ("qwen3-235b-a22b", 4096, 6.06e14),
    ],
)
def test_megatron_bridge(name: str, length: int, printed: float) -> None:
    """A step is 3 forward passes of linear layers, the head and active experts, without the router.

    Attention counts the half of its pairs that a causal mask leaves.  netcalc counts all pairs and the router.
    """
    network = netcalc.load(name, set={"length": length})
    attention = macs(network, "scaled_dot_product_attention")
    router = macs(network, "linear", ".mlp.gate")
    assert bool(router) == name.startswith("qwen3")
    step = 3 * (forward(network) - 2 * router - attention)
    assert float(f"{step:.2e}") == printed
    assert step < 3 * forward(network)


# -- Chinchilla, arXiv:2203.15556, Table A4 --------------------------------------------------------------


@pytest.mark.parametrize(
    ("millions", "width", "heads", "features", "layers", "ratio"),
    [
        (73, 640, 10, 64, 10, 1.03),
        (305, 1024, 16, 64, 20, 1.10),
        (552, 1280, 10, 128, 24, 1.08),
        (1143, 1792, 14, 128, 26, 1.04),
        (1609, 2048, 16, 128, 28, 1.03),
        (6796, 3584, 28, 128, 40, 0.99),
    ],
)
def test_chinchilla(millions: int, width: int, heads: int, features: int, layers: int, ratio: float) -> None:
    """FLOPs over 6·N·D: as printed without embeddings and logits, which appendix F says are included.

    With the logits, and the embeddings as the product with one-hot vectors that the appendix describes, the smallest
    model would have 1.60 in place of 1.03, and the largest 1.03 in place of 0.99.
    """
    assert heads * features == width
    sizes: dict[str, Any] = {"d_model": width, "d_ff": 4 * width, "heads": heads, "layers": layers}
    network = netcalc.load("gpt2", set={**sizes, "vocab": 32_000, "length": 2048, "max_length": 2048})
    logits = 2 * 2048 * width * 32_000
    whole = 6 * millions * 10**6 * 2048
    assert 3 * (forward(network) - logits) / whole == pytest.approx(ratio, abs=0.01)
    assert 3 * (forward(network) + logits) / whole > ratio + 0.02


# -- DeepSeekMoE, arXiv:2401.06066, Table 3 --------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "printed", "counted"), [({}, 187.9, 188.76), ({"layers": 30, "vocab": 102_400}, 183.5, 184.25)]
)
def test_deepseek_moe(sizes: dict[str, Any], printed: float, counted: float) -> None:
    """TFLOPs of 4,096 tokens, of LLaMA2 7B and DeepSeek 7B: a step of three forward passes, 0.5 % more than printed.

    Its formula is not given; 6·(N − embeddings)·T + 12·L·d·T² gives 188.8 and 184.3.
    """
    network = netcalc.load("llama-2-7b", set={"length": 4096, **sizes})
    step = integer(network.cost("torch", backward=True).flops_total) / 1e12
    assert step == pytest.approx(counted, abs=0.01) and step == pytest.approx(printed, rel=0.01)
    vocab, width, layers = (int(network.vars[name]) for name in ("vocab", "d_model", "layers"))
    formula = 6 * (integer(network.params) - vocab * width) * 4096 + 12 * layers * width * 4096**2
    assert formula / 1e12 == pytest.approx(step, rel=1e-4)
