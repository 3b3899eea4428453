"""Attention and transformers, written out and by the functions of PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers, layer

TOKENS = floats(2, 6, 8)


def split_heads(x: Any, heads: int = 2) -> Any:
    """Return (batch, heads, length, width of a head)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class Projections(nn.Module):
    """Query, key and value of self-attention, and a projection of its result."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v)

    def forward(self, x: Any) -> Any:
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        return self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))


layer("fused self-attention", Projections, TOKENS)


@case(TOKENS)
class CausalAttention(Projections):
    def attend(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)


@case(TOKENS)
class WrittenAttention(Projections):
    """Softmax attention of products, with a causal mask from a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones(16, 16).tril().view(1, 1, 16, 16))

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        length = scores.shape[-1]
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


@case(TOKENS)
class ALiBi(Projections):
    """A penalty that grows with the distance, by head."""

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        place = torch.arange(q.shape[-2])
        slopes = 2.0 ** -torch.arange(1, self.heads + 1)
        bias = -(place[:, None] - place[None]).abs() * slopes[:, None, None]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


@case(TOKENS)
class RelativePositions(Projections):
    """A learned bias for every distance (T5, Swin)."""

    def __init__(self, length: int = 6) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(2 * length - 1, 2))
        place = torch.arange(length)
        self.register_buffer("index", place[:, None] - place[None] + length - 1)

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        bias = self.table[self.index.flatten()].view(*self.index.shape, -1).permute(2, 0, 1)
        return (q @ k.mT / 2 + bias).softmax(-1) @ v


@case(TOKENS)
class ShawRelativeKeys(Projections):
    """Keys for distances, added in the scores (Shaw et al.)."""

    def __init__(self, length: int = 6) -> None:
        super().__init__()
        self.distances = nn.Embedding(2 * length - 1, 4)

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        place = torch.arange(q.shape[2])
        keys = self.distances(place[:, None] - place[None] + q.shape[2] - 1)
        scores = q @ k.mT + torch.einsum("bhid,ijd->bhij", q, keys)
        return (scores / 2).softmax(-1) @ v


def rotated(x: Any) -> Any:
    """Return a tensor whose last axis is rotated by angles that grow with the position."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10_000 ** (-torch.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()], -1)


@case(TOKENS)
class RotaryAttention(Projections):
    def attend(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)


@case(TOKENS)
class ComplexRotaryAttention(Projections):
    """Rotary positions as products of complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(6.0), 100 ** (-torch.arange(2) / 2))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)

    def turned(self, x: Any) -> Any:
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * self.turns).flatten(-2)

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(self.turned(q), self.turned(k), v)


@case(TOKENS, integers(2, 2, 6).bool())
class PaddingMask(Projections):
    """Keys that are left out, by an input."""

    def forward(self, x: Any, keep: Any) -> Any:
        q, k, v = (split_heads(part) for part in self.qkv(x).chunk(3, -1))
        keep = keep.clone()
        keep[:, 0] = True
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None])
        return self.out(y.transpose(1, 2).flatten(2))


@case(floats(2, 6, 8), floats(2, 9, 5))
class CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(5, 8), nn.Linear(5, 8)

    def forward(self, query: Any, context: Any) -> Any:
        q, k, v = split_heads(self.query(query)), split_heads(self.key(context)), split_heads(self.value(context))
        return query + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


@case(TOKENS)
class GroupedQueries(nn.Module):
    """Four heads of queries, two of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(8, 16, bias=False), nn.Linear(8, 16, bias=False)

    def forward(self, x: Any) -> Any:
        q = split_heads(self.q(x), 4)
        k, v = (split_heads(part) for part in self.kv(x).chunk(2, -1))
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2).flatten(2)


@case(TOKENS)
class RepeatedKeys(nn.Module):
    """Heads of keys that are repeated for the queries, and norms of queries and keys."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(8, 16), nn.Linear(8, 8)
        self.q_norm, self.k_norm = nn.RMSNorm(4), nn.RMSNorm(4)

    def forward(self, x: Any) -> Any:
        q = self.q_norm(split_heads(self.q(x), 4))
        k, v = (split_heads(part, 1).repeat_interleave(4, 1) for part in self.kv(x).chunk(2, -1))
        return F.scaled_dot_product_attention(q, self.k_norm(k), v).transpose(1, 2).flatten(2)


@case(TOKENS)
class LinearAttention(Projections):
    """Attention whose feature map is elu + 1, in linear time."""

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        q, k = F.elu(q) + 1, F.elu(k) + 1
        context = torch.einsum("bhnd,bhne->bhde", k, v)
        norm = 1 / torch.einsum("bhnd,bhd->bhn", q, k.sum(2))
        return torch.einsum("bhnd,bhde,bhn->bhne", q, context, norm)


@case(TOKENS)
class Performer(Projections):
    """Random features of the softmax kernel, from a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("projection", torch.randn(10, 4))

    def features(self, x: Any) -> Any:
        projected = x @ self.projection.T
        return torch.exp(projected - x.square().sum(-1, keepdim=True) / 2 - projected.amax(-1, keepdim=True)) + 1e-4

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        q, k = self.features(q), self.features(k)
        return (q @ (k.mT @ v)) / (q @ k.sum(2, keepdim=True).mT)


@case(TOKENS)
class Linformer(Projections):
    """Keys and values projected along the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.shorten = nn.Parameter(torch.randn(6, 3))

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        shorter = [torch.einsum("bhnd,nk->bhkd", x, self.shorten) for x in (k, v)]
        return F.scaled_dot_product_attention(q, *shorter)


@case(TOKENS)
class LocalAttention(Projections):
    """Attention within blocks of the sequence."""

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        blocks = (x.unflatten(2, (2, 3)) for x in (q, k, v))
        return F.scaled_dot_product_attention(*blocks).flatten(2, 3)


@case(TOKENS)
class MultiQueryWithSink(nn.Module):
    """One head of keys, an extra score that takes part of the softmax, and a cap of scores by tanh."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 4)
        self.sink = nn.Parameter(torch.zeros(2))

    def forward(self, x: Any) -> Any:
        scores = split_heads(self.q(x)) @ self.k(x)[:, None].mT
        scores = 5 * torch.tanh(scores / 5)
        sink = self.sink[:, None, None].expand(2, -1, 6, 1)
        shares = torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
        return (shares @ self.v(x)[:, None]).transpose(1, 2).flatten(2)


@case(floats(2, 8, 6, 5))
class SelfAttentionOfImages(nn.Module):
    """Attention over positions of an image with a learned scale (SAGAN)."""

    def __init__(self) -> None:
        super().__init__()
        self.f, self.g, self.h = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 2, 1), nn.Conv2d(8, 8, 1)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x: Any) -> Any:
        shares = torch.bmm(self.f(x).flatten(2).mT, self.g(x).flatten(2)).softmax(1)
        return self.gamma * torch.bmm(self.h(x).flatten(2), shares).view_as(x) + x


@case(floats(2, 5, 3, 4), floats(2, 6, 3, 4), floats(2, 6, 3, 4))
class AdditiveAttention(nn.Module):
    """Scores by a layer of the sum of query and key (Bahdanau)."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.score = nn.Linear(4, 5), nn.Linear(4, 5), nn.Linear(5, 1, bias=False)

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        scores = self.score(torch.tanh(self.q(q)[..., None, :] + self.k(k)[..., None, :, :])).squeeze(-1)
        return scores.softmax(-1) @ v


@case(TOKENS)
class AttentionPooling(nn.Module):
    """A sum of tokens, weighted by scores of a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x: Any) -> Any:
        return (self.score(x).softmax(1) * x).sum(1)


@case(TOKENS)
class ClassToken(nn.Module):
    """A learned token in front, positions, a layer, and the token's state."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.positions = nn.Parameter(torch.zeros(1, 7, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.layer(x)[:, 0])


@case(floats(2, 20, 5))
class Perceiver(nn.Module):
    """Latents that read the input by attention, and a layer over them that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(4, 8))
        self.read = nn.MultiheadAttention(8, 2, kdim=5, vdim=5, batch_first=True)
        self.process = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Any) -> Any:
        latents = self.latents.expand(x.shape[0], -1, -1)
        for _ in range(2):
            latents = self.process(latents + self.read(latents, x, x)[0])
        return latents.mean(1)


@case(floats(2, 8, 8, 8))
class WindowAttention(Projections):
    """Attention in windows of 4 by 4 that are shifted by 2 (Swin)."""

    def forward(self, image: Any) -> Any:
        x = torch.roll(image, (-2, -2), (1, 2))
        windows = x.view(2, 2, 4, 2, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 8)
        y = super().forward(windows).view(2, 2, 2, 4, 4, 8).permute(0, 1, 3, 2, 4, 5).reshape(2, 8, 8, 8)
        return image + torch.roll(y, (2, 2), (1, 2))


@case(floats(2, 4, 6, 5))
class AxialAttention(nn.Module):
    """Attention along rows, then along columns."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.MultiheadAttention(4, 1, batch_first=True)
        self.columns = nn.MultiheadAttention(4, 1, batch_first=True)

    def forward(self, x: Any) -> Any:
        batch, channels, height, width = x.shape
        rows = x.permute(0, 2, 3, 1).flatten(0, 1)
        rows = self.rows(rows, rows, rows, need_weights=False)[0].view(batch, height, width, channels)
        columns = rows.transpose(1, 2).flatten(0, 1)
        columns = self.columns(columns, columns, columns, need_weights=False)[0]
        return columns.view(batch, width, height, channels).permute(0, 3, 2, 1)


@case(floats(1, 5, 8), floats(1, 2, 3, 4), floats(1, 2, 3, 4))
class AttentionWithCache(Projections):
    """A step of decoding: keys and values of the past are given, and returned with the new ones."""

    def forward(self, x: Any, past_keys: Any, past_values: Any) -> Any:
        q, k, v = (split_heads(part) for part in self.qkv(x).chunk(3, -1))
        k, v = torch.cat([past_keys, k], 2), torch.cat([past_values, v], 2)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)), k, v


@case(floats(1, 1, 8), floats(1, 2, 10, 4), torch.tensor([4]))
class StaticCache(Projections):
    """A cache of fixed length that is written at a position."""

    def forward(self, x: Any, cache: Any, position: Any) -> Any:
        q, k, _ = (split_heads(part) for part in self.qkv(x).chunk(3, -1))
        cache = cache.index_copy(2, position, k)
        mask = torch.arange(10) <= position
        return F.scaled_dot_product_attention(q, cache, cache, attn_mask=mask[None, None, None]), cache


class GPTBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.attn = CausalAttention()
        self.mlp = nn.Sequential(nn.Linear(8, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 8))

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


@case(integers(20, 2, 6))
class GPT(nn.Module):
    """Embeddings of tokens and positions, blocks, and a head that is tied to the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.h = nn.ModuleList(GPTBlock() for _ in range(3))
        self.ln_f = nn.LayerNorm(8)
        self.lm_head = nn.Linear(8, 20, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: Any) -> Any:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


@case(integers(20, 2, 6))
class Llama(nn.Module):
    """RMS norms, rotary attention and a gated feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.norms = nn.ModuleList(nn.RMSNorm(8) for _ in range(3))
        self.attention = RotaryAttention()
        self.gate, self.up, self.down = nn.Linear(8, 24), nn.Linear(8, 24), nn.Linear(24, 8)

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids)
        x = x + self.attention(self.norms[0](x))
        y = self.norms[1](x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.norms[2](x) @ self.embed.weight.T


@case(integers(20, 2, 5), integers(20, 2, 7))
class Translator(nn.Module):
    """An encoder and a decoder with sinusoidal positions, as in the tutorial of PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        place, rate = torch.arange(10)[:, None], torch.exp(torch.arange(0, 8, 2) * (-math.log(10_000.0) / 8))
        table = torch.zeros(10, 8)
        table[:, 0::2], table[:, 1::2] = torch.sin(place * rate), torch.cos(place * rate)
        self.register_buffer("table", table)
        self.transformer = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        self.head = nn.Linear(8, 20)

    def forward(self, source: Any, target: Any) -> Any:
        x, y = (self.embed(ids) * math.sqrt(8) + self.table[: ids.shape[1]] for ids in (source, target))
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.head(self.transformer(x, y, tgt_mask=mask, tgt_is_causal=True))


@case(TOKENS)
class GatedAttentionUnit(nn.Module):
    """Squared ReLU scores and a gate (FLASH)."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.z, self.out = nn.Linear(8, 32), nn.Linear(8, 4), nn.Linear(16, 8)
        self.gamma, self.beta = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(2, 4))

    def forward(self, x: Any) -> Any:
        v, gate = F.silu(self.hidden(x)).chunk(2, -1)
        q, k = (F.silu(self.z(x))[..., None, :] * self.gamma + self.beta).unbind(-2)
        scores = F.relu(q @ k.mT / x.shape[1]) ** 2
        return x + self.out((scores @ v) * gate)


@case(floats(2, 5, 4), floats(2, 6, 4), floats(2, 6, 4))
class SlotAttention(nn.Module):
    """Slots that compete for inputs, updated by a cell of a GRU in three iterations."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Parameter(torch.zeros(1, 1, 4)), nn.Parameter(torch.zeros(1, 1, 4))
        self.q, self.gru, self.norm = nn.Linear(4, 4), nn.GRUCell(4, 4), nn.LayerNorm(4)

    def forward(self, slots: Any, k: Any, v: Any) -> Any:
        slots = slots * self.spread.exp() + self.mean
        for _ in range(3):
            shares = (k @ self.q(self.norm(slots)).mT).softmax(-1) + 1e-8
            updates = (shares / shares.sum(1, keepdim=True)).mT @ v
            slots = self.gru(updates.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
        return slots
