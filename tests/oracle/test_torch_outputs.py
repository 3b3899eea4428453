"""Modules of ``torch.nn`` and hand-written ones, imported: outputs, FLOPs and parameters are those of PyTorch."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from tests.oracle.module_outputs import Case, assert_agrees, by_name, image, tokens

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from tests.formats.torch.custom import LSTMLM, TransformerMT  # noqa: E402


class Updates(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Updates in place of a tensor and of views of it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        y.add_(1).mul_(0.5)
        y[:, 0] = x[:, 1]
        y[:, 2:4].relu_()
        half = y.view(-1, 2, 3)[:, 1]
        half -= x[:, :3]
        y.t()[0].zero_()
        return y + self.fc(y)


class Functional(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Parameters that functions use, in parts and transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(12, 8))
        self.bias = nn.Parameter(torch.zeros(12))
        self.scale = nn.Parameter(torch.ones(8))
        self.token = nn.Parameter(torch.zeros(1, 1, 8))

    def forward(self, x: Any) -> Any:
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        x = functional.layer_norm(x, (8,)) * (1 + self.scale)
        query, rest = functional.linear(x, self.weight, self.bias).split([4, 8], dim=-1)
        key, value = functional.linear(x, self.weight[4:], self.bias[4:]).chunk(2, dim=-1)
        weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(4), dim=-1)
        mixed = torch.einsum("bij,bjd->bid", weights, value)
        return torch.matmul(torch.cat([mixed, rest[..., :8]], -1), self.weight)


class Autoencoder(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A decoder that uses the weights of the encoder, transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(12, 8), nn.Linear(8, 3)
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(8)), nn.Parameter(torch.zeros(12))])

    def forward(self, x: Any) -> Any:
        code = self.second(torch.sigmoid(self.first(x)))
        hidden = torch.sigmoid(functional.linear(code, self.second.weight.t(), self.biases[0]))
        return {"code": code, "decoded": functional.linear(hidden, self.first.weight.t(), self.biases[1])}


class Tied(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A table that is also the output projection, and a block that is called several times."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.block = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.head = nn.Linear(8, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids) * math.sqrt(8)
        for _ in range(3):
            x = x + self.block(x)
        return self.head(x)


class Siamese(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """An encoder of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))

    def forward(self, first: Any, second: Any) -> Any:
        return functional.cosine_similarity(self.encoder(first), self.encoder(second))


class Windows(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Slices, rolls, unfolded windows and selections."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Conv1d(4, 4, 3, padding="same", padding_mode="circular")
        self.register_buffer("order", torch.tensor([3, 0, 2]))

    def forward(self, x: Any) -> Any:
        y = self.mix(x)
        windows = y.unfold(2, 4, 2).mean(-1)
        rolled = torch.roll(y, (1, -2), (1, 2))[:, ::2, 1:-1:3].flip(-1)
        return windows, rolled, y[:, self.order], y[..., -1], functional.pad(y, (2, 1), mode="reflect")


class Buffers(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Buffers of all kinds: trained statistics, tables and masks."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("mean", torch.linspace(0, 1, 8))
        self.register_buffer("mask", torch.tril(torch.ones(9, 9, dtype=torch.bool)), persistent=False)
        self.register_buffer("table", torch.randn(16, 8))

    def forward(self, x: Any) -> Any:
        length = x.shape[1]
        x = self.fc(x - self.mean) + self.table[:length]
        scores = (x @ x.transpose(1, 2)).masked_fill(~self.mask[:length, :length], float("-inf"))
        return scores.softmax(-1) @ x


class Branches(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Parallel convolutions with gates, joined, and outputs of several stages."""

    def __init__(self) -> None:
        super().__init__()
        self.paths = nn.ModuleList(nn.Conv2d(3, 4, size, padding=size // 2) for size in (1, 3, 5))
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(12, 12, 1), nn.Sigmoid())
        self.down = nn.Conv2d(12, 6, 3, stride=2, bias=False)
        self.norm = nn.GroupNorm(2, 6)

    def forward(self, x: Any) -> Any:
        joined = torch.cat([path(x) for path in self.paths], dim=1)
        gated = joined * self.gate(joined)
        low = self.norm(self.down(gated)).relu()
        up = functional.interpolate(low, size=joined.shape[-2:], mode="bilinear", align_corners=False)
        return {"stages": [gated, low], "up": up, "top": torch.topk(low.flatten(1), 3).values}


class Attention(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Attention to a memory of other widths, with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, kdim=6, vdim=5, batch_first=True, add_bias_kv=True)

    def forward(self, x: Any, keys: Any, values: Any) -> Any:
        return self.attend(x, keys, values, average_attn_weights=False)


class Recurrence(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Recurrent layers in a row, with their final states."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True, proj_size=3)
        self.gru = nn.GRU(6, 4, bidirectional=True)
        self.rnn = nn.RNN(8, 4, nonlinearity="relu", bias=False)
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x: Any) -> Any:
        y, (hidden, cell) = self.lstm(x)
        z, last = self.gru(y)
        out, _ = self.rnn(z)
        state = None
        for step in out.unbind(0):
            state = self.cell(step, state)
        return state[0], hidden, cell, last


class UNet(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A small network with skips over levels."""

    def __init__(self) -> None:
        super().__init__()
        widths = (4, 8, 12)
        self.stem = nn.Conv2d(3, 4, 3, padding=1, padding_mode="replicate")
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in pairwise(widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 3, 2, 1, output_padding=1) for a, b in pairwise(widths))
        self.merge = nn.ModuleList(nn.Conv2d(2 * a, a, 1) for a in widths[:-1])

    def forward(self, x: Any) -> Any:
        x, skips = self.stem(x), []
        for down in self.down:
            skips.append(x)
            x = functional.leaky_relu(down(x), 0.1)
        for up, merge in zip(reversed(self.up), reversed(self.merge), strict=True):
            x = merge(torch.cat([up(x), skips.pop()], 1))
        return x.tanh()


class Graph(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Messages between nodes, added up at their targets."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(6, 6)
        self.norm = nn.utils.parametrizations.weight_norm(nn.Linear(6, 4))

    def forward(self, nodes: Any, sources: Any, targets: Any) -> Any:
        messages = self.message(nodes[sources]).relu()
        summed = torch.zeros_like(nodes).index_add_(0, targets, messages)
        return self.norm(summed + nodes)


class Experts(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A mixture of experts that are all computed."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(8, 4, bias=False)
        self.up = nn.Parameter(torch.zeros(4, 8, 16))
        self.down = nn.Parameter(torch.zeros(4, 16, 8))

    def forward(self, x: Any) -> Any:
        weights, chosen = self.router(x).softmax(-1).topk(2, dim=-1)
        gates = torch.zeros(*x.shape[:-1], 4).scatter(-1, chosen, weights / weights.sum(-1, keepdim=True))
        hidden = functional.silu(torch.einsum("btd,edh->bteh", x, self.up))
        return torch.einsum("bteh,ehd,bte->btd", hidden, self.down, gates)


LAYER: Any = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "batch_first": True}
EDGES = (torch.tensor([0, 1, 2, 3, 1]), torch.tensor([1, 1, 0, 2, 4]))

CASES = [
    Case("Transformer", lambda: nn.Transformer(8, 2, 2, 2, 12, activation="gelu"), (torch.zeros(5, 2, 8),) * 2),
    Case("TransformerMT", lambda: TransformerMT(50, 8, 2, 12, 2, 2, 16), (tokens(9), tokens(7))),
    Case(
        "TransformerEncoder",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER, norm_first=True), 3, nn.LayerNorm(8)),
        (torch.zeros(2, 6, 8),),
        {"src_key_padding_mask": torch.tensor([[False] * 6, [False] * 4 + [True] * 2])},
    ),
    Case("LSTMLM", lambda: LSTMLM(50, 8, 2), (tokens(),)),
    Case("Recurrence", Recurrence, (torch.zeros(2, 5, 6),)),
    Case("Attention", Attention, (torch.zeros(2, 5, 8), torch.zeros(2, 7, 6), torch.zeros(2, 7, 5))),
    Case("EmbeddingBag", lambda: nn.EmbeddingBag(50, 6, mode="mean"), (tokens(),)),
    Case("Bilinear", lambda: nn.Bilinear(4, 5, 3), (torch.zeros(2, 4), torch.zeros(2, 5))),
    Case("Updates", Updates, (torch.zeros(4, 6),)),
    Case("Functional", Functional, (torch.zeros(2, 5, 8),)),
    Case("Autoencoder", Autoencoder, (torch.zeros(3, 12),)),
    Case("Tied", Tied, (tokens(),)),
    Case("Siamese", Siamese, (torch.zeros(3, 6), torch.zeros(3, 6))),
    Case("Windows", Windows, (torch.zeros(2, 4, 12),)),
    Case("Buffers", Buffers, (torch.zeros(2, 7, 8),)),
    Case("Branches", Branches, image(16)),
    Case("UNet", UNet, image(16)),
    Case("Graph", Graph, (torch.zeros(5, 6), *EDGES)),
    Case("Experts", Experts, (torch.zeros(2, 5, 8),)),
]


@by_name(CASES)
def test_outputs(case: Case) -> None:
    assert_agrees(case)
