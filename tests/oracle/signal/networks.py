"""Networks of which torch measures what becomes of signals in depth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn


class Case(NamedTuple):
    """A network with its input and the modules whose outputs are the lines that are compared."""

    build: Callable[[], Any]
    shape: tuple[int, ...]
    lines: str


class Block(nn.Module):
    """A layer: product, norm and activation function in this order, or before the product, around a shortcut or not."""

    def __init__(self, width: int, act: Any, norm: Any, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.linear = nn.Linear(width, width)
        self.norm = norm(width) if norm is not None else nn.Identity()
        self.act = act()

    def forward(self, x: Any) -> Any:
        if self.kind == "plain":
            return self.act(self.norm(self.linear(x)))
        if self.kind == "pre":
            return x + self.act(self.linear(self.norm(x)))
        if self.kind == "post":
            return self.norm(x + self.act(self.linear(x)))
        if self.kind == "highway":
            gate = torch.sigmoid(self.linear(x))
            return gate * self.act(self.linear(x)) + (1 - gate) * x
        return x + self.act(self.norm(self.linear(x)))


class Chain(nn.Module):
    """Blocks in a row, with a norm at the end or not."""

    def __init__(self, depth: int, act: Any = nn.ReLU, norm: Any = None, kind: str = "plain", last: bool = False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(64, act, norm, kind) for _ in range(depth))
        self.last = nn.LayerNorm(64) if last else nn.Identity()

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Convolutions(nn.Module):
    """Convolutions in a row, with batch norms or not, residual or not."""

    def __init__(self, depth: int, norm: bool, residual: bool):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16) if norm else nn.Identity(), nn.ReLU())
            for _ in range(depth)
        )
        self.residual = residual

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = x + block(x) if self.residual else block(x)
        return x


class Encoder(nn.Module):
    """Layers of a Transformer as torch has them."""

    def __init__(self, depth: int, pre: bool):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True, norm_first=pre) for _ in range(depth)
        )

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return x


def weighted(module: Any, draw: Callable[[Any], Any], bias: float = 0.0) -> Any:
    """Return a module with the weights of its products drawn anew, and normal biases of a deviation."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            draw(part.weight)
            nn.init.normal_(part.bias, std=bias) if bias else nn.init.zeros_(part.bias)
    return module


def gain(g: float) -> Callable[[Any], Any]:
    """Return a drawing of normal weights of variance g²/fan_in."""
    return lambda weight: nn.init.normal_(weight, std=g / math.sqrt(nn.init._calculate_correct_fan(weight, "fan_in")))


HE, XAVIER = gain(math.sqrt(2)), nn.init.xavier_normal_


def _chains() -> Iterator[tuple[str, Callable[[], Any]]]:
    def chain(draw: Any, bias: float = 0.0, **options: Any) -> Callable[[], Any]:
        return lambda: weighted(Chain(**options), draw, bias)

    functions = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "softsign": nn.Softsign}
    functions |= {"linear": nn.Identity, "selu": nn.SELU, "silu": nn.SiLU}
    for depth in (10, 30, 100):
        yield f"relu he {depth}", chain(HE, depth=depth)
        yield f"tanh xavier {depth}", chain(XAVIER, depth=depth, act=nn.Tanh)
        yield f"sigmoid xavier {depth}", chain(XAVIER, depth=depth, act=nn.Sigmoid)
        yield f"selu lecun {depth}", chain(gain(1.0), depth=depth, act=nn.SELU)
    for name in ("gelu", "silu", "softsign", "linear"):
        yield f"{name} 30", chain(HE if name in ("gelu", "silu") else XAVIER, depth=30, act=functions[name])
    for g in (0.3, 0.8, 3.0):
        yield f"relu gain {g} 30", chain(gain(g), depth=30)
        yield f"relu gain {g} 30, norm at the end", chain(gain(g), depth=30, last=True)
        yield f"tanh gain {g} 30", chain(gain(g), depth=30, act=nn.Tanh)
    yield "tanh gain 3 100", chain(gain(3.0), depth=100, act=nn.Tanh)
    yield "tanh gain 10 10", chain(gain(10.0), depth=10, act=nn.Tanh)
    yield "relu of torch 10", lambda: Chain(10)
    yield "relu of torch 30", lambda: Chain(30)
    yield "tanh of torch 30", lambda: Chain(30, nn.Tanh)
    yield "relu he, biases 30", chain(HE, 1.0, depth=30)
    for depth in (10, 30, 100):
        yield f"relu batch norm {depth}", chain(HE, depth=depth, norm=nn.BatchNorm1d)
        yield f"relu layer norm {depth}", chain(HE, depth=depth, norm=nn.LayerNorm)
        yield f"pre-norm residual {depth}", chain(HE, depth=depth, norm=nn.LayerNorm, kind="pre")
    yield "tanh layer norm 30", chain(XAVIER, depth=30, act=nn.Tanh, norm=nn.LayerNorm)
    yield "sigmoid layer norm 30", chain(XAVIER, depth=30, act=nn.Sigmoid, norm=nn.LayerNorm)
    for depth in (10, 50):
        yield f"residual {depth}", chain(HE, depth=depth, kind="residual")
        yield f"small residual {depth}", chain(gain(0.2), depth=depth, kind="residual")
        yield f"post-norm residual {depth}", chain(HE, depth=depth, norm=nn.LayerNorm, kind="post")
        yield f"highway {depth}", chain(XAVIER, depth=depth, act=nn.Tanh, kind="highway")
    yield "residual of batch norms 30", chain(HE, depth=30, norm=nn.BatchNorm1d, kind="residual")


def _of_torchvision(name: str) -> Any:
    import_module("tests.oracle.conftest")
    return import_module("torchvision").models.get_model(name, weights=None)


def cases() -> dict[str, Case]:
    """Return the networks by name."""
    found = {name: Case(build, (64, 64), r"blocks\.\d+") for name, build in _chains()}
    image, tokens = (4, 16, 12, 12), (4, 12, 64)
    for depth in (10, 30):
        for norm, residual in ((False, False), (True, False), (False, True), (True, True)):
            name = f"convolutions{', batch norm' * norm}{', residual' * residual} {depth}"
            found[name] = Case(
                lambda d=depth, n=norm, r=residual: weighted(Convolutions(d, n, r), HE), image, r"blocks\.\d+"
            )
    for model, lines in (("resnet18", r"layer\d\.\d"), ("resnet34", r"layer3\.\d"), ("mobilenet_v2", r"features\.\d+")):
        found[model] = Case(lambda name=model: _of_torchvision(name), (4, 3, 64, 64), lines)
    for pre in (False, True):
        found[f"Transformer, {'pre' if pre else 'post'}-norm 12"] = Case(
            lambda p=pre: Encoder(12, p), tokens, r"blocks\.\d+"
        )
    return found
