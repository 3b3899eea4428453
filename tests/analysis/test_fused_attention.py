"""The backward pass of FlashAttention, which computes the scores again, against its algorithm and torch's counter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import netcalc as package
from netcalc.analysis.cost import Analysis
from netcalc.diagnostics import NetcalcError
from netcalc.ir import OpNode
from netcalc.numerics.tally import tallied, tallying
from netcalc.options import CountOptions
from tests.conftest import CommandResult

SPEC = """
netcalc: 1
inputs:
  q: [{batch}, {heads}, {queries}, {features}]
  k: [{batch}, {heads}, {keys}, {features}]
  v: [{batch}, {heads}, {keys}, {features}]
layers:
  - {{name: attention, from: [q, k, v], scaled_dot_product_attention: {{{attributes}}}}}
"""
SIZES = {"batch": 1, "heads": 2, "queries": 5, "keys": 7, "features": 4, "attributes": ""}


def attention(convention: str = "netcalc", kernel: str = "flash", **sizes: Any) -> Analysis:
    network = package.loads(SPEC.format(**{**SIZES, **sizes}))
    counted: CountOptions = {"backward": True, "input_gradients": ["q", "k", "v"]}
    return network.analysis(convention, **counted, attention=kernel)  # type: ignore[misc]


def flash_backward(q: Any, k: Any, v: Any, g: Any, out: Any, lse: Any, scale: float) -> tuple[Any, ...]:
    """Algorithm 2 of FlashAttention-2 (arXiv:2307.08691) with one block."""
    p = np.exp(np.subtract(np.multiply(np.matmul(q, k.swapaxes(-1, -2)), scale), lse))
    sums = np.add.reduce(np.multiply(g, out), axis=-1, keepdims=True)
    ds = np.multiply(np.multiply(p, np.subtract(np.matmul(g, v.swapaxes(-1, -2)), sums)), scale)
    return np.matmul(ds, k), np.matmul(ds.swapaxes(-1, -2), q), np.matmul(p.swapaxes(-1, -2), g)


def softmax_attention(q: Any, k: Any, v: Any, scale: float) -> tuple[Any, Any]:
    scores = np.matmul(q, k.swapaxes(-1, -2)) * scale
    lse = np.log(np.exp(scores).sum(-1, keepdims=True))
    return np.matmul(np.exp(scores - lse), v), lse


def test_work_is_that_of_the_algorithm() -> None:
    draw = np.random.default_rng(0).normal
    q, k, v, g = (draw(size=(2, length, 4)) for length in (5, 7, 7, 5))
    out, lse = softmax_attention(q, k, v, 0.5)
    with tallying() as tally:
        gradients = flash_backward(*map(tallied, (q, k, v, g, out, lse)), 0.5)
    for x, gradient in zip((q, k, v), gradients, strict=True):  # the algorithm is right
        step = 1e-6 * draw(size=x.shape)
        moved = [x + step if x is y else y for y in (q, k, v)]
        change = (g * (softmax_attention(*moved, 0.5)[0] - out)).sum()
        assert change == pytest.approx((np.asarray(gradient) * step).sum(), rel=1e-4)
    analysis = attention()
    (row,) = analysis.leaves()
    assert isinstance(row.node, OpNode) and analysis.backward is not None
    counted: dict[str, int] = {}
    for term in analysis.backward.terms(row.node):
        counted[term.kind] = counted.get(term.kind, 0) + term.count  # type: ignore[operator]
    assert counted == dict(tally)


@pytest.mark.parametrize("attributes", ["", "causal: true", "causal: true, sparse: true", "softcap: 20.0"])
def test_backward_is_five_halves_of_forward(attributes: str) -> None:
    """FlashAttention-2, section 4.1: the FLOPs of the backward pass are those of the forward pass times 2.5."""
    sizes = {"batch": 4, "heads": 16, "queries": 512, "keys": 512, "features": 128, "attributes": attributes}
    total = attention("torch", **sizes).total
    assert 2 * total.flops_backward == 5 * total.flops  # type: ignore[operator]
    assert attention("torch", "eager", **sizes).total.flops_backward == 2 * total.flops  # type: ignore[operator]


def test_a_network_has_one_product_more_in_each_layer() -> None:
    network = package.load("gpt2", set={"length": 128})
    before, after = (network.analysis("torch", backward=True, attention=kernel) for kernel in ("sdpa-cpu", "flash"))
    product = 2 * 12 * 12 * 128 * 128 * 64
    assert after.total.flops_backward - before.total.flops_backward == product  # type: ignore[operator]
    assert after.total.flops == before.total.flops
    assert "FlashAttention-2" in after.counted_as["scaled_dot_product_attention"]
    assert not before.counted_as


@pytest.mark.parametrize(("model", "fused"), [("gpt-oss-20b", False), ("bert-base", True)])
def test_attention_without_a_kernel_has_the_products_of_its_definition(model: str, fused: bool) -> None:
    """Sinks are no argument of FlashAttention-2; masks of padding, which BERT has, are lengths for it."""
    network = package.load(model, set={"length": 128})
    before, after = (network.analysis("torch", backward=True, attention=kernel) for kernel in ("eager", "flash"))
    assert (after.total.flops_backward > before.total.flops_backward) is fused  # type: ignore[operator]


def test_it_is_named_and_refused_where_it_says_nothing(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("flops", "gpt2", "--backward", "--attention", "flash", "--format", "json")
    assert "5 products" in json.loads(ran.out)["counted_as"]["scaled_dot_product_attention"]
    page = " ".join(netcalc("flops", "gpt2", "--backward", "--attention", "flash", "--depth", "1").out.split())
    assert "scaled_dot_product_attention: the work of FlashAttention-2 in the backward pass" in page
    layer = "transformer.h.0.attn.attend.attention"
    working = netcalc("explain", "gpt2", layer, "--backward", "--attention", "flash").out
    assert "scores again" in working and "logsumexp" in working and "Σ_features" in working
    assert netcalc("flops", "gpt2", "--attention", "flash").code == 2
    with pytest.raises(NetcalcError, match="formula"):
        package.load("gpt2").analysis("palm", backward=True, attention="flash")
