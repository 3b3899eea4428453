"""Networks of graphs, sets and mixtures, whose work depends on indices."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers

NODES, EDGES, ADJACENT = floats(6, 4), integers(6, 2, 10), integers(2, 6, 6).float()


@case(NODES, ADJACENT)
class GCN(nn.Module):
    """A dense matrix of neighbours, normalized by degrees."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x: Any, adjacent: Any) -> Any:
        adjacent = adjacent.abs() + torch.eye(6)
        scale = adjacent.sum(1).rsqrt()
        adjacent = scale[:, None] * adjacent * scale
        return F.log_softmax(adjacent @ self.second(F.relu(adjacent @ self.first(x))), 1)


@case(NODES, EDGES)
class MessagePassing(nn.Module):
    """Messages of edges, summed by node."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(8, 8), nn.Linear(12, 4)

    def forward(self, x: Any, edges: Any) -> Any:
        source, target = edges
        messages = F.relu(self.message(torch.cat([x[source], x[target]], 1)))
        summed = torch.zeros(x.shape[0], 8).index_add_(0, target, messages)
        return self.update(torch.cat([x, summed], 1))


@case(NODES, EDGES)
class GraphSAGE(nn.Module):
    """Means of neighbours by ``scatter_add`` and degrees."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(4, 4), nn.Linear(4, 4, bias=False)

    def forward(self, x: Any, edges: Any) -> Any:
        source, target = edges.unbind(0)
        total = torch.zeros_like(x).scatter_add_(0, target[:, None].expand(-1, 4), x[source])
        degree = torch.zeros(6).scatter_add(0, target, torch.ones(10)).clamp(min=1)
        return F.normalize(self.own(x) + self.others(total / degree[:, None]), dim=-1)


@case(NODES, EDGES)
class GATLayer(nn.Module):
    """Attention over edges, with a softmax by node."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.score = nn.Linear(4, 4, bias=False), nn.Parameter(torch.randn(8))

    def forward(self, x: Any, edges: Any) -> Any:
        h, (source, target) = self.fc(x), edges
        scores = F.leaky_relu(torch.cat([h[source], h[target]], 1) @ self.score, 0.2)
        largest = torch.full((6,), -1e9).scatter_reduce(0, target, scores, "amax")
        weights = (scores - largest[target]).exp()
        total = torch.zeros(6).index_add(0, target, weights) + 1e-9
        return torch.zeros(6, 4).index_add(0, target, h[source] * (weights / total[target])[:, None])


@case(NODES, ADJACENT)
class DenseGAT(nn.Module):
    """Attention over all pairs of nodes, masked by the matrix of neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x: Any, adjacent: Any) -> Any:
        h = self.fc(x)
        scores = F.leaky_relu(self.left(h) + self.right(h).T)
        return F.elu(torch.where(adjacent > 0, scores, -9e15).softmax(1) @ h)


@case(NODES, EDGES, torch.tensor([0, 0, 0, 1, 1, 1]))
class GIN(nn.Module):
    """Sums of neighbours, and means of the nodes of each graph in the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x: Any, edges: Any, batch: Any) -> Any:
        for _ in range(2):
            neighbours = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
            x = self.mlp((1 + self.eps) * x + neighbours)
        return torch.zeros(2, 4).scatter_reduce(0, batch[:, None].expand_as(x), x, "mean", include_self=False)


@case(floats(6, 3), floats(6, 4), EDGES)
class EquivariantGraph(nn.Module):
    """Coordinates that are moved along differences (EGNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.edge, self.move, self.node = nn.Linear(9, 4), nn.Linear(4, 1), nn.Linear(8, 4)

    def forward(self, x: Any, h: Any, edges: Any) -> Any:
        i, j = edges
        difference = x[i] - x[j]
        m = F.silu(self.edge(torch.cat([h[i], h[j], difference.square().sum(1, keepdim=True)], 1)))
        x = x.index_add(0, i, difference * self.move(m))
        return x, h + self.node(torch.cat([h, torch.zeros_like(h).index_add(0, i, m)], 1))


@case(floats(6, 3), integers(5, 6), EDGES)
class ContinuousFilters(nn.Module):
    """Filters of distances in a basis of Gaussians (SchNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.atoms, self.filters = nn.Embedding(5, 4), nn.Linear(8, 4)
        self.register_buffer("centres", torch.linspace(0, 3, 8))

    def forward(self, x: Any, kinds: Any, edges: Any) -> Any:
        distance = (x[edges[0]] - x[edges[1]]).norm(dim=-1)
        basis = torch.exp(-10 * (distance[:, None] - self.centres) ** 2)
        messages = self.atoms(kinds)[edges[0]] * self.filters(basis)
        return torch.zeros(6, 4).index_add(0, edges[1], messages).sum(0)


@case(floats(2, 6, 4), floats(2, 6, 6))
class AdaptiveGraph(nn.Module):
    """Neighbours by learned vectors of nodes, and several steps of a walk."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Parameter(torch.randn(6, 3)), nn.Parameter(torch.randn(3, 6))
        self.fc = nn.Linear(12, 4)

    def forward(self, x: Any, other: Any) -> Any:
        learned = F.softmax(F.relu(self.source @ self.target), 1)
        return self.fc(torch.cat([x, torch.einsum("vw,bwc->bvc", learned, x), other.softmax(-1) @ x], -1))


@case(floats(2, 6, 3))
class NearestNeighbours(nn.Module):
    """Edges to the nearest points, and maxima over them (DGCNN)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(6, 5, 1)

    def forward(self, x: Any) -> Any:
        nearest = torch.cdist(x, x).topk(3, largest=False).indices
        others = x.unsqueeze(1).expand(-1, 6, -1, -1).gather(2, nearest[..., None].expand(-1, -1, -1, 3))
        centre = x[:, :, None].expand(-1, -1, 3, -1)
        return F.leaky_relu(self.conv(torch.cat([others - centre, centre], -1).permute(0, 3, 1, 2))).amax(-1)


@case(floats(2, 6, 4))
class DeepSets(nn.Module):
    """Each element minus the maximum of the set, then a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.gamma, self.lam, self.rho = nn.Linear(4, 8), nn.Linear(4, 8, bias=False), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        y = torch.tanh(self.gamma(x) - self.lam(x.max(1, keepdim=True)[0]))
        return self.rho(y.sum(dim=1)) + self.rho(y.mean(1))


@case(floats(2, 6, 8))
class SetTransformer(nn.Module):
    """Induced attention, and pooling by seeds."""

    def __init__(self) -> None:
        super().__init__()
        self.points, self.seeds = nn.Parameter(torch.randn(3, 8)), nn.Parameter(torch.randn(1, 8))
        self.a, self.b, self.c = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(3))

    def forward(self, x: Any) -> Any:
        points = self.points.repeat(len(x), 1, 1)
        h = points + self.a(points, x, x, need_weights=False)[0]
        x = x + self.b(x, h, h, need_weights=False)[0]
        return self.c(self.seeds.repeat(len(x), 1, 1), x, x, need_weights=False)[0]


@case(floats(2, 5, 4), floats(2, 3))
class RelationNetwork(nn.Module):
    """A network of all pairs of objects and a question."""

    def __init__(self) -> None:
        super().__init__()
        self.g, self.f = nn.Sequential(nn.Linear(11, 8), nn.ReLU()), nn.Linear(8, 2)

    def forward(self, objects: Any, question: Any) -> Any:
        left, right = objects[:, :, None].expand(-1, -1, 5, -1), objects[:, None].expand(-1, 5, -1, -1)
        pairs = torch.cat([left, right, question[:, None, None].expand(-1, 5, 5, -1)], -1)
        return self.f(self.g(pairs).sum((1, 2)))


# -- mixtures of experts ----------------------------------------------------------------------------


@case(floats(6, 4))
class DenseMixture(nn.Module):
    """All experts on all tokens, weighted by a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.experts, self.gate = nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        shares = self.gate(x).softmax(-1)
        return sum(shares[:, n : n + 1] * expert(x) for n, expert in enumerate(self.experts))


@case(floats(6, 4))
class TopTwoMixture(nn.Module):
    """Two experts for each token: the others have the weight zero."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Parameter(torch.randn(3, 4, 8)), nn.Parameter(torch.randn(3, 8, 4))
        self.router = nn.Linear(4, 3, bias=False)

    def forward(self, x: Any) -> Any:
        logits = self.router(x)
        values, chosen = logits.topk(2, dim=-1)
        shares = torch.zeros_like(logits).scatter(1, chosen, values.softmax(-1))
        y = torch.einsum("neh,ehd->ned", torch.einsum("nd,edh->neh", x, self.up).relu(), self.down)
        return torch.einsum("ned,ne->nd", y, shares), shares.mean(0)


@case(floats(6, 4))
class GatheredExperts(nn.Module):
    """The weights of the chosen expert, gathered for each token."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.router = nn.Parameter(torch.randn(3, 4, 4)), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        shares = self.router(x).softmax(-1)
        best, index = shares.max(-1)
        return torch.bmm(self.weight[index], x[:, :, None]).squeeze(-1) * best[:, None]


@case(floats(6, 4))
class ExpertCapacity(nn.Module):
    """Places of experts by a cumulative sum, and products that dispatch and combine (GShard)."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.experts = nn.Linear(4, 2), nn.Parameter(torch.randn(2, 4, 4))

    def forward(self, x: Any) -> Any:
        shares = self.router(x).softmax(-1)
        chosen = F.one_hot(shares.argmax(-1), 2)
        place = (chosen.cumsum(0) - 1) * chosen
        dispatch = F.one_hot(place.clamp(max=3), 4) * (chosen * (place < 4))[..., None]
        inputs = torch.einsum("nec,nd->ecd", dispatch.float(), x)
        outputs = torch.bmm(inputs, self.experts)
        return torch.einsum("nec,ecd->nd", dispatch * shares[..., None], outputs)


@case(floats(6, 4))
class SoftMixture(nn.Module):
    """Slots of experts that are mixtures of tokens (Soft MoE)."""

    def __init__(self) -> None:
        super().__init__()
        self.slots, self.experts = nn.Parameter(torch.randn(4, 2, 2)), nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: Any) -> Any:
        logits = torch.einsum("nd,des->nes", x, self.slots)
        inputs = torch.einsum("nd,nes->esd", x, logits.softmax(0))
        outputs = torch.stack([expert(part) for expert, part in zip(self.experts, inputs, strict=True)])
        return torch.einsum("esd,nes->nd", outputs, logits.flatten(1).softmax(1).view_as(logits))
