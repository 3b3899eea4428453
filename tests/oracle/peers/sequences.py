"""Recurrent networks, convolutions of sequences, state spaces and trees."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.oracle.peers.registry import case, floats, integers

IDS = integers(20, 2, 7)


@case(IDS)
class LanguageModel(nn.Module):
    """An embedding, two layers of LSTM and logits of the next token, with the states."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 8, 2, batch_first=True)
        self.head = nn.Linear(8, 20)

    def forward(self, ids: Any, states: Any = None) -> Any:
        y, states = self.lstm(self.embed(ids), states)
        return self.head(y), states


@case(IDS)
class Tagger(nn.Module):
    """Both directions of a GRU, and its last states."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.gru = nn.GRU(8, 5, bidirectional=True, batch_first=True)
        self.tags, self.topic = nn.Linear(10, 4), nn.Linear(10, 2)

    def forward(self, ids: Any) -> Any:
        y, last = self.gru(self.embed(ids))
        return self.tags(y), self.topic(last.transpose(0, 1).flatten(1))


@case(IDS)
class GRU4Rec(nn.Module):
    """Scores of all items by their embeddings, after the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.items = nn.Embedding(20, 8)
        self.gru = nn.GRU(8, 8, batch_first=True)

    def forward(self, ids: Any) -> Any:
        return self.gru(self.items(ids))[0][:, -1] @ self.items.weight.T


@case(floats(2, 6, 8))
class PackedSequences(nn.Module):
    """Sequences of constant lengths, packed for the recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 5, batch_first=True)

    def forward(self, x: Any) -> Any:
        packed = pack_padded_sequence(x, torch.tensor([6, 4]), batch_first=True)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


@case(floats(5, 2, 8))
class LSTMCellLoop(nn.Module):
    """A cell that is called for every step."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(8, 6)

    def forward(self, x: Any) -> Any:
        h, c = x.new_zeros(x.shape[1], 6), x.new_zeros(x.shape[1], 6)
        results = []
        for step in x:
            h, c = self.cell(step, (h, c))
            results.append(h)
        return torch.stack(results), (h, c)


@case(floats(2, 4, 8))
class LSTMByHand(nn.Module):
    """Gates of one product, split and combined."""

    def __init__(self) -> None:
        super().__init__()
        self.x2h, self.h2h = nn.Linear(8, 24), nn.Linear(6, 24, bias=False)

    def forward(self, x: Any) -> Any:
        h = c = torch.zeros(x.shape[0], 6)
        for step in range(x.shape[1]):
            i, f, g, o = (self.x2h(x[:, step]) + self.h2h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


@case(integers(20, 2, 5), integers(20, 2, 4))
class TeacherForcing(nn.Module):
    """An encoder, and a decoder with attention that is given the right tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.encoder, self.decoder = nn.GRU(8, 8, batch_first=True), nn.GRUCell(16, 8)
        self.score, self.head = nn.Linear(8, 8), nn.Linear(16, 20)

    def forward(self, source: Any, target: Any) -> Any:
        memory, state = self.encoder(self.embed(source))
        state, logits = state[0], []
        for tokens in target.unbind(1):
            shares = torch.softmax((self.score(memory) * state[:, None]).sum(-1), -1)
            context = (shares[..., None] * memory).sum(1)
            state = self.decoder(torch.cat([self.embed(tokens), context], -1), state)
            logits.append(self.head(torch.cat([state, context], -1)))
        return torch.stack(logits, 1)


@case(floats(2, 8))
class GreedyDecoder(nn.Module):
    """A decoder that is fed its own choices."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell, self.head = nn.Embedding(20, 8), nn.GRUCell(8, 8), nn.Linear(8, 20)

    def forward(self, state: Any) -> Any:
        tokens, logits = torch.zeros(len(state), dtype=torch.long), []
        for _ in range(3):
            state = self.cell(self.embed(tokens), state)
            logits.append(self.head(state))
            tokens = logits[-1].argmax(-1)
        return torch.stack(logits, 1), tokens


class CausalConv(nn.Module):
    """A convolution padded on the left."""

    def __init__(self, channels: int, dilation: int, out: int | None = None) -> None:
        super().__init__()
        self.padding = 2 * dilation
        self.conv = nn.Conv1d(channels, out or channels, 3, dilation=dilation)

    def forward(self, x: Any) -> Any:
        return self.conv(F.pad(x, (self.padding, 0)))


class TCNBlock(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = CausalConv(4, dilation), CausalConv(4, dilation)

    def forward(self, x: Any) -> Any:
        return F.relu(x + self.conv2(F.relu(self.conv1(x))))


@case(floats(2, 4, 16))
def tcn() -> Any:
    """A temporal convolutional network, whose dilations double."""
    return nn.Sequential(*(TCNBlock(2**depth) for depth in range(3)))


@case(floats(2, 4, 16))
class TrimmedCausalConv(nn.Module):
    """Padding on both sides, cut off on the right."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3, padding=4, dilation=2)

    def forward(self, x: Any) -> Any:
        return self.conv(x)[:, :, :-4]


@case(floats(2, 1, 20))
class WaveNet(nn.Module):
    """Gated dilated convolutions whose results are summed."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Conv1d(1, 4, 1)
        self.gates = nn.ModuleList(CausalConv(4, 2**depth, 8) for depth in range(3))
        self.residual = nn.ModuleList(nn.Conv1d(4, 4, 1) for _ in range(3))
        self.skip = nn.ModuleList(nn.Conv1d(4, 6, 1) for _ in range(3))
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(6, 6, 1), nn.ReLU(), nn.Conv1d(6, 16, 1))

    def forward(self, x: Any) -> Any:
        x, total = self.start(x), 0
        for gate, residual, skip in zip(self.gates, self.residual, self.skip, strict=True):
            value, opening = gate(x).chunk(2, 1)
            y = torch.tanh(value) * torch.sigmoid(opening)
            total = total + skip(y)
            x = x + residual(y)
        return self.end(total)


@case(IDS)
class TextCNN(nn.Module):
    """Convolutions of three widths, the maximum of each over time."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.convs = nn.ModuleList(nn.Conv1d(8, 5, width) for width in (2, 3, 4))
        self.head = nn.Linear(15, 2)

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids).transpose(1, 2)
        return self.head(torch.cat([F.relu(conv(x)).amax(-1) for conv in self.convs], 1))


@case(IDS)
class FastText(nn.Module):
    """Bags of tokens with offsets that are fixed."""

    def __init__(self) -> None:
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(20, 8, mode="sum"), nn.Linear(8, 3)

    def forward(self, ids: Any) -> Any:
        return self.head(self.bag(ids.flatten(), torch.tensor([0, 5, 9])))


@case(floats(2, 6, 4))
class SelectiveScan(nn.Module):
    """A state space whose parameters depend on the input, step by step (Mamba)."""

    def __init__(self, width: int = 4, states: int = 3) -> None:
        super().__init__()
        self.parts = nn.Linear(width, 2 * states + 1)
        self.states = states
        self.time = nn.Linear(1, width)
        self.a_log = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(width, 1))
        self.d = nn.Parameter(torch.ones(width))

    def forward(self, x: Any) -> Any:
        delta, b, c = self.parts(x).split([1, self.states, self.states], -1)
        delta = F.softplus(self.time(delta))
        decay = torch.exp(delta[..., None] * -torch.exp(self.a_log))
        push = delta[..., None] * b[:, :, None] * x[..., None]
        state, results = x.new_zeros(*x.shape[::2], self.states), []
        for step in range(x.shape[1]):
            state = decay[:, step] * state + push[:, step]
            results.append((state * c[:, step, None]).sum(-1))
        return torch.stack(results, 1) + x * self.d


@case(floats(2, 6, 4))
class ParallelScan(nn.Module):
    """A first-order recurrence by cumulative sums in the logarithm (minGRU)."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.value = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        keep = -F.softplus(self.gate(x))
        push = -F.softplus(-self.gate(x)) + F.softplus(self.value(x)).log()
        total = keep.cumsum(1)
        return (total + torch.log(torch.exp(push - total).cumsum(1))).exp()


@case(floats(2, 6, 4))
class DiagonalStateSpace(nn.Module):
    """A convolution with a kernel that is computed of real states (S4D)."""

    def __init__(self) -> None:
        super().__init__()
        self.rate, self.out = nn.Parameter(torch.rand(4, 3)), nn.Parameter(torch.randn(4, 3))

    def forward(self, x: Any) -> Any:
        steps = torch.arange(x.shape[1])
        kernel = (self.out[..., None] * torch.exp(-self.rate[..., None] * steps)).sum(1)
        padded = F.pad(x.mT, (x.shape[1] - 1, 0))
        return F.conv1d(padded, kernel.flip(-1)[:, None], groups=4).mT


@case(floats(2, 6, 4))
class RetentionDecay(nn.Module):
    """Products of queries and keys with a decay matrix in place of a softmax (RetNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4, bias=False) for _ in range(3))

    def forward(self, x: Any) -> Any:
        place = torch.arange(x.shape[1])
        distance = place[:, None] - place
        decay = torch.where(distance >= 0, 0.9 ** distance.float(), 0.0)
        return (self.q(x) @ self.k(x).mT * decay) @ self.v(x)


@case(floats(2, 6, 4))
class TokenShift(nn.Module):
    """A mixture of each token and the one before it (RWKV)."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.rand(4))
        self.key, self.value = nn.Linear(4, 8, bias=False), nn.Linear(8, 4, bias=False)

    def forward(self, x: Any) -> Any:
        before = nn.ZeroPad2d((0, 0, 1, -1))(x)
        return self.value(torch.relu(self.key(x * self.mix + before * (1 - self.mix))).square())


@case(floats(2, 12, 4))
class QuasiRecurrent(nn.Module):
    """A convolution for all gates, and a loop for the state (QRNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(4, 12, 2)

    def forward(self, x: Any) -> Any:
        z, f, o = self.conv(F.pad(x.mT, (1, 0))).chunk(3, 1)
        z, f, o = z.tanh(), f.sigmoid(), o.sigmoid()
        state, results = torch.zeros_like(z[..., 0]), []
        for step in range(3):
            state = f[..., step] * state + (1 - f[..., step]) * z[..., step]
            results.append(o[..., step] * state)
        return torch.stack(results, -1)


@case(integers(20, 7))
class TreeLSTM(nn.Module):
    """States of a binary tree of fixed form, from the leaves up."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.leaf, self.node = nn.Embedding(20, 6), nn.Linear(6, 18), nn.Linear(12, 30)

    def combine(self, left: Any, right: Any) -> Any:
        i, f, g, o, u = self.node(torch.cat([left[0], right[0]], -1)).chunk(5, -1)
        c = i.sigmoid() * u.tanh() + f.sigmoid() * left[1] + g.sigmoid() * right[1]
        return o.sigmoid() * c.tanh(), c

    def forward(self, tokens: Any) -> Any:
        i, o, u = self.leaf(self.embed(tokens[:4])).chunk(3, -1)
        c = i.sigmoid() * u.tanh()
        nodes = [*zip((o.sigmoid() * c.tanh()).unbind(), c.unbind(), strict=True)]
        while len(nodes) > 1:
            nodes = [self.combine(*nodes[n : n + 2]) for n in range(0, len(nodes), 2)]
        return nodes[0][0]


@case(floats(4, 2, 3), floats(2, 3, 5, 5))
class ConvLSTM(nn.Module):
    """A recurrent layer of images whose gates are a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.Conv2d(7, 16, 3, padding=1)
        self.scale = nn.Linear(3, 1)

    def forward(self, weights: Any, frame: Any) -> Any:
        h = c = frame.new_zeros(2, 4, 5, 5)
        for weight in self.scale(weights):
            i, f, o, g = self.gates(torch.cat([frame * weight[:, :, None, None], h], 1)).split(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return h


@case(floats(2, 20, 6))
class SpeechRecognizer(nn.Module):
    """Convolutions that shorten, a recurrent layer, and log-probabilities for a CTC loss."""

    def __init__(self) -> None:
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(6, 8, 5, stride=2), nn.BatchNorm1d(8), nn.Hardtanh(0, 20))
        self.rnn, self.head = nn.GRU(8, 8, batch_first=True), nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return F.log_softmax(self.head(self.rnn(self.front(x.mT).mT)[0]), -1).transpose(0, 1)


@case(floats(2, 8, 5))
class Highway(nn.Module):
    """Layers whose gates mix the input with the result."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(5, 10) for _ in range(3))

    def forward(self, x: Any) -> Any:
        for fc in self.layers:
            value, gate = fc(x).chunk(2, -1)
            gate = torch.sigmoid(gate)
            x = gate * F.relu(value) + (1 - gate) * x
        return x


@case(floats(2, 12, 3))
class SeriesDecomposition(nn.Module):
    """A trend by a moving average, and a linear layer over time for each part (DLinear)."""

    def __init__(self) -> None:
        super().__init__()
        self.average = nn.AvgPool1d(5, stride=1)
        self.trend, self.season = nn.Linear(12, 4), nn.Linear(12, 4)

    def forward(self, x: Any) -> Any:
        x = x.mT
        padded = torch.cat([x[..., :1].repeat(1, 1, 2), x, x[..., -1:].repeat(1, 1, 2)], -1)
        trend = self.average(padded)
        return (self.trend(trend) + self.season(x - trend)).mT


@case(floats(2, 16))
class NBeats(nn.Module):
    """Blocks that take their backcast from the rest, and add their forecasts."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 20)) for _ in range(2))

    def forward(self, x: Any) -> Any:
        forecast = 0
        for block in self.blocks:
            back, forward = block(x).split([16, 4], -1)
            x, forecast = x - back, forecast + forward
        return forecast


@case(floats(2, 3, 16))
class PatchTST(nn.Module):
    """Overlapping patches of each series as tokens of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(8, 8), nn.Linear(24, 4)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Any) -> Any:
        mean, spread = x.mean(-1, keepdim=True), x.std(-1, keepdim=True) + 1e-5
        patches = ((x - mean) / spread).unfold(-1, 8, 4)
        y = self.layer(self.embed(patches).flatten(0, 1))
        return self.head(y.flatten(1)).view(2, 3, 4) * spread + mean
