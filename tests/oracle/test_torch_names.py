"""Modules whose names, or the names of their inputs, are those of operations and of values in specs."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees, by_name

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

Module: Any = nn.Module


class Centred(Module):
    def forward(self, x: Any) -> Any:
        return x + x.sum(-1, keepdim=True)


class CrossLayers(Module):
    """Cross layers of DCN."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(8) for _ in range(3)])
        self.biases = nn.ParameterList([torch.randn(8) for _ in range(3)])

    def forward(self, x0: Any) -> Any:
        x = x0
        for weight, bias in zip(self.weights, self.biases, strict=True):
            x = x0 * (x * weight).sum(-1, keepdim=True) + bias + x
        return x


class FactorizationMachine(Module):
    def __init__(self) -> None:
        super().__init__()
        self.factors, self.linear = nn.Embedding(20, 8), nn.Embedding(20, 1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, ids: Any) -> Any:
        factors = self.factors(ids)
        pairs = factors.sum(1) ** 2 - (factors**2).sum(1)
        return self.linear(ids).sum(1) + 0.5 * pairs.sum(1, keepdim=True) + self.bias


class AttentionPooling(Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights, self.sum = nn.Linear(8, 1), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        pooled = (x * torch.softmax(self.weights(x), 1)).sum(1)
        return self.sum(pooled) + pooled.sum(-1, keepdim=True) + x.sum(1)


class Rectified(Module):
    """Rectifiers as modules, one of them called as lines without a name are, and as functions."""

    def __init__(self) -> None:
        super().__init__()
        self.relu, self.relu_4 = nn.ReLU(), nn.ReLU()
        self.fc1, self.relu_1, self.fc3 = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        a = self.relu(self.fc1(x))
        b = torch.relu(self.relu_1(a))
        c = self.relu_4(self.fc3(b))
        d = torch.relu(a + c)
        e = torch.relu(torch.relu(d + b) + a)
        return self.relu(e + d) + torch.relu(e - d)


class Words(Module):
    """Modules named as values and lines of specs are."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("sum", "product", "add", "relu_1", "mul", "sum_1", "_"):
            self.add_module(name, nn.Linear(8, 8))

    def forward(self, x: Any) -> Any:
        a, b = self.sum(x), self.product(x)
        c, d = a + b, a * b
        e, f = self.add(c) + c, self.mul(d) * d
        g = self.relu_1(torch.relu(e))
        h = self._(torch.relu(f) + torch.relu(g))
        return self.sum_1(h) + h + e + f + a.sum(-1, keepdim=True)


class Loop(Module):
    """A loop over layers, beside a module that is named as its operations are."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.sum = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + torch.relu(layer(x)).sum(-1, keepdim=True)
        return self.sum(x) + x


class Keys(Module):
    """Layers in a mapping, under keys that are no names in a spec."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict(
            {"first task": nn.Linear(8, 4), "first_task": nn.Linear(8, 4), "1:1": nn.Linear(8, 4)}
        )

    def forward(self, x: Any) -> Any:
        return {name: head(x) for name, head in self.heads.items()}


class Marks(Module):
    """Layers, some tied, under keys that hold the marks of expressions and patterns in names of a checkpoint."""

    KEYS = ("${index}", "*", "a*b*", "{}", "${}", "$*", "{i}", "[x]?", "/x")

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({key: nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)) for key in self.KEYS})
        self.layers = nn.ModuleList(nn.ModuleDict({"*${index}": nn.Linear(8, 8)}) for _ in range(3))
        self.others = nn.ModuleDict({f"{key}-": nn.Linear(8, 8) for key in self.KEYS})
        for key in self.KEYS:
            self.others[f"{key}-"].weight = self.heads[key][0].weight

    def forward(self, x: Any) -> Any:
        for head in (*self.heads.values(), *self.others.values()):
            x = head(x)
        for layer in self.layers:
            x = layer["*${index}"](x).relu()
        return x


class At(Module):
    """Keys like the marks of further calls, and calls of them."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"@1": nn.Linear(8, 8), "a@b": nn.Linear(8, 8), "1": nn.Linear(8, 8)})

    def forward(self, x: Any) -> Any:
        for head in (*self.heads.values(), *self.heads.values()):
            x = head(x).relu()
        return x


class Residual(Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.fc(x).relu() + x


class Underscores(Module):
    """Equal modules in lists whose names end as that of a repeat does where numbers follow without a dot."""

    def __init__(self) -> None:
        super().__init__()
        self.layers_ = nn.ModuleList(Residual() for _ in range(3))
        self.inner = nn.ModuleDict({"layers-": nn.ModuleList([Residual(), Residual()])})

    def forward(self, x: Any) -> Any:
        for layer in (*self.layers_, *self.inner["layers-"]):
            x = layer(x)
        return x


class Stages(Module):
    """Layers without parameters, under names that are not those of their operations, by themselves and in stages."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.act1, self.pool = nn.Conv2d(3, 8, 3, padding=1), nn.GELU(), nn.MaxPool2d(2)
        self.stage = nn.Sequential()
        for name, layer in (("fc", nn.Conv2d(8, 8, 1)), ("act", nn.SiLU()), ("drop", nn.Dropout(0.1))):
            self.stage.add_module(name, layer)
        self.gap, self.flat, self.head, self.probabilities = (
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, 4),
            nn.Softmax(-1),
        )

    def forward(self, x: Any) -> Any:
        x = self.stage(self.pool(self.act1(self.conv(x))))
        return self.probabilities(self.head(self.flat(self.gap(x))))


CASES = [
    Case("centred", Centred, (torch.randn(2, 6, 8),)),
    Case("cross-layers", CrossLayers, (torch.randn(2, 8),)),
    Case("factorization-machine", FactorizationMachine, (torch.randint(20, (4, 5)),)),
    Case("attention-pooling", AttentionPooling, (torch.randn(2, 6, 8),)),
    Case("rectified", Rectified, (torch.randn(2, 8),)),
    Case("words", Words, (torch.randn(2, 8),)),
    Case("loop", Loop, (torch.randn(2, 8),)),
    Case("keys", Keys, (torch.randn(2, 8),)),
    Case("marks", Marks, (torch.randn(2, 8),)),
    Case("at", At, (torch.randn(2, 8),)),
    Case("underscores", Underscores, (torch.randn(2, 8),)),
    Case("stages", Stages, (torch.randn(2, 3, 8, 8),)),
]


@by_name(CASES)
def test_names(case: Case) -> None:
    assert_agrees(case)


def test_modules_without_parameters_keep_their_names() -> None:
    module = Stages()
    leaves = {name for name, part in module.named_modules() if name and not list(part.children())}
    assert len(leaves) == 10
    assert leaves <= set(netcalc.from_torch(module, torch.randn(2, 3, 8, 8)).shapes)


def test_equal_modules_below_a_name_that_a_spec_has_not() -> None:
    """Names in a block would be relative to the place of its call, where the state dict has no tensors."""
    equal = [nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU()) for _ in range(3)]
    module = nn.Sequential(OrderedDict(body=nn.Sequential(OrderedDict([("a$", nn.Sequential(*equal))]))))
    net = netcalc.from_torch(module, torch.zeros(2, 4))
    assert net.verify_against(module, torch.zeros(2, 4)).weights.ok


def test_a_further_call_beside_a_list_with_its_name() -> None:
    """A second call of ``a`` would be ``a_1``, which is the name of a list here."""

    class Made(nn.Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
            self.a_1 = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)])

        def forward(self, x: Any) -> Any:
            x = self.a(self.a(x))
            for part in self.a_1:
                x = part(x)
            return x

    module, x = Made(), torch.randn(2, 4)
    assert netcalc.from_torch(module, x).verify_against(module, x).ok
