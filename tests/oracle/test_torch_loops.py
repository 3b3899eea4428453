"""Loops in ``forward``: a repeat for any number of iterations, equal to the module in figures and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import netcalc
from netcalc.analysis.walk import parameters

torch = pytest.importorskip("torch")


class DeltaRule(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Forward substitution row by row, whose slices grow with the row."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.loop = torch.nn.Linear(4, size)

    def forward(self, x: Any) -> Any:
        keys = self.loop(x)
        system = -(keys.unsqueeze(-1) * keys.unsqueeze(-2)).tril(-1)
        for i in range(1, self.size):
            row = system[..., i, :i].clone()
            before = system[..., :i, :i].clone()
            system[..., i, :i] = row + (row.unsqueeze(-1) * before).sum(-2)
        return (system + torch.eye(self.size)) @ keys.unsqueeze(-1)


class Recurrence(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A state that each token changes, and results that are written in place or listed."""

    def __init__(self, size: int, *, listed: bool) -> None:
        super().__init__()
        self.size, self.listed = size, listed
        self.query, self.key = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        x = x.repeat(1, self.size, 1)
        query, key = self.query(x), self.key(x)
        state = torch.zeros(x.shape[0], 4, 4)
        results, written = [], torch.zeros_like(query)
        for i in range(self.size):
            q, k = query[:, i], key[:, i]
            state = state * k.sigmoid().unsqueeze(-1)
            state = state + k.unsqueeze(-1) @ (q - (state * k.unsqueeze(-1)).sum(-2)).unsqueeze(-2)
            results.append((state * q.unsqueeze(-1)).sum(-2))
            written[:, i] = results[-1]
        return torch.stack(results, 1) if self.listed else written


class Layers(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Layers with a loop each."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Recurrence(size, listed=False) for _ in range(3))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x).mean(1, keepdim=True)
        return x


MODULES: dict[str, Callable[[int], Any]] = {
    "delta_rule": DeltaRule,
    "written": lambda size: Recurrence(size, listed=False),
    "listed": lambda size: Recurrence(size, listed=True),
    "layers": Layers,
}


@pytest.mark.parametrize("name", MODULES)
def test_a_loop_is_a_repeat(name: str) -> None:
    x = torch.randn(2, 1, 4)
    lines = [netcalc.from_torch(MODULES[name](size).eval(), x).to_yaml().count("\n") for size in (9, 14)]
    assert lines[0] == lines[1] < 70
    module = MODULES[name](9).eval()
    network = netcalc.from_torch(module, x)
    assert network.verify_against(module, x).ok
    assert network.params == sum(parameter.numel() for parameter in module.parameters())
    shapes = {found.path: found.param.shape for found in parameters(network.program)}
    assert shapes == {path: tuple(value.shape) for path, value in module.state_dict().items()}
