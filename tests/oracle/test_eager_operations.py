"""Memory of single operations in PyTorch's eager mode: computed, against tensors that PyTorch allocates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from netcalc.analysis.activations import activations  # noqa: E402
from tests.numerics.programs import program  # noqa: E402
from tests.oracle.test_eager_memory import Allocated  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")

attend = functional.scaled_dot_product_attention


class Case(NamedTuple):
    """Lines of a spec, its inputs, and the function that computes the same of them."""

    layers: str
    inputs: dict[str, list[int]]
    function: Callable[..., Any]
    dtypes: tuple[str, ...] = ()


class Around(nn.Module):
    """A module between two functions."""

    def __init__(self, before: Callable[[Any], Any], module: Any, after: Callable[[Any], Any] = lambda x: x) -> None:
        super().__init__()
        self.before, self.module, self.after = before, module, after

    def forward(self, x: Any) -> Any:
        return self.after(self.module(self.before(x)))


X = {"x": [2, 8, 16]}
IMAGE = {"x": [2, 8, 12, 12]}
SWAP = "{transpose: [1, 2]}"
HEADS = {"q": [2, 4, 16, 8], "k": [2, 4, 16, 8], "v": [2, 4, 16, 8]}
NARROW = {**HEADS, "v": [2, 4, 16, 6]}
GROUPED = {"q": [2, 4, 16, 8], "k": [2, 2, 16, 8], "v": [2, 2, 16, 8]}


def attention(**attributes: Any) -> str:
    text = ", ".join(f"{name}: {str(value).lower()}" for name, value in attributes.items())
    return f"{{scaled_dot_product_attention: {{{text}}}, from: [q, k, v]}}"


def masked(inputs: dict[str, list[int]], shape: list[int], dtype: str) -> Case:
    return Case(
        "{scaled_dot_product_attention: {}, from: [q, k, v, mask]}",
        {**inputs, "mask": shape},
        lambda q, k, v, mask: attend(q, k, v, mask),
        ("float32", "float32", "float32", dtype),
    )


CASES = {
    "max_pool1d": Case("{max_pool1d: 2}", X, nn.MaxPool1d(2)),
    "max_pool2d": Case("{max_pool2d: {kernel: 3, stride: 2}}", IMAGE, nn.MaxPool2d(3, 2)),
    "max_pool3d": Case("{max_pool3d: 2}", {"x": [1, 2, 8, 8, 8]}, nn.MaxPool3d(2)),
    "adaptive_max_pool2d": Case("{adaptive_max_pool2d: 2}", IMAGE, nn.AdaptiveMaxPool2d(2)),
    "adaptive_avg_pool2d": Case("{adaptive_avg_pool2d: 2}", IMAGE, nn.AdaptiveAvgPool2d(2)),
    "lp_pool2d": Case("{lp_pool2d: {norm_type: 2, kernel: 2}}", IMAGE, nn.LPPool2d(2, 2)),
    "layer_norm": Case("layer_norm", X, nn.LayerNorm(16)),
    "group_norm": Case("{group_norm: {groups: 2}}", IMAGE, nn.GroupNorm(2, 8)),
    "batch_norm": Case("batch_norm", IMAGE, nn.BatchNorm2d(8)),
    "own statistics": Case(
        "{batch_norm: {track_running_stats: false}}", IMAGE, nn.BatchNorm2d(8, track_running_stats=False)
    ),
    "instance_norm": Case("{instance_norm: {affine: true}}", IMAGE, nn.InstanceNorm2d(8, affine=True)),
    "layer_norm of given weights": Case(
        "{layer_norm: {}, from: [x, w, b]}",
        {**X, "w": [16], "b": [16]},
        lambda x, w, b: functional.layer_norm(x, (16,), w, b),
    ),
    "rms_norm of a given weight": Case(
        "{rms_norm: {}, from: [x, w]}", {**X, "w": [16]}, lambda x, w: functional.rms_norm(x, (16,), w)
    ),
    "instance_norm of given weights": Case(
        "{instance_norm: {}, from: [x, w, b]}",
        {**IMAGE, "w": [8], "b": [8]},
        lambda x, w, b: functional.instance_norm(x, None, None, w, b),
    ),
    "batch_norm of given vectors": Case(
        "{batch_norm: {}, from: [x, w, b, mean, var]}",
        {**IMAGE, "w": [8], "b": [8], "mean": [8], "var": [8]},
        lambda x, w, b, mean, var: functional.batch_norm(x, mean, var, w, b),
    ),
    "rms_norm": Case("rms_norm", X, nn.RMSNorm(16)),
    "rms_norm without weight": Case("{rms_norm: {affine: false}}", X, nn.RMSNorm(16, elementwise_affine=False)),
    "local_response_norm": Case("{local_response_norm: 3}", IMAGE, nn.LocalResponseNorm(3)),
    "normalize": Case("{normalize: {axis: -1}}", X, lambda x: functional.normalize(x, dim=-1)),
    "softmax": Case("softmax", X, nn.Softmax(-1)),
    "gelu": Case("{gelu: {approximate: tanh}}", X, nn.GELU("tanh")),
    "logsigmoid": Case("logsigmoid", X, nn.LogSigmoid()),
    "softsign": Case("softsign", X, nn.Softsign()),
    "tanhshrink": Case("tanhshrink", X, nn.Tanhshrink()),
    "glu": Case("glu", X, nn.GLU()),
    "linear": Case("{linear: 4}", X, nn.Linear(16, 4)),
    "linear of a transpose": Case(f"{SWAP}, {{linear: 4}}", X, Around(lambda x: x.transpose(1, 2), nn.Linear(8, 4))),
    "linear without bias": Case(
        f"{SWAP}, {{linear: {{out: 4, bias: false}}}}",
        X,
        Around(lambda x: x.transpose(1, 2), nn.Linear(8, 4, bias=False)),
    ),
    "copy of a transpose": Case(f"{SWAP}, flatten", X, lambda x: x.transpose(1, 2).flatten(1)),
    "order kept by an activation": Case(
        f"{SWAP}, elu, {SWAP}, flatten", X, lambda x: nn.ELU()(x.transpose(1, 2)).transpose(1, 2).flatten(1)
    ),
    "channels last": Case(
        "{permute: [0, 3, 1, 2]}, {conv2d: {out: 8, kernel: 1}}, {permute: [0, 2, 3, 1]}, flatten",
        {"x": [1, 6, 6, 8]},
        Around(lambda x: x.permute(0, 3, 1, 2), nn.Conv2d(8, 8, 1), lambda x: x.permute(0, 2, 3, 1).flatten(1)),
    ),
    "conv": Case("{conv2d: {out: 4, kernel: 3, padding: 1}}", IMAGE, nn.Conv2d(8, 4, 3, padding=1)),
    "conv, reflected": Case(
        "{conv2d: {out: 4, kernel: 3, padding: 1, padding_mode: reflect}}",
        IMAGE,
        nn.Conv2d(8, 4, 3, padding=1, padding_mode="reflect"),
    ),
    "conv, circular": Case(
        "{conv2d: {out: 4, kernel: 3, padding: 1, padding_mode: circular}}",
        IMAGE,
        nn.Conv2d(8, 4, 3, padding=1, padding_mode="circular"),
    ),
    "conv, one side": Case("{conv2d: {out: 4, kernel: 2, padding: same}}", IMAGE, nn.Conv2d(8, 4, 2, padding="same")),
    "matmul": Case(
        "{matmul: {}, from: [x, y]}", {"x": [2, 4, 5, 6], "y": [2, 4, 6, 7]}, lambda x, y: torch.matmul(x, y)
    ),
    "matmul, broadcast": Case(
        "{matmul: {}, from: [x, y]}", {"x": [2, 4, 5, 6], "y": [4, 6, 7]}, lambda x, y: torch.matmul(x, y)
    ),
    "matmul, one matrix": Case(
        "{matmul: {}, from: [x, y]}", {"x": [2, 4, 5, 6], "y": [6, 7]}, lambda x, y: torch.matmul(x, y)
    ),
    "attention": Case(attention(), HEADS, attend),
    "causal attention": Case(attention(causal=True), HEADS, lambda q, k, v: attend(q, k, v, is_causal=True)),
    "grouped attention": Case(
        attention(causal=True, enable_gqa=True),
        GROUPED,
        lambda q, k, v: attend(q, k, v, is_causal=True, enable_gqa=True),
    ),
    "heads joined": Case(
        attention() + ", {transpose: [1, 2]}, {flatten: 2}",
        HEADS,
        lambda q, k, v: attend(q, k, v).transpose(1, 2).flatten(2),
    ),
    "heads split and joined": Case(
        "{unflatten: {axis: -1, sizes: [4, 4]}}, {name: q, transpose: [1, 2]}, "
        "{scaled_dot_product_attention: {}, from: [q, q, q]}, {transpose: [1, 2]}, {flatten: 2}",
        X,
        lambda x: (
            (q := x.unflatten(-1, (4, 4)).transpose(1, 2)) is not None and attend(q, q, q).transpose(1, 2).flatten(2)
        ),
    ),
    "attention, mask of booleans": masked(HEADS, [2, 1, 16, 16], "bool"),
    "attention, mask of numbers": masked(HEADS, [2, 1, 16, 16], "float32"),
    "attention, narrow values": Case(attention(), NARROW, attend),
    "attention, narrow values, mask": masked(NARROW, [2, 1, 16, 16], "bool"),
    "attention, narrow values, causal": Case(
        attention(causal=True), NARROW, lambda q, k, v: attend(q, k, v, is_causal=True)
    ),
    "attention without batch": Case(attention(), {name: shape[1:] for name, shape in HEADS.items()}, attend),
}


@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_what_torch_allocates(name: str) -> None:
    case = CASES[name]
    dtypes = case.dtypes or ("float32",) * len(case.inputs)
    types = zip(case.inputs.items(), dtypes, strict=True)
    inputs = ", ".join(f"{key}: {{shape: {shape}, dtype: {dtype}}}" for (key, shape), dtype in types)
    predicted = activations(program(f"inputs: {{{inputs}}}\nlayers: [{case.layers}]"), "eager")
    arguments = [
        torch.ones(shape).to(getattr(torch, dtype)) for shape, dtype in zip(case.inputs.values(), dtypes, strict=True)
    ]
    parameters = list(case.function.parameters()) if isinstance(case.function, nn.Module) else []
    buffers = list(case.function.buffers()) if isinstance(case.function, nn.Module) else []
    if isinstance(case.function, nn.Module):
        case.function.eval()
    mode = Allocated([*arguments, *parameters, *buffers])
    with torch.no_grad(), mode:
        case.function(*arguments)
    given = sum(tensor.untyped_storage().nbytes() for tensor in arguments)
    assert predicted.peak == mode.peak + given
