"""Models of ``torch.nn`` alone that the recorded figures belong to."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

__all__ = ["LSTMLM", "TransformerMT"]


class SinusoidalPE(nn.Module):
    """Sinusoidal positions of a fixed table, added to a sequence."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        position = torch.arange(length, dtype=torch.float32).unsqueeze(1)
        scale = torch.exp(torch.arange(0, width, 2, dtype=torch.float32) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0::2] = torch.sin(position * scale)
        table[:, 1::2] = torch.cos(position * scale)
        self.register_buffer("pe", table)

    def forward(self, x: Any) -> Any:
        """Return the sequence with the positions added."""
        return x + self.pe[: x.shape[1]]


class TransformerMT(nn.Module):
    """A translator: ``nn.Transformer`` with one table for source, target and output."""

    def __init__(self, vocab: int, d: int, h: int, ff: int, n_enc: int, n_dec: int, max_len: int) -> None:
        super().__init__()
        self.d = d
        self.embed = nn.Embedding(vocab, d)
        self.pos = SinusoidalPE(d, max_len)
        self.transformer = nn.Transformer(d, h, n_enc, n_dec, ff, batch_first=True)
        self.generator = nn.Linear(d, vocab, bias=False)
        self.generator.weight = self.embed.weight

    def forward(self, source: Any, target: Any) -> Any:
        """Return the logits of the target."""
        scale = math.sqrt(self.d)
        length = target.shape[1]
        mask = torch.triu(torch.full((length, length), float("-inf"), device=target.device), diagonal=1)
        encoded, decoded = self.pos(self.embed(source) * scale), self.pos(self.embed(target) * scale)
        return self.generator(self.transformer(encoded, decoded, tgt_mask=mask, tgt_is_causal=True))


class LSTMLM(nn.Module):
    """A language model with an LSTM."""

    def __init__(self, vocab: int, d: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.rnn = nn.LSTM(d, d, layers, batch_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids: Any) -> Any:
        """Return the logits."""
        return self.head(self.rnn(self.embed(ids))[0])
