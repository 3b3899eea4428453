"""Regions of ``torch.autocast``, imported: element types, values and bytes are those of PyTorch."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees, by_name

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

X = (torch.zeros(2, 3, 8),)
#: Differences that the rounding of bfloat16 explains.
ROUNDING = 5e-2


def region(dtype: Any = torch.bfloat16, **settings: Any) -> Any:
    return torch.autocast("cpu", dtype=dtype, **settings)


class Layers(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A function of layers and an input."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.conv, self.batch_norm = nn.Conv1d(3, 3, 3, padding=1), nn.BatchNorm1d(3)
        self.table = nn.Embedding(10, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.weight = nn.Parameter(torch.zeros(8, 8))

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def perceptron(self: Any, x: Any) -> Any:
    with region():
        hidden = self.norm(functional.gelu(self.first(x)))
        result = self.second(hidden)
    return result, torch.softmax(result, -1), hidden


def residual(self: Any, x: Any) -> Any:
    with region():
        return x + self.second(functional.relu(self.first(x)))


def scores(self: Any, x: Any) -> Any:
    with region():
        query, key, value = self.first(x), self.second(x), x @ self.weight
        return torch.softmax(query @ key.transpose(1, 2) / 8**0.5, -1) @ value


def fused(self: Any, x: Any) -> Any:
    with region():
        return functional.scaled_dot_product_attention(*(y[:, None] for y in (self.first(x), x, self.second(x))))


def nested(self: Any, x: Any) -> Any:
    with region():
        hidden = self.first(x)
        with region(enabled=False):
            exact = self.second(hidden.float())
        return self.first(exact) + hidden, exact


def losses(self: Any, x: Any) -> Any:
    with region():
        wanted = torch.zeros(6, dtype=torch.long)
        return functional.mse_loss(self.first(x), x), functional.cross_entropy(self.first(x).flatten(0, 1), wanted)


def convolution(self: Any, x: Any) -> Any:
    with region():
        return self.batch_norm(self.conv(x)).relu()


def embedded(self: Any, x: Any) -> Any:
    with region():
        return self.first(self.table(torch.arange(5))) + x.mean()


def products(self: Any, x: Any) -> Any:
    with region():
        return (
            torch.einsum("bij,kj->bik", x, self.weight),
            torch.bmm(x, x.transpose(1, 2)),
            torch.addmm(self.weight[0], x[0], self.weight),
            functional.linear(x, self.weight),
            x[0] @ self.weight[0],
            torch.baddbmm(x @ x.mT, x, x.mT),
            functional.conv1d(x, self.weight[:3, None, :3].expand(3, 3, 3)),
        )


def joined(self: Any, x: Any) -> Any:
    with region():
        return torch.cat([self.first(x), x], -1), torch.stack([self.first(x), self.second(x)])


def in_place(self: Any, x: Any) -> Any:
    with region():
        total = self.first(x)
        total += x
        return total.mul_(2)


def half(self: Any, x: Any) -> Any:
    with region(torch.float16):
        return self.first(x), x.exp()


def parts(self: Any, x: Any) -> Any:
    with region():
        attended, _ = self.attention(x, x, x)
        return attended, self.encoder(x)


FUNCTIONS = [
    *(perceptron, residual, scores, fused, nested, losses, convolution, embedded, products, joined, in_place, half),
    parts,
]
CASES = [Case(f.__name__, lambda f=f: Layers(f), X, tolerance=ROUNDING) for f in FUNCTIONS]


def types_of(network: Any) -> list[str]:
    return [output.type.dtype for output in network.program.main.outputs]


@by_name(CASES)
def test_a_region_in_forward(case: Case) -> None:
    module = case.make().eval()
    expected = [str(leaf.dtype) for leaf in torch.utils._pytree.tree_leaves(module(*X))]
    assert [f"torch.{dtype}" for dtype in types_of(netcalc.from_torch(module, *X))] == expected
    assert_agrees(case)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_region_around_the_call(dtype: Any) -> None:
    module = Layers(lambda self, x: self.second(self.norm(self.first(x)))).eval()
    for around, expected in ((region(dtype), str(dtype).removeprefix("torch.")), (contextlib.nullcontext(), "float32")):
        with around:
            network = netcalc.from_torch(module, *X)
            report = network.verify_against(module, *X)
        assert types_of(network) == [expected]
        assert report.ok, report


def test_products_alone_are_as_exact_as_in_torch() -> None:
    """Weights are rounded to the type of the region too, as PyTorch does."""
    module = Layers(lambda self, x: residual(self, x)).eval()
    report = netcalc.from_torch(module, *X).verify_against(module, *X)
    assert max(output.difference for output in report.outputs) < 1e-5


def test_bytes_follow() -> None:
    module = Layers(residual)
    network = netcalc.from_torch(module, *X)
    exact = netcalc.from_torch(Layers(lambda self, x: x + self.second(functional.relu(self.first(x)))), *X)
    assert (network.params, network.macs) == (exact.params, exact.macs)
    assert network.summary().sizes.parameters == exact.summary().sizes.parameters  # which are stored in float32
    types = {layer.path: layer.outputs[0].dtype for layer in network.summary(view="shapes").layers}
    assert types["relu_output"] == "bfloat16"
    assert types["first.weight"] == types["sum"] == "float32"


@pytest.mark.parametrize("kind", ["RNN", "GRU", "RNNCell", "GRUCell", "LSTMCell"])
def test_results_of_recurrent_layers_have_the_types_of_pytorch(kind: str) -> None:
    module, x = getattr(nn, kind)(8, 8).eval(), torch.zeros(3, 8)
    with region():
        network = netcalc.from_torch(module, x)
        with torch.no_grad():
            results = torch.utils._pytree.tree_leaves(module(x))
        report = network.verify_against(module, x)
    assert all(output.difference < 2.0**-6 for output in report.outputs)  # products are rounded in PyTorch alone
    assert [str(result.dtype).removeprefix("torch.") for result in results] == [
        value.type.dtype for value in network.program.main.outputs
    ]


def test_recurrent_layers_have_a_note() -> None:
    module = nn.LSTM(8, 8, batch_first=True)
    with region():
        network = netcalc.from_torch(module, *X)
    assert "recurrent layers in a region of torch.autocast" in str(network.summary())
    assert "torch.autocast" not in str(netcalc.from_torch(module, *X).summary())
