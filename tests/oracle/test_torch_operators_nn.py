"""Layers of PyTorch as lines of netcalc: types, values and FLOPs equal PyTorch's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from tests.oracle.network_gradients import assert_same_gradients  # noqa: E402
from tests.oracle.torch_modules import Call, assert_imports, operations  # noqa: E402

ATEN = torch.ops.aten


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def r(*shape: int) -> Any:
    """Return a tensor of random numbers."""
    return torch.randn(shape)


def ids(*shape: int, most: int = 5) -> Any:
    """Return a tensor of random ids."""
    return torch.randint(0, most, shape)


def filled(module: Any) -> Any:
    """Return a module in inference mode, with random numbers in its parameters and running statistics."""
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_floating_point():
            with torch.no_grad():
                tensor.copy_(torch.randn_like(tensor).abs() + 0.1 if name.endswith("var") else torch.randn_like(tensor))
    return module.eval()


def check(module: Any, *args: Any, **options: Any) -> list[str]:
    """Assert that a module imports, and return the operations of its graph."""
    return operations(assert_imports(filled(module), *args, **options))


# -- linear maps and embeddings ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4), (2, 1, 3, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape: tuple[int, ...], bias: bool) -> None:
    assert check(nn.Linear(4, 3, bias=bias), r(*shape)) == ["linear"]


def test_linear_without_an_axis_of_outputs() -> None:
    assert check(Call(F.linear, weight=r(4)), r(2, 3, 4), flops=False) == ["parameter", "matmul"]


@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("bias", [True, False, None])
def test_linear_with_computed_tensors(weight: bool, bias: bool | None) -> None:
    """Tensors that are computed, or buffers, are inputs of the line and no parameters."""

    class Computed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.b = nn.Parameter(r(3, 4)), nn.Parameter(r(3))
            self.register_buffer("table", r(3, 4))

        def forward(self, x: Any) -> Any:
            given = F.relu(self.b) if bias else None if bias is None else self.b
            return F.linear(x, self.table if weight else self.w, given)

    graph = assert_imports(Computed(), r(2, 4))
    line = graph.lines[-1]
    assert line.operation == "linear"
    assert set(line.parameters) == ({"weight"} - ({"weight"} if weight else set())) | (
        {"bias"} if bias is False else set()
    )


def test_weights_that_several_calls_share() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(5, 4)
            self.head = nn.Linear(4, 5, bias=False)
            self.head.weight = self.table.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.table(x))

    graph = assert_imports(Tied(), ids(2, 3))
    assert len({line.parameters["weight"].path for line in graph.lines}) == 1


def test_parts_of_a_stored_weight() -> None:
    """Chunks of one stored weight, as in MultiheadAttention, are parameters of separate lines."""
    assert check(nn.MultiheadAttention(8, 2, batch_first=True), r(2, 5, 8), r(2, 3, 8), r(2, 3, 8)).count("linear") == 4


def test_layers_that_are_not_called() -> None:
    class Unused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.other = nn.Linear(4, 3), nn.BatchNorm1d(3)

        def forward(self, x: Any) -> Any:
            return self.first(x)

    assert check(Unused(), r(2, 4)) == ["linear"]


def test_bilinear() -> None:
    assert check(nn.Bilinear(3, 4, 5), r(2, 3), r(2, 4)) == ["bilinear"]
    assert check(nn.Bilinear(3, 4, 5, bias=False), r(2, 6, 3), r(2, 6, 4)) == ["bilinear"]


def test_bilinear_with_computed_weights() -> None:
    check(Call(lambda x, y, a, b: nn.functional.bilinear(x, y, 2 * a, b)), r(2, 6, 3), r(2, 6, 4), r(5, 3, 4), r(5))
    check(Call(lambda x, y, a: nn.functional.bilinear(x, y, a)), r(3), r(4), r(5, 3, 4))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("buffer", [True, False])
def test_embedding(shape: tuple[int, ...], buffer: bool) -> None:
    if not buffer:
        assert check(nn.Embedding(5, 4, padding_idx=0), ids(*shape)) == ["embedding"]
        return
    found = check(Call(lambda x, table: F.embedding(x, table.relu()), table=r(5, 4)), ids(*shape))
    assert "index_select" in found


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [True, False])
def test_embedding_bag(mode: str, last: bool) -> None:
    bag = nn.EmbeddingBag(5, 4, mode=mode, include_last_offset=last, padding_idx=1)
    assert check(bag, ids(7), torch.tensor([0, 3, 7] if last else [0, 3])) == ["embedding_bag"]


@pytest.mark.parametrize(
    "table", [nn.Embedding(5, 4, padding_idx=-2), nn.EmbeddingBag(5, 4, mode="sum", padding_idx=3)]
)
def test_rows_of_padding_have_no_gradient(table: Any) -> None:
    module, texts = nn.Sequential(table, nn.Linear(4, 3)), torch.tensor([[3, 1, 3], [0, 3, 1]])
    program = netcalc.from_torch(module, texts).program
    (name,), (output,) = (value.name for value in program.inputs), program.output_names
    assert_same_gradients(program, module, {name: texts.numpy()}, {output: module(texts)})


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_a_computed_table(mode: str) -> None:
    module = nn.EmbeddingBag(5, 4, mode=mode).double()
    for shape in ((2, 3), (3, 1)):
        check(module, ids(*shape))
        check(Call(lambda x, table: F.embedding_bag(x, table * 2, mode=mode)), ids(*shape), r(5, 4))
    check(
        Call(lambda x, t, w: F.embedding_bag(x, 2 * t, per_sample_weights=w, mode="sum")), ids(2, 3), r(5, 4), r(2, 3)
    )
    with pytest.raises(NetcalcError, match="bags of several sizes"):
        check(module, ids(7), torch.tensor([0, 3]))


def test_embedding_bag_with_weights() -> None:
    assert check(nn.EmbeddingBag(5, 4, mode="sum"), ids(7), torch.tensor([0, 3]), r(7)) == ["embedding_bag"]


@pytest.mark.parametrize("norm_type", [1.0, 2.0])
def test_tables_with_a_limit(norm_type: float) -> None:
    limits = {"max_norm": 0.5, "norm_type": norm_type}
    assert check(nn.Embedding(5, 4, **limits), ids(2, 3)) == ["embedding"]
    assert check(nn.EmbeddingBag(5, 4, **limits), ids(7), torch.tensor([0, 3])) == ["embedding_bag"]


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim: int | None) -> None:
    assert check(nn.utils.parametrizations.weight_norm(nn.Linear(3, 4), dim=dim), r(2, 3))[-1] == "linear"
    assert check(nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 2), dim=dim), r(2, 3, 5))[-1] == "conv1d"


# -- convolutions -----------------------------------------------------------------------------------


@draws
@given(st.data())
def test_convolution(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))
    groups = data.draw(st.sampled_from([1, 2]))
    kernel = data.draw(st.one_of(st.integers(1, 3), st.tuples(*[st.integers(1, 3)] * axes)))
    padding = data.draw(
        st.one_of(st.integers(0, 2), st.tuples(*[st.integers(0, 2)] * axes), st.sampled_from(["same", "valid"]))
    )
    stride = 1 if padding == "same" else data.draw(st.one_of(st.integers(1, 2), st.tuples(*[st.integers(1, 2)] * axes)))
    mode = data.draw(st.sampled_from(["zeros", "reflect", "replicate", "circular"]))
    layer = getattr(nn, f"Conv{axes}d")(
        2, 4, kernel, stride=stride, padding=padding, groups=groups, padding_mode=mode,
        dilation=data.draw(st.integers(1, 2)), bias=data.draw(st.booleans()),
    )  # fmt: skip
    batch = data.draw(st.sampled_from([(), (2,)]))
    found = check(layer, r(*batch, 2, *[6, 7, 5][:axes]), flops=bool(batch))
    assert found[-1] == f"conv{axes}d"
    if mode == "zeros":
        assert len(found) == 1


@draws
@given(st.data())
def test_transposed_convolution(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))
    stride = data.draw(st.integers(1, 3))
    layer = getattr(nn, f"ConvTranspose{axes}d")(
        4, 6, data.draw(st.integers(2, 3)), stride=stride, padding=data.draw(st.integers(0, 1)),
        output_padding=data.draw(st.integers(0, stride - 1)), groups=data.draw(st.sampled_from([1, 2])),
        bias=data.draw(st.booleans()), dilation=data.draw(st.sampled_from([stride, 3])),
    )  # fmt: skip
    assert check(layer, r(2, 4, *[4, 5, 3][:axes])) == [f"conv_transpose{axes}d"]


@pytest.mark.parametrize("transposed", [True, False])
def test_convolution_of_core_aten(transposed: bool) -> None:
    weight = r(4, 3, 2, 3) if transposed else r(6, 2, 2, 3)
    function = lambda x, w: ATEN.convolution(x, w, None, [2, 1], [1, 0], [1, 1], transposed, [0, 0], 2)  # noqa: E731
    found = check(Call(function, w=weight), r(1, 4, 6, 7))
    assert found == ["conv_transpose2d" if transposed else "conv2d"]


def test_convolution_with_a_computed_weight() -> None:
    module = Call(lambda x, w, b: F.conv2d(x, w.relu(), b, padding=1), w=r(4, 2, 3, 3), b=r(4))
    assert check(module, r(1, 2, 5, 5)) == ["parameter", "relu", "conv2d"]


def test_convolution_of_a_stored_tensor() -> None:
    assert check(Call(lambda w, x: F.conv2d(x, w), w=r(4, 2, 3, 3), x=r(1, 2, 5, 5))) == ["parameter", "conv2d"]


# -- norms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("track", [True, False])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_batch_norm(affine: bool, track: bool, axes: int) -> None:
    layer = getattr(nn, f"BatchNorm{axes}d")(4, affine=affine, track_running_stats=track, eps=1e-3, momentum=0.2)
    graph = assert_imports(filled(layer), r(3, 4, *[5, 3, 2][:axes]))
    (line,) = graph.lines
    assert len(line.parameters) == 2 * affine + 3 * track


@pytest.mark.parametrize("kind", ["batch", "instance"])
@pytest.mark.parametrize("weight", [None, "parameter", "buffer", "computed"])
@pytest.mark.parametrize("bias", [None, "parameter", "computed"])
@pytest.mark.parametrize("statistics", ["buffers", "computed", "own"])
def test_norms_of_channels(kind: str, weight: str | None, bias: str | None, statistics: str) -> None:
    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.b = nn.Parameter(r(4)), nn.Parameter(r(4))
            for name in ("mean", "var", "scale"):
                self.register_buffer(name, r(4).abs() + 0.1)

        def forward(self, x: Any) -> Any:
            w = {"parameter": self.w, "buffer": self.scale, "computed": self.w.relu(), None: None}[weight]
            b = {"parameter": self.b, "computed": self.b.relu(), None: None}[bias]
            mean, var = (self.mean.relu(), self.var.relu()) if statistics == "computed" else (self.mean, self.var)
            if statistics == "own":
                mean = var = None
            own = statistics == "own"
            if kind == "batch":
                return F.batch_norm(x, mean, var, w, b, own)
            return F.instance_norm(x, mean, var, w, b, own)

    graph = assert_imports(Norm(), r(3, 4, 5, 2))
    norms = [line for line in graph.lines if line.operation.endswith("norm")]
    assert [line.operation.removeprefix("frozen_") for line in norms] == [f"{kind}_norm"]
    assert {*operations(graph)} <= {norms[0].operation, "relu", "parameter", "buffer"}


def test_frozen_batch_norm() -> None:
    class Frozen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name in ("weight", "bias", "mean", "var"):
                self.register_buffer(name, r(4).abs() + 0.1)

        def forward(self, x: Any) -> Any:
            return F.batch_norm(x, self.mean, self.var, self.weight, self.bias)

    assert operations(assert_imports(Frozen(), r(3, 4, 5))) == ["frozen_batch_norm"]


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("track", [True, False])
def test_instance_norm(affine: bool, track: bool) -> None:
    layer = nn.InstanceNorm2d(4, affine=affine, track_running_stats=track)
    assert check(layer, r(3, 4, 5, 3)) == ["instance_norm"]


@pytest.mark.parametrize("norm", ["layer", "rms", "group"])
@pytest.mark.parametrize("weight", [None, "parameter", "computed", "double"])
@pytest.mark.parametrize("bias", [None, "parameter", "computed"])
def test_norms_of_samples(norm: str, weight: str | None, bias: str | None) -> None:
    sizes = [4] if norm == "group" else [3, 4]

    class Norm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.b = nn.Parameter(r(*sizes)), nn.Parameter(r(*sizes))

        def forward(self, x: Any) -> Any:
            w = {"parameter": self.w, "computed": self.w.relu(), "double": self.w.relu().relu(), None: None}[weight]
            b = {"parameter": self.b, "computed": self.b.relu(), None: None}[bias]
            if norm == "rms":
                return F.rms_norm(x, sizes, w, 1e-4)
            return F.group_norm(x, 2, w, b) if norm == "group" else F.layer_norm(x, sizes, w, b, 1e-3)

    graph = assert_imports(Norm(), r(2, 4, 3) if norm == "group" else r(2, 3, 4))
    assert [name for name in operations(graph) if name not in ("relu", "parameter")] == [f"{norm}_norm"]


@pytest.mark.parametrize(
    "layer", [nn.LayerNorm(4), nn.LayerNorm((3, 4), bias=False), nn.RMSNorm(4), nn.GroupNorm(3, 3)]
)
def test_norm_is_a_single_line(layer: Any) -> None:
    assert len(check(layer, r(2, 3, 4))) == 1


# -- pooling ----------------------------------------------------------------------------------------


@draws
@given(st.data())
def test_pooling(data: st.DataObject) -> None:
    axes = data.draw(st.integers(1, 3))
    kind = data.draw(st.sampled_from(["Max", "Avg"]))
    kernel = data.draw(st.one_of(st.integers(2, 3), st.tuples(*[st.integers(2, 3)] * axes)))
    options: dict[str, Any] = {
        "stride": data.draw(st.sampled_from([None, 1, 2])),
        "padding": data.draw(st.integers(0, 1)),
        "ceil_mode": data.draw(st.booleans()),
    }
    if kind == "Max":
        options |= {"dilation": data.draw(st.integers(1, 2)), "return_indices": data.draw(st.booleans())}
    else:
        options["count_include_pad"] = data.draw(st.booleans())
        if axes > 1:
            options["divisor_override"] = data.draw(st.sampled_from([None, 3]))
    batch = data.draw(st.sampled_from([(), (2,)]))
    layer = getattr(nn, f"{kind}Pool{axes}d")(kernel, **options)
    assert check(layer, r(*batch, 2, *[7, 6, 5][:axes])) == [f"{kind.lower()}_pool{axes}d"]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 3, (None, 2, 3)])
def test_adaptive_pooling(axes: int, size: Any) -> None:
    size = size[:axes] if isinstance(size, tuple) and axes > 1 else 2 if isinstance(size, tuple) else size
    x = r(2, 3, *[7, 6, 5][:axes])
    name = "global_avg" if size == 1 else "adaptive_avg"
    assert check(getattr(nn, f"AdaptiveAvgPool{axes}d")(size), x) == [f"{name}_pool{axes}d"]
    assert check(getattr(nn, f"AdaptiveMaxPool{axes}d")(size), x) == [f"adaptive_max_pool{axes}d"]
    assert_imports(getattr(nn, f"AdaptiveMaxPool{axes}d")(size, return_indices=True), x)


# -- attention and softmax --------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}, {"dropout_p": 0.0, "enable_gqa": True}])
@pytest.mark.parametrize("mask", [None, "bool", "float", "buffer"])
def test_attention(options: dict[str, Any], mask: str | None) -> None:
    if mask and "is_causal" in options:
        return
    heads = 2 if "enable_gqa" in options else 4
    given = {"bool": r(5, 3) > -1, "float": r(2, 1, 5, 3), "buffer": r(5, 3) > -1, None: None}[mask]
    q, k, v = r(2, 4, 5, 6), r(2, heads, 3, 6), r(2, heads, 3, 7)
    if mask == "buffer":
        module = Call(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, **options), m=given)
        assert check(module, q, k, v) == ["buffer", "scaled_dot_product_attention"]
    else:
        module = Call(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, **options))
        assert check(module, q, k, v, given) == ["scaled_dot_product_attention"]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", [None, torch.float64])
def test_softmax(dim: int, dtype: Any) -> None:
    expected = [] if dtype is None else ["cast"]
    assert check(Call(lambda x: F.softmax(x, dim, dtype=dtype)), r(2, 3, 4)) == [*expected, "softmax"]
    assert check(Call(lambda x: F.log_softmax(x, dim, dtype=dtype)), r(2, 3, 4)) == [*expected, "log_softmax"]
    assert check(Call(lambda x: ATEN._softmax(x, dim, False)), r(2, 3, 4)) == ["softmax"]


def test_softmax_of_masked_rows() -> None:
    x = torch.tensor([[1.0, -torch.inf], [-torch.inf, -torch.inf]])
    check(Call(lambda x: ATEN._safe_softmax(x, -1)), x)


@pytest.mark.parametrize("mask", [None, 0, 1, 2])
@pytest.mark.parametrize("gelu", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_fused_transformer_layer(mask: int | None, gelu: bool, norm_first: bool) -> None:
    """The layer that PyTorch runs in inference, whose products its counter does not see."""
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
    shape = {0: (5, 5), 1: (2, 5), 2: (2, 2, 5, 5), None: None}[mask]
    hidden = None if shape is None else torch.rand(shape) > 0.7
    if hidden is not None:
        hidden[..., 0] = False

    def fused(x: Any, m: Any, *weights: Any) -> Any:
        return ATEN._transformer_encoder_layer_fwd(x, 8, 2, *weights[:4], gelu, norm_first, 1e-4, *weights[4:], m, mask)

    attention, norms = layer.self_attn, (layer.norm1, layer.norm2)
    weights = [attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight, attention.out_proj.bias]
    for part in (*norms, layer.linear1, layer.linear2):
        weights += [part.weight, part.bias]
    module = Call(fused, **{f"w{number:02}": weight for number, weight in enumerate(weights)})
    filled(module)
    module.requires_grad_(False)
    check(module, r(2, 5, 8), hidden, flops=False)


def test_decomposed_layers() -> None:
    q = r(2, 4, 5, 6)
    for attention in (ATEN._scaled_dot_product_flash_attention_for_cpu, ATEN._scaled_dot_product_attention_math):
        check(Call(lambda q, attention=attention: attention(q, q, q, is_causal=True)[0]), q, flops=False)
    x = r(2, 4, 3)
    check(Call(lambda x, w, b: ATEN.native_layer_norm(x, [3], w, b, 1e-5)[0], w=r(3), b=r(3)), x)
    check(Call(lambda x, w, b: ATEN.native_group_norm(x, w, b, 2, 4, 3, 2, 1e-5)[0], w=r(4), b=r(4)), x)
    check(Call(lambda x, w: ATEN._fused_rms_norm(x, [3], w, 1e-5)[0], w=r(3)), x)
    check(Call(lambda x, w: ATEN._native_batch_norm_legit(x, w, None, True, 0.1, 1e-5)[0], w=r(4)), x)
    statistics = r(4), r(4).abs() + 0.1
    function = lambda x, m, v, w: ATEN._native_batch_norm_legit_no_training(x, w, None, m, v, 0.1, 1e-5)[0]  # noqa: E731
    check(Call(function, w=r(4)), x, *statistics)
    check(Call(lambda v, g: ATEN._weight_norm_interface(v, g)[0]), x, r(2, 1, 1))
    check(Call(lambda x, t: ATEN.nll_loss_forward(x, t, None, 1, -100)[0]), r(3, 4), ids(3, most=4))


# -- dropout ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.Dropout(0.1), ["dropout"]),
        (nn.Dropout(0.1, inplace=True), ["dropout"]),
        (nn.Dropout(0), []),
        (nn.Dropout2d(0.2), ["dropout"]),
        (nn.Dropout1d(), ["dropout"]),
        (nn.AlphaDropout(), []),
        (nn.FeatureAlphaDropout(), []),
    ],
)
def test_dropout(layer: Any, expected: list[str]) -> None:
    shape = (2, 3, 4) if isinstance(layer, nn.Dropout1d) else (2, 3, 4, 5)
    assert check(layer, r(*shape)) == expected


# -- recurrent layers -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}, {"proj_size": 2}],
    ids=str,
)
def test_recurrent(kind: str, options: dict[str, Any]) -> None:
    if "proj_size" in options and kind != "LSTM":
        return
    rows = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    batch = 5 if options.get("batch_first") else 2
    h = r(rows, batch, options.get("proj_size", 3))
    states = (h, r(rows, batch, 3)) if kind == "LSTM" else h
    assert check(getattr(nn, kind)(4, 3, **options), r(5, 2, 4), states) == [kind.lower()]
    graph = assert_imports(filled(getattr(nn, kind)(4, 3, **options)), r(5, 2, 4))
    assert len(graph.lines[-1].inputs) == 1  # states of zeros are left out


def test_recurrent_layer_with_relu() -> None:
    assert check(nn.RNN(4, 3, nonlinearity="relu"), r(5, 2, 4), r(1, 2, 3)) == ["rnn"]


@pytest.mark.parametrize(
    "cell", [nn.LSTMCell(4, 3), nn.GRUCell(4, 3, bias=False), nn.RNNCell(4, 3), nn.RNNCell(4, 3, nonlinearity="relu")]
)
def test_cell(cell: Any) -> None:
    states = (r(2, 3), r(2, 3)) if isinstance(cell, nn.LSTMCell) else r(2, 3)
    name = type(cell).__name__.removesuffix("Cell").lower()
    assert check(cell, r(2, 4), states) == [f"{name}_cell"]


def test_cell_in_a_loop() -> None:
    class Loop(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(4, 3)

        def forward(self, x: Any, h: Any) -> Any:
            for _ in range(3):
                h = self.cell(x, h)
            return h

    assert check(Loop(), r(2, 4), r(2, 3)) == ["gru_cell"] * 3


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        {"bias": False},
        {"proj_size": 2},
        {"nonlinearity": "relu"},
    ],
    ids=str,
)
def test_recurrent_layer_with_computed_weights(kind: str, options: dict[str, Any]) -> None:
    """Step by step, with the work of the layer."""
    if ("proj_size" in options and kind != "LSTM") or ("nonlinearity" in options and kind != "RNN"):
        return
    layer = filled(getattr(nn, kind)(4, 3, **options))
    names = [name for name, _ in layer.named_parameters()]

    def run(x: Any, *tensors: Any) -> Any:
        return torch.func.functional_call(layer, {name: 2 * t for name, t in zip(names, tensors, strict=True)}, (x,))

    module = Call(run, **{name: tensor.detach() for name, tensor in layer.named_parameters()})
    graph = assert_imports(module, r(5, 2, 4))
    assert kind.lower() not in operations(graph)


def test_recurrent_layer_of_a_plain_list() -> None:
    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [filled(nn.GRU(4, 4)), filled(nn.LSTM(4, 4))]

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x, _ = layer(x)
            return x

    assert_imports(Layers(), r(3, 2, 4))


@pytest.mark.parametrize("cell", [nn.LSTMCell(4, 3), nn.GRUCell(4, 3), nn.RNNCell(4, 3, nonlinearity="relu")])
def test_cell_with_computed_weights(cell: Any) -> None:
    states = (r(2, 3), r(2, 3)) if isinstance(cell, nn.LSTMCell) else r(2, 3)
    parametrized = torch.nn.utils.parametrizations.weight_norm(filled(cell), "weight_hh")
    assert_imports(parametrized, r(2, 4), states)


# -- images -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bicubic", "area"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    "target",
    [{"size": 9}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 1.7, "recompute_scale_factor": True}],
    ids=str,
)
@pytest.mark.parametrize("corners", [True, False])
def test_interpolation(mode: str, axes: int, target: dict[str, Any], corners: bool) -> None:
    if mode == "bicubic" and axes != 2:
        return
    if mode == "linear":
        mode = ("linear", "bilinear", "trilinear")[axes - 1]
    aligned = {"align_corners": corners} if "linear" in mode or mode == "bicubic" else {}
    check(Call(lambda x: F.interpolate(x, mode=mode, **target, **aligned)), r(1, 2, *[6, 7, 5][:axes]))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolation_with_antialias(mode: str) -> None:
    check(Call(lambda x: F.interpolate(x, size=(3, 4), mode=mode, antialias=True)), r(1, 2, 7, 6))


def test_interpolation_of_core_aten() -> None:
    x = r(1, 2, 5, 6)
    check(Call(lambda x: ATEN.upsample_bilinear2d.default(x, [9, 12], False, 1.8, 2.0)), x)
    check(Call(lambda x: ATEN.upsample_nearest2d.default(x, [9, 12])), x)
    with pytest.raises(NetcalcError, match="other factors"):
        check(Call(lambda x: ATEN.upsample_bilinear2d.default(x, [9, 12], False, 1.5, 2.0)), x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("sides", [(1, 2), (1, 1, 2, 0), (0, 0, 1, 2), (1, 1, 1, 1)])
def test_padding(mode: str, sides: tuple[int, ...]) -> None:
    value = 1.5 if mode == "constant" else None
    assert check(
        Call(lambda x: F.pad(x, sides, mode, value)), r(2, 3, 4, 5)[:2, 0] if len(sides) == 2 else r(2, 3, 4, 5)
    ) == ["pad"]


def test_padding_of_many_axes() -> None:
    assert check(Call(lambda x: F.pad(x, (0, 0, 0, 1, 2, 0, 0, 0))), r(2, 3, 4, 5)) == ["pad"]
    assert check(Call(lambda x: F.pad(x, (-1, 1))), ids(2, 3)) == ["pad"]
    assert check(Call(lambda x: F.pad(x, (0, 0))), r(2, 3)) == []
    assert check(Call(lambda x: ATEN.constant_pad_nd(x, [1, 0], 2.0)), r(2, 3)) == ["pad"]
    assert check(Call(lambda x: ATEN.reflection_pad2d(x, [1, 0, 2, 1])), r(2, 3, 4)) == ["pad"]
    assert check(Call(lambda x: ATEN.replication_pad1d(x, [1, 0])), r(2, 3, 4)) == ["pad"]


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [True, False])
def test_grid_sample(mode: str, padding: str, corners: bool) -> None:
    module = Call(lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=corners))
    assert check(module, r(1, 2, 5, 6), r(1, 3, 4, 2)) == ["grid_sample"]


def regions(x: Any, rois: Any, scale: float, height: int, width: int, sampling: int, aligned: bool) -> Any:
    """Return ``torchvision.ops.roi_align`` by its implementation in Python, where its operator does not load."""
    pooled: Any = sys.modules["torchvision.ops.roi_align"]
    return pooled._roi_align.__wrapped__(x, rois, scale, height, width, sampling, aligned)


@pytest.fixture(scope="module")
def roi_align() -> Iterator[Any]:
    """Declare torchvision's operator where it does not load, as torch.export keeps it."""
    pytest.importorskip("torchvision.ops")
    if hasattr(torch.ops.torchvision, "roi_align"):
        yield torch.ops.torchvision.roi_align
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
        "int sampling_ratio, bool aligned) -> Tensor"
    )
    library.impl("roi_align", regions, "CPU")
    library.impl("roi_align", lambda x, rois, _, *size: x.new_empty((len(rois), x.shape[1], *size[:2])), "Meta")
    yield torch.ops.torchvision.roi_align
    library._destroy()


@pytest.mark.parametrize("aligned", [True, False])
def test_roi_align(roi_align: Any, aligned: bool) -> None:
    module = Call(lambda x, rois: roi_align(x, rois, 0.5, 2, 3, 2, aligned))
    rois = torch.tensor([[0, 1.0, 1.0, 7.0, 5.0], [1, 2.0, 2.0, 8.0, 9.0], [0, 0.0, 1.0, 3.0, 8.0]])
    assert check(module, r(2, 3, 5, 6), rois) == ["roi_align"]
    with pytest.raises(NetcalcError, match="the number of samples depends on the boxes"):
        netcalc.from_torch(Call(lambda x, rois: roi_align(x, rois, 0.5, 2, 3, -1, aligned)), r(2, 3, 5, 6), rois)


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 3, 4, 5), (2, 1, 1, 4)])
def test_affine_grid(corners: bool, size: tuple[int, ...]) -> None:
    axes = len(size) - 2
    check(Call(lambda theta: F.affine_grid(theta, size, align_corners=corners)), r(2, axes, axes + 1))


def test_windows_and_shuffles() -> None:
    x = r(2, 8, 4, 6)
    assert check(nn.PixelShuffle(2), x) == ["pixel_shuffle"]
    assert check(nn.PixelUnshuffle(2), x) == ["pixel_unshuffle"]
    assert check(nn.ChannelShuffle(4), x) == ["channel_shuffle"]
    assert check(nn.Unfold((3, 2), dilation=1, padding=(1, 0), stride=(2, 1)), x) == ["unfold"]
    assert check(nn.Fold((4, 5), (2, 3), padding=0, stride=(2, 1)), r(2, 12, 6)) == ["fold"]


# -- losses and distances ---------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_losses(reduction: int) -> None:
    a, b = r(3, 4), r(3, 4)
    probabilities = torch.rand(3, 4), torch.rand(3, 4)
    for operator in (ATEN.mse_loss, ATEN.l1_loss, ATEN.smooth_l1_loss, ATEN.huber_loss):
        check(Call(lambda x, y: operator(x, y, reduction)), a, b)  # noqa: B023
    check(Call(lambda x, y: ATEN.smooth_l1_loss(x, y, reduction, 0.0)), a, b)
    check(Call(lambda x, y: ATEN.smooth_l1_loss(x, y, reduction, 0.5)), a, b)
    check(Call(lambda x, y: ATEN.huber_loss(x, y, reduction, 0.5)), a, b)
    check(Call(lambda x, y: ATEN.binary_cross_entropy(x, y, None, reduction)), *probabilities)
    check(Call(lambda x, y, w: ATEN.binary_cross_entropy(x, y, w, reduction)), *probabilities, torch.rand(4))
    check(
        Call(lambda x, y, p: ATEN.binary_cross_entropy_with_logits(x, y, None, p, reduction)),
        a,
        probabilities[0],
        torch.rand(4),
    )
    check(Call(lambda x, y: ATEN.kl_div(x, y, reduction)), a, probabilities[0])
    check(Call(lambda x, y: ATEN.kl_div(x, y, reduction, log_target=True)), a, b)
    check(Call(lambda x, y: ATEN.soft_margin_loss(x, y, reduction)), a, b.sign())
    check(Call(lambda x, y: ATEN.poisson_nll_loss(x, y, True, False, 1e-8, reduction)), a, b)
    check(Call(lambda x, y: ATEN.poisson_nll_loss(x, y, False, False, 1e-8, reduction)), *probabilities)
    check(Call(lambda x, y: ATEN.hinge_embedding_loss(x, y, 0.7, reduction)), a, b.sign())
    check(Call(lambda x, y, t: ATEN.margin_ranking_loss(x, y, t, 0.2, reduction)), a, b, r(3, 4).sign())
    check(Call(lambda x, y, t: ATEN.cosine_embedding_loss(x, y, t, 0.2, reduction)), a, b, r(3).sign())
    # targets that are neither 1 nor −1 have no loss
    check(
        Call(lambda x, y, t: ATEN.cosine_embedding_loss(x, y, t, 0.2, reduction)), a, b, torch.tensor([1.0, -1.0, 0.5])
    )
    check(Call(lambda x, t: ATEN.multi_margin_loss(x, t, 1, 0.5, None, reduction)), a, ids(3, most=4))
    check(Call(lambda x, t, w: ATEN.multi_margin_loss(x, t, 2, 1.0, w, reduction)), a, ids(3, most=4), torch.rand(4))
    for swap in (True, False):
        check(Call(lambda x, y, z: ATEN.triplet_margin_loss(x, y, z, 0.5, 2, 1e-6, swap, reduction)), a, b, r(3, 4))  # noqa: B023


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [True, False])
def test_losses_of_classes(reduction: str, weighted: bool) -> None:
    weight = torch.rand(4) if weighted else None
    for x, target in ((r(3, 4), ids(3, most=4)), (r(3, 4, 5), ids(3, 5, most=4)), (r(4), ids(most=4))):
        check(nn.NLLLoss(weight, ignore_index=2, reduction=reduction), x, target)
        check(nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=0.1), x, target)
    check(nn.CrossEntropyLoss(weight, reduction=reduction), r(3, 4), torch.rand(3, 4))


def test_distances() -> None:
    a, b = r(3, 4), r(3, 4)
    for dim in (0, 1, -1):
        check(nn.CosineSimilarity(dim, eps=1e-6), a, b)
    for keepdim in (True, False):
        check(nn.PairwiseDistance(3, keepdim=keepdim), a, b)
    check(Call(F.pdist), r(4, 3))
    check(Call(lambda x: F.pdist(x, 3.0)), r(4, 3))
