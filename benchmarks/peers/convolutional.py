"""ResNet and MobileNetV2, with the structure and the names of torchvision."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

__all__ = ["MobileNetV2", "ResNet", "resnet34", "resnet50"]

STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Residual(nn.Module):
    """The common part of the two blocks of ResNets: the shortcut, projected if the shape changes."""

    expansion: int

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        outputs = channels * self.expansion
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def residual(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        out = self.residual(x)
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class BasicBlock(Residual):
    expansion = 1

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__(inputs, channels, stride)
        self.conv1, self.bn1 = conv(inputs, channels, 3, stride), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = conv(channels, channels, 3), nn.BatchNorm2d(channels)

    def residual(self, x: Tensor) -> Tensor:
        return self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))


class Bottleneck(Residual):
    expansion = 4

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__(inputs, channels, stride)
        self.conv1, self.bn1 = conv(inputs, channels, 1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = conv(channels, channels, 3, stride), nn.BatchNorm2d(channels)
        self.conv3, self.bn3 = conv(channels, 4 * channels, 1), nn.BatchNorm2d(4 * channels)

    def residual(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        return self.bn3(self.conv3(self.relu(self.bn2(self.conv2(x)))))


class ResNet(nn.Module):
    def __init__(self, block: type[Residual], depths: list[int], classes: int = 1000) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv(3, 64, 7, 2), nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for stage, depth in enumerate(depths):
            channels, blocks = 64 << stage, []
            for index in range(depth):
                blocks.append(block(inputs, channels, 2 if stage and not index else 1))
                inputs = channels * block.expansion
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in range(1, 5):
            x = self.get_submodule(f"layer{stage}")(x)
        return self.fc(self.avgpool(x).flatten(1))


def resnet34() -> ResNet:
    return ResNet(BasicBlock, [3, 4, 6, 3])


def resnet50() -> ResNet:
    return ResNet(Bottleneck, [3, 4, 6, 3])


def conv_norm_activation(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU6(inplace=True))


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.shortcut = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            *([conv_norm_activation(inputs, hidden, 1)] if expansion != 1 else []),
            conv_norm_activation(hidden, hidden, 3, stride, groups=hidden),
            conv(hidden, outputs, 1),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.shortcut else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.features = nn.Sequential(conv_norm_activation(3, 32, 3, 2))
        inputs = 32
        for expansion, channels, depth, stride in STAGES:
            for index in range(depth):
                self.features.append(InvertedResidual(inputs, channels, 1 if index else stride, expansion))
                inputs = channels
        self.features.append(conv_norm_activation(inputs, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(adaptive_avg_pool2d(self.features(x), 1).flatten(1))
