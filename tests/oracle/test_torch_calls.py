"""Weights, modules and values that several parts of a module use.

Weights are used directly and by their module, modules are called inside others and from outside, inputs have the names
of modules, and layers pass several values on.
"""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees, by_name, tokens

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

F: Any = nn.functional


def module(parts: Any, method: Any) -> Any:
    """Return a class of modules of the parts that a function makes, with a method ``forward``."""

    class Made(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts().items():
                if isinstance(part, nn.Module):
                    self.add_module(name, part)
                else:
                    self.register_parameter(name, part)

        forward = method

    return Made


def chain() -> Any:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh())


def layer() -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)


ROWS = torch.randn(2, 8)
SEQUENCES = torch.randn(2, 6, 8)
IDS = tokens(3, 5)


def iterated(self: Any, x: Any) -> Any:
    y = x
    for part in self.seq:
        y = part(y)
    return y


def summed(self: Any, x: Any) -> Any:
    results = [x]
    for part in self.seq:
        results.append(part(results[-1]))
    return self.seq(x) + sum(results)


def scaled(self: Any, x: Any) -> Any:
    for part in self.layers:
        x = part(x + part[0].bias) * part[2].weight.norm()
    return x


def standardized(self: Any, x: Any) -> Any:
    weight = self.conv.weight
    y = F.conv2d(x, weight - weight.mean((1, 2, 3), keepdim=True))
    return self.norm(self.conv(x)) + y * self.norm.weight[None, :, None, None]


EMBEDDING = lambda: {"e": nn.Embedding(5, 8)}  # noqa: E731
LINEAR = lambda: {"fc": nn.Linear(8, 8)}  # noqa: E731
CHAIN = lambda: {"seq": chain()}  # noqa: E731
ENCODER = lambda: {"enc": nn.Sequential(nn.Embedding(5, 8), nn.Linear(8, 8))}  # noqa: E731
NESTED = lambda: {"outer": nn.Sequential(chain(), chain(), nn.Linear(8, 8))}  # noqa: E731
TRANSFORMER = lambda: {"e": nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False)}  # noqa: E731

WEIGHTS = {
    "codebook": (EMBEDDING, lambda m, x, i: (torch.cdist(x, m.e.weight), m.e(i)), (ROWS, IDS)),
    "nearest": (EMBEDDING, lambda m, x: x + (m.e(torch.cdist(x, m.e.weight).argmin(-1)) - x), (ROWS,)),
    "soft-lookup": (EMBEDDING, lambda m, p, i: p @ m.e.weight + m.e(i), (torch.randn(2, 3, 5), IDS)),
    "soft-lookup-after": (EMBEDDING, lambda m, p, i: m.e(i) + p @ m.e.weight, (torch.randn(2, 3, 5), IDS)),
    "norm-before": (LINEAR, lambda m, x: m.fc(x * m.fc.weight.norm()), (ROWS,)),
    "norm-after": (LINEAR, lambda m, x: m.fc(x) * m.fc.weight.norm() + m.fc.bias, (ROWS,)),
    "cosine": (LINEAR, lambda m, x: (F.linear(F.normalize(x), F.normalize(m.fc.weight)), m.fc(x)), (ROWS,)),
    "transposed": (LINEAR, lambda m, x: m.fc(F.linear(x, m.fc.weight.t())), (ROWS,)),
    "layers": (lambda: {"layers": nn.ModuleList(chain() for _ in range(3))}, scaled, (ROWS,)),
    "filters": (
        lambda: {"conv": nn.Conv2d(3, 4, 3), "norm": nn.BatchNorm2d(4)},
        standardized,
        (torch.randn(2, 3, 9, 9),),
    ),
    "statistics": (
        lambda: {"norm": nn.BatchNorm1d(8)},
        lambda m, x: m.norm(x - m.norm.running_mean) + m.norm.running_var,
        (ROWS,),
    ),
    "recurrent": (
        lambda: {"gru": nn.GRU(8, 8, batch_first=True)},
        lambda m, x: m.gru(x * m.gru.weight_ih_l0.norm())[0] + m.gru.bias_hh_l0[:8],
        (SEQUENCES,),
    ),
}
CALLS = {
    "child-after": (ENCODER, lambda m, i: m.enc(i) + m.enc[0](i), (IDS,)),
    "child-before": (ENCODER, lambda m, i: m.enc[0](i) + m.enc(i), (IDS,)),
    "two-outputs": (ENCODER, lambda m, i: (m.enc[0](i), m.enc(i), m.enc[0](i)), (IDS,)),
    "iterated-after": (CHAIN, lambda m, x: m.seq(x) + iterated(m, x), (ROWS,)),
    "iterated-before": (CHAIN, lambda m, x: iterated(m, x) * m.seq(x), (ROWS,)),
    "all-results": (CHAIN, summed, (ROWS,)),
    "slice-before": (CHAIN, lambda m, x: m.seq[:2](x) + m.seq(x), (ROWS,)),
    "slice-after": (CHAIN, lambda m, x: m.seq(x) + m.seq[:3](x), (ROWS,)),
    "both-ends": (CHAIN, lambda m, x: m.seq[0](x) + m.seq(x) + m.seq[2](x), (ROWS,)),
    "block-before": (NESTED, lambda m, x: m.outer[0](x) + m.outer(x) + m.outer[1](x), (ROWS,)),
    "block-after": (NESTED, lambda m, x: m.outer(x) + m.outer[0](x) + m.outer[0][0](x), (ROWS,)),
    "alternating": (CHAIN, lambda m, x: m.seq(m.seq[0](m.seq(m.seq[2](x)))), (ROWS,)),
    "encoder-layer": (
        TRANSFORMER,
        lambda m, x: m.e.layers[0](x) + m.e(x) + m.e.layers[1].linear1(x)[..., :8],
        (SEQUENCES,),
    ),
}


class Passing(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A layer that passes on its result and another value."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc, self.out = nn.Linear(8, width), nn.Linear(width, 8)

    def forward(self, pair: Any) -> Any:
        x, skip = pair
        return self.out(torch.relu(self.fc(x))) + skip, skip


class Swapping(Passing):
    def forward(self, pair: Any) -> Any:
        x, skip = super().forward(pair)
        return skip, x * skip


class Fusing(nn.Sequential):  # type: ignore[misc,name-defined,unused-ignore]
    """A layer of the dense blocks of LDC, whose first convolution may have other channels than the second."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1, self.relu1 = nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)

    def forward(self, pair: Any) -> Any:
        return 0.5 * (super().forward(F.relu(pair[0])) + pair[1]), pair[1]


def product(self: Any, x: Any) -> Any:
    first, second = self.seq((x, x.tanh()))
    return first * second


def interrupted(self: Any, x: Any) -> Any:
    pair = (x, x.tanh())
    for index, part in enumerate(self.seq):
        pair = part(pair)
        if index == 1:
            pair = (pair[0], pair[1] + pair[0])
    return pair[0] * pair[1]


def passing(kind: Any, *widths: int) -> Any:
    return lambda: {"seq": nn.Sequential(*(kind(width) for width in widths))}


FACTORS = {"user": 5, "item": 6}
INPUTS = {
    "residual": (
        lambda: {name: nn.Linear(8, 8) for name in ("query", "key", "value")},
        lambda m, query, key, value: (
            F.scaled_dot_product_attention(m.query(query), m.key(key), m.value(value)) + query + key * value
        ),
        (SEQUENCES, SEQUENCES, SEQUENCES),
    ),
    "biases": (
        lambda: {
            **{name: nn.Embedding(rows, 8) for name, rows in FACTORS.items()},
            **{f"{name}_bias": nn.Embedding(rows, 1) for name, rows in FACTORS.items()},
        },
        lambda m, user, item: (
            (m.user(user) * m.item(item)).sum(-1, keepdim=True) + m.user_bias(user) + m.item_bias(item)
        ),
        (IDS[0], IDS[1]),
    ),
    "parameter": (lambda: {"x": nn.Parameter(torch.randn(8))}, lambda m, x: x * m.x + x, (ROWS,)),
    "list": (
        lambda: {"x": nn.ModuleList(chain() for _ in range(3))},
        lambda m, x: m.x[2](m.x[1](m.x[0](x)) + x),
        (ROWS,),
    ),
}
PASSED = {
    "unequal": (passing(Passing, 8, 16), lambda m, x: m.seq((x, x * 2))[0], (ROWS,)),
    "unequal-both-used": (passing(Passing, 8, 16), product, (ROWS,)),
    "alternating": (passing(Passing, 8, 16, 8, 16), product, (ROWS,)),
    "interrupted": (passing(Passing, 8, 16, 8, 16), interrupted, (ROWS,)),
    "swapped": (passing(Swapping, 8, 16, 8), product, (ROWS,)),
    "swapped-alike": (passing(Swapping, 8, 8, 8), product, (ROWS,)),
    "ldc": (
        lambda: {
            "pre": nn.Conv2d(3, 4, 1),
            "skip": nn.Conv2d(4, 6, 1),
            "seq": nn.Sequential(Fusing(4, 6), Fusing(6, 6)),
        },
        lambda m, x: m.seq((m.pre(x), m.skip(m.pre(x))))[0],
        (torch.randn(2, 3, 12, 12),),
    ),
}
ALL = {**WEIGHTS, **CALLS, **INPUTS, **PASSED}


@by_name([Case(name, module(parts, forward), args) for name, (parts, forward, args) in ALL.items()])
def test_what_parts_share(case: Case) -> None:
    assert_agrees(case)


class Recursive(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A module that calls itself, before it uses its own layer."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any, depth: int = 2) -> Any:
        x = self(x, depth - 1) if depth else x
        return torch.relu(self.fc(x))


def test_a_module_that_calls_itself() -> None:
    assert_agrees(Case("root", Recursive, (ROWS,)))
    assert_agrees(Case("part", module(lambda: {"part": Recursive()}, lambda m, x: m.part(x)), (ROWS,)))


def test_parameters_keep_the_names_that_they_have_in_the_module() -> None:
    made = module(LINEAR, WEIGHTS["norm-before"][1])()
    network = netcalc.from_torch(made, ROWS)
    written = network.to_yaml()
    assert "checkpoint" not in written
    assert "tie: {weight: /fc.weight}" in written


def test_a_layer_that_is_called_inside_and_outside_is_one_block() -> None:
    made = module(TRANSFORMER, CALLS["encoder-layer"][1])()
    written = netcalc.from_torch(made, SEQUENCES).to_yaml()
    assert written.count("scaled_dot_product_attention") == 1
    assert "tie: /e.layers.0," in written


class Mapped(nn.Module):
    """Layers of a stacked weight by ``torch.vmap``, with a change in place before."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(3, 4, 8)), nn.Parameter(torch.zeros(3, 4))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x: Any) -> Any:
        x = x * 2
        x[:, 0] = 1
        self.calls += 1
        return torch.vmap(nn.functional.linear, (None, 0, 0))(x, self.weight, self.bias)


def test_a_function_that_is_mapped_over_an_axis() -> None:
    module, x = Mapped(), torch.randn(2, 8)
    network = netcalc.from_torch(module, x)
    assert network.verify_against(module, x).ok
    assert netcalc.from_torch(torch.export.export(module, (x,), strict=False)).flops == network.flops


class Conditional(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


def test_an_operator_on_functions_has_no_rule() -> None:
    with pytest.raises(netcalc.NetcalcError, match="E009: there is no rule for the operator cond"):
        netcalc.from_torch(Conditional(), torch.zeros(2))
