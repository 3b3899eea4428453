"""Comparisons of networks with modules that change their inputs, buffers or parameters in place."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402


class Doubled(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        x.mul_(2)
        return x + y


class InDict(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        x["first"].add_(1)
        return x["first"] * x["second"][0]


class Indices(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, ids: Any, table: Any) -> Any:
        ids.add_(1)
        return table[ids]


class Counting(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    steps: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        self.steps.add_(1)
        return x + self.steps


class Decaying(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            self.weight.mul_(0.5)
        return x * self.weight


class Twice(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A module that is registered twice and shares its bias with another."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.again = self.second
        self.second.bias = self.first.bias

    def forward(self, x: Any) -> Any:
        return self.first(x) + self.second(x) + self.again(x.tanh())


@pytest.mark.parametrize(
    ("module", "args"),
    [
        (Doubled(), (torch.ones(2, 4),)),
        (InDict(), ({"first": torch.ones(3), "second": [torch.ones(3)]},)),
        (Indices(), (torch.tensor([0, 1]), torch.ones(5, 3))),
        (Counting(), (torch.ones(2, 4),)),
        (Decaying(), (torch.ones(2, 4),)),
        (Twice(), (torch.ones(2, 4),)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_module_that_changes_tensors_in_place_agrees(module: Any, args: Any) -> None:
    held = [*module.state_dict().values(), *torch.utils._pytree.tree_leaves(args)]
    before = [tensor.clone() for tensor in held]
    parameters = [*module.named_parameters(remove_duplicate=False)]
    agreement = netcalc.from_torch(module, *args).verify_against(module, *args)
    assert agreement.ok
    after = [*module.named_parameters(remove_duplicate=False)]
    assert all(name == other and one is two for (name, one), (other, two) in zip(parameters, after, strict=True))
    assert all(map(torch.equal, held, before))


class Rest(nn.Module):
    """A first argument and any number of others."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any, *others: Any, **options: Any) -> Any:
        for other in others:
            x = self.fc(x) * other
        return x * options["scale"]


def test_inputs_that_have_no_name_of_their_own_are_drawn() -> None:
    args, scale = (torch.zeros(2, 4), torch.zeros(4), torch.zeros(2, 4)), torch.zeros(4)
    network = netcalc.from_torch(Rest(), *args, scale=scale)
    assert list(network.inputs) == ["x", "others_0", "others_1", "scale"]
    assert network.verify_against(Rest(), *args, scale=scale).ok


class Unregistered(nn.Module):
    """A layer that is not registered, with a view of its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(4, 4)]
        self.norm = nn.LayerNorm(4)

    def forward(self, x: Any) -> Any:
        return self.layers[0](x) + self.norm(self.layers[0].weight.transpose(0, 1))


def test_views_of_weights_that_are_not_registered() -> None:
    module, x = Unregistered(), torch.zeros(4, 4)
    assert netcalc.from_torch(module, x).verify_against(module, x).ok
    assert module.layers[0].weight.requires_grad


class Products(nn.Module):
    """Products of a vector and a batch of matrices in either order, by every function."""

    def forward(self, vector: Any, batch: Any, after: Any) -> Any:
        first = vector @ batch + torch.matmul(vector, batch) + batch.__rmatmul__(vector)
        return first, after @ vector, after.matmul(vector), torch.nn.functional.linear(after, vector)


@pytest.mark.parametrize("turned", [False, True])
def test_products_of_vectors_count_alike_whatever_their_strides(turned: bool) -> None:
    batch, after = torch.zeros(2, 4, 3), torch.zeros(2, 3, 4)
    args = (torch.zeros(4), after.mT, batch.mT) if turned else (torch.zeros(4), batch, after)
    report = netcalc.from_torch(Products(), *args).verify_against(Products(), *args)
    (products,) = report.flops
    assert products.ok
    assert products.torch == 3 * 2 * 2 * 4 * 3
