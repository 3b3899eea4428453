"""Attention in shifted windows, as torchvision computes it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
F = torch.nn.functional


class ShiftedWindowAttention(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, dim: int, window: list[int], shift: list[int], heads: int, bias: bool) -> None:
        super().__init__()
        self.window, self.shift, self.heads = window, shift, heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=bias)
        self.proj = nn.Linear(dim, dim, bias=bias)
        self.relative_position_bias_table = nn.Parameter(torch.zeros((2 * window[0] - 1) * (2 * window[1] - 1), heads))
        coords = torch.stack(torch.meshgrid(*map(torch.arange, window), indexing="ij")).flatten(1)
        offsets = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0).contiguous()
        offsets[:, :, 0] += window[0] - 1
        offsets[:, :, 1] += window[1] - 1
        offsets[:, :, 0] *= 2 * window[1] - 1
        self.register_buffer("relative_position_index", offsets.sum(-1).flatten())

    def forward(self, x: Any) -> Any:
        batch, height, width, dim = x.shape
        (wh, ww), places = self.window, self.window[0] * self.window[1]
        x = F.pad(x, (0, 0, 0, -width % ww, 0, -height % wh))
        _, high, wide, _ = x.shape
        sh, sw = (0 if w >= size else s for s, w, size in zip(self.shift, self.window, (high, wide), strict=True))
        if sh + sw > 0:
            x = torch.roll(x, (-sh, -sw), (1, 2))
        count = (high // wh) * (wide // ww)
        x = x.view(batch, high // wh, wh, wide // ww, ww, dim).permute(0, 1, 3, 2, 4, 5).reshape(-1, places, dim)
        qkv = self.qkv(x).reshape(len(x), places, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        query, key, value = qkv[0] * (dim // self.heads) ** -0.5, qkv[1], qkv[2]
        table = self.relative_position_bias_table[self.relative_position_index]
        scores = query @ key.transpose(-2, -1) + table.view(places, places, -1).permute(2, 0, 1)[None]
        if sh + sw > 0:
            regions = x.new_zeros((high, wide))
            number = 0
            for rows in ((0, -wh), (-wh, -sh), (-sh, None)):
                for columns in ((0, -ww), (-ww, -sw), (-sw, None)):
                    regions[slice(*rows), slice(*columns)] = number
                    number += 1
            regions = regions.view(high // wh, wh, wide // ww, ww).permute(0, 2, 1, 3).reshape(count, places)
            apart = regions[:, None] - regions[:, :, None]
            mask = torch.where(apart != 0, -100.0, 0.0)
            scores = scores.view(batch, count, self.heads, places, places) + mask[None, :, None]
            scores = scores.view(-1, self.heads, places, places)
        x = self.proj((scores.softmax(-1) @ value).transpose(1, 2).reshape(-1, places, dim))
        x = x.view(batch, high // wh, wide // ww, wh, ww, dim).permute(0, 1, 3, 2, 4, 5).reshape(batch, high, wide, dim)
        if sh + sw > 0:
            x = torch.roll(x, (sh, sw), (1, 2))
        return x[:, :height, :width]
