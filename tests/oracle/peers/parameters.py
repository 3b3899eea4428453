"""Parameters that are shared, computed, normalized, or held in unusual places."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.utils import parametrizations, parametrize, prune

from tests.oracle.peers.registry import case, floats, integers, layer

X = floats(2, 8)

layer("weight norm by parametrization", lambda: parametrizations.weight_norm(nn.Linear(8, 4)), X)
layer(
    "weight norm of a convolution", lambda: parametrizations.weight_norm(nn.Conv1d(4, 6, 3), dim=None), floats(2, 4, 9)
)
layer("weight norm by hooks", lambda: nn.utils.weight_norm(nn.Linear(8, 4)), X)
layer("spectral norm by parametrization", lambda: parametrizations.spectral_norm(nn.Linear(8, 4)), X)
layer("spectral norm by hooks", lambda: nn.utils.spectral_norm(nn.Conv2d(4, 6, 3)), floats(1, 4, 5, 5))
layer(
    "orthogonal by Cayley's map",
    lambda: parametrizations.orthogonal(nn.Linear(4, 4), orthogonal_map="cayley"),
    floats(2, 4),
)
layer("pruned layer", lambda: prune.random_unstructured(nn.Linear(8, 4), "weight", 0.5), X)


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).mT


class Scaled(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size, 1))

    def forward(self, x: Any) -> Any:
        return x * self.scale


@case(X)
def two_parametrizations() -> Any:
    """A weight that is computed in two steps, one of which has a parameter."""
    module = nn.Linear(8, 8)
    parametrize.register_parametrization(module, "weight", Symmetric())
    parametrize.register_parametrization(module, "weight", Scaled(8))
    return module


@case(floats(2, 3, 6, 6))
def parametrized_bias() -> Any:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
    parametrize.register_parametrization(module[0], "bias", nn.Softplus())
    return module


@case(X)
class Tied(nn.Module):
    """Weights of two layers that are one."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.b.weight = self.a.weight

    def forward(self, x: Any) -> Any:
        return self.b(torch.relu(self.a(x)))


@case(integers(20, 2, 5))
class TiedByFunction(nn.Module):
    """The table of an embedding as the weight of the output, beside a look-up."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm, self.bias = nn.Embedding(20, 8), nn.LayerNorm(8), nn.Parameter(torch.zeros(20))

    def forward(self, ids: Any) -> Any:
        return F.linear(self.norm(self.embed(ids)), self.embed.weight, self.bias)


@case(X)
class WeightBeforeItsLayer(nn.Module):
    """A weight that is used directly, then by its layer, in equal blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, x: Any) -> Any:
        for fc in self.layers:
            x = fc(x / fc.weight.norm()) + fc.bias
        return x


@case(X)
class LayersAndParametersInContainers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.list = nn.ParameterList([nn.Parameter(torch.randn(8, 8)), nn.Parameter(torch.randn(8))])
        self.dict = nn.ParameterDict({"scale": nn.Parameter(torch.ones(8)), "shift": nn.Parameter(torch.zeros(8))})

    def forward(self, x: Any) -> Any:
        return (x @ self.list[0] + self.list[1]) * self.dict["scale"] + self.dict["shift"]


@case(X)
class FusedWeights(nn.Module):
    """Parts of one parameter as the weights of two products."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(12, 8)), nn.Parameter(torch.zeros(12))

    def forward(self, x: Any) -> Any:
        first = F.linear(x, self.weight[:8], self.bias[:8])
        return F.linear(torch.tanh(first), self.weight[8:], self.bias[8:])


@case(X)
class TransposedWeights(nn.Module):
    """Products with parameters on either side."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (
            nn.Parameter(torch.randn(8, 6)),
            nn.Parameter(torch.randn(4, 6)),
            nn.Parameter(torch.randn(3, 2)),
        )

    def forward(self, x: Any) -> Any:
        return self.c @ (torch.mm(x, self.a) @ self.b.t())


@case(X)
class LowRankAdapter(nn.Module):
    """A frozen layer and a product of two small ones (LoRA)."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(8, 8).requires_grad_(False)
        self.lora_a, self.lora_b = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.zeros(8, 2))

    def forward(self, x: Any) -> Any:
        return self.base(x) + (x @ self.lora_a.T @ self.lora_b.T) * 0.5


@case(X)
class MergedAdapter(nn.Module):
    """The same, added to the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(8, 8)
        self.a, self.b = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.zeros(8, 2))

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.base.weight + self.b @ self.a, self.base.bias)


@case(X, floats(3))
class HyperNetwork(nn.Module):
    """Weights that another network computes."""

    def __init__(self) -> None:
        super().__init__()
        self.weights, self.biases = nn.Linear(3, 32), nn.Linear(3, 4)

    def forward(self, x: Any, task: Any) -> Any:
        return F.linear(x, self.weights(task).view(4, 8), self.biases(task))


@case(floats(2, 5, 8), floats(2, 3))
class HyperNetworkByExample(nn.Module):
    """Weights for each example of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 32), nn.Linear(3, 8)

    def forward(self, x: Any, task: Any) -> Any:
        h = torch.relu(torch.bmm(x, self.first(task).view(-1, 8, 4)))
        return torch.baddbmm(h.mean(-1, keepdim=True).expand(-1, -1, 2), h, self.second(task).view(-1, 4, 2))


@case(floats(2, 5, 8), floats(8))
class NormWithComputedWeight(nn.Module):
    """Norms whose weights are inputs, or a parameter plus one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(8))

    def forward(self, x: Any, bias: Any) -> Any:
        x = F.layer_norm(x, (8,), self.weight + 1, bias)
        return F.rms_norm(x, (8,), self.weight + 1)


@case(floats(2, 4, 6, 6))
class NormsOfOtherParameters(nn.Module):
    """A batch norm by its function with parameters of this module."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("spread", torch.ones(4))

    def forward(self, x: Any) -> Any:
        x = F.batch_norm(x, self.mean, self.spread, self.scale, self.shift)
        return F.group_norm(F.instance_norm(x), 2, self.scale, self.shift)


@case(floats(2, 4, 6, 6))
class WeightStandardization(nn.Conv2d):
    """A convolution whose weight is standardized."""

    def __init__(self) -> None:
        super().__init__(4, 6, 3)

    def forward(self, x: Any) -> Any:
        mean = self.weight.mean((1, 2, 3), keepdim=True)
        weight = (self.weight - mean) / (self.weight.std((1, 2, 3), keepdim=True) + 1e-5)
        return F.conv2d(x, weight, self.bias)


@case(floats(2, 4, 6, 6))
class SeparableWeights(nn.Module):
    """A kernel that is the product of two vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.columns = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(4, 3))

    def forward(self, x: Any) -> Any:
        return F.conv2d(x, torch.einsum("ci,cj->cij", self.rows, self.columns)[:, None], groups=4)


@case(X)
class EqualizedLinear(nn.Module):
    """Weights scaled by a number when they are used."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4, 8)), nn.Parameter(torch.zeros(4))

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.weight * 8**-0.5, self.bias * 0.01)


@case(X)
class BinaryWeights(nn.Module):
    """Signs of the weights, with gradients passed straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 8))

    def forward(self, x: Any) -> Any:
        binary = self.weight.sign() * self.weight.abs().mean(1, keepdim=True)
        return F.linear(x, binary.detach() - self.weight.detach() + self.weight)


@case(X)
class FakeQuantization(nn.Module):
    """Weights and activations rounded to a grid."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.scale = nn.Linear(8, 4), nn.Parameter(torch.tensor(0.1))

    def rounded(self, x: Any) -> Any:
        return torch.clamp(torch.round(x / self.scale), -128, 127) * self.scale

    def forward(self, x: Any) -> Any:
        return F.linear(self.rounded(x), self.rounded(self.fc.weight), self.fc.bias)


@case(X)
class TensorsThatAreNotRegistered(nn.Module):
    """Constants of the class, in a list and as an attribute."""

    table = torch.arange(8.0)

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.shifts, self.positions = nn.Linear(8, 8), [torch.ones(8), torch.zeros(8)], torch.randn(2, 8)

    def forward(self, x: Any) -> Any:
        return self.fc(x + self.positions) * self.shifts[0] + self.shifts[1] + self.table


@case(X)
class BuffersOfBothKinds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.rand(8))
        self.register_buffer("shift", torch.rand(8), persistent=False)
        self.register_buffer("nothing", None)
        self.register_parameter("bias", None)

    def forward(self, x: Any) -> Any:
        return x * self.scale + self.shift if self.bias is None else x


@case(floats(2, 8))
class Monarch(nn.Module):
    """Blocks on the diagonal, a permutation, and blocks again."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Parameter(torch.randn(2, 4, 4)), nn.Parameter(torch.randn(4, 2, 2))

    def forward(self, x: Any) -> Any:
        y = torch.einsum("bkp,kqp->bkq", x.view(-1, 2, 4), self.left)
        return torch.einsum("blr,lsr->bls", y.transpose(1, 2), self.right).flatten(1)


@case(floats(2, 6))
class TensorTrain(nn.Module):
    """A weight in factors, put together in ``forward``."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(2, 2, 3)), nn.Parameter(torch.randn(3, 3, 2))

    def forward(self, x: Any) -> Any:
        weight = torch.tensordot(self.a, self.b, dims=1).permute(0, 3, 1, 2).reshape(4, 6)
        return x @ weight.T


@case(floats(2, 8))
class Ensemble(nn.Module):
    """Members as one batch of weights."""

    def __init__(self) -> None:
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(3, 8, 4)), nn.Parameter(torch.zeros(3, 1, 4))
        self.w2 = nn.Parameter(torch.randn(3, 4, 2))

    def forward(self, x: Any) -> Any:
        h = torch.baddbmm(self.b1, x.expand(3, -1, -1), self.w1).relu()
        return torch.bmm(h, self.w2).mean(0)


@case(floats(2, 8))
class MappedOverModels(nn.Module):
    """The same by ``torch.vmap`` of a function of the weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(3, 4, 8)), nn.Parameter(torch.zeros(3, 4))

    def forward(self, x: Any) -> Any:
        return torch.vmap(lambda w, b: F.linear(x, w, b))(self.weight, self.bias)


@case(floats(2, 8))
class FunctionalCall(nn.Module):
    """A layer that is called with other weights than its own."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.scale = nn.Linear(8, 4), nn.Parameter(torch.ones(4, 1))

    def forward(self, x: Any) -> Any:
        weights = {"weight": self.fc.weight * self.scale, "bias": self.fc.bias}
        return torch.func.functional_call(self.fc, weights, (x,))


@case(X)
class LazyLayers(nn.Module):
    """Layers whose sizes come from the first call."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.LazyLinear(6), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(2))
        self.net(torch.zeros(2, 8))

    def forward(self, x: Any) -> Any:
        return self.net(x)


@case(X, integers(3, 2))
class PromptTokens(nn.Module):
    """Rows of a parameter chosen by an input, in front of a state."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts = nn.Parameter(torch.randn(3, 4, 8))

    def forward(self, x: Any, task: Any) -> Any:
        return torch.cat([self.prompts[task], x[:, None]], 1).mean(1)


@case(X)
class ExpertsByIndex(nn.Module):
    """A slice of a stacked weight for each part of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4, 3))

    def forward(self, x: Any) -> Any:
        return torch.cat([part @ self.weight[n] for n, part in enumerate(x.chunk(2, -1))], -1)
