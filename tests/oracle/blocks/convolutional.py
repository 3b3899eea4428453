"""Modules of torchvision, and of U-Net, as their papers and reference implementations build them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
F = torch.nn.functional


def conv_bn(inputs: int, outputs: int, kernel: int, act: Any = None, eps: float = 1e-5, **how: Any) -> Any:
    padding = (kernel - 1) // 2 * how.get("dilation", 1)
    layers = [nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=False, **how), nn.BatchNorm2d(outputs, eps=eps)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Bottleneck(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(
        self, inputs: int, planes: int, stride: int = 1, groups: int = 1, base_width: int = 64, dilation: int = 1
    ) -> None:
        super().__init__()
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        how = {"stride": stride, "padding": dilation, "dilation": dilation, "groups": groups}
        self.conv2 = nn.Conv2d(width, width, 3, bias=False, **how)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * planes)
        self.downsample = None
        if stride != 1 or inputs != 4 * planes:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, 4 * planes, 1, stride, bias=False), nn.BatchNorm2d(4 * planes)
            )

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class SqueezeExcitation(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, channels: int, squeeze: int, act: Any = nn.ReLU, gate: Any = nn.Sigmoid) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(channels, squeeze, 1)
        self.fc2 = nn.Conv2d(squeeze, channels, 1)
        self.act, self.gate = act(), gate()

    def forward(self, x: Any) -> Any:
        return self.gate(self.fc2(self.act(self.fc1(x.mean((2, 3), keepdim=True))))) * x


class Residual(nn.Module):  # type: ignore[name-defined,misc]
    """Named layers, with a residual connection if stride and channels allow it."""

    def __init__(self, name: str, layers: list[Any], adds: bool) -> None:
        super().__init__()
        self.add_module(name, nn.Sequential(*layers))
        self.name, self.adds = name, adds

    def forward(self, x: Any) -> Any:
        y = getattr(self, self.name)(x)
        return x + y if self.adds else y


def inverted_residual(inputs: int, outputs: int, stride: int, ratio: float) -> Any:
    hidden = round(inputs * ratio)
    layers = [conv_bn(inputs, hidden, 1, nn.ReLU6)] if ratio != 1 else []
    layers.append(conv_bn(hidden, hidden, 3, nn.ReLU6, stride=stride, groups=hidden))
    layers += [nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
    return Residual("conv", layers, stride == 1 and inputs == outputs)


def make_divisible(value: float, divisor: int = 8) -> int:
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def inverted_residual_v3(
    inputs: int, hidden: int, outputs: int, kernel: int, se: bool, act: Any, stride: int, dilation: int
) -> Any:
    eps = 0.001
    layers = [conv_bn(inputs, hidden, 1, act, eps)] if hidden != inputs else []
    step = 1 if dilation > 1 else stride
    layers.append(conv_bn(hidden, hidden, kernel, act, eps, stride=step, dilation=dilation, groups=hidden))
    if se:
        layers.append(SqueezeExcitation(hidden, make_divisible(hidden // 4), gate=nn.Hardsigmoid))
    layers.append(conv_bn(hidden, outputs, 1, None, eps))
    return Residual("block", layers, stride == 1 and inputs == outputs)


def mbconv(inputs: int, outputs: int, kernel: int, stride: int, ratio: float) -> Any:
    hidden = make_divisible(inputs * ratio)
    layers = [conv_bn(inputs, hidden, 1, nn.SiLU)] if hidden != inputs else []
    layers.append(conv_bn(hidden, hidden, kernel, nn.SiLU, stride=stride, groups=hidden))
    layers.append(SqueezeExcitation(hidden, max(1, inputs // 4), nn.SiLU))
    layers.append(conv_bn(hidden, outputs, 1))
    return Residual("block", layers, stride == 1 and inputs == outputs)


def fused_mbconv(inputs: int, outputs: int, kernel: int, stride: int, ratio: float) -> Any:
    hidden = make_divisible(inputs * ratio)
    if hidden == inputs:
        layers = [conv_bn(inputs, outputs, kernel, nn.SiLU, 0.001, stride=stride)]
    else:
        layers = [
            conv_bn(inputs, hidden, kernel, nn.SiLU, 0.001, stride=stride),
            conv_bn(hidden, outputs, 1, eps=0.001),
        ]
    return Residual("block", layers, stride == 1 and inputs == outputs)


class BasicConv(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inputs: int, outputs: int, kernel: Any, stride: int = 1, padding: Any = 0) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x: Any) -> Any:
        return F.relu(self.bn(self.conv(x)))


class Branches(nn.Module):  # type: ignore[name-defined,misc]
    """Chains of named convolutions side by side; ``None`` in a chain stands for its pooling."""

    def __init__(self, inputs: int, chains: list[list[Any]], pool: Any) -> None:
        super().__init__()
        self.chains = []
        self.pool = pool
        for chain in chains:
            names, channels = [], inputs
            for link in chain:
                if link is None:
                    names.append(None)
                    continue
                name, outputs, *how = link
                self.add_module(name, BasicConv(channels, outputs, *how))
                names.append(name)
                channels = outputs
            self.chains.append(names)

    def forward(self, x: Any) -> Any:
        results = []
        for chain in self.chains:
            y = x
            for name in chain:
                y = self.pool(y) if name is None else getattr(self, name)(y)
            results.append(y)
        return torch.cat(results, 1)


def average(x: Any) -> Any:
    return F.avg_pool2d(x, 3, 1, 1)


def halve(x: Any) -> Any:
    return F.max_pool2d(x, 3, 2)


ACROSS, DOWN = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))


def inception_a(inputs: int, pool_features: int) -> Any:
    five = [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5, 1, 2)]
    double = [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1), ("branch3x3dbl_3", 96, 3, 1, 1)]
    chains = [[("branch1x1", 64, 1)], five, double, [None, ("branch_pool", pool_features, 1)]]
    return Branches(inputs, chains, average)


def inception_b(inputs: int) -> Any:
    double = [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1), ("branch3x3dbl_3", 96, 3, 2)]
    return Branches(inputs, [[("branch3x3", 384, 3, 2)], double, [None]], halve)


def inception_c(inputs: int, c: int) -> Any:
    seven = [("branch7x7_1", c, 1), ("branch7x7_2", c, *ACROSS), ("branch7x7_3", 192, *DOWN)]
    double = [("branch7x7dbl_1", c, 1), ("branch7x7dbl_2", c, *DOWN), ("branch7x7dbl_3", c, *ACROSS)]
    double += [("branch7x7dbl_4", c, *DOWN), ("branch7x7dbl_5", 192, *ACROSS)]
    chains = [[("branch1x1", 192, 1)], seven, double, [None, ("branch_pool", 192, 1)]]
    return Branches(inputs, chains, average)


def inception_d(inputs: int) -> Any:
    three = [("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)]
    seven = [("branch7x7x3_1", 192, 1), ("branch7x7x3_2", 192, *ACROSS), ("branch7x7x3_3", 192, *DOWN)]
    return Branches(inputs, [three, [*seven, ("branch7x7x3_4", 192, 3, 2)], [None]], halve)


class InceptionE(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.branch1x1 = BasicConv(inputs, 320, 1)
        self.branch3x3_1 = BasicConv(inputs, 384, 1)
        self.branch3x3_2a = BasicConv(384, 384, (1, 3), 1, (0, 1))
        self.branch3x3_2b = BasicConv(384, 384, (3, 1), 1, (1, 0))
        self.branch3x3dbl_1 = BasicConv(inputs, 448, 1)
        self.branch3x3dbl_2 = BasicConv(448, 384, 3, 1, 1)
        self.branch3x3dbl_3a = BasicConv(384, 384, (1, 3), 1, (0, 1))
        self.branch3x3dbl_3b = BasicConv(384, 384, (3, 1), 1, (1, 0))
        self.branch_pool = BasicConv(inputs, 192, 1)

    def forward(self, x: Any) -> Any:
        y = self.branch3x3_1(x)
        z = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        pairs = [self.branch3x3_2a(y), self.branch3x3_2b(y), self.branch3x3dbl_3a(z), self.branch3x3dbl_3b(z)]
        return torch.cat([self.branch1x1(x), *pairs, self.branch_pool(average(x))], 1)


class FeaturePyramid(nn.Module):  # type: ignore[name-defined,misc]
    """Feature pyramid of torchvision; with ``extra``, including LastLevelP6P7."""

    def __init__(self, inputs: list[int], outputs: int, norm: bool = False, extra: str | None = None) -> None:
        super().__init__()

        def conv(channels: int, kernel: int) -> Any:
            layers = [nn.Conv2d(channels, outputs, kernel, padding=kernel // 2, bias=not norm)]
            return nn.Sequential(*layers, *([nn.BatchNorm2d(outputs)] if norm else []))

        self.inner_blocks = nn.ModuleList(conv(channels, 1) for channels in inputs)
        self.layer_blocks = nn.ModuleList(conv(outputs, 3) for _ in inputs)
        self.extra = extra
        if extra:
            first = inputs[-1] if extra == "C5" else outputs
            convs = [nn.Conv2d(first, outputs, 3, 2, 1), nn.Conv2d(outputs, outputs, 3, 2, 1)]
            self.extra_blocks = nn.Module()
            self.extra_blocks.p6, self.extra_blocks.p7 = convs

    def forward(self, *levels: Any) -> Any:
        last = self.inner_blocks[-1](levels[-1])
        results = [self.layer_blocks[-1](last)]
        for level, inner, layer in reversed(list(zip(levels, self.inner_blocks, self.layer_blocks, strict=True))[:-1]):
            lateral = inner(level)
            last = lateral + F.interpolate(last, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, layer(last))
        if self.extra:
            p6 = self.extra_blocks.p6(levels[-1] if self.extra == "C5" else results[-1])
            results += [p6, self.extra_blocks.p7(F.relu(p6))]
        return results


class DoubleConv(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inputs: int, outputs: int, middle: int, norm: bool = True, padding: int = 1) -> None:
        super().__init__()
        layers: list[Any] = []
        for one, other in ((inputs, middle), (middle, outputs)):
            layers.append(nn.Conv2d(one, other, 3, padding=padding, bias=not norm))
            layers += [nn.BatchNorm2d(other)] if norm else []
            layers.append(nn.ReLU())
        self.double_conv = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return self.double_conv(x)


class Down(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(inputs, outputs, outputs))

    def forward(self, x: Any) -> Any:
        return self.maxpool_conv(x)


class Up(nn.Module):  # type: ignore[name-defined,misc]
    """Block of milesial's U-Net; with ``crop`` of the paper's, without padding and normalization."""

    def __init__(self, inputs: int, skipped: int, outputs: int, bilinear: bool, crop: bool = False) -> None:
        super().__init__()
        self.crop = crop
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(inputs + skipped, outputs, (inputs + skipped) // 2, not crop, 0 if crop else 1)
        else:
            self.up = nn.ConvTranspose2d(inputs, inputs // 2, 2, stride=2)
            self.conv = DoubleConv(inputs // 2 + skipped, outputs, outputs, not crop, 0 if crop else 1)

    def forward(self, x: Any, skip: Any) -> Any:
        x = self.up(x)
        down, right = skip.shape[2] - x.shape[2], skip.shape[3] - x.shape[3]
        if self.crop:
            skip = skip[:, :, down // 2 : down // 2 + x.shape[2], right // 2 : right // 2 + x.shape[3]]
        else:
            x = F.pad(x, [right // 2, right - right // 2, down // 2, down - down // 2])
        return self.conv(torch.cat([skip, x], 1))


class DenseBlock(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inputs: int, layers: int, growth: int, bn_size: int) -> None:
        super().__init__()
        for index in range(layers):
            channels = inputs + index * growth
            parts = OrderedDict(
                norm1=nn.BatchNorm2d(channels),
                relu1=nn.ReLU(),
                conv1=nn.Conv2d(channels, bn_size * growth, 1, bias=False),
                norm2=nn.BatchNorm2d(bn_size * growth),
                relu2=nn.ReLU(),
                conv2=nn.Conv2d(bn_size * growth, growth, 3, padding=1, bias=False),
            )
            self.add_module(f"denselayer{index + 1}", nn.Sequential(parts))

    def forward(self, x: Any) -> Any:
        features = [x]
        for layer in self.children():
            features.append(layer(torch.cat(features, 1)))
        return torch.cat(features, 1)


class ShuffleUnit(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        half, self.stride = outputs // 2, stride

        def depthwise(channels: int) -> list[Any]:
            conv = nn.Conv2d(channels, channels, 3, stride, 1, bias=False, groups=channels)
            return [conv, nn.BatchNorm2d(channels)]

        def pointwise(channels: int) -> list[Any]:
            return [nn.Conv2d(channels, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU()]

        self.branch1 = nn.Sequential(*depthwise(inputs), *pointwise(inputs)) if stride > 1 else nn.Sequential()
        first = pointwise(inputs if stride > 1 else half)
        self.branch2 = nn.Sequential(*first, *depthwise(half), *pointwise(half))

    def forward(self, x: Any) -> Any:
        one, other = (x, x) if self.stride > 1 else x.chunk(2, 1)
        y = torch.cat([self.branch1(one), self.branch2(other)], 1)
        batch, channels, height, width = y.shape
        return y.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(y.shape)
