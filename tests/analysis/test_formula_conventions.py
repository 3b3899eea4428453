"""Conventions by formulas of papers and of Megatron-Bridge, against figures that these print."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.diagnostics import NetcalcError
from netcalc.dims import substitute
from netcalc.ir import OpNode

FORMULAS = [name for name in CONVENTIONS if CONVENTIONS[name].by_network]


def step(convention: str, spec: str, **settings: Any) -> int:
    """Return the FLOPs of a forward and a backward pass."""
    network = netcalc.load(spec, set=settings)
    return int(network.analysis(convention, backward=True).total.flops_total)


@pytest.mark.parametrize(
    ("spec", "length", "printed"),
    [
        ("llama-3-8b", 8192, "4.22e+14"),
        ("llama-3-70b", 8192, "3.68e+15"),
        ("qwen3-30b-a3b", 4096, "9.42e+13"),
        ("qwen3-235b-a22b", 4096, "6.06e+14"),
    ],
)
def test_megatron_bridge(spec: str, length: int, printed: str) -> None:
    """The figures of its test_flop_utils.py."""
    assert f"{step('megatron', spec, length=length):.2e}" == printed


def test_palm_by_nanogpt() -> None:
    """The figures of transformer_sizing.ipynb, whose GPT-2 has no biases."""
    network = netcalc.load("gpt2", set={"bias": False, "length": 1024})
    assert network.cost().params == 124_337_664
    assert step("palm", "gpt2", bias=False, length=1024) == 875_062_886_400
    exact = network.analysis("torch", backward=True).total
    assert (exact.flops, exact.flops_total) == (291_648_307_200, 874_944_921_600)


def test_palm_by_its_table() -> None:
    """Model FLOPs utilization of PaLM 540B at 238.3 K tokens a second on 6144 TPU v4."""
    network = netcalc.load("palm-540b", set={"length": 2048})
    attention = 12 * 118 * 48 * 256 * 2048
    each = step("palm", "palm-540b", length=2048) / 2048
    most = 6144 * 275e12
    assert [round(100 * 238_300 * work / most, 1) for work in (each - attention, each)] == [45.7, 46.2]
    assert network.analysis("palm").total.flops * 3 == each * 2048


def test_kaplan_by_its_table() -> None:
    """Table 1: N = 12·layers·d_model² for d_ff = 4·d_model, and 2N + 2·layers·context·d_model FLOPs of a token."""
    matrices = 12 * 12 * 768**2
    each = 2 * matrices + 2 * 12 * 1024 * 768
    network = netcalc.load("gpt2", set={"length": 1024})
    assert network.analysis("kaplan").total.flops == 1024 * each
    assert network.analysis("kaplan", backward=True).total.flops_total == 3 * 1024 * each


@pytest.mark.parametrize(
    ("layers", "width", "heads", "millions", "ratio"),
    [(10, 640, 10, 73, 1.03), (20, 1024, 16, 305, 1.10), (24, 1280, 10, 552, 1.08), (26, 1792, 14, 1143, 1.04)],
)
def test_chinchilla_by_table_a4(layers: int, width: int, heads: int, millions: int, ratio: float) -> None:
    """FLOPs over 6·N·D; the softmax, which Appendix F counts, adds less than the last digit."""
    sizes = {"layers": layers, "d_model": width, "d_ff": 4 * width, "heads": heads}
    found = step("chinchilla", "gpt2", vocab=32000, length=2048, max_length=2048, **sizes)
    assert found / (6 * millions * 1e6 * 2048) == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize(("layers", "width", "heads", "vocab"), [(12, 768, 12, 50257), (24, 2304, 24, 51200)])
def test_narayanan_by_its_equation(layers: int, width: int, heads: int, vocab: int) -> None:
    """Eq. 3: 96·B·s·l·h²·(1 + s/(6h) + V/(16·l·h))."""
    sizes = {"layers": layers, "d_model": width, "heads": heads, "d_ff": 4 * width, "vocab": vocab}
    s = 1024
    terms = 96 * s * layers * width**2 + 16 * s * s * layers * width + 6 * s * width * vocab
    assert step("narayanan", "gpt2", length=s, **sizes) == terms


@pytest.mark.parametrize("convention", FORMULAS)
def test_parts_add_up_and_stay_with_their_layers(convention: str) -> None:
    analysis = netcalc.load("gpt2", set={"length": 64, "layers": 2}).analysis(convention, backward=True)
    forward = backward = 0
    for row in analysis.leaves():
        assert isinstance(row.node, OpNode)
        forward += row.repeat * sum(part.flops for part in analysis.parts(row.node))
        backward += row.repeat * sum(part.flops for part in analysis.backward_parts(row.node))
    assert (forward, backward) == (analysis.total.flops, analysis.total.flops_backward)
    assert forward > 0


@pytest.mark.parametrize("convention", ["palm", "kaplan", "chinchilla"])
def test_a_network_without_tokens_is_refused(convention: str) -> None:
    with pytest.raises(NetcalcError, match="E701") as caught:
        _ = netcalc.load("resnet18").analysis(convention).total
    assert "language models" in (caught.value.diagnostics[0].hint or "")


def test_symbolic_work_equals_that_of_numbers() -> None:
    symbolic = netcalc.load("gpt2", symbolic=["length"]).analysis("palm").total.flops
    whole = netcalc.load("gpt2", set={"length": 96}).analysis("palm").total.flops
    assert substitute(symbolic, {"length": 96}) == whole
