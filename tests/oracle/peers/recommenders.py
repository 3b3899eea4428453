"""Recommenders, models of tables, and retrieval."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers

USERS, ITEMS, FIELDS, DENSE = integers(10, 4), integers(20, 4), integers(5, 4, 3), floats(4, 6)


@case(USERS, ITEMS)
class MatrixFactorization(nn.Module):
    """Products of two embeddings, with biases."""

    def __init__(self) -> None:
        super().__init__()
        self.user, self.item = nn.Embedding(10, 8), nn.Embedding(20, 8)
        self.user_bias, self.item_bias = nn.Embedding(10, 1), nn.Embedding(20, 1)

    def forward(self, user: Any, item: Any) -> Any:
        dot = (self.user(user) * self.item(item)).sum(1, keepdim=True)
        return (dot + self.user_bias(user) + self.item_bias(item)).squeeze(1)


@case(USERS, ITEMS)
class NeuralCollaborativeFiltering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gmf, self.mlp = (
            nn.ModuleList([nn.Embedding(10, 4), nn.Embedding(20, 4)]),
            nn.ModuleList([nn.Embedding(10, 8), nn.Embedding(20, 8)]),
        )
        self.layers = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())
        self.head = nn.Linear(8, 1)

    def forward(self, user: Any, item: Any) -> Any:
        product = self.gmf[0](user) * self.gmf[1](item)
        deep = self.layers(torch.cat([self.mlp[0](user), self.mlp[1](item)], dim=-1))
        return torch.sigmoid(self.head(torch.cat([product, deep], -1))).view(-1)


@case(FIELDS)
class FactorizationMachine(nn.Module):
    """Products of all pairs of fields by the square of the sum."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.embed = nn.Embedding(15, 1), nn.Embedding(15, 4)
        self.bias = nn.Parameter(torch.zeros(1))
        self.register_buffer("offsets", torch.tensor([0, 5, 10]))

    def forward(self, x: Any) -> Any:
        x = x + self.offsets
        e = self.embed(x)
        pairs = e.sum(1).pow(2) - e.pow(2).sum(1)
        return self.bias + self.linear(x).sum(1).squeeze(1) + 0.5 * pairs.sum(1)


@case(FIELDS)
class FieldAwareFactorization(nn.Module):
    """An embedding of each field for every other."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(5, 4) for _ in range(3))

    def forward(self, x: Any) -> Any:
        vectors = [table(x) for table in self.tables]
        pairs = [vectors[j][:, i] * vectors[i][:, j] for i in range(2) for j in range(i + 1, 3)]
        return torch.stack(pairs, dim=1).sum((1, 2))


@case(FIELDS, DENSE)
class WideAndDeep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.embed = nn.Linear(6, 1), nn.ModuleList(nn.Embedding(5, 4) for _ in range(3))
        self.deep = nn.Sequential(nn.Linear(18, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))

    def forward(self, sparse: Any, dense: Any) -> Any:
        embedded = [table(sparse[:, n]) for n, table in enumerate(self.embed)]
        return torch.sigmoid(self.wide(dense) + self.deep(torch.cat([*embedded, dense], 1)))


@case(FIELDS)
class DeepFM(nn.Module):
    """A factorization machine and a deep network of the same embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.embed = nn.EmbeddingBag(5, 1, mode="sum"), nn.Embedding(5, 4)
        self.deep = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: Any) -> Any:
        e = self.embed(x)
        pairs = (e.sum(1) ** 2 - (e**2).sum(1)).sum(1, keepdim=True) / 2
        return torch.sigmoid(self.linear(x) + pairs + self.deep(e.flatten(1)))


@case(DENSE)
class CrossNetwork(nn.Module):
    """Layers that multiply with the input again (DCN)."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.ParameterList(nn.Parameter(torch.randn(6)) for _ in range(3))
        self.b = nn.ParameterList(nn.Parameter(torch.zeros(6)) for _ in range(3))

    def forward(self, x: Any) -> Any:
        y = x
        for w, b in zip(self.w, self.b, strict=True):
            y = x * (y @ w)[:, None] + b + y
        return y


@case(DENSE)
class CrossNetworkOfMatrices(nn.Module):
    """Cross layers of low rank, with experts (DCN v2)."""

    def __init__(self) -> None:
        super().__init__()
        self.v, self.u = nn.Linear(6, 2, bias=False), nn.Linear(2, 6)
        self.gate = nn.Linear(6, 1)

    def forward(self, x: Any) -> Any:
        y = x
        for _ in range(2):
            y = x * self.u(torch.tanh(self.v(y))) * self.gate(y).sigmoid() + y
        return y


@case(FIELDS, DENSE)
class DLRM(nn.Module):
    """Products of all pairs of vectors, of which the lower triangle is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(5, 4, mode="sum") for _ in range(3))
        self.top = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, sparse: Any, dense: Any) -> Any:
        x = self.bottom(dense)
        vectors = torch.stack([x, *(table(sparse[:, n : n + 1]) for n, table in enumerate(self.tables))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        rows, columns = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([x, products[:, rows, columns]], 1))


@case(USERS, ITEMS)
class TwoTowers(nn.Module):
    """Normalized vectors of users and items, and scores of all pairs in the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.user = nn.Sequential(nn.Embedding(10, 8), nn.Linear(8, 4))
        self.item = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 4))
        self.temperature = nn.Parameter(torch.tensor(0.07))

    def forward(self, user: Any, item: Any) -> Any:
        u, i = F.normalize(self.user(user), dim=-1), F.normalize(self.item(item), dim=-1)
        logits = u @ i.T / self.temperature
        return F.cross_entropy(logits, torch.arange(len(user))), logits


@case(integers(20, 2, 5), integers(20, 2))
class DeepInterest(nn.Module):
    """A history weighted by a network of each item and the candidate."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 4, padding_idx=0)
        self.score = nn.Sequential(nn.Linear(16, 8), nn.PReLU(), nn.Linear(8, 1))

    def forward(self, history: Any, candidate: Any) -> Any:
        h, c = self.embed(history), self.embed(candidate)[:, None].expand(-1, 5, -1)
        scores = self.score(torch.cat([h, c, h - c, h * c], -1)).squeeze(-1)
        scores = scores.masked_fill(history == 0, -1e9)
        return torch.einsum("bl,bld->bd", scores, h)


@case(integers(20, 2, 6), integers(20, 2, 6), integers(20, 2, 6))
class SASRec(nn.Module):
    """Self-attention over items, and scores of the next and of drawn others."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.positions = nn.Embedding(20, 8, padding_idx=0), nn.Embedding(6, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)

    def forward(self, history: Any, positive: Any, negative: Any) -> Any:
        x = self.items(history) * 8**0.5 + self.positions.weight
        x = x * (history != 0)[..., None]
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        h = self.layer(x, src_mask=mask)
        return (h * self.items(positive)).sum(-1), (h * self.items(negative)).sum(-1)


@case(floats(3, 15))
class AutoRec(nn.Module):
    """An autoencoder of ratings, with a masked error."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(15, 4), nn.Linear(4, 15)

    def forward(self, ratings: Any) -> Any:
        known = ratings > 0
        y = self.decoder(torch.sigmoid(self.encoder(ratings)))
        return y, ((y - ratings) * known).square().sum() / known.sum()


@case(DENSE)
class MixtureOfTasks(nn.Module):
    """Experts that tasks share, with a gate for each task (MMoE)."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(6, 8), nn.ReLU()) for _ in range(3))
        self.gates = nn.ModuleList(nn.Linear(6, 3) for _ in range(2))
        self.towers = nn.ModuleList(nn.Linear(8, 1) for _ in range(2))

    def forward(self, x: Any) -> Any:
        experts = torch.stack([expert(x) for expert in self.experts], 1)
        return [
            tower((gate(x).softmax(-1)[..., None] * experts).sum(1))
            for gate, tower in zip(self.gates, self.towers, strict=True)
        ]


@case(FIELDS)
class AutoInt(nn.Module):
    """Attention between the fields."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.attn = nn.Embedding(5, 4), nn.MultiheadAttention(4, 2, batch_first=True)
        self.residual, self.head = nn.Linear(4, 4), nn.Linear(12, 1)

    def forward(self, x: Any) -> Any:
        e = self.embed(x)
        y = F.relu(self.attn(e, e, e)[0] + self.residual(e))
        return self.head(y.flatten(1))


@case(FIELDS)
class CompressedInteraction(nn.Module):
    """Outer products of fields, compressed by a convolution (xDeepFM)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.convs = nn.ModuleList([nn.Conv1d(9, 2, 1), nn.Conv1d(6, 2, 1)])

    def forward(self, x: Any) -> Any:
        first = rest = self.embed(x)
        sums = []
        for conv in self.convs:
            rest = conv(torch.einsum("bhd,bmd->bhmd", rest, first).flatten(1, 2))
            sums.append(rest.sum(-1))
        return torch.cat(sums, 1)


@case(FIELDS, DENSE)
class TabTransformer(nn.Module):
    """Columns as tokens, those of numbers by a weight for each."""

    def __init__(self) -> None:
        super().__init__()
        self.categories = nn.Embedding(15, 4)
        self.weight, self.bias = nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.zeros(6, 4))
        self.cls = nn.Parameter(torch.zeros(1, 1, 4))
        self.layer, self.head = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Linear(4, 1)

    def forward(self, sparse: Any, dense: Any) -> Any:
        numbers = dense[..., None] * self.weight + self.bias
        tokens = torch.cat([self.cls.expand(4, -1, -1), self.categories(sparse + torch.arange(3) * 5), numbers], 1)
        return self.head(self.layer(tokens)[:, 0])


@case(DENSE)
class NeuralDecisionTree(nn.Module):
    """The probability of every leaf of a soft tree, and a mixture of its leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions, self.leaves = nn.Linear(6, 7), nn.Parameter(torch.randn(8, 3))

    def forward(self, x: Any) -> Any:
        d = torch.sigmoid(self.decisions(x))
        paths, first = torch.ones(len(x), 1), 0
        for depth in range(3):
            level = d[:, first : first + 2**depth]
            paths = torch.stack([paths * level, paths * (1 - level)], 2).flatten(1)
            first += 2**depth
        return paths @ self.leaves.softmax(-1)


@case(DENSE)
class TabNetStep(nn.Module):
    """Features chosen by a mask that is multiplied in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.bn, self.attend, self.transform = nn.BatchNorm1d(6), nn.Linear(4, 6), nn.Linear(6, 16)

    def forward(self, x: Any) -> Any:
        x, prior, total = self.bn(x), torch.ones_like(x), 0
        h = F.glu(self.transform(x))
        for _ in range(2):
            mask = torch.softmax(self.attend(h[:, 4:]) * prior, -1)
            prior = prior * (1.3 - mask)
            h = F.glu(self.transform(mask * x))
            total = total + F.relu(h[:, :4])
        return total


@case(DENSE)
class HashedFeatures(nn.Module):
    """Numbers put into ranges, whose embeddings are summed."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(8, 4)

    def forward(self, x: Any) -> Any:
        ranges = (x.clamp(0, 0.999) * 8).long()
        return self.embed(ranges).sum(1) + self.embed((ranges * 31 + 7) % 8).mean(1)
