"""Storages of the tensors that single operations keep for a backward pass in PyTorch's eager mode."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from netcalc.analysis.saved import saved_tensors  # noqa: E402
from netcalc.options import AttentionKernel, Mode  # noqa: E402
from tests.numerics.programs import program  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:LSTM with projections")

attend = functional.scaled_dot_product_attention

X = {"x": [2, 5, 8]}
HEADS = {name: [2, 4, 6, 8] for name in "qkv"}
GROUPED = HEADS | {"k": [2, 2, 6, 8], "v": [2, 2, 6, 8]}
BOOLEANS = {"mask": [2, 1, 6, 6]}


class Case(NamedTuple):
    """Lines of a spec, its inputs, and the function or module that computes the same of them.

    Inputs called mask are booleans and have no gradient.
    """

    layers: str
    inputs: dict[str, list[int]]
    function: Callable[..., Any]
    mode: Mode = "eval"
    attention: AttentionKernel = "sdpa-cpu"


def attention(attributes: str = "", mask: str = "") -> str:
    return f"{{scaled_dot_product_attention: {{{attributes}}}, from: [q, k, v{mask}]}}"


def written_out(q: Any, k: Any, v: Any, mask: Any = None, dropout: float = 0.0) -> Any:
    """Attention as transformers writes it."""
    k, v = (repeat_heads(x, q.shape[1] // x.shape[1]) for x in (k, v))
    scores = torch.matmul(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return torch.matmul(functional.dropout(scores.softmax(-1), dropout, dropout > 0), v)


def repeat_heads(x: Any, times: int) -> Any:
    batch, heads, length, features = x.shape
    return x[:, :, None].expand(batch, heads, times, length, features).reshape(batch, heads * times, length, features)


def repeated(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """The fused kernel with a mask, for which transformers repeats heads."""
    return attend(q, *(repeat_heads(x, q.shape[1] // x.shape[1]) for x in (k, v)), mask)


def flash(q: Any, k: Any, v: Any) -> Any:
    return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.1, True)[0]


def new_gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


CASES = {
    "attention": Case(attention(), HEADS, attend),
    "attention, heads in another order of memory": Case(
        "{name: q, transpose: [1, 2]}, {scaled_dot_product_attention: {}, from: [q, q, q]}, {transpose: [1, 2]}, "
        "{flatten: 2}, {tanh: {}}",
        {"x": [2, 6, 4, 8]},
        lambda x: (q := x.transpose(1, 2)) is not None and attend(q, q, q).transpose(1, 2).flatten(2).tanh(),
    ),
    "attention, causal": Case(attention("causal: true"), HEADS, lambda q, k, v: attend(q, k, v, is_causal=True)),
    "attention, groups": Case(attention("enable_gqa: true"), GROUPED, lambda q, k, v: attend(q, k, v, enable_gqa=True)),
    "attention, mask": Case(attention(mask=", mask"), HEADS | BOOLEANS, attend),
    "attention, mask, groups": Case(attention("enable_gqa: true", ", mask"), GROUPED | BOOLEANS, repeated),
    "attention, bias": Case(attention(mask=", bias"), HEADS | {"bias": [1, 4, 6, 6]}, attend),
    "attention, narrow values": Case(attention(), HEADS | {"v": [2, 4, 6, 5]}, attend),
    "attention, dropout": Case(
        attention("dropout: 0.1"), HEADS, lambda q, k, v: attend(q, k, v, dropout_p=0.1), "train"
    ),
    "eager": Case(attention(), HEADS, written_out, attention="eager"),
    "eager, groups": Case(attention("enable_gqa: true"), GROUPED, written_out, attention="eager"),
    "eager, one head of keys": Case(
        attention("enable_gqa: true"), HEADS | {"k": [2, 1, 6, 8], "v": [2, 1, 6, 8]}, written_out, attention="eager"
    ),
    "eager, mask": Case(attention(mask=", mask"), HEADS | BOOLEANS, written_out, attention="eager"),
    "eager, dropout": Case(
        attention("dropout: 0.1"), HEADS, lambda q, k, v: written_out(q, k, v, dropout=0.1), "train", "eager"
    ),
    "composed": Case(attention("composed: true"), HEADS, written_out),
    "flash": Case(attention("dropout: 0.1, causal: true"), HEADS, flash, "train", "flash"),
    "gelu": Case("{gelu: tanh}", X, lambda x: functional.gelu(x, approximate="tanh")),
    "gelu, composed": Case("{gelu: {approximate: tanh, composed: true}}", X, new_gelu),
    "gelu, exact and composed": Case(
        "{gelu: {composed: true}}", X, lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
    ),
    "quick_gelu": Case("{quick_gelu: {}}", X, lambda x: x * torch.sigmoid(1.702 * x)),
    "squared_relu": Case("{squared_relu: {}}", X, lambda x: functional.relu(x).square()),
    "softsign": Case("{softsign: {}}", X, functional.softsign),
    "logsigmoid": Case("{logsigmoid: {}}", X, functional.logsigmoid),
    "silu in place": Case("{silu: {}, eager: {inplace: true}}", X, lambda x: functional.silu(x.add(0), inplace=True)),
    "dropout": Case("{dropout: 0.5}", X, lambda x: functional.dropout(x, 0.5), "train"),
    "dropout of nothing": Case("{dropout: 0.0}, {tanh: {}}", X, lambda x: functional.dropout(x, 0.0).tanh(), "train"),
    "linear, transposed": Case(
        "{transpose: [1, 2]}, {linear: 4}",
        X,
        type("Transposed", (nn.Linear,), {"forward": lambda self, x: nn.Linear.forward(self, x.transpose(1, 2))})(5, 4),
    ),
    "matmul, broadcast": Case("{matmul: {}, from: [x, y]}", {"x": [2, 3, 4, 5], "y": [1, 3, 5, 6]}, torch.matmul),
    **{
        f"{name}, {what}": Case(
            f"{{{name}: {{hidden: 12, {attributes}}}}}", X, getattr(nn, name.upper())(8, 12, **options), mode
        )
        for name in ("rnn", "gru", "lstm")
        for what, attributes, options, mode in (
            ("by steps", "layers: 1", {}, "eval"),
            ("by samples", "batch_first: true", {"batch_first": True}, "eval"),
            ("deep", "layers: 3", {"num_layers": 3}, "eval"),
            ("both ways", "layers: 2, bidirectional: true", {"num_layers": 2, "bidirectional": True}, "eval"),
            (
                "both ways by samples",
                "layers: 2, bidirectional: true, batch_first: true",
                {"num_layers": 2, "bidirectional": True, "batch_first": True},
                "eval",
            ),
            ("with dropout", "layers: 2, dropout: 0.5", {"num_layers": 2, "dropout": 0.5}, "train"),
        )
    },
    "lstm, projected": Case("{lstm: {hidden: 12, proj_size: 4, layers: 2}}", X, nn.LSTM(8, 12, 2, proj_size=4)),
    **{
        f"{name}_cell": Case(
            f"{{{name}_cell: {{hidden: 12}}}}", {"x": [3, 8]}, getattr(nn, f"{name.upper()}Cell")(8, 12)
        )
        for name in ("rnn", "gru", "lstm")
    },
    **{
        f"lstm, workspace of {sizes}": Case(
            f"{{lstm: {{hidden: {sizes[3]}}}}}", {"x": [*sizes[:3]]}, nn.LSTM(sizes[2], sizes[3])
        )
        for sizes in ((50, 4, 40, 8), (17, 3, 48, 80), (35, 20, 256, 256), (7, 1, 5, 3), (4, 64, 128, 512))
    },
}


def kept_by_torch(case: Case) -> Counter[int]:
    device = "meta" if case.attention == "flash" else "cpu"
    arguments = [
        torch.ones(shape, dtype=torch.bool) if name == "mask" else torch.rand(shape, device=device).requires_grad_()
        for name, shape in case.inputs.items()
    ]
    parameters: list[Any] = []
    if isinstance(case.function, nn.Module):
        case.function.train(case.mode == "train")
        parameters = [parameter.untyped_storage().data_ptr() for parameter in case.function.parameters()]
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if tensor.device.type == "meta" or storage.data_ptr() not in parameters:
            kept[id(tensor) if tensor.device.type == "meta" else storage.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = case.function(*arguments)
    del output
    # the second number of the state of FlashAttention's generator is not used
    return Counter(t.untyped_storage().nbytes() for t in kept.values() if t.dtype != torch.uint64 or t.dim())


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_is_what_torch_keeps(name: str) -> None:
    case = CASES[name]
    inputs = ", ".join(
        f"{key}_0: {{shape: {shape}, dtype: {'bool' if key == 'mask' else 'float32'}}}"
        for key, shape in case.inputs.items()
    )
    # sums with a parameter have a gradient, and keep nothing
    lines = ["{name: nothing, parameter: [1]}"]
    for key in case.inputs:
        line = (
            f"{{name: {key}, from: mask_0, identity: {{}}}}"
            if key == "mask"
            else f"{{name: {key}, from: [{key}_0, nothing], add: {{}}}}"
        )
        lines.append(line)
    text = f"inputs: {{{inputs}}}\nlayers: [{', '.join([*lines, case.layers])}]"
    found = saved_tensors(program(text, training=case.mode == "train"), "eager", case.attention)
    storages = {id(tensor.storage): tensor.storage.nbytes for tensor in found if not tensor.storage.parameter}
    ours, theirs = Counter(storages.values()), kept_by_torch(case)
    if name.startswith(("rnn", "gru", "lstm")):  # the steps of a sequence are one tensor here
        assert sum(ours.elements()) == sum(theirs.elements())
    else:
        assert ours == theirs
