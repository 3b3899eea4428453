"""FLOPs of backward passes against torch.utils.flop_counter: by operator on drawn shapes, and of whole networks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.cost import analyze
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.exhaustive.backward import measured
from tests.zoo.harness import FAMILIES, built

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

Shapes = Sequence[Sequence[int]]


def ours(line: dict[str, Any], shapes: Shapes, wanted: bool) -> tuple[int, int]:
    """Return the FLOPs of a forward pass, and of both passes; with the gradients of the inputs if ``wanted``."""
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = {name: list(shape) for name, shape in zip(names, shapes, strict=True)}
    program = elaborate(load_data({"netcalc": 1, "inputs": inputs, "layers": [{"from": names, **line}]}))
    total = analyze(program, "torch", backward=True, inputs=names if wanted else ()).total
    return int(total.flops), int(total.flops_total)


def by_torch(function: Callable[..., Any], shapes: Shapes, wanted: bool) -> tuple[int, int]:
    """Return the same by torch on the meta device."""
    tensors = [torch.empty(*shape, device="meta", requires_grad=wanted) for shape in shapes]
    with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        warnings.simplefilter("ignore")
        found = function(*tensors)
        forward = counter.get_total_flops()
        (found[0] if isinstance(found, tuple) else found).sum().backward()
    return int(forward), int(counter.get_total_flops())


def agree(line: dict[str, Any], function: Callable[..., Any], shapes: Shapes, *, inputs: bool = True) -> None:
    if isinstance(function, nn.Module):
        function = function.to("meta").eval()
    for wanted in [False, True] if isinstance(function, nn.Module) else [True]:
        assert ours(line, shapes, wanted) == by_torch(function, shapes, wanted), (line, shapes, wanted)


@given(
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([(1, 4, 6), (2, 4, 6), (4, 4, 8), (3, 6, 3)]),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 1),
    st.integers(1, 2),
)
@settings(max_examples=60, deadline=None)
def test_convolutions(
    rank: int, transposed: bool, channels: tuple[int, int, int], kernel: int, stride: int, padding: int, batch: int
) -> None:
    groups, size, out = channels
    plain = {"out": out, "kernel": kernel, "stride": stride, "padding": padding, "groups": groups}
    name = f"conv_transpose{rank}d" if transposed else f"conv{rank}d"
    module = getattr(nn, f"ConvTranspose{rank}d" if transposed else f"Conv{rank}d")
    made = module(size, out, kernel, stride=stride, padding=padding, groups=groups)
    agree({name: plain}, made, [(batch, size, *[9] * rank)])


@pytest.mark.parametrize("mode", ["reflect", "circular", "replicate"])
def test_padded_convolutions(mode: str) -> None:
    line = {"conv2d": {"out": 6, "kernel": 3, "padding": 1, "padding_mode": mode}}
    agree(line, nn.Conv2d(4, 6, 3, padding=1, padding_mode=mode), [(1, 4, 7, 7)])


@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4), (2, 3, 5, 4)])
def test_linear(shape: tuple[int, ...]) -> None:
    agree({"linear": 7}, nn.Linear(4, 7), [shape])


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4), (4, 5)],
        [(2, 3, 4), (4, 5)],
        [(2, 3, 4), (2, 4, 5)],
        [(2, 6, 3, 4), (2, 6, 4, 5)],
        [(2, 6, 3, 4), (6, 4, 5)],
        [(4,), (4, 5)],
        [(3, 4), (4,)],
        [(2, 3, 4), (4,)],
        [(4,), (4,)],
        [(4,), (2, 4, 5)],
        [(4,), (1, 4, 5)],
        [(4,), (3, 2, 4, 5)],
        [(1, 4), (2, 4, 5)],
    ],
)
def test_matmul(shapes: Shapes) -> None:
    agree({"matmul": {}}, torch.matmul, shapes)


@pytest.mark.parametrize("shape", [(2, 4, 5), (3, 2, 4, 5)])
def test_a_vector_without_a_gradient_before_a_batch_of_matrices(shape: tuple[int, ...]) -> None:
    inputs = {"vector": [4], "matrices": list(shape)}
    line = {"from": list(inputs), "matmul": {}}
    program = elaborate(load_data({"netcalc": 1, "inputs": inputs, "layers": [line]}))
    total = analyze(program, "torch", backward=True, inputs=["matrices"]).total
    vector = torch.empty(4, device="meta")
    assert (total.flops, total.flops_total) == by_torch(lambda matrices: vector @ matrices, [shape], True)


def test_matrices_that_several_vectors_multiply() -> None:
    """The gradients of the matrices are added, which is no work to the counter."""
    inputs = {"one": [4], "other": [4], "matrices": [2, 4, 5]}
    products = [{"name": f"by_{name}", "from": [name, "matrices"], "matmul": {}} for name in ("one", "other")]
    lines = [*products, {"from": ["by_one", "by_other"], "add": {}}]
    program = elaborate(load_data({"netcalc": 1, "inputs": inputs, "layers": lines}))
    total = analyze(program, "torch", backward=True, inputs=["other", "matrices"]).total
    one = torch.empty(4, device="meta")
    function = lambda other, matrices: one @ matrices + other @ matrices  # noqa: E731
    assert (total.flops, total.flops_total) == by_torch(function, [(4,), (2, 4, 5)], True)


@pytest.mark.parametrize("heads", [1, 2])
def test_attention(heads: int) -> None:
    shapes = [(2, 4, 5, 8), (2, 4 // heads, 7, 8), (2, 4 // heads, 7, 6)]
    function = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=heads > 1)  # noqa: E731
    agree({"scaled_dot_product_attention": {"enable_gqa": heads > 1}}, function, shapes)


@pytest.mark.parametrize(("queries", "keys", "causal"), [(128, 128, False), (128, 256, False), (64, 64, True)])
def test_flash_attention(queries: int, keys: int, causal: bool) -> None:
    """The operator of the fused kernel, whose backward pass has a formula of its own."""
    shapes = {"q": (4, 8, queries, 64), "k": (4, 8, keys, 64), "v": (4, 8, keys, 64)}
    tensors = [torch.empty(*shape, device="meta", dtype=torch.float16, requires_grad=True) for shape in shapes.values()]
    with FlopCounterMode(display=False) as counter:
        torch.ops.aten._scaled_dot_product_flash_attention(*tensors, is_causal=causal)[0].sum().backward()
    line = {"from": [*shapes], "scaled_dot_product_attention": {"causal": causal}}
    inputs = {name: list(shape) for name, shape in shapes.items()}
    program = elaborate(load_data({"netcalc": 1, "inputs": inputs, "layers": [line]}))
    total = analyze(program, "torch", backward=True, inputs=[*shapes], fused=True).total
    assert total.flops_total == counter.get_total_flops() == 7 * total.flops // 2


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("length", [1, 5])
def test_recurrent_layers(name: str, layers: int, bidirectional: bool, length: int) -> None:
    given = {"hidden": 6, "layers": layers, "bidirectional": bidirectional, "batch_first": True}
    module = getattr(nn, name.upper())(3, 6, layers, batch_first=True, bidirectional=bidirectional)
    agree({name: given}, module, [(2, length, 3)])


def test_bilinear_is_not_counted() -> None:
    agree({"bilinear": {"out": 5}}, nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)])


@pytest.mark.parametrize(
    "name",
    ["torchvision/resnet18", "torchvision/mobilenet_v2", "torchvision/resnext50_32x4d", "torchvision/convnext_tiny"],
)
def test_networks_are_measured_as_they_are_recorded(name: str) -> None:
    (record,) = [r for family in FAMILIES.values() for r in family["truth"] if r["id"] == name]
    forward, both = measured(name)
    total = analyze(built(record["spec"], **record["settings"]), "torch", backward=True).total
    assert (forward, both) == (total.flops, total.flops_total) == (record["flops_torch"], record["flops_torch_both"])
