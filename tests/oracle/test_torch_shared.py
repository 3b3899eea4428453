"""Tensors and modules that parts of a PyTorch module share, repeats with two outputs, and buffers without a value."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402


class Tied(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """One table under three names, the first of which is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Embedding(50, 8)
        self.embed = nn.Embedding(50, 8)
        self.head = nn.Linear(8, 50, bias=False)
        self.embed.weight = self.head.weight = self.shared.weight

    def forward(self, ids: Any) -> Any:
        return self.head(self.embed(ids))


class Layer(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self, positions: Any) -> None:
        super().__init__()
        self.positions = positions
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.positions(self.fc(x)) + x


class Inner(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self, positions: Any) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.positions = positions

    def forward(self, x: Any) -> Any:
        return self.positions(self.fc(x)).tanh()


class Stages(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Stages of two layers, in which positions are shared, by the layers of the last stage too."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList()
        for width in (8, 16, 32):
            positions = nn.Sequential(nn.Linear(8, width), nn.GELU(), nn.Linear(width, 8))
            self.stages.append(nn.Sequential(*(Layer(Inner(positions)) for _ in range(2))))
        self.last = nn.ModuleList(
            Layer(Inner(nn.Sequential(nn.Linear(8, n), nn.GELU(), nn.Linear(n, 8)))) for n in (8, 16)
        )

    def forward(self, x: Any) -> Any:
        for stage in self.stages:
            x = stage(x)
        for layer in self.last:
            x = layer(x)
        return x


class Unknown(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Layers with a buffer each, of which nothing is known on the meta device."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(Scale(width)) for width in (8, 8, 8))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class Scale(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(width))

    def forward(self, x: Any) -> Any:
        return x * self.scale


def assert_parameters_agree(module: Any, *args: Any) -> netcalc.Network:
    network = netcalc.from_torch(module, *args)
    assert network.params == sum(parameter.numel() for parameter in module.parameters())
    return network


def test_a_tied_tensor_is_one_parameter_and_its_first_name_counts() -> None:
    network = assert_parameters_agree(Tied(), torch.zeros(1, 5, dtype=torch.int64))
    assert "shared.weight" in network.to_yaml()
    assert network.to_yaml().count("tie:") == 1


def test_modules_that_are_shared_in_some_blocks_only() -> None:
    assert_parameters_agree(Stages(), torch.zeros(2, 8))


def test_buffers_without_a_value_are_alike() -> None:
    with torch.device("meta"):
        module, x = Unknown(), torch.zeros(2, 8)
    text = assert_parameters_agree(module, x).to_yaml()
    assert text.count("value: .nan") == 1
    assert "repeat" in text


class Exchange(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A layer with two inputs and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, pair: Any) -> Any:
        x, y = self.first(pair[0]).relu(), self.second(pair[1]).relu()
        return x + y, x * y


class Exchanges(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.stage = nn.Sequential(*(Exchange() for _ in range(4)))

    def forward(self, x: Any, y: Any) -> Any:
        x, y = self.stage((x, y))
        return x - 2 * y


def test_repeats_of_blocks_with_two_outputs() -> None:
    module = Exchanges().eval()
    network = assert_parameters_agree(module, torch.randn(2, 8), torch.randn(2, 8))
    assert "repeat: 4" in network.to_yaml()
    x, y = torch.randn(2, 8), torch.randn(2, 8)
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    (found,) = network.run({"x": x.numpy(), "y": y.numpy()}, weights=weights).outputs.values()
    torch.testing.assert_close(torch.as_tensor(found), module(x, y).detach(), rtol=1e-5, atol=1e-6)


class Residual(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 3, bias=False), nn.LayerNorm(3))

    def forward(self, x: Any) -> Any:
        return x + self.inner[0:](x).mean()


class CalledAgain(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Equal modules, of which further calls take parameters that lines inside the first calls convert."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Residual(), Residual()])

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.float16):
            for layer in (*self.layers, *self.layers):
                x = layer(x)
        return x


def test_further_calls_of_equal_modules_that_compute_with_parameters() -> None:
    assert_agrees(Case("called again", CalledAgain, (torch.randn(2, 8),), tolerance=1e-3))


class Affine(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.gamma, self.beta = nn.Parameter(torch.rand(8)), nn.Parameter(torch.rand(8))

    def forward(self, x: Any, earlier: Any = None) -> Any:
        x = x if earlier is None else torch.cat([earlier, x])
        return (torch.sin(self.fc(x) * self.gamma) * self.beta)[-2:]


class Frames(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Blocks of repeated layers with two parameters each, which the second frame takes from the calls of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.ModuleList(Affine() for _ in range(3)) for _ in range(2))
        for block in self.blocks:
            block.forward = partial(self._block, block)

    @staticmethod
    def _block(layers: Any, x: Any, earlier: Any = None) -> Any:
        for layer in layers:
            x = layer(x, earlier)
        return torch.relu(x)

    def forward(self, x: Any) -> Any:
        y = x
        for block in self.blocks:
            y = block(y)
        z = y + x
        for block in self.blocks:
            z = block(z, x)
        return z


def test_further_calls_that_take_several_parameters_of_repeated_layers() -> None:
    assert_agrees(Case("frames", Frames, (torch.randn(2, 8),)))


class Gate(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Sigmoid()

    def forward(self, x: Any) -> Any:
        return self.scale(x) + x


class InPlainList(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A module in a plain list, of whose layers ``torch.export`` gives paths as if it were the whole.

    It does so in a model with a module under two names; one of these paths is that of a buffer, which nothing reads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.zeros((), dtype=torch.long))
        self.parts = [Gate()]
        self.act = self.again = nn.Tanh()

    def forward(self, x: Any) -> Any:
        y = self.parts[0](x)
        return self.again(self.act(y)) * y.sum(-1, keepdim=True)


def test_a_layer_is_not_called_as_a_buffer_is() -> None:
    assert_agrees(Case("in a plain list", InPlainList, (torch.randn(2, 8),)))


class OneBias(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Layers of which two parameters are one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.norm = nn.GRUCell(8, 4), nn.LayerNorm(4)
        self.cell.bias_hh = self.cell.bias_ih
        self.norm.bias = self.norm.weight

    def forward(self, x: Any) -> Any:
        return self.norm(self.cell(x, self.norm(self.cell(x))))


def test_two_parameters_of_a_layer_that_are_one_tensor() -> None:
    assert_agrees(Case("one bias", OneBias, (torch.randn(2, 8),)))


class Numbered(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A module that is called twice before another one, whose name is that of the first with a number."""

    def __init__(self) -> None:
        super().__init__()
        self.act, self.act_1 = nn.SiLU(), nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

    def forward(self, x: Any) -> Any:
        y = self.act(self.act(x))
        return self.act_1(self.act_1(y)) + y


def test_further_calls_leave_the_names_of_other_modules() -> None:
    assert_agrees(Case("numbered", Numbered, (torch.randn(2, 8),)))
