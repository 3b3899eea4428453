"""Gradients that a module stops, by ``detach`` and by regions of ``torch.no_grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.analysis.walk import instances

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.oracle.peers.measures import torch_flops  # noqa: E402
from tests.oracle.peers.registry import Case  # noqa: E402


class Stopped(nn.Module):
    """Two layers, and a function of the module and the first result between them."""

    def __init__(self, between: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))
        self.table = nn.Parameter(torch.ones(3, 4), requires_grad=False)
        self.between = between

    def forward(self, x: Any) -> Any:
        return self.b(self.between(self, self.a(x)))


@torch.no_grad()
def without(module: Any, x: Any) -> Any:
    return module.c(x)


@torch.no_grad()
def several(module: Any, x: Any) -> Any:
    y = module.c(x).relu_()
    return x, y + 1, torch.arange(4)


def passed_on(module: Any, x: Any) -> Any:
    x, y, places = several(module, x)
    return x + y * places


def changed_in_place(module: Any, x: Any) -> Any:
    with torch.no_grad():
        x.mul_(0.5)
    return x


def constants(module: Any, x: Any) -> Any:
    with torch.no_grad():
        places = torch.arange(4) / 2
    return x + places.detach() + module.table.detach() + x.argmax(-1, keepdim=True).detach()


STOPPED: list[tuple[Callable[[Any, Any], Any], int]] = [
    (lambda module, x: x.detach(), 1),
    (lambda module, x: module.c(x) - x.detach(), 1),
    (lambda module, x: x + (x.round() - x).detach(), 1),
    (lambda module, x: x + module.c.weight.detach().sum(), 1),
    (without, 1),
    (lambda module, x: module.c(x) * without(module, x), 1),
    (passed_on, 1),
    (changed_in_place, 0),
    (constants, 0),
]


@pytest.mark.parametrize(("between", "lines"), STOPPED)
def test_stopped_gradients(between: Any, lines: int) -> None:
    """Neither FLOPs nor parameters change; ``detach`` is written only where there is a gradient."""
    module, x = Stopped(between), torch.randn(3, 4)
    network = netcalc.from_torch(module, x)
    assert network.verify_against(module, x).ok
    assert network.params == sum(parameter.numel() for parameter in module.parameters())
    for wanted in (False, True):
        total = analyze(network.program, "torch", backward=True, inputs=["x"] if wanted else []).total
        assert (total.flops, total.flops_total) == torch_flops(module, Case("", Stopped, (x,), {}), wanted)
    assert [instance.node.op.name for instance in instances(network.program)].count("detach") == lines
