"""U-Net and the first AlexNet, which torchvision does not have, against the same networks written in torch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.engine.run import forward
from netcalc.numerics.parameters import check_weights
from tests.oracle.blocks.convolutional import DoubleConv, Down, Up
from tests.oracle.network_flops import assert_same_flops
from tests.zoo.harness import built

torch = pytest.importorskip("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")
nn, F = torch.nn, torch.nn.functional


class UNet(nn.Module):  # type: ignore[name-defined,misc]
    """U-Net of milesial, or of the paper, which has neither padding nor normalization."""

    def __init__(self, images: int, classes: int, width: int, *, paper: bool = False, bilinear: bool = False) -> None:
        super().__init__()
        part = 2 if bilinear else 1
        self.inc = DoubleConv(images, width, width, not paper, 0 if paper else 1)
        widths = [width, 2 * width, 4 * width, 8 * width, 16 * width // part]
        for step, (inputs, outputs) in enumerate(pairwise(widths), 1):
            down = Down(inputs, outputs)
            if paper:
                down.maxpool_conv[1] = DoubleConv(inputs, outputs, outputs, False, 0)
            self.add_module(f"down{step}", down)
        below = widths[-1]
        for step, skipped in enumerate(reversed(widths[:-1]), 1):
            outputs = skipped // part if step < 4 else skipped
            self.add_module(f"up{step}", Up(below, skipped, outputs, bilinear, paper))
            below = outputs
        self.outc = nn.Sequential()
        self.outc.add_module("conv", nn.Conv2d(width, classes, 1))

    def forward(self, x: Any) -> Any:
        images = [self.inc(x)]
        for step in range(1, 5):
            images.append(self.get_submodule(f"down{step}")(images[-1]))
        x = images.pop()
        for step in range(1, 5):
            x = self.get_submodule(f"up{step}")(x, images.pop())
        return self.outc(x)


class TwoTowers(nn.Module):  # type: ignore[name-defined,misc]
    """AlexNet by §3 of the paper: each tower has its own kernels, and reads both towers where Figure 2 shows it."""

    def __init__(self, hidden: int, classes: int) -> None:
        super().__init__()
        sizes = [(3, 48, 11, 4, 0), (48, 128, 5, 1, 2), (256, 192, 3, 1, 1), (192, 192, 3, 1, 1), (192, 128, 3, 1, 1)]
        self.towers = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(i, o, kernel, stride, padding) for i, o, kernel, stride, padding in sizes)
            for _ in range(2)
        )
        self.fc = nn.ModuleList([nn.LazyLinear(hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, classes)])

    def forward(self, x: Any) -> Any:
        halves = [x, x]
        for layer in range(5):
            if layer == 2:
                halves = [torch.cat(halves, 1)] * 2
            halves = [F.relu(tower[layer](half)) for tower, half in zip(self.towers, halves, strict=True)]
            if layer < 2:
                halves = list(self.normalized(torch.cat(halves, 1)).chunk(2, 1))
            if layer in (0, 1, 4):
                halves = [F.max_pool2d(half, 3, 2) for half in halves]
        x = torch.cat(halves, 1).flatten(1)
        return self.fc[2](F.relu(self.fc[1](F.relu(self.fc[0](x)))))

    @staticmethod
    def normalized(x: Any) -> Any:
        around = F.pad(x.square(), (0, 0, 0, 0, 2, 2)).unfold(1, 5, 1).sum(-1)
        return x / (2 + 1e-4 * around) ** 0.75

    def weights(self) -> dict[str, np.ndarray]:
        """Return the parameters by the names of the spec; both towers' kernels form one tensor."""
        layers = {f"conv{n + 1}": [tower[n] for tower in self.towers] for n in range(5)}
        layers |= {f"fc{n + 6}": [linear] for n, linear in enumerate(self.fc)}
        return {
            f"{name}.{part}": torch.cat([getattr(piece, part) for piece in pieces]).numpy()
            for name, pieces in layers.items()
            for part in ("weight", "bias")
        }


def drawn(module: Any, *shape: int) -> Any:
    """Return inputs for a module, and give it weights that all affect the output."""
    torch.manual_seed(0)
    x = torch.randn(shape)
    module.eval()(x)  # initializes lazy layers
    module.requires_grad_(False)
    for name, tensor in module.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 2.0)
        elif tensor.is_floating_point():
            tensor.normal_(0.0, 0.1 if tensor.dim() < 2 else (2 / tensor[0].numel()) ** 0.5)
    return x


def agree(spec: str, settings: dict[str, Any], module: Any, x: Any, weights: dict[str, np.ndarray]) -> None:
    program = built(spec, height=x.shape[2], width=x.shape[3], **settings)
    assert check_weights(program, weights).ok
    counter = flop_counter.FlopCounterMode(display=False)
    with counter:
        expected = module(x).numpy()
    total = Analysis(program, CONVENTIONS["torch"]).total
    assert total.params == sum(p.numel() for p in module.parameters())
    assert total.flops == counter.get_total_flops()
    (actual,) = forward(program, {"image": x.numpy()}, weights=weights).outputs.values()
    assert actual.shape == expected.shape
    assert float(np.abs(actual - expected).max()) <= 1e-5 * float(np.abs(expected).max())


@pytest.mark.parametrize(
    ("spec", "settings", "module", "shape"),
    [
        ("unet", {}, UNet(1, 2, 4, paper=True), (1, 1, 188, 204)),
        ("unet", {"bilinear": True}, UNet(1, 2, 4, paper=True, bilinear=True), (1, 1, 188, 188)),
        ("unet-padded", {}, UNet(3, 2, 4), (1, 3, 50, 61)),
        ("unet-padded", {"bilinear": True}, UNet(3, 2, 4, bilinear=True), (1, 3, 61, 50)),
    ],
)
def test_u_net(spec: str, settings: dict[str, Any], module: Any, shape: tuple[int, ...]) -> None:
    x = drawn(module, *shape)
    settings = settings | {"channels": 4}
    agree(spec, settings, module, x, {k: t.numpy() for k, t in module.state_dict().items()})
    program = built(spec, height=x.shape[2], width=x.shape[3], **settings)
    module.requires_grad_(True)
    assert_same_flops(program, lambda: {program.output_names[0]: module(x)})


def test_alexnet_in_two_towers() -> None:
    module = TwoTowers(24, 10)
    x = drawn(module, 1, 3, 99, 99)
    agree("alexnet-original", {"hidden": 24, "classes": 10}, module, 10 * x, module.weights())
