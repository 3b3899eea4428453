"""Networks of images, and the blocks that they are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, layer

IMAGE, FEATURES = floats(2, 3, 16, 16), floats(2, 8, 6, 5)


def conv_norm(inputs: int, outputs: int, kernel: int = 3, **options: Any) -> nn.Sequential:
    """Return a convolution without bias, a batch norm and a ReLU."""
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False, **options)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


layer("convolution, norm and activation", lambda: conv_norm(3, 8), IMAGE)


@case(floats(2, 1, 16, 16))
class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 8, 3)
        self.fc1, self.fc2 = nn.Linear(72, 12), nn.Linear(12, 10)

    def forward(self, x: Any) -> Any:
        x = F.avg_pool2d(torch.sigmoid(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.dropout(F.relu(self.fc1(x.view(x.size(0), -1))), training=self.training))


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.shortcut = nn.Sequential()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        y += self.shortcut(x)
        return F.relu(y)


@case(IMAGE)
def resnet() -> Any:
    blocks = (BasicBlock(8, 8), BasicBlock(8, 8), BasicBlock(8, 16, 2), BasicBlock(16, 16))
    return nn.Sequential(conv_norm(3, 8), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


@case(FEATURES)
class PreActivation(nn.Module):
    """Norm and activation before each convolution, with a gate that starts at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.bn, self.conv = nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1)
        self.gain = nn.Parameter(torch.zeros(()))

    def forward(self, x: Any) -> Any:
        return x + self.gain * self.conv(F.relu(self.bn(x)))


@case(FEATURES)
def bottleneck_of_groups() -> Any:
    return nn.Sequential(conv_norm(8, 4, 1), conv_norm(4, 4, 3, groups=2), nn.Conv2d(4, 8, 1), nn.BatchNorm2d(8))


@case(FEATURES)
class DenseNet(nn.Module):
    """Layers that take the results of all before them, and a transition."""

    def __init__(self, growth: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(8 + n * growth), nn.ReLU(), nn.Conv2d(8 + n * growth, growth, 3, padding=1))
            for n in range(3)
        )
        self.transition = nn.Sequential(nn.Conv2d(8 + 3 * growth, 8, 1), nn.AvgPool2d(2))

    def forward(self, x: Any) -> Any:
        features = [x]
        for part in self.layers:
            features.append(part(torch.cat(features, 1)))
        return self.transition(torch.cat(features, 1))


@case(FEATURES)
class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.three = conv_norm(8, 4, 1), nn.Sequential(conv_norm(8, 2, 1), conv_norm(2, 6, 3))
        self.five = nn.Sequential(conv_norm(8, 2, 1), conv_norm(2, 3, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv_norm(8, 3, 1))

    def forward(self, x: Any) -> Any:
        return torch.cat([branch(x) for branch in (self.one, self.three, self.five, self.pool)], 1)


@case(FEATURES)
class FireModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.squeeze, self.left, self.right = nn.Conv2d(8, 3, 1), nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        x = torch.relu_(self.squeeze(x))
        return torch.cat([torch.relu_(self.left(x)), torch.relu_(self.right(x))], dim=1)


@case(FEATURES)
class SqueezeExcitation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(8, 2), nn.Linear(2, 8)

    def forward(self, x: Any) -> Any:
        scale = self.up(F.relu(self.down(x.mean((-2, -1)))))
        return x * torch.sigmoid(scale)[:, :, None, None]


@case(FEATURES)
class CBAM(nn.Module):
    """Attention of channels by averages and maxima, then of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Flatten(), nn.Linear(8, 2), nn.ReLU(), nn.Linear(2, 8))
        self.conv = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x: Any) -> Any:
        pooled = self.mlp(F.adaptive_avg_pool2d(x, 1)) + self.mlp(F.adaptive_max_pool2d(x, 1))
        x = x * torch.sigmoid(pooled)[..., None, None]
        maps = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True).values], 1)
        return x * torch.sigmoid(self.conv(maps))


@case(FEATURES)
class EfficientChannelAttention(nn.Module):
    """A convolution over channels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 1, 3, padding=1, bias=False)

    def forward(self, x: Any) -> Any:
        y = F.adaptive_avg_pool2d(x, 1).squeeze(-1).transpose(-1, -2)
        return x * self.conv(y).transpose(-1, -2).unsqueeze(-1).sigmoid().expand_as(x)


@case(FEATURES)
class InvertedResidual(nn.Module):
    """Expansion, depthwise convolution, excitation and projection (MobileNetV3)."""

    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(8, 16, 1), nn.BatchNorm2d(16), nn.Hardswish())
        self.depthwise = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.BatchNorm2d(16), nn.ReLU6())
        self.excite = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 16, 1))
        self.project = nn.Sequential(nn.Conv2d(16, 8, 1, bias=False), nn.BatchNorm2d(8))

    def forward(self, x: Any) -> Any:
        y = self.depthwise(self.expand(x))
        return x + self.project(y * F.hardsigmoid(self.excite(y)))


@case(FEATURES)
class ShuffleUnit(nn.Module):
    """A branch of half of the channels, and a shuffle written out."""

    def __init__(self) -> None:
        super().__init__()
        self.branch = nn.Sequential(conv_norm(4, 4, 1), nn.Conv2d(4, 4, 3, padding=1, groups=4), conv_norm(4, 4, 1))

    def forward(self, x: Any) -> Any:
        left, right = x.chunk(2, dim=1)
        x = torch.cat((left, self.branch(right)), 1)
        batch, channels, height, width = x.size()
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, -1, height, width)


@case(FEATURES)
class GhostModule(nn.Module):
    """Half of the channels by a cheap convolution of the others."""

    def __init__(self) -> None:
        super().__init__()
        self.primary, self.cheap = conv_norm(8, 5, 1), conv_norm(5, 5, 3, groups=5)

    def forward(self, x: Any) -> Any:
        y = self.primary(x)
        return torch.cat([y, self.cheap(y)], 1)[:, :9]


@case(floats(2, 8, 6, 6))
class ConvNeXtBlock(nn.Module):
    """A depthwise convolution, and a norm and linear layers with channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.dwconv, self.norm = nn.Conv2d(8, 8, 7, padding=3, groups=8), nn.LayerNorm(8, eps=1e-6)
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)
        self.gamma = nn.Parameter(1e-6 * torch.ones(8))

    def forward(self, x: Any) -> Any:
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


@case(FEATURES)
class LayerNorm2d(nn.Module):
    """A norm over channels, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(8)), nn.Parameter(torch.zeros(8))

    def forward(self, x: Any) -> Any:
        mean = x.mean(1, keepdim=True)
        spread = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight[:, None, None] * (x - mean) / torch.sqrt(spread + 1e-6) + self.bias[:, None, None]


@case(FEATURES)
class GlobalResponseNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.zeros(1, 8, 1, 1)), nn.Parameter(torch.zeros(1, 8, 1, 1))

    def forward(self, x: Any) -> Any:
        norm = torch.norm(x, p=2, dim=(2, 3), keepdim=True)
        return self.gamma * (x * norm / (norm.mean(1, keepdim=True) + 1e-6)) + self.beta + x


class MixerBlock(nn.Module):
    def __init__(self, tokens: int = 16, channels: int = 8) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.tokens = nn.Sequential(nn.Linear(tokens, 8), nn.GELU(), nn.Linear(8, tokens))
        self.channels = nn.Sequential(nn.Linear(channels, 16), nn.GELU(), nn.Linear(16, channels))

    def forward(self, x: Any) -> Any:
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


@case(IMAGE)
class MLPMixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.blocks = nn.Conv2d(3, 8, 4, 4), nn.Sequential(MixerBlock(), MixerBlock())
        self.head = nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.blocks(x).mean(dim=1))


class SpatialGating(nn.Module):
    """A gate that is linear over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(8), nn.Conv1d(16, 16, 1)

    def forward(self, x: Any) -> Any:
        value, gate = x.chunk(2, -1)
        return value * self.mix(self.norm(gate))


layer(
    "gMLP block", lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), SpatialGating(), nn.Linear(8, 8)), floats(2, 16, 8)
)


@case(FEATURES)
class PoolFormerBlock(nn.Module):
    """Pooling in place of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.pool = nn.GroupNorm(1, 8), nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.scale = nn.Parameter(torch.ones(8, 1, 1))

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        return x + self.scale * (self.pool(y) - y)


@case(IMAGE)
class VisionTransformer(nn.Module):
    """Patches by a rearrangement and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.positions = nn.Linear(48, 8), nn.Parameter(torch.randn(1, 17, 8))
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        encoder = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(encoder, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 10))

    def forward(self, x: Any) -> Any:
        x = x.unflatten(2, (4, 4)).unflatten(4, (4, 4)).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)
        x = torch.cat([self.token.repeat(len(x), 1, 1), self.embed(x)], 1) + self.positions
        return self.head(self.encoder(x)[:, 0])


class DoubleConv(nn.Sequential):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(conv_norm(inputs, outputs), conv_norm(outputs, outputs))


@case(IMAGE)
class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([DoubleConv(3, 4), DoubleConv(4, 8)])
        self.middle = DoubleConv(8, 16)
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 8, 2, 2), nn.ConvTranspose2d(8, 4, 2, 2)])
        self.join = nn.ModuleList([DoubleConv(16, 8), DoubleConv(8, 4)])
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x: Any) -> Any:
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, join, skip in zip(self.up, self.join, reversed(skips), strict=True):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


@case(floats(1, 1, 13, 10))
class UNetOfAnySize(nn.Module):
    """Bilinear upsampling, and padding to the size of the skip."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3), nn.Conv2d(8, 1, 1)

    def forward(self, x: Any) -> Any:
        skip = self.first(x)
        y = F.interpolate(self.second(F.max_pool2d(skip, 2)), scale_factor=2, mode="bilinear")
        rows, columns = skip.shape[2] - y.shape[2], skip.shape[3] - y.shape[3]
        y = F.pad(y, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.last(torch.cat([skip, y], 1))


@case(IMAGE)
class SegNet(nn.Module):
    """Unpooling by the indices of the pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 2, 3, padding=1)
        self.pool, self.unpool = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)

    def forward(self, x: Any) -> Any:
        y, indices = self.pool(self.down(x).relu())
        return self.up(self.unpool(y, indices))


@case(floats(1, 4, 16, 16), floats(1, 6, 8, 8), floats(1, 8, 4, 4))
class FeaturePyramid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList(nn.Conv2d(size, 5, 1) for size in (4, 6, 8))
        self.outer = nn.ModuleList(nn.Conv2d(5, 5, 3, padding=1) for _ in range(3))

    def forward(self, *features: Any) -> Any:
        levels = [conv(x) for conv, x in zip(self.inner, features, strict=True)]
        for n in (1, 0):
            levels[n] = levels[n] + F.interpolate(levels[n + 1], size=levels[n].shape[-2:], mode="nearest")
        levels = [conv(x) for conv, x in zip(self.outer, levels, strict=True)]
        return {f"p{n}": x for n, x in enumerate([*levels, F.max_pool2d(levels[-1], 1, 2)], 2)}


@case(FEATURES)
class ASPP(nn.Module):
    """Dilated convolutions of several rates, and the mean of the image (DeepLab)."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = nn.ModuleList(nn.Conv2d(8, 4, 3, padding=rate, dilation=rate) for rate in (1, 2, 3))
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.ReLU())
        self.project = nn.Conv2d(16, 4, 1)

    def forward(self, x: Any) -> Any:
        pooled = F.interpolate(self.pool(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return self.project(torch.cat([*(conv(x) for conv in self.rates), pooled], 1))


@case(FEATURES)
class PyramidPooling(nn.Module):
    """Pooling to several sizes (PSPNet, SPP)."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleDict({str(size): nn.Conv2d(8, 2, 1) for size in (1, 2, 3)})

    def forward(self, x: Any) -> Any:
        parts = [x]
        for size, conv in self.convs.items():
            parts.append(F.interpolate(conv(F.adaptive_avg_pool2d(x, int(size))), x.shape[2:], mode="bilinear"))
        flat = torch.cat([F.adaptive_max_pool2d(x, size).flatten(1) for size in (1, 2)], 1)
        return torch.cat(parts, 1), flat


@case(FEATURES)
class Detector(nn.Module):
    """Boxes and classes for each anchor, decoded to coordinates (YOLO, SSD)."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv2d(8, 2 * 7, 1)
        self.register_buffer("anchors", torch.tensor([[1.0, 2.0], [3.0, 1.5]]))

    def forward(self, x: Any) -> Any:
        batch, _, height, width = x.shape
        y = self.head(x).view(batch, 2, 7, height, width).permute(0, 1, 3, 4, 2)
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centres = y[..., :2].sigmoid() + torch.stack([columns, rows], -1)
        sizes = y[..., 2:4].exp() * self.anchors[:, None, None]
        return torch.cat([centres, sizes, y[..., 4:].sigmoid()], -1).flatten(1, 3)


@case(floats(2, 1, 12, 12))
class SpatialTransformer(nn.Module):
    """An affine map that the network chooses for its image."""

    def __init__(self) -> None:
        super().__init__()
        self.local = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 6))
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x: Any) -> Any:
        theta = self.local(x).view(-1, 2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return self.conv(F.grid_sample(x, grid, align_corners=False))


@case(floats(2, 4, 6, 6))
class DeformableSampling(nn.Module):
    """Offsets that a convolution gives, added to a grid of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.offset, self.conv = nn.Conv2d(4, 2, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x: Any) -> Any:
        rows, columns = torch.linspace(-1, 1, 6), torch.linspace(-1, 1, 6)
        base = torch.stack(torch.meshgrid(rows, columns, indexing="xy"), -1)
        grid = base + 0.1 * torch.tanh(self.offset(x)).permute(0, 2, 3, 1)
        return self.conv(F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=True))


@case(floats(1, 3, 6, 6))
class SuperResolution(nn.Module):
    """Convolutions and a pixel shuffle, added to an enlarged image."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(), nn.Conv2d(8, 12, 3, padding=1))

    def forward(self, x: Any) -> Any:
        return F.pixel_shuffle(self.body(x), 2) + F.interpolate(x, scale_factor=2, mode="bicubic")


@case(floats(1, 3, 9, 9), floats(1, 3, 9, 9))
class OpticalFlow(nn.Module):
    """Products of features with those of shifted positions, and an image that is warped by the flow."""

    def __init__(self) -> None:
        super().__init__()
        self.features, self.flow = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(9, 2, 3, padding=1)

    def forward(self, first: Any, second: Any) -> Any:
        a, b = self.features(first), F.pad(self.features(second), (1, 1, 1, 1))
        shifts = [b[:, :, row : row + 9, column : column + 9] for row in range(3) for column in range(3)]
        flow = self.flow(torch.stack([(a * shift).mean(1) for shift in shifts], 1))
        identity = F.affine_grid(torch.eye(2, 3)[None], [1, 3, 9, 9], align_corners=True)
        return F.grid_sample(second, identity + flow.permute(0, 2, 3, 1), align_corners=True)


@case(floats(2, 3, 8, 8))
class CapsuleNetwork(nn.Module):
    """Vectors that are squashed, and routing by agreement."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2)
        self.weight = nn.Parameter(torch.randn(18, 3, 5, 4))

    def squashed(self, x: Any) -> Any:
        square = x.square().sum(-1, keepdim=True)
        return square / (1 + square) * x / (square.sqrt() + 1e-6)

    def forward(self, x: Any) -> Any:
        u = self.squashed(self.conv(x).view(2, 18, 4))
        votes = torch.einsum("icod,bid->bico", self.weight, u)
        logits = torch.zeros(2, 18, 3)
        for _ in range(2):
            v = self.squashed((logits.softmax(-1)[..., None] * votes).sum(1))
            logits = logits + (votes * v[:, None]).sum(-1)
        return v.norm(dim=-1)


@case(IMAGE)
class StyleGram(nn.Module):
    """Products of features, as in transfer of style, and a normalization of the image by buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(-1, 1, 1))
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: Any) -> Any:
        features = self.conv((x - self.mean) / 0.229).flatten(2)
        return features.bmm(features.transpose(1, 2)) / features[0].numel()


@case(IMAGE)
class FixedFilters(nn.Module):
    """Sobel edges by filters that are constants, and a blur by a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.edges = torch.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        blur = torch.tensor([1.0, 2.0, 1.0])
        self.register_buffer("blur", (torch.outer(blur, blur) / 16).expand(3, 1, 3, 3))

    def forward(self, x: Any) -> Any:
        x = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), self.blur, groups=3)
        edges = torch.stack([self.edges, self.edges.t()])[:, None].repeat(3, 1, 1, 1)
        return F.conv2d(x, edges, groups=3).pow(2).sum(1, keepdim=True).add(1e-8).sqrt()


@case(floats(1, 3, 4, 8, 8))
class VideoNetwork(nn.Module):
    """A convolution in space and one in time (R(2+1)D), with a shift of channels between frames."""

    def __init__(self) -> None:
        super().__init__()
        self.space = nn.Conv3d(3, 6, (1, 3, 3), padding=(0, 1, 1), bias=False)
        self.time = nn.Conv3d(6, 4, (3, 1, 1), padding=(1, 0, 0), bias=False)
        self.norm = nn.BatchNorm3d(6)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.norm(self.space(x)))
        x = torch.cat([F.pad(x[:, :2, 1:], (0, 0, 0, 0, 0, 1)), x[:, 2:]], 1)
        return self.time(x).mean((2, 3, 4))


@case(floats(2, 3, 3, 10, 10))
class FramesAsBatch(nn.Module):
    """Frames through a network of images, and a mean over time."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(conv_norm(3, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, frames: Any) -> Any:
        batch, time = frames.shape[:2]
        return self.net(frames.flatten(0, 1)).view(batch, time, -1).mean(1)


@case(FEATURES)
class NonLocal(nn.Module):
    """Attention over positions, with keys of a smaller image."""

    def __init__(self) -> None:
        super().__init__()
        self.theta, self.out = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.phi = nn.Sequential(nn.Conv2d(8, 4, 1), nn.MaxPool2d(2))

    def forward(self, x: Any) -> Any:
        keys = self.phi(x).flatten(2)
        shares = F.softmax(self.theta(x).flatten(2).mT @ keys, dim=-1)
        return x + self.out((shares @ keys.mT).mT.reshape(2, 4, 6, 5))


@case(FEATURES)
class DynamicConvolution(nn.Module):
    """Kernels mixed for each image, as a convolution whose groups are images (CondConv)."""

    def __init__(self) -> None:
        super().__init__()
        self.experts, self.router = nn.Parameter(torch.randn(3, 4, 8, 3, 3)), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        shares = torch.sigmoid(self.router(x.mean((2, 3))))
        kernels = (shares @ self.experts.flatten(1)).view(-1, 8, 3, 3)
        return F.conv2d(x.reshape(1, -1, 6, 5), kernels, padding=1, groups=2).view(2, 4, 6, 5)


@case(FEATURES)
class Involution(nn.Module):
    """Kernels for every position, applied to unfolded neighbourhoods."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels = nn.Conv2d(8, 2 * 9, 1)

    def forward(self, x: Any) -> Any:
        kernels = self.kernels(x).view(2, 2, 1, 9, 6, 5)
        patches = F.unfold(x, 3, padding=1).view(2, 2, 4, 9, 6, 5)
        return (kernels * patches).sum(3).view(2, 8, 6, 5)


@case(FEATURES)
class CoordinateConv(nn.Module):
    """Coordinates as channels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(10, 4, 1)

    def forward(self, x: Any) -> Any:
        rows = torch.linspace(-1, 1, x.shape[2])[None, None, :, None].expand(2, 1, -1, 5)
        columns = torch.linspace(-1, 1, x.shape[3]).expand(2, 1, 6, 5)
        return self.conv(torch.cat([x, rows, columns], 1))


@case(IMAGE)
class OctaveConv(nn.Module):
    """Two resolutions that exchange features."""

    def __init__(self) -> None:
        super().__init__()
        self.high, self.low = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 3, padding=1)
        self.up, self.down = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)

    def forward(self, x: Any) -> Any:
        high, low = self.high(x), self.low(F.avg_pool2d(x, 2))
        return high + F.interpolate(self.up(low), scale_factor=2.0), low + self.down(F.avg_pool2d(high, 2))


@case(IMAGE)
class StochasticDepthInInference(nn.Module):
    """Branches that training drops, and inference keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.rate = nn.Conv2d(3, 3, 3, padding=1), 0.2

    def forward(self, x: Any) -> Any:
        if not self.training or self.rate == 0:
            return x + self.conv(x)
        keep = torch.bernoulli(torch.full((x.shape[0], 1, 1, 1), 1 - self.rate))
        return x + self.conv(x) * keep / (1 - self.rate)


@case(floats(2, 8, 5, 5))
class RepVGG(nn.Module):
    """Three parallel branches, one of which is a norm alone."""

    def __init__(self) -> None:
        super().__init__()
        self.three = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8))
        self.one = nn.Sequential(nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8))
        self.identity = nn.BatchNorm2d(8)

    def forward(self, x: Any) -> Any:
        return F.relu(self.three(x) + self.one(x) + self.identity(x))


@case(floats(2, 4, 9))
class PointNet(nn.Module):
    """A function of each point and the maximum, with an alignment that the network computes."""

    def __init__(self) -> None:
        super().__init__()
        self.align = nn.Sequential(nn.Conv1d(4, 8, 1), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(8, 16))
        self.points = nn.Sequential(nn.Conv1d(4, 8, 1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 12, 1))

    def forward(self, x: Any) -> Any:
        turn = self.align(x).view(-1, 4, 4) + torch.eye(4)
        return torch.max(self.points(torch.bmm(x.transpose(2, 1), turn).transpose(2, 1)), 2)[0]
