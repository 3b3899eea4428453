"""Names of modules in imported networks, and sums by module against fvcore's."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import netcalc
from netcalc.analysis.walk import instances

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

Module: Any = nn.Module

#: Modules that compute nothing in inference mode, so that a network has no line for them.
IDLE = ("Dropout", "Identity", "Sequential", "StochasticDepth")


class Layers(Module):
    """Layers of all kinds without parameters, in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.act1, self.pool = nn.Conv2d(3, 12, 3, padding=1), nn.GELU(), nn.AvgPool2d(3, 1, 1)
        self.shuffle, self.up, self.pad = nn.PixelShuffle(2), nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1)
        self.norm, self.act2, self.drop = nn.LocalResponseNorm(3), nn.Hardswish(inplace=True), nn.Dropout()
        self.best, self.mean, self.flat = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        self.unflat, self.last, self.weights = nn.Unflatten(1, (3, 1)), nn.Identity(), nn.Softmax(1)

    def forward(self, x: Any) -> Any:
        for layer in self.children():
            x = layer(x)
        return x


class NormAct(nn.BatchNorm2d):  # type: ignore[misc,name-defined,unused-ignore]
    """A norm with an activation in it, as timm's."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.drop, self.act = nn.Identity(), nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.drop(super().forward(x)))


class Block(Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, channels, 3, padding=1), NormAct(channels)
        self.conv2, self.act2, self.pool = nn.Conv2d(channels, channels, 1), nn.SiLU(), nn.AvgPool2d(3, 1, 1)

    def forward(self, x: Any) -> Any:
        return self.act2(x + self.pool(self.conv2(self.norm1(self.conv1(x)))))


class Stages(Module):
    """Equal blocks in a row, which are one repeat."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 8, 1), nn.Sequential(*(Block(8) for _ in range(3)))
        self.pool, self.flatten, self.head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.flatten(self.pool(self.blocks(self.stem(x)))))


class Loop(Stages):
    """Lists of modules in a loop, whose lines are one repeat."""

    def __init__(self) -> None:
        super().__init__()
        self.norms, self.acts = nn.ModuleList(map(NormAct, [8] * 3)), nn.ModuleList(nn.ReLU() for _ in range(3))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for block, norm, act in zip(self.blocks, self.norms, self.acts, strict=True):
            x = x + act(norm(block(x)))
        return self.head(self.flatten(self.pool(x)))


class Keys(Module):
    """A dict of modules, with keys that are no names in a spec, or names of operations and of values."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(
            {"a b": nn.Linear(8, 8), "act/1": nn.GELU(), "π": nn.ReLU(), "x-y": nn.Tanh(), "0": nn.Sigmoid()}
            | {"_": nn.SiLU(), "in": nn.ELU(), "sum": nn.Softplus(), "$x": nn.Mish()}
        )

    def forward(self, x: Any) -> Any:
        for part in self.parts.values():
            x = part(x)
        return x


class Thrice(Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.act1, self.fc2 = nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        for _ in range(3):
            x = self.act1(self.fc1(x))
        return self.fc2(x)


class OneActivation(Module):
    """One activation behind all layers of a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.fcs, self.act, self.last = nn.ModuleList(nn.Linear(8, 8) for _ in range(4)), nn.GELU(), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        x = self.act(x)
        for fc in self.fcs:
            x = self.act(fc(x))
        return self.last(x)


class Twice(Module):
    """Sequentials called for inputs of different shapes, in a row, and with a single part."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.Sigmoid())
        self.chain, self.single = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Sequential(nn.Linear(8, 8))

    def forward(self, x: Any, y: Any) -> Any:
        for _ in range(3):
            x = self.chain(x)
        return self.single(self.encoder(x)) + self.single(self.encoder(y).sum(0, keepdim=True))


class Tied(Module):
    """Two layers with the same weights, one of which is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.b.weight, self.b.bias = self.a.weight, self.a.bias

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x)) + self.a(x)


class Part(Module):
    """A module with two ways through it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.second = nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)

    def forward(self, x: Any, mixed: bool = False) -> Any:
        y = self.act(self.first(x))
        if mixed:
            return (self.second(y) @ y.transpose(-1, -2)) @ y
        return self.act(self.second(y))


class Ways(Module):
    """Modules that are called in different ways, and whose parts are called from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.d, self.e = Part(), Part()

    def forward(self, x: Any) -> Any:
        y = self.d(x) + self.d(self.d(x, True), True) + self.d.first(x)
        return y + self.e(x) + self.e.first(self.e(x))


class Passes(Module):
    """Two passes through the same blocks, with one activation, and a look-up whose table is the last layer's."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.act, self.out = nn.Embedding(7, 8), nn.GELU(), nn.Linear(8, 7)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)) for _ in range(3))
        self.out.weight = self.embed.weight

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids)
        for _ in range(2):
            for block in self.blocks:
                x = self.act(x + block(x))
        return self.out(x) + self.out(self.act(x[:, :2])).sum(1, keepdim=True)


class Own(Module):
    """A module that uses its tensor directly, with lines around it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8))

    def forward(self, x: Any) -> Any:
        y = functional.linear(x, self.weight)
        return (y @ x.transpose(-1, -2)) @ x


class UsesOwn(Module):
    def __init__(self) -> None:
        super().__init__()
        self.own, self.fc = Own(), nn.Linear(8, 8)
        self.first, self.list = nn.Linear(8, 8), nn.ModuleList(Own() for _ in range(3))

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for part in self.list:
            x = part(x) + x
        return self.fc(self.own(x)) @ self.own(x.exp()).transpose(-1, -2)


def small(*shape: int) -> Any:
    return torch.zeros(1, *shape)


def image() -> Any:
    return small(3, 8, 8)


CASES: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]] = {
    "layers": (Layers, lambda: (image(),)),
    "stages": (Stages, lambda: (image(),)),
    "loop": (Loop, lambda: (image(),)),
    "sequential": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), NormAct(8), nn.ReLU(), nn.Flatten()), lambda: (image(),)),
    "keys": (Keys, lambda: (small(8),)),
    "thrice": (Thrice, lambda: (small(8),)),
    "one activation": (OneActivation, lambda: (small(8),)),
    "twice": (Twice, lambda: (small(8), torch.zeros(4, 8))),
    "tied": (Tied, lambda: (small(8),)),
    "ways": (Ways, lambda: (small(4, 8),)),
    "passes": (Passes, lambda: (torch.zeros(2, 4, dtype=torch.long),)),
    "own": (UsesOwn, lambda: (small(4, 8),)),
}


def of_torchvision(name: str, size: int, **arguments: Any) -> tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]:
    def module() -> Any:
        models = pytest.importorskip("torchvision").models
        with torch.device("meta"):
            return getattr(models, name)(**arguments)

    return module, lambda: (torch.empty(1, 3, size, size, device="meta"),)


def of_timm(name: str, size: int) -> tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]:
    return lambda: pytest.importorskip("timm").create_model(name), lambda: (small(3, size, size),)


SWIN = {"patch_size": [4, 4], "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 2], "window_size": [4, 4]}
MODELS = {
    "resnet18": of_torchvision("resnet18", 64),
    "mobilenet_v3_small": of_torchvision("mobilenet_v3_small", 64),
    "squeezenet1_1": of_torchvision("squeezenet1_1", 64),
    "densenet": of_torchvision("DenseNet", 64, block_config=(2, 2), num_init_features=16),
    "inception": of_torchvision("googlenet", 64, init_weights=False, aux_logits=False),
    "vgg11_bn": of_torchvision("vgg11_bn", 32),
    "swin": of_torchvision("SwinTransformer", 64, **SWIN),
    "efficientnet_lite0": of_timm("efficientnet_lite0", 32),
    "resnetv2_18": of_timm("resnetv2_18", 32),
}


def spec_path(path: str) -> str:
    """Return the path of a module with ``_`` in place of what a name in a spec cannot have."""
    return "".join(letter if letter.isalnum() or letter in "_-." else "_" for letter in path)


def called_leaves(module: Any, *args: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths of each module without children that computes something, for a call."""
    paths: dict[Any, list[str]] = defaultdict(list)
    for path, part in module.named_modules(remove_duplicate=False):
        if not list(part.children()) and not type(part).__name__.startswith(IDLE):
            paths[part].append(path)
    called: dict[Any, None] = {}
    hooks = [part.register_forward_hook(lambda part, *_: called.setdefault(part)) for part in paths]
    with torch.no_grad():
        module(*args)
    for hook in hooks:
        hook.remove()
    yield from (tuple(map(spec_path, paths[part])) for part in called)


def paths_of(net: netcalc.Network) -> set[str]:
    """Return the paths of lines, of the modules that they are calls of, and of all around these."""
    paths = {instance.path for instance in instances(net.program)} | net.summary().modules.keys()
    return {".".join(path.split(".")[:n]) for path in paths for n in range(1, path.count(".") + 2)}


@pytest.mark.parametrize("name", [*CASES, *MODELS])
def test_modules_that_compute_something_keep_their_names(name: str) -> None:
    make, arguments = (CASES | MODELS)[name]
    module = make().eval()
    leaves = list(called_leaves(module, *arguments()))
    found = paths_of(netcalc.from_torch(module, *arguments()))
    assert leaves
    assert [paths for paths in leaves if not found.intersection(paths)] == []


@pytest.mark.parametrize("name", CASES)
def test_sums_by_module_are_fvcores(name: str) -> None:
    fvcore = pytest.importorskip("fvcore.nn")
    make, arguments = CASES[name]
    module = make().eval()
    if name == "keys":  # fvcore refuses a module of these names
        module = module.parts["a b"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = fvcore.FlopCountAnalysis(module, arguments())
        truth = analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).by_module()
    net = netcalc.from_torch(module, *arguments())
    for network in (net, netcalc.loads(net.to_yaml())):
        found = network.summary("fvcore").modules
        assert {path: int(found[path].flops) if path in found else 0 for path in truth} == dict(truth)


@pytest.mark.parametrize("name", CASES)
def test_parameters_of_modules_are_torchs(name: str) -> None:
    make, arguments = CASES[name]
    module = make()
    found = netcalc.from_torch(module, *arguments()).summary().modules
    counted: dict[str, int] = defaultdict(int)
    for path, parameter in module.named_parameters():  # each once, by its first path
        parts = path.split(".")
        for depth in range(len(parts)):
            counted[spec_path(".".join(parts[:depth]))] += parameter.numel()
    assert {path: int(found[path].params) for path in counted} == dict(counted)


def test_calls_are_counted() -> None:
    found = netcalc.from_torch(Thrice(), small(8)).summary().modules
    assert {path: found[path].calls for path in ("fc1", "act1", "fc2")} == {"fc1": 3, "act1": 3, "fc2": 1}
    found = netcalc.from_torch(Twice(), small(8), torch.zeros(4, 8)).summary().modules
    calls = {"encoder": 2, "encoder.1": 2, "chain": 3, "chain.0": 3, "single": 2, "single.0": 2}
    assert {path: found[path].calls for path in calls} == calls
    found = netcalc.from_torch(Ways(), small(4, 8)).summary().modules
    calls = {"d": 3, "d.first": 4, "d.act": 4, "d.second": 3, "e": 2, "e.first": 3, "e.act": 4}
    assert {path: found[path].calls for path in calls} == calls


def test_a_summary_with_a_depth_has_one_layer_for_a_module() -> None:
    layers = netcalc.summary(Thrice(), small(8), depth=1, convention="fvcore").layers
    figures = [(layer.path, layer.macs, layer.params) for layer in layers]
    assert figures == [("fc1", 192, 72), ("act1", 0, 0), ("fc2", 64, 72)]


def test_a_loop_over_lists_of_modules_stays_a_repeat() -> None:
    text = netcalc.from_torch(Loop(), image()).to_yaml()
    assert text.count("repeat:") == 1
    assert "acts.${turn}" in text
    assert "norms.${turn}.act" in text


def test_a_class_with_the_name_of_a_modifier() -> None:
    class Repeat(Part):
        pass

    net = netcalc.from_torch(nn.Sequential(Repeat(), Repeat()), small(8))
    assert net.summary().modules["1"].params == 2 * 72
