"""Counting conventions against the tools that define them: torch.utils.flop_counter and fvcore."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc import ops
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.diagnostics import NetcalcError
from netcalc.opdef import Context
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.nodes import example_node
from tests.oracle.harness import draws
from tests.oracle.test_matmul import equations

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    fvcore = pytest.importorskip("fvcore.nn")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

Shapes = Sequence[Sequence[int]]


@pytest.fixture(autouse=True)
def _plain_operators() -> Iterator[None]:
    """Disable fused inference paths, which torch's counter does not count, and warnings from tracing."""
    fast, fused = torch.backends.mha.get_fastpath_enabled(), torch.backends.mkldnn.enabled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.backends.mha.set_fastpath_enabled(False)
        torch.backends.mkldnn.enabled = False
        yield
        torch.backends.mha.set_fastpath_enabled(fast)
        torch.backends.mkldnn.enabled = fused


class Call(nn.Module):
    """Module that calls a function, for fvcore."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: Any) -> Any:
        return self.function(*tensors)


def ours(
    convention: str, line: dict[str, Any], shapes: Shapes, *, training: bool = False, dtype: str = "float32"
) -> Analysis:
    names = [f"x{i}" for i in range(len(shapes))]
    inputs = {n: {"shape": list(s), "dtype": dtype, "range": [0, 9]} for n, s in zip(names, shapes, strict=True)}
    if dtype == "float32":
        inputs = {n: spec["shape"] for n, spec in inputs.items()}
    data = {"netcalc": 1, "inputs": inputs, "layers": [{"from": names, **line}]}
    return Analysis(elaborate(load_data(data), training=training), CONVENTIONS[convention])


def by_torch(module: nn.Module, tensors: Sequence[Any]) -> int:
    """Return torch's count, with attention and recurrent layers decomposed into their operators."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(*tensors)
    return int(counter.get_total_flops())


def by_fvcore(module: nn.Module, tensors: Sequence[Any]) -> int:
    """Return fvcore's count; 0 if it fails on an unsupported operator."""
    analysis = fvcore.FlopCountAnalysis(module, tuple(tensors))
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
    try:
        return int(analysis.total())
    except IndexError:  # a vector, where its formula needs a matrix
        return 0


def check(
    line: dict[str, Any],
    shapes: Shapes,
    module: nn.Module | Callable[..., Any],
    *,
    training: bool = False,
    dtype: str = "float32",
    tools: Sequence[str] = ("torch", "fvcore"),
) -> None:
    module = (module if isinstance(module, nn.Module) else Call(module)).train(training)
    tensors = [torch.zeros(list(shape), dtype=getattr(torch, dtype)) for shape in shapes]
    for tool in tools:
        theirs = by_torch(module, tensors) if tool == "torch" else by_fvcore(module, tensors)
        assert ours(tool, line, shapes, training=training, dtype=dtype).total.flops == theirs, tool


class StandardizedConv(nn.Conv2d):
    """timm's StdConv2d."""

    def forward(self, x: Any) -> Any:
        flat = self.weight.reshape(1, self.out_channels, -1)
        weight = F.batch_norm(flat, None, None, training=True, momentum=0.0, eps=1e-6).reshape_as(self.weight)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def blur(x: Any) -> Any:
    """timm's BlurPool2d."""
    return F.conv2d(F.pad(x, (1, 1, 1, 1), "reflect"), torch.ones(x.shape[1], 1, 3, 3), stride=2, groups=x.shape[1])


#: (operation, attributes, input shapes, the same in torch)
SINGLE: list[tuple[str, dict[str, Any], Shapes, Any]] = [
    ("linear", {"out": 5}, [(8,)], nn.Linear(8, 5)),
    ("linear", {"out": 5, "bias": False}, [(2, 3, 8)], nn.Linear(8, 5, bias=False)),
    ("bilinear", {"out": 4}, [(3, 5), (3, 6)], nn.Bilinear(5, 6, 4)),
    ("conv1d", {"out": 6, "kernel": 3}, [(4, 10)], nn.Conv1d(4, 6, 3)),
    ("conv1d", {"out": 6, "kernel": 3, "padding": "same"}, [(2, 4, 10)], nn.Conv1d(4, 6, 3, padding="same")),
    ("conv2d", {"out": 6, "kernel": 3, "padding": "valid"}, [(2, 4, 8, 8)], nn.Conv2d(4, 6, 3, padding="valid")),
    (
        "conv2d",
        {"out": 6, "kernel": 3, "padding": "same", "padding_mode": "reflect"},
        [(2, 4, 8, 8)],
        nn.Conv2d(4, 6, 3, padding="same", padding_mode="reflect"),
    ),
    (
        "conv2d",
        {"out": 6, "kernel": 3, "weight_standardization": True, "groups": 2},
        [(2, 4, 8, 8)],
        StandardizedConv(4, 6, 3, groups=2),
    ),
    ("conv3d", {"out": 6, "kernel": 3}, [(2, 4, 5, 5, 5)], nn.Conv3d(4, 6, 3)),
    ("conv_transpose1d", {"out": 6, "kernel": 3}, [(2, 4, 5)], nn.ConvTranspose1d(4, 6, 3)),
    ("conv_transpose3d", {"out": 6, "kernel": 3}, [(2, 4, 5, 5, 5)], nn.ConvTranspose3d(4, 6, 3)),
    ("blur_pool2d", {}, [(2, 4, 8, 8)], blur),
    *(
        (name, {"hidden": 4, **attrs}, [(5, 2, 8)], getattr(nn, name.upper())(8, 4, **args))
        for name in ("rnn", "lstm", "gru")
        for attrs, args in (
            ({}, {}),
            ({"bias": False}, {"bias": False}),
            ({"layers": 2, "bidirectional": True}, {"num_layers": 2, "bidirectional": True}),
        )
    ),
    ("lstm", {"hidden": 4, "proj_size": 3}, [(5, 2, 8)], nn.LSTM(8, 4, proj_size=3)),
    ("rnn_cell", {"hidden": 4}, [(2, 8)], nn.RNNCell(8, 4)),
    ("lstm_cell", {"hidden": 4}, [(2, 8)], nn.LSTMCell(8, 4)),
    ("gru_cell", {"hidden": 4}, [(8,)], nn.GRUCell(8, 4)),
    *(
        ("batch_norm", {"affine": affine, "track_running_stats": tracked}, [shape], norm)
        for affine in (True, False)
        for tracked in (True, False)
        for shape, norm in (
            ((3, 4), nn.BatchNorm1d(4, affine=affine, track_running_stats=tracked)),
            ((2, 4, 3, 3), nn.BatchNorm2d(4, affine=affine, track_running_stats=tracked)),
        )
    ),
    *(
        (name, {"affine": affine, **attrs}, [(2, 4, 3, 3)], norm)
        for affine in (True, False)
        for name, attrs, norm in (
            ("instance_norm", {}, nn.InstanceNorm2d(4, affine=affine)),
            (
                "instance_norm",
                {"track_running_stats": True},
                nn.InstanceNorm2d(4, affine=affine, track_running_stats=True),
            ),
            ("group_norm", {"groups": 2}, nn.GroupNorm(2, 4, affine=affine)),
            ("layer_norm", {}, nn.LayerNorm(3, elementwise_affine=affine)),
            ("rms_norm", {}, nn.RMSNorm(3, elementwise_affine=affine)),
        )
    ),
    ("local_response_norm", {"size": 3}, [(2, 4, 3, 3)], nn.LocalResponseNorm(3)),
    *(
        (f"{kind}_pool{n}d", {"output_size": 2}, [(2, 4, *(6,) * n)], getattr(nn, f"{module}Pool{n}d")(2))
        for kind, module in (("adaptive_avg", "AdaptiveAvg"), ("adaptive_max", "AdaptiveMax"))
        for n in (1, 2, 3)
    ),
    *(
        (f"{kind}_pool{n}d", {"kernel": 2}, [(2, 4, *(6,) * n)], getattr(nn, f"{module}Pool{n}d")(2))
        for kind, module in (("avg", "Avg"), ("max", "Max"))
        for n in (1, 2, 3)
    ),
    *((f"global_avg_pool{n}d", {}, [(2, 4, *(6,) * n)], getattr(nn, f"AdaptiveAvgPool{n}d")(1)) for n in (1, 2, 3)),
    *(
        ("interpolate", {"size": 5, "mode": mode}, [(2, 4, *(3,) * n)], nn.Upsample(size=5, mode=mode))
        for mode, ranks in {
            **dict.fromkeys(("nearest", "nearest-exact", "area"), (1, 2, 3)),
            "linear": (1,),
            "bilinear": (2,),
            "bicubic": (2,),
            "trilinear": (3,),
        }.items()
        for n in ranks
    ),
    (
        "interpolate",
        {"size": 2, "mode": "bilinear", "antialias": True},
        [(2, 4, 5, 5)],
        lambda x: F.interpolate(x, size=2, mode="bilinear", antialias=True),
    ),
    ("scaled_dot_product_attention", {}, [(5, 8)] * 3, F.scaled_dot_product_attention),
    (
        "scaled_dot_product_attention",
        {"causal": True},
        [(2, 3, 5, 8), (2, 3, 6, 8), (2, 3, 6, 7)],
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    ),
    (
        "scaled_dot_product_attention",
        {"enable_gqa": True},
        [(2, 6, 5, 8), (2, 3, 5, 8), (2, 3, 5, 8)],
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    ),
    ("softmax", {}, [(2, 8)], nn.Softmax(-1)),
    ("gelu", {}, [(2, 8)], nn.GELU()),
    ("dropout", {"p": 0.5}, [(2, 8)], nn.Dropout(0.5)),
    ("add", {}, [(2, 8), (8,)], torch.add),
    ("mean", {"axis": [2, 3]}, [(2, 4, 6, 6)], lambda x: x.mean((2, 3))),
]

#: Operations with multiply-adds that torch has no module for; counts of whole models that have them are compared.
COMPOSED = {"experts", "gated_delta_rule", "selective_scan", "ssd_scan"}
#: Operations with separate tests below.
DRAWN = {"conv2d", "conv_transpose2d", "matmul", "einsum"}


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("case", SINGLE, ids=[f"{i}-{name}" for i, (name, *_) in enumerate(SINGLE)])
def test_operation(case: tuple[str, dict[str, Any], Shapes, Any], training: bool) -> None:
    name, attrs, shapes, module = case
    check({name: attrs}, shapes, module, training=training)


@pytest.mark.parametrize("name", ["embedding", "embedding_bag"])
def test_look_ups_have_no_work(name: str) -> None:
    module = {"embedding": nn.Embedding, "embedding_bag": nn.EmbeddingBag}[name](10, 4)
    check({name: {"num_embeddings": 10, "embedding_dim": 4}}, [(2, 3)], module, dtype="int64")


def test_every_operation_with_multiply_adds_is_compared_with_a_tool() -> None:
    shown = {name for name in ops.names() if _has_multiply_adds(name)}
    assert shown <= {name for name, *_ in SINGLE} | DRAWN | COMPOSED


def _has_multiply_adds(name: str) -> bool:
    declared = ops.find(name)
    assert declared is not None
    node = example_node(declared)
    if node.op.declared() is not None:  # by a user's word, not by a rule
        return False
    return any(term.kind == "mac" for term in node.op.cost(Context(), node.input_types, node.output_types))


@draws
@given(
    batch=st.integers(1, 2),
    groups=st.integers(1, 2),
    size=st.tuples(st.integers(5, 8), st.integers(5, 8)),
    kernel=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
    bias=st.booleans(),
    transposed=st.booleans(),
)
def test_convolutions(
    batch: int, groups: int, size: tuple[int, int], bias: bool, transposed: bool, **attrs: int
) -> None:
    if transposed:
        attrs["padding"] = min(attrs["padding"], attrs["dilation"] * (attrs["kernel"] - 1))
    module = (nn.ConvTranspose2d if transposed else nn.Conv2d)(
        4,
        6,
        attrs["kernel"],
        stride=attrs["stride"],
        padding=attrs["padding"],
        dilation=attrs["dilation"],
        groups=groups,
        bias=bias,
    )
    name = "conv_transpose2d" if transposed else "conv2d"
    line = {name: {**attrs, "out": 6, "groups": groups, "bias": bias}}
    check(line, [(batch, 4, *size)], module)


@draws
@given(
    left=st.lists(st.sampled_from([1, 2]), max_size=2),
    right=st.lists(st.sampled_from([1, 2]), max_size=2),
    # torch folds away a contraction of a single number, depending on strides
    sizes=st.tuples(st.integers(1, 4), st.integers(2, 4), st.integers(1, 4)),
    vectors=st.tuples(st.booleans(), st.booleans()),
)
def test_matrix_products(
    left: list[int], right: list[int], sizes: tuple[int, int, int], vectors: tuple[bool, bool]
) -> None:
    rows, inner, columns = sizes
    x = [inner] if vectors[0] else [*left, rows, inner]
    other = [inner] if vectors[1] else [*right, inner, columns]
    check({"matmul": {}}, [x, other], torch.matmul)


@draws
@given(drawn=equations())
def test_einsum(drawn: tuple[str, list[list[int]]]) -> None:
    equation, shapes = drawn
    try:
        ours("torch", {"einsum": equation}, shapes)
    except NetcalcError:
        return
    check({"einsum": equation}, shapes, lambda *x: torch.einsum(equation, *x), tools=["torch"])


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bhid,bhjd->bhij", [(2, 3, 5, 4), (2, 3, 6, 4)]),
        ("abc,abd->acd", [(2, 3, 4), (2, 3, 5)]),
        ("i,i->", [(4,), (4,)]),
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)]),
    ],
)
def test_einsum_by_fvcore(equation: str, shapes: Shapes) -> None:
    check({"einsum": equation}, shapes, lambda *x: torch.einsum(equation, *x), tools=["fvcore"])


@pytest.mark.parametrize("vectors", [1, 2])
def test_norms_with_weights_that_are_inputs(vectors: int) -> None:
    affine = [(4,)] * vectors
    line = {"affine": False}
    check({"layer_norm": line}, [(2, 3, 4), *affine], lambda x, *given: F.layer_norm(x, (4,), *given))
    check({"group_norm": {"groups": 2, **line}}, [(2, 4, 3), *affine], lambda x, *given: F.group_norm(x, 2, *given))
    check({"instance_norm": line}, [(2, 4, 3), *affine], lambda x, *given: F.instance_norm(x, None, None, *given))
    if vectors == 2:
        order = [(2, 4, 3), *affine, (4,), (4,)]
        check({"batch_norm": line}, order, lambda x, w, b, mean, var: F.batch_norm(x, mean, var, w, b))


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_transformer_layers(norm_first: bool, training: bool) -> None:
    encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, norm_first=norm_first)
    line = {"transformer_encoder_layer": {"heads": 2, "hidden": 16, "dropout": 0.1, "norm_first": norm_first}}
    check(line, [(2, 5, 8)], encoder, training=training)
    decoder = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.1, batch_first=True, norm_first=norm_first)
    line = {"transformer_decoder_layer": {"heads": 2, "hidden": 16, "dropout": 0.1, "norm_first": norm_first}}
    check(line, [(2, 5, 8), (2, 7, 8)], decoder, training=training)


@pytest.mark.parametrize("weights", [False, True])
def test_attention_module_in_torch(weights: bool) -> None:
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    line = {"from": ["x0", "x1", "x1"], "multi_head_attention": {"heads": 2}}
    check(line, [(2, 5, 8), (2, 7, 8)], lambda x, y: attention(x, y, y, need_weights=weights)[0], tools=["torch"])


def test_omitted_operations_are_listed() -> None:
    assert ours("fvcore", {"transformer_encoder_layer": {"heads": 2, "hidden": 16}}, [(2, 5, 8)]).uncounted == (
        "scaled_dot_product_attention",
        "add",
        "relu",
    )
