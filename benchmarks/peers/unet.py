"""U-Net as in the paper, without padding and normalization, with the names of milesial/Pytorch-UNet."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

__all__ = ["UNet"]


class DoubleConv(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3), nn.ReLU(inplace=True), nn.Conv2d(outputs, outputs, 3), nn.ReLU(inplace=True)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(inputs, outputs))

    def forward(self, x: Tensor) -> Tensor:
        return self.maxpool_conv(x)


class Up(nn.Module):
    """Upsampling, joined with the middle of the skipped map."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, outputs, 2, 2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x: Tensor, skipped: Tensor) -> Tensor:
        x = self.up(x)
        height, width = x.shape[2:]
        top, left = (skipped.shape[2] - height) // 2, (skipped.shape[3] - width) // 2
        return self.conv(torch.cat([skipped[:, :, top : top + height, left : left + width], x], 1))


class Head(nn.Module):
    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, images: int = 1, classes: int = 2, width: int = 64) -> None:
        super().__init__()
        widths = [width << level for level in range(5)]
        self.inc = DoubleConv(images, width)
        for step, (above, below) in enumerate(pairwise(widths), 1):
            self.add_module(f"down{step}", Down(above, below))
        for step, (below, above) in enumerate(pairwise(reversed(widths)), 1):
            self.add_module(f"up{step}", Up(below, above))
        self.outc = Head(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        maps = [self.inc(x)]
        for step in range(1, 5):
            maps.append(self.get_submodule(f"down{step}")(maps[-1]))
        x = maps.pop()
        for step in range(1, 5):
            x = self.get_submodule(f"up{step}")(x, maps.pop())
        return self.outc(x)
