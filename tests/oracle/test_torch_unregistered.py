"""Tensors that modules of PyTorch use without having registered them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import netcalc

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

Module: Any = nn.Module


class Holding(Module):  # type: ignore[misc,unused-ignore]
    """A module with an attribute, and a layer that is registered."""

    def __init__(self, held: Any, forward: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.fc = nn.Linear(32, 32)
        self.held, self.call = held, forward

    def forward(self, x: Any) -> Any:
        return self.call(self.held, self.fc(x))


def rotated(table: Any, x: Any) -> Any:
    return torch.view_as_real(torch.view_as_complex(x.view(20, 16, 2)) * table).flatten(1)


def through(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = layer(x).relu()
    return x


CASES: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "tensor": (torch.randn(40, 32), lambda held, x: x + held[:20]),
    "half": (torch.randn(20, 32).to(torch.bfloat16), lambda held, x: x + held.float()),
    "integers": (torch.randperm(20 * 32).view(20, 32), lambda held, x: x.flatten()[held]),
    "mask": (torch.rand(20, 32) < 0.5, lambda held, x: x.masked_fill(held, 0)),
    "complex": (torch.polar(torch.ones(20, 16), torch.randn(20, 16)), rotated),
    "trainable": (torch.randn(32, 40, requires_grad=True), lambda held, x: x @ held),
    "list of layers": ([nn.Linear(32, 32), nn.Linear(32, 8)], through),
    "dict": (
        {"norm": nn.BatchNorm1d(32).eval(), "deep": [{"a": torch.randn(20, 32)}]},
        lambda held, x: held["norm"](x),
    ),
    "deep": ({"deep": [{"a": torch.randn(20, 32)}]}, lambda held, x: x + held["deep"][0]["a"]),
    "module in a list": ([Holding([torch.randn(20, 32)], lambda held, x: x + held[0])], through),
}


@pytest.mark.parametrize("name", CASES)
def test_they_have_their_values(name: str) -> None:
    module, x = Holding(*CASES[name]), torch.randn(20, 32)
    net = netcalc.from_torch(module, x)
    assert net.params == sum(parameter.numel() for parameter in module.parameters()) == 32 * 33
    agreement = net.verify_against(module, x)
    assert agreement.ok, agreement
    assert np.isfinite(net.run(seed=1).outputs["output"]).all()


def test_they_have_their_paths_and_remarks() -> None:
    held = {"layers": [nn.Linear(32, 32, bias=False)], "scale": torch.tensor([2.0] * 31 + [3.0])}
    net = netcalc.from_torch(Holding(held, lambda h, x: through(h["layers"], x * h["scale"])), torch.ones(2, 32))
    text = net.to_yaml()
    assert "name: held.layers.0.weight" in text
    assert "name: held.scale" in text
    (long, plain) = net.program.notes
    assert "held.layers.0.weight" in long and "too long" in long and "held.scale" not in long
    assert "not registered" in plain and "held.layers.0.weight" in plain
    assert net.program.notes == netcalc.loads(text).program.notes


class Added(Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.pe = torch.randn(10, 32)

    def forward(self, x: Any) -> Any:
        return (x + self.pe).relu()


def test_equal_blocks_have_values_of_their_own() -> None:
    module, x = nn.Sequential(*(Added() for _ in range(3))), torch.randn(10, 32)
    net = netcalc.from_torch(module, x)
    assert "repeat: 3" in net.to_yaml()
    assert net.verify_against(module, x).ok
    (shown,) = net.run({"input": x.numpy()}).outputs.values()
    np.testing.assert_allclose(shown, module(x).numpy(), rtol=1e-5, atol=1e-6)
    compiled = net.compile()
    np.testing.assert_allclose(compiled(input=x.numpy())["output"], module(x).numpy(), rtol=1e-5, atol=1e-6)


def test_symbolic_networks_keep_them() -> None:
    module = Holding(torch.randn(32, 40), lambda held, x: x @ held)
    net = netcalc.from_torch(module, torch.randn(2, 32), dynamic=["batch"])
    assert net.verify_against(module, torch.randn(3, 32)).ok
    assert np.isfinite(net.specialize(batch=5).run(seed=2).outputs["output"]).all()


def test_the_meta_device() -> None:
    with torch.device("meta"):
        module = Added()
    net = netcalc.from_torch(module, torch.ones(10, 32))
    assert net.flops == 10 * 32 * 2
    assert math.isnan(net.run().outputs["output"].flat[0])
    assert "the source does not hold" in net.program.notes[0]


class Counting(Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.steps, self.last = torch.zeros(4), torch.zeros(2, 4)

    def forward(self, x: Any) -> Any:
        self.steps.add_(1)
        self.last = self.last + x
        return self.last * self.steps


def test_a_module_keeps_its_state() -> None:
    module, x = Counting(), torch.ones(2, 4)
    before = module.last
    net = netcalc.from_torch(module, x)
    for _ in range(2):
        assert net.verify_against(module, x).ok
    assert module.last is before
    assert module.steps.tolist() == [0.0] * 4


class Sum(Module):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.held = [nn.Linear(12, 12, bias=False)]

    def forward(self, x: Any) -> Any:
        return x.relu() + self.held[0](x)


def test_equal_modules_with_long_values_of_their_own() -> None:
    module, x = nn.Sequential(Sum(), Sum(), Sum()), torch.randn(2, 12)
    net = netcalc.from_torch(module, x)
    assert net.verify_against(module, x).ok
    assert netcalc.loads(net.to_yaml()).macs == net.macs == 3 * 2 * 12 * 12


def test_a_number_of_a_narrower_type_is_as_exact_as_it() -> None:
    module, x = Holding(torch.tensor(0.1), lambda held, x: x + held).double(), torch.randn(2, 32, dtype=torch.float64)
    assert module.held.dtype == torch.float32
    assert netcalc.from_torch(module, x).verify_against(module, x).ok
