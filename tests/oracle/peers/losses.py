"""Losses, and networks that return one."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers, layer


class Against(nn.Module):
    """A loss with a target that is a constant."""

    def __init__(self, loss: nn.Module, target: Any) -> None:
        super().__init__()
        self.loss, self.target = loss, target

    def forward(self, x: Any) -> Any:
        return self.loss(x, self.target)


SCORES, CLASSES, PAIR = floats(4, 5), integers(5, 4), (floats(4, 5), floats(4, 5))
BINARY = integers(2, 4, 5).float()
SIGNS = integers(2, 4) * 2.0 - 1

layer("cross_entropy", nn.CrossEntropyLoss, SCORES, CLASSES)
layer(
    "cross_entropy with weights, smoothing and an ignored class",
    lambda: nn.CrossEntropyLoss(torch.rand(5), ignore_index=2, label_smoothing=0.1),
    *(SCORES, CLASSES),
)
layer(
    "cross_entropy of images", lambda: nn.CrossEntropyLoss(reduction="none"), floats(2, 5, 4, 4), integers(5, 2, 4, 4)
)
layer("cross_entropy of probabilities", nn.CrossEntropyLoss, SCORES, floats(4, 5).softmax(-1))
layer("nll_loss", lambda: nn.Sequential(nn.LogSoftmax(1)), SCORES)
layer("nll_loss of log-probabilities", lambda: nn.NLLLoss(reduction="sum"), SCORES, CLASSES)
layer("binary cross entropy with logits", lambda: nn.BCEWithLogitsLoss(pos_weight=torch.ones(5) * 2), SCORES, BINARY)
layer("mean squared error", nn.MSELoss, *PAIR)
layer("absolute errors", lambda: nn.L1Loss(reduction="none"), *PAIR)
layer("smooth absolute errors", lambda: nn.SmoothL1Loss(beta=0.5), *PAIR)
layer("huber_loss", lambda: nn.HuberLoss(delta=2.0, reduction="sum"), *PAIR)
layer("kl_div", lambda: nn.KLDivLoss(reduction="batchmean", log_target=True), *PAIR)
layer("poisson_nll_loss", nn.PoissonNLLLoss, *PAIR)
layer("gaussian_nll_loss", nn.GaussianNLLLoss, *PAIR, torch.tensor(0.5).expand(4, 5))
layer("soft_margin_loss", nn.SoftMarginLoss, SCORES, BINARY.long() * 2 - 1)
layer("margin_ranking_loss", lambda: nn.MarginRankingLoss(0.3), floats(4), floats(4) + 0.1, SIGNS)
layer("hinge_embedding_loss", nn.HingeEmbeddingLoss, floats(4), SIGNS)
layer("cosine_embedding_loss", lambda: nn.CosineEmbeddingLoss(0.2), *PAIR, SIGNS)
layer("triplet_margin_loss", lambda: nn.TripletMarginLoss(swap=True), *PAIR, floats(4, 5))
layer("multi_margin_loss", nn.MultiMarginLoss, SCORES, CLASSES)
layer("multilabel_soft_margin_loss", nn.MultiLabelSoftMarginLoss, SCORES, BINARY)
layer(
    "ctc_loss",
    nn.CTCLoss,
    floats(6, 2, 5).log_softmax(-1),
    integers(5, 2, 3, low=1),
    torch.tensor([6, 6]),
    torch.tensor([3, 2]),
)


layer("binary cross entropy", lambda: nn.Sequential(nn.Sigmoid(), Against(nn.BCELoss(), BINARY)), SCORES)
layer("weighted cross_entropy summed", lambda: nn.CrossEntropyLoss(torch.ones(5) / 2, reduction="sum"), SCORES, CLASSES)
layer(
    "nll_loss of images",
    lambda: nn.Sequential(nn.LogSoftmax(1), Against(nn.NLLLoss(), integers(5, 2, 3))),
    floats(2, 5, 3),
)
layer("triplet loss of a distance", lambda: nn.TripletMarginWithDistanceLoss(margin=0.5), *PAIR, floats(4, 5))
layer("multi_margin_loss of squares", lambda: nn.MultiMarginLoss(p=2, margin=0.5), SCORES, CLASSES)
layer("kl_div summed", lambda: nn.KLDivLoss(reduction="sum"), SCORES, floats(4, 5))
layer("poisson_nll_loss of logarithms, summed", lambda: nn.PoissonNLLLoss(reduction="sum"), *PAIR)
layer("margin_ranking_loss of each", lambda: nn.MarginRankingLoss(reduction="none"), floats(4), floats(4) + 0.1, SIGNS)
layer("l1_loss summed", lambda: nn.L1Loss(reduction="sum"), *PAIR)


@case(floats(2, 4), integers(3, 2))
class ModelWithLoss(nn.Module):
    """Logits, and the loss if labels are given, as in transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Any, labels: Any = None) -> Any:
        logits = self.fc(x)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


@case(floats(2, 4), floats(2, 4))
class Siamese(nn.Module):
    """One network for both inputs, and a loss of their distance."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, a: Any, b: Any) -> Any:
        distance = F.pairwise_distance(self.net(a), self.net(b))
        return distance, F.relu(1 - distance).pow(2).mean()


@case(floats(3, 4), floats(3, 4), floats(3, 4))
class Triplet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 3)

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        a, p, n = (F.normalize(self.net(x), dim=1) for x in (anchor, positive, negative))
        return F.triplet_margin_loss(a, p, n, margin=0.2)


@case(floats(4, 4), floats(4, 4))
class SimCLR(nn.Module):
    """Similarities of two views of a batch, without those of a view to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

    def forward(self, a: Any, b: Any) -> Any:
        z = F.normalize(self.net(torch.cat([a, b])), dim=-1)
        similarity = (z @ z.T / 0.5).masked_fill(torch.eye(8, dtype=torch.bool), float("-inf"))
        return F.cross_entropy(similarity, torch.arange(8).roll(4))


@case(floats(4, 6), floats(4, 5))
class CLIP(nn.Module):
    """Images and texts in one space, with a learned scale and both losses."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(6, 4, bias=False), nn.Linear(5, 4, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.66))

    def forward(self, image: Any, text: Any) -> Any:
        image, text = self.image(image), self.text(text)
        image, text = image / image.norm(dim=-1, keepdim=True), text / text.norm(dim=-1, keepdim=True)
        logits = self.logit_scale.exp() * image @ text.t()
        labels = torch.arange(4)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


@case(floats(4, 6))
class BarlowTwins(nn.Module):
    """A correlation of features that should be the identity."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.norm = nn.Linear(6, 5), nn.BatchNorm1d(5, affine=False)

    def forward(self, x: Any) -> Any:
        c = self.norm(self.net(x)).T @ self.norm(self.net(x.flip(1))) / len(x)
        on = (torch.diagonal(c) - 1).pow(2).sum()
        off = c.flatten()[:-1].view(4, 6)[:, 1:].flatten().pow(2).sum()
        return on + 0.005 * off


@case(floats(4, 6), floats(4, 6))
class SimSiam(nn.Module):
    """A predictor of one view and the detached other."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.predictor = nn.Linear(6, 4), nn.Linear(4, 4)

    def forward(self, a: Any, b: Any) -> Any:
        za, zb = self.encoder(a), self.encoder(b)
        pa, pb = self.predictor(za), self.predictor(zb)
        return -(F.cosine_similarity(pa, zb.detach()).mean() + F.cosine_similarity(pb, za.detach()).mean()) / 2


@case(floats(4, 6), floats(4, 6), floats(6, 4))
class MomentumContrast(nn.Module):
    """A second encoder that is not trained, and a queue."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(6, 4)
        self.momentum = nn.Linear(6, 4).requires_grad_(False)

    def forward(self, a: Any, b: Any, queue: Any) -> Any:
        q = F.normalize(self.encoder(a), dim=1)
        with torch.no_grad():
            k = F.normalize(self.momentum(b), dim=1)
        logits = torch.cat([torch.einsum("nc,nc->n", q, k)[:, None], q @ F.normalize(queue).T], 1) / 0.07
        return F.cross_entropy(logits, torch.zeros(4, dtype=torch.long))


@case(floats(4, 6), integers(3, 4))
class ArcFace(nn.Module):
    """Angles to the weights of classes, with a margin for the right one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 6))

    def forward(self, x: Any, labels: Any) -> Any:
        cosine = F.linear(F.normalize(x), F.normalize(self.weight)).clamp(-0.99, 0.99)
        shifted = torch.cos(torch.acos(cosine) + 0.5)
        return 30 * torch.where(F.one_hot(labels, 3).bool(), shifted, cosine)


@case(floats(4, 6))
class CosineClassifier(nn.Module):
    """A layer whose weight is normalized beside its module."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.scale = nn.Linear(6, 3, bias=False), nn.Parameter(torch.tensor(10.0))

    def forward(self, x: Any) -> Any:
        return self.scale * F.linear(F.normalize(x, dim=-1), F.normalize(self.fc.weight, dim=-1)) + 0 * self.fc(x)


@case(floats(9, 4))
class PrototypicalNetwork(nn.Module):
    """Distances of queries to the means of classes."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        z = self.net(x)
        prototypes = z[:6].view(3, 2, 3).mean(1)
        return F.log_softmax(-(torch.cdist(z[6:], prototypes) ** 2), dim=1)


@case(floats(4, 5), CLASSES)
class FocalLoss(nn.Module):
    def forward(self, logits: Any, labels: Any) -> Any:
        logs = F.log_softmax(logits, -1).gather(1, labels[:, None]).squeeze(1)
        return (-((1 - logs.exp()) ** 2) * logs).mean()


@case(floats(2, 1, 4, 4), floats(2, 1, 4, 4))
class DiceLoss(nn.Module):
    def forward(self, logits: Any, target: Any) -> Any:
        p, t = torch.sigmoid(logits).flatten(1), target.flatten(1)
        return 1 - ((2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()


@case(floats(4, 5), floats(4, 5), CLASSES)
class Distillation(nn.Module):
    """A softened divergence and the loss of the labels."""

    def forward(self, student: Any, teacher: Any, labels: Any) -> Any:
        soft = F.kl_div(F.log_softmax(student / 4, 1), F.softmax(teacher / 4, 1), reduction="batchmean") * 16
        return 0.7 * soft + 0.3 * F.cross_entropy(student, labels)


@case(floats(3, 4), floats(5, 4))
class MaximumMeanDiscrepancy(nn.Module):
    """Kernels of all pairs, with several widths."""

    def kernel(self, a: Any, b: Any) -> Any:
        squares = (a[:, None] - b[None]).pow(2).sum(-1)
        return sum(torch.exp(-squares / width) for width in (0.5, 1, 2))

    def forward(self, a: Any, b: Any) -> Any:
        return self.kernel(a, a).mean() + self.kernel(b, b).mean() - 2 * self.kernel(a, b).mean()


@case(floats(3, 4))
class Sinkhorn(nn.Module):
    """Rows and columns that are normalized in turn."""

    def forward(self, scores: Any) -> Any:
        logs = scores / 0.1
        for _ in range(3):
            logs = logs - torch.logsumexp(logs, 1, keepdim=True)
            logs = logs - torch.logsumexp(logs, 0, keepdim=True)
        return logs.exp()


@case(floats(2, 5, 3))
class ConditionalRandomField(nn.Module):
    """The normalization of a chain of tags, step by step, and its best path."""

    def __init__(self) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(3, 3))

    def forward(self, scores: Any) -> Any:
        total = best = scores[:, 0]
        back = []
        for step in range(1, scores.shape[1]):
            total = torch.logsumexp(total[:, :, None] + self.transitions, 1) + scores[:, step]
            best, index = (best[:, :, None] + self.transitions).max(1)
            best = best + scores[:, step]
            back.append(index)
        return torch.logsumexp(total, 1), best.max(1).values, torch.stack(back, 1)


@case(floats(2, 4))
class UncertaintyWeighting(nn.Module):
    """Losses of two tasks, weighted by parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.logs = nn.Linear(4, 1), nn.Linear(4, 2), nn.Parameter(torch.zeros(2))

    def forward(self, x: Any) -> Any:
        losses = torch.stack([self.a(x).pow(2).mean(), self.b(x).abs().mean()])
        return (torch.exp(-self.logs) * losses + self.logs).sum()
