"""The Vision Transformer, with the structure and the names of torchvision."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial

import torch
from torch import Tensor, nn

__all__ = ["VisionTransformer"]

LayerNorm = partial(nn.LayerNorm, eps=1e-6)


class EncoderBlock(nn.Module):
    def __init__(self, heads: int, width: int, hidden: int) -> None:
        super().__init__()
        self.ln_1 = LayerNorm(width)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dropout = nn.Dropout(0.0)
        self.ln_2 = LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Dropout(0.0), nn.Linear(hidden, width), nn.Dropout(0.0)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln_1(x)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        y = self.dropout(y) + x
        return y + self.mlp(self.ln_2(y))


class Encoder(nn.Module):
    def __init__(self, length: int, layers: int, heads: int, width: int, hidden: int) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, length, width).normal_(std=0.02))
        self.dropout = nn.Dropout(0.0)
        blocks = ((f"encoder_layer_{number}", EncoderBlock(heads, width, hidden)) for number in range(layers))
        self.layers = nn.Sequential(OrderedDict(blocks))
        self.ln = LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """The base model on patches of 16×16 pixels."""

    def __init__(self, image: int = 224, patch: int = 16, width: int = 768, classes: int = 1000) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.encoder = Encoder((image // patch) ** 2 + 1, 12, 12, width, 4 * width)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(width, classes)))

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])
