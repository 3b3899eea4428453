"""Networks that lecture notes name and no library ships, written in torch from their papers, against their specs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest

from netcalc.engine.gradients import gradients
from netcalc.engine.run import forward
from tests.oracle.network_flops import assert_same_flops
from tests.oracle.network_gradients import assert_same_gradients, by_owner
from tests.oracle.test_networks import check
from tests.oracle.test_recurrent import normalized_step
from tests.zoo.harness import built, requested, torch_total

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
FlopCounterMode = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode

PARTS = ("weight", "bias")


def arrays(tensors: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


def check_loss(spec: str, settings: dict[str, Any], module: Any, inputs: dict[str, Any], loss: Any) -> None:
    """Assert that the loss of a spec, and its gradients of all parameters, are those of torch."""
    program = requested(spec, **settings).program_with_loss
    weights = arrays(module.state_dict())
    ours = forward(program, arrays(inputs), weights=weights).outputs["loss"]
    assert float(ours) == pytest.approx(float(loss.detach()), rel=1e-5)
    module.zero_grad()
    loss.backward()
    found = gradients(program, arrays(inputs), loss="loss", weights=weights).parameters
    theirs = {name: p.grad.numpy() for name, p in module.named_parameters() if p.grad is not None}
    expected = by_owner(program, {**weights, **theirs})
    assert found
    for path, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[path], rtol=1e-4, atol=1e-6 * np.abs(expected[path]).max())


def drawn(module: Any) -> Any:
    """Return a module in evaluation mode whose norms all affect the output."""
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias)
    return module


class Subsampling(nn.Module):  # type: ignore[name-defined,misc]
    """Four units are added, multiplied by a coefficient, and a bias is added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.randn(channels, 1, 1)) for _ in range(2))

    def forward(self, x: Any) -> Any:
        corners = x[..., ::2, ::2] + x[..., ::2, 1::2] + x[..., 1::2, ::2] + x[..., 1::2, 1::2]
        return self.weight * corners + self.bias


class LeNet5(nn.Module):  # type: ignore[name-defined,misc]
    """Figure 2 of the paper, with a convolution for each of the 16 maps of C3."""

    #: Columns of Table I.
    TABLE = (
        *("012", "123", "234", "345", "045", "015", "0123", "1234", "2345", "0345", "0145", "0125"),
        *("0134", "1245", "0235", "012345"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.c1, self.s2 = nn.Conv2d(1, 6, 5), Subsampling(6)
        self.c3 = nn.ModuleList(nn.Conv2d(len(column), 1, 5) for column in self.TABLE)
        self.s4, self.c5 = Subsampling(16), nn.Conv2d(16, 120, 5)
        self.f6 = nn.Linear(120, 84)
        self.codes = nn.Parameter(torch.randn(10, 84).sign(), requires_grad=False)

    def forward(self, x: Any) -> Any:
        def squash(a: Any) -> Any:
            return 1.7159 * torch.tanh(2 / 3 * a)

        x = squash(self.s2(squash(self.c1(x))))
        maps = [conv(x[:, [*map(int, column)]]) for conv, column in zip(self.c3, self.TABLE, strict=True)]
        x = squash(self.s4(squash(torch.cat(maps, 1))))
        code = squash(self.f6(squash(self.c5(x)).flatten(1)))
        return ((code[:, None] - self.codes) ** 2).sum(-1)

    def loss(self, x: Any, labels: Any) -> Any:
        """Return the criterion of equation 9, with a j of 0."""
        penalties = self(x)
        correct = penalties[torch.arange(len(labels)), labels]
        return (correct + torch.log(1 + torch.exp(-penalties).sum(-1))).mean()

    def weights(self) -> dict[str, Any]:
        """Return the parameters by their names in the spec.

        The spec reads some rows of the table in another order, which its kernels have too.
        """
        orders = {4: (1, 2, 0), 5: (2, 0, 1), 9: (1, 2, 3, 0), 10: (2, 3, 0, 1), 11: (3, 0, 1, 2)}
        state = {name: tensor for name, tensor in self.state_dict().items() if not name.startswith("c")}
        state |= {f"{layer}.{part}": getattr(getattr(self, layer), part) for layer in ("c1", "c5") for part in PARTS}
        for name, convs in (("three", range(6)), ("four", range(6, 15)), ("six", range(15, 16))):
            kernels = [self.c3[n].weight[:, list(orders.get(n, range(self.c3[n].in_channels)))] for n in convs]
            state |= {f"c3.{name}.weight": torch.cat(kernels)}
            state |= {f"c3.{name}.bias": torch.cat([self.c3[n].bias for n in convs])}
        return state | {"output.weight": self.codes}


def test_the_lenet_of_1998() -> None:
    torch.manual_seed(0)
    module, image, labels = LeNet5(), torch.randn(2, 1, 32, 32), torch.tensor([3, 7])
    program = built("lenet5", batch=2)
    with FlopCounterMode(display=False) as counter:
        module(image)
    assert torch_total(program) == (sum(p.numel() for p in module.parameters()), counter.get_total_flops())
    given, weights = {"image": image.numpy()}, arrays(module.weights())
    (actual,) = forward(program, given, weights=weights).outputs.values()
    np.testing.assert_allclose(actual, module(image).detach().numpy(), rtol=1e-5)
    complete = requested("lenet5", batch=2).program_with_loss
    loss = forward(complete, given | {"labels": labels.numpy()}, weights=weights).outputs["loss"]
    assert float(loss) == pytest.approx(float(module.loss(image, labels).detach()), rel=1e-6)


@pytest.mark.parametrize(
    ("act", "pool", "settings", "side"),
    [
        ("relu", F.max_pool2d, {}, 32),
        ("sigmoid", F.avg_pool2d, {"activation": "sigmoid", "pool": "avg_pool2d", "padding": 2}, 28),
    ],
)
def test_the_lenet_of_today(act: str, pool: Any, settings: dict[str, Any], side: int) -> None:
    class Network(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=settings.get("padding", 0)), nn.Conv2d(6, 16, 5)
            self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

        def forward(self, x: Any) -> Any:
            f = getattr(torch, act)
            x = pool(f(self.conv2(pool(f(self.conv1(x)), 2))), 2).flatten(1)
            return self.fc3(f(self.fc2(f(self.fc1(x)))))

    torch.manual_seed(0)
    sizes = {"batch": 2, "height": side, "width": side}
    check(Network(), "lenet5-modern", sizes | settings, torch.randn(2, 1, side, side))


class PaddedBlock(nn.Module):  # type: ignore[name-defined,misc]
    """A basic block with the shortcut of option A."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.stride, self.zeros = stride, (channels - inputs) // 2

    def forward(self, x: Any) -> Any:
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.zeros, self.zeros))
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + shortcut)


class Preactivated(nn.Module):  # type: ignore[name-defined,misc]
    """A bottleneck with norms before the convolutions, as KaimingHe/resnet-1k-layers has it."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        width = channels // 4
        self.bn1, self.bn2, self.bn3 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(inputs, width, 1, stride, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.conv3 = nn.Conv2d(width, channels, 1, bias=False)
        if inputs != channels:
            self.downsample = nn.Conv2d(inputs, channels, 1, stride, bias=False)

    def forward(self, x: Any) -> Any:
        first = F.relu(self.bn1(x))
        shortcut = self.downsample(first) if hasattr(self, "downsample") else x
        return shortcut + self.conv3(F.relu(self.bn3(self.conv2(F.relu(self.bn2(self.conv1(first)))))))


class Residual(nn.Module):  # type: ignore[name-defined,misc]
    """Three stages of blocks for images of 32×32 pixels."""

    def __init__(self, block: Any, stem: int, channels: tuple[int, ...], depth: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, stem, 3, 1, 1, bias=False)
        widths = [stem, *channels]
        for stage, (inputs, outputs) in enumerate(pairwise(widths)):
            first = block(inputs, outputs, 2 if stage else 1)
            self.add_module(f"layer{stage + 1}", nn.Sequential(first, *rest(block, outputs, depth)))
        self.preactivated = block is Preactivated
        if self.preactivated:
            self.bn, self.fc = nn.BatchNorm2d(channels[-1]), nn.Linear(channels[-1], 10)
        else:
            self.bn1, self.linear = nn.BatchNorm2d(stem), nn.Linear(channels[-1], 10)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x) if self.preactivated else F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = F.relu(self.bn(x)) if self.preactivated else x
        return (self.fc if self.preactivated else self.linear)(x.mean((2, 3)))


def rest(block: Any, channels: int, depth: int) -> list[Any]:
    return [block(channels, channels, 1) for _ in range(depth - 1)]


@pytest.mark.parametrize(
    ("spec", "block", "stem", "channels"),
    [
        ("resnet110-cifar", PaddedBlock, 16, (16, 32, 64)),
        ("preresnet1001-cifar", Preactivated, 16, (64, 128, 256)),
    ],
)
def test_residual_networks_for_small_images(spec: str, block: Any, stem: int, channels: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    module = drawn(Residual(block, stem, channels, 2))
    check(module, spec, {"batch": 2, "depths": [2, 2, 2]}, torch.randn(2, 3, 32, 32))


@pytest.mark.parametrize(
    ("spec", "block", "channels", "depth"),
    [
        ("resnet20-cifar", PaddedBlock, (16, 32, 64), 3),
        ("resnet110-cifar", PaddedBlock, (16, 32, 64), 18),
        ("preresnet164-cifar", Preactivated, (64, 128, 256), 18),
    ],
)
def test_sizes_of_residual_networks(spec: str, block: Any, channels: tuple[int, ...], depth: int) -> None:
    with torch.device("meta"):
        module, image = Residual(block, 16, channels, depth), torch.empty(1, 3, 32, 32)
        assert_same_flops(built(spec), lambda: {"output": module(image)})
    assert torch_total(built(spec))[0] == sum(p.numel() for p in module.parameters())


class BNInception(nn.Module):  # type: ignore[name-defined,misc]
    """bninception of Cadene/pretrained-models.pytorch, with the features of its modules in a table."""

    #: Channels in, and of 1×1, 3×3 reduce, 3×3, double 3×3 reduce, double 3×3, and pooling projection.
    MODULES: ClassVar = {
        "3a": (192, 64, 64, 64, 64, 96, 32),
        "3b": (256, 64, 64, 96, 64, 96, 64),
        "3c": (320, 0, 128, 160, 64, 96, 0),
        "4a": (576, 224, 64, 96, 96, 128, 128),
        "4b": (576, 192, 96, 128, 96, 128, 128),
        "4c": (576, 160, 128, 160, 128, 160, 128),
        "4d": (608, 96, 128, 192, 160, 192, 128),
        "4e": (608, 0, 128, 192, 192, 256, 0),
        "5a": (1056, 352, 192, 320, 160, 224, 128),
        "5b": (1024, 352, 192, 320, 192, 224, 128),
    }

    def __init__(self) -> None:
        super().__init__()
        self.unit("conv1_7x7_s2", 3, 64, 7, 2)
        self.unit("conv2_3x3_reduce", 64, 64, 1)
        self.unit("conv2_3x3", 64, 192, 3)
        for name, (inputs, one, reduce, three, reduce_double, double, pool) in self.MODULES.items():
            stride, module = (1 if one else 2), f"inception_{name}_"
            if one:
                self.unit(f"{module}1x1", inputs, one, 1)
                self.unit(f"{module}pool_proj", inputs, pool, 1)
            self.unit(f"{module}3x3_reduce", inputs, reduce, 1)
            self.unit(f"{module}3x3", reduce, three, 3, stride)
            self.unit(f"{module}double_3x3_reduce", inputs, reduce_double, 1)
            self.unit(f"{module}double_3x3_1", reduce_double, double, 3)
            self.unit(f"{module}double_3x3_2", double, double, 3, stride)
        self.last_linear = nn.Linear(1024, 1000)

    def unit(self, name: str, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        self.add_module(name, nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2))
        self.add_module(f"{name}_bn", nn.BatchNorm2d(outputs))

    def chain(self, x: Any, *names: str) -> Any:
        for name in names:
            x = F.relu(getattr(self, f"{name}_bn")(getattr(self, name)(x)))
        return x

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(self.chain(x, "conv1_7x7_s2"), 3, 2, ceil_mode=True)
        x = F.max_pool2d(self.chain(x, "conv2_3x3_reduce", "conv2_3x3"), 3, 2, ceil_mode=True)
        for name, (_, one, *_) in self.MODULES.items():
            module = f"inception_{name}_"
            parts = [
                self.chain(x, f"{module}3x3_reduce", f"{module}3x3"),
                self.chain(x, *(f"{module}double_3x3_{part}" for part in ("reduce", 1, 2))),
            ]
            if one:
                maximum = F.max_pool2d(x, 3, 1, 1) if name == "5b" else F.avg_pool2d(x, 3, 1, 1)
                parts = [self.chain(x, f"{module}1x1"), *parts, self.chain(maximum, f"{module}pool_proj")]
            else:
                parts.append(F.max_pool2d(x, 3, 2, ceil_mode=True))
            x = torch.cat(parts, 1)
        return self.last_linear(x.mean((2, 3)))


def test_inception_with_batch_norms() -> None:
    torch.manual_seed(0)
    check(drawn(BNInception()), "bn-inception", {"height": 32, "width": 32}, 0.1 * torch.randn(1, 3, 32, 32))


class Words(nn.Module):  # type: ignore[name-defined,misc]
    """The two tables of word2vec, and its negated objective."""

    def __init__(self, vocab: int, size: int) -> None:
        super().__init__()
        self.in_embed, self.out_embed = nn.Embedding(vocab, size), nn.Embedding(vocab, size)

    def forward(self, given: Any, seen: Any, drawn: Any) -> Any:
        vectors = self.in_embed(given)
        vectors = vectors.mean(1) if given.ndim == 2 else vectors
        words = torch.cat([seen[:, None], drawn], 1)
        return torch.bmm(self.out_embed(words), vectors[:, :, None])[..., 0]

    def loss(self, *ids: Any) -> Any:
        scores = self(*ids)
        seen, drawn = scores[:, 0].sigmoid().log(), (1 - scores[:, 1:].sigmoid()).log().sum(1)
        return -(seen + drawn).mean()


@pytest.mark.parametrize(("spec", "around"), [("word2vec-skip-gram", ()), ("word2vec-cbow", (4,))])
def test_word2vec(spec: str, around: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    sizes = {"batch": 3, "vocab": 11, "d_embed": 5, "negatives": 6} | ({"window": 2} if around else {})
    module, center, near = Words(11, 5), torch.randint(11, (3,)), torch.randint(11, (3, *around))
    negatives = torch.randint(11, (3, 6))
    given, seen = (near, center) if around else (center, near)
    program = built(spec, **sizes)
    assert torch_total(program)[0] == sum(p.numel() for p in module.parameters())
    assert_same_flops(program, lambda: {"scores": module(given, seen, negatives)})
    inputs = {"center_ids": center, "context_ids": near, "negative_ids": negatives}
    check_loss(spec, sizes, module, inputs, module.loss(given, seen, negatives))


def test_glove() -> None:
    class Network(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, vocab: int, size: int) -> None:
            super().__init__()
            self.word, self.context = nn.Embedding(vocab, size), nn.Embedding(vocab, size)
            self.word_bias, self.context_bias = nn.Embedding(vocab, 1), nn.Embedding(vocab, 1)

        def forward(self, words: Any, contexts: Any) -> Any:
            products = torch.bmm(self.word(words)[:, None], self.context(contexts)[..., None])[:, 0, 0]
            return products + self.word_bias(words)[:, 0] + self.context_bias(contexts)[:, 0]

    torch.manual_seed(0)
    module, sizes = Network(11, 5), {"batch": 4, "vocab": 11, "d_embed": 5}
    words, contexts, counts = torch.randint(11, (4,)), torch.randint(11, (4,)), torch.tensor([1.0, 30.0, 99.0, 500.0])
    check(module, "glove", sizes, words, contexts)
    weights = torch.where(counts < 100, (counts / 100) ** 0.75, torch.ones(()))
    loss = (weights * (module(words, contexts) - counts.log()) ** 2).sum()
    check_loss("glove", sizes, module, {"word_ids": words, "context_ids": contexts, "counts": counts}, loss)


def test_recurrent_translation_without_attention() -> None:
    class Network(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, source_vocab: int, vocab: int, size: int) -> None:
            super().__init__()
            self.source_embed, self.target_embed = nn.Embedding(source_vocab, size), nn.Embedding(vocab, size)
            self.encoder, self.decoder = (nn.LSTM(size, size, 2, batch_first=True) for _ in range(2))
            self.head = nn.Linear(size, vocab)

        def forward(self, source: Any, target: Any) -> Any:
            _, states = self.encoder(self.source_embed(source.flip(1)))
            return self.head(self.decoder(self.target_embed(target), states)[0])

    torch.manual_seed(0)
    sizes = {"batch": 2, "source": 6, "target": 4, "source_vocab": 20, "vocab": 30, "hidden": 8, "layers": 2}
    source, target = torch.randint(20, (2, 6)), torch.randint(30, (2, 4))
    check(Network(20, 30, 8), "seq2seq-lstm", sizes, source, target)


@pytest.mark.parametrize(("name", "gates"), [("lstm", 4), ("gru", 3)])
def test_recurrent_layers_with_layer_norms(name: str, gates: int) -> None:
    class Layer(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, features: int, size: int) -> None:
            super().__init__()
            shapes: dict[str, tuple[int, ...]]
            shapes = {"weight_ih_l0": (gates * size, features), "weight_hh_l0": (gates * size, size)}
            shapes |= {f"{part}_{kind}_l0": (gates * size,) for part in ("gain", "bias") for kind in ("ih", "hh")}
            shapes |= {f"{part}_c_l0": (size,) for part in ("gain", "bias") if name == "lstm"}
            self.rnn = nn.ParameterDict({key: torch.randn(shape) for key, shape in shapes.items()})
            self.size = size

        def forward(self, x: Any) -> Any:
            weights = dict(self.rnn.items())
            states, outputs = [x.new_zeros(len(x), self.size) for _ in range(1 + (name == "lstm"))], []
            for step in x.unbind(1):
                states = normalized_step(name, {"hidden": self.size}, weights, "_l0", step, states)
                outputs.append(states[0])
            return torch.stack(outputs, 1)

    torch.manual_seed(0)
    sizes = {"batch": 2, "length": 5, "features": 6, "hidden": 8}
    module, x = Layer(6, 8), torch.randn(2, 5, 6)
    program, weights = built(f"layer-norm-{name}", **sizes), arrays(module.state_dict())
    assert torch_total(program)[0] == sum(p.numel() for p in module.parameters())
    output = module(x)
    np.testing.assert_allclose(
        forward(program, {"x": x.numpy()}, weights=weights).outputs["output"], output.detach().numpy(), atol=2e-6
    )
    assert_same_gradients(program, module, {"x": x.numpy()}, {"output": output})
    with FlopCounterMode(display=False) as counter:
        module(x)
    assert torch_total(program)[1] == counter.get_total_flops()
