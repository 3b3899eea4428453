"""Functions of tensors: products, indices, views, in-place operators, reductions, comparisons."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers, layer
from tests.oracle.peers.structures import Function


def function(name: str, body: Any, *args: Any, **kwargs: Any) -> None:
    """Add a function as a module without parameters."""
    layer(name, lambda: Function(body), *args, **kwargs)


A, B = floats(2, 3, 4), floats(2, 4, 5)

# -- products ---------------------------------------------------------------------------------------
function("matmul with a broadcast batch", lambda x, y: x @ y, floats(2, 1, 3, 4), floats(5, 4, 6))
function("matmul of vectors", lambda x, y: (x @ y, y @ y), floats(3, 4), floats(4))
function("bmm and transposed", lambda x, y: torch.bmm(x, y).mT, A, B)
function("baddbmm", lambda c, x, y: torch.baddbmm(c, x, y, beta=0.5, alpha=2), floats(2, 3, 5), A, B)
function(
    "addmm and addmv",
    lambda c, x, y: torch.addmv(c[0], torch.addmm(c, x, y).T, x[:, 0]),
    floats(3, 3),
    floats(3, 4),
    floats(4, 3),
)
function("outer and kronecker products", lambda x, y: (torch.outer(x, y), torch.kron(x[:2], y)), floats(3), floats(4))
function("tensordot", lambda x, y: torch.tensordot(x, y, dims=([1, 2], [2, 0])), floats(2, 3, 4), floats(4, 5, 3))
function("einsum of matrices", lambda x, y: torch.einsum("bij,bjk->bik", x, y), A, B)
function("einsum of a trace and a diagonal", lambda x: (torch.einsum("ii", x), torch.einsum("ii->i", x)), floats(4, 4))
function("einsum with an outer product", lambda x, y: torch.einsum("bi,bj->bij", x, y), floats(2, 3), floats(2, 4))
function(
    "einsum of three operands",
    lambda x, y, z: torch.einsum("bi,ij,bj->b", x, y, z),
    floats(2, 3),
    floats(3, 4),
    floats(2, 4),
)
function(
    "einsum with an ellipsis", lambda x, y: torch.einsum("...hd,hde->...he", x, y), floats(2, 5, 3, 4), floats(3, 4, 6)
)
function("einsum that sums an axis away", lambda x, y: torch.einsum("bij,bjk->k", x, y), A, B)
function("multi_dot", lambda x, y, z: torch.linalg.multi_dot([x, y, z]), floats(2, 5), floats(5, 3), floats(3, 4))
function("matrix power", lambda x: torch.linalg.matrix_power(x, 3), floats(3, 3))
function("cdist", lambda x, y: torch.cdist(x, y), floats(2, 3, 4), floats(2, 5, 4))
function("cross product and dot", lambda x, y: (torch.linalg.cross(x, y), (x * y).sum(-1)), floats(2, 3), floats(2, 3))
function("linear with a computed weight", lambda x, w: F.linear(x, w * 2), floats(2, 4), floats(5, 4))
function(
    "convolution with a weight as input", lambda x, w: F.conv2d(x, w, padding=1), floats(1, 2, 5, 5), floats(3, 2, 3, 3)
)

# -- views and shapes -------------------------------------------------------------------------------
function("reshape, permute, view", lambda x: x.reshape(2, 2, 6).permute(1, 2, 0).contiguous().view(-1, 4), A)
function("movedim, swapaxes, flatten", lambda x: x.movedim(0, -1).swapaxes(0, 1).flatten(1), A)
function("squeeze and unsqueeze", lambda x: x.unsqueeze(1).unsqueeze(-1).squeeze(), floats(2, 1, 4))
function("expand and repeat", lambda x: x.expand(3, 2, 4).repeat(1, 2, 1) + x.tile(3, 2, 1), floats(2, 4))
function("repeat_interleave", lambda x: torch.repeat_interleave(x, 3, dim=1), A)
function(
    "cat, stack, hstack",
    lambda x, y: torch.cat([x, torch.stack([y, y]), torch.hstack([x, x])[:, :3]], 0),
    A,
    floats(3, 4),
)
function("split and chunk", lambda x: (*x.split([1, 3], -1), *x.chunk(3, 1)), A)
function("unbind and zip", lambda x: sum(i * row for i, row in enumerate(x.unbind(1))), A)
function("roll and flip", lambda x: torch.roll(x, (1, -1), (1, 2)) + x.flip(1, 2), A)
function("rot90 and triangles", lambda x: torch.rot90(x).tril() + torch.triu(x.mT, 1), floats(4, 4))
function("unfold of an axis", lambda x: x.unfold(1, 4, 2).mean(-1), floats(2, 10))
function("diagonals", lambda x: torch.diag_embed(x.diagonal(dim1=1, dim2=2)), floats(2, 3, 3))
function("pad by hand", lambda x: F.pad(F.pad(x, (1, 2)), (0, 0, 1, 0), value=-1.0), A)
function(
    "shape arithmetic", lambda x: x.view(x.size(0), -1)[:, : x.shape[1] * x.shape[2] // 2] / math.sqrt(x.shape[-1]), A
)
function("meshgrid", lambda x, y: torch.stack(torch.meshgrid(x, y, indexing="ij")), floats(3), floats(4))
function("broadcast_tensors", lambda x, y: torch.add(*torch.broadcast_tensors(x, y)), floats(2, 1, 4), floats(3, 1))
function(
    "block of a larger tensor",
    lambda x: torch.zeros(4, 6).index_put((torch.arange(2)[:, None], torch.arange(3)), x),
    floats(2, 3),
)

# -- indices ----------------------------------------------------------------------------------------
function("slices with steps", lambda x: x[:, ::2, 1:] + x[:, :2, :-1], A)
function("ellipsis and new axes", lambda x: x[..., None, 0] - x[:, None, :, -1], A)
function("index by a list", lambda x: x[:, [2, 0, 0]], A)
function("index by tensors", lambda x, i, j: x[i, j], A, integers(2, 5), integers(3, 5))
function("index by ranges", lambda x, i: x[torch.arange(2)[:, None], i], A, integers(3, 2, 2))
function("gather", lambda x, i: x.gather(2, i), A, integers(4, 2, 3, 2))
function(
    "index_select and take_along_dim",
    lambda x, i: x.index_select(0, i).take_along_dim(i[None, :, None], 1),
    A,
    integers(2, 3),
)
function("scatter", lambda x, i: torch.zeros(2, 3, 6).scatter(2, i, x), A, integers(1, 2, 3, 4) + torch.arange(4))
function("scatter_add", lambda x, i: torch.zeros(2, 5).scatter_add(1, i, x), floats(2, 4), integers(5, 2, 4))
function(
    "scatter_reduce",
    lambda x, i: torch.zeros(2, 5).scatter_reduce(1, i, x, "amax", include_self=True),
    floats(2, 4),
    integers(5, 2, 4),
)
function("index_add", lambda x, i: torch.ones(5, 4).index_add(0, i, x, alpha=2), floats(3, 4), integers(5, 3))
function(
    "masked_fill and where",
    lambda x, m: torch.where(m, x.masked_fill(~m, -1e9).softmax(-1), 0.0),
    A,
    integers(2, 2, 3, 4).bool(),
)
function("masked assignment", lambda x, m: torch.where(m, x, x.mean()), A, integers(2, 2, 3, 4).bool())
function("one_hot", lambda i: F.one_hot(i, 5).float(), integers(5, 2, 3))
function("topk and its indices", lambda x: x.topk(2, dim=-1), A)
function("sort, argsort, argmax", lambda x: (x.sort(-1, descending=True).values, x.argsort(-1), x.argmax(1)), A)
function("kthvalue and median", lambda x: (x.kthvalue(2, -1).values, x.median(-1).values), A)
function("bucketize and searchsorted", lambda x: torch.bucketize(x, torch.tensor([0.0, 0.5, 1.0])), A)
function("cumulative sums and maxima", lambda x: x.cumsum(1) + x.cummax(2).values, A)
function("logcumsumexp and cumprod", lambda x: x.logcumsumexp(-1) + x.cumprod(-1), A)


@case(floats(2, 3, 4))
class AssignedSlices(nn.Module):
    """A tensor that is filled part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        out = torch.zeros(2, 3, 6)
        out[..., :4] = self.a(x)
        out[:, 1:, 4:] = self.b(x[:, 1:])
        out[:, 0, -1] += 1
        return out


@case(floats(2, 3, 4))
class InPlaceOperators(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        y += 1
        y.mul_(2).clamp_(-1, 1)
        y[:, 0].zero_()
        return y.add_(x, alpha=0.5)


@case(floats(2, 4))
class InputChangedInPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        x.add_(1)
        return self.fc(x)


@case(floats(4, 6))
class WritesThroughViews(nn.Module):
    """Writes to a view of a view, seen through the tensor and through another view."""

    def forward(self, x: Any) -> Any:
        y = x * 2
        blocks = y.view(2, 2, 6)
        other = y.t()
        blocks[1].transpose(0, 1)[2:4] = 7.0
        return y + 1, other.sum(0), blocks


@case(floats(2, 8))
class BufferUpdatedInForward(nn.Module):
    """A counter and a moving average."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.register_buffer("average", torch.zeros(8))
        self.register_buffer("steps", torch.tensor(0), persistent=False)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        self.average.mul_(0.9).add_(y.mean(0), alpha=0.1)
        self.steps += 1
        return y - self.average


# -- reductions and elements ------------------------------------------------------------------------
function("sums, means, products", lambda x: x.sum((0, 2), keepdim=True) + x.mean(1, keepdim=True) * x.prod(-1, True), A)
function("variance and deviation", lambda x: (x.var(-1), x.std((1, 2), unbiased=False), *torch.var_mean(x, 0)), A)
function("norms of vectors", lambda x: (x.norm(), torch.linalg.vector_norm(x, 1, -1), F.normalize(x, dim=1)), A)
function("logsumexp and entropy", lambda x: (x.logsumexp(-1), -(x.softmax(-1) * x.log_softmax(-1)).sum(-1)), A)
function("extremes", lambda x: (x.max(), x.amin((0, 1)), x.max(1), *x.aminmax(dim=0)), A)
function("any and all", lambda x: ((x > 0.2).any(-1), (x < 2).all(), torch.count_nonzero(x, -1)), A)
function("powers and roots", lambda x: x.abs() ** 1.5 + x.square().add(1).sqrt() + torch.rsqrt(x**2 + 1) + 2**x, A)
function("exponentials and logarithms", lambda x: torch.log1p(x.exp()) + torch.expm1(x) + (x.abs() + 1).log2(), A)
function("trigonometry", lambda x: torch.sin(x) * torch.cos(x) + torch.atan2(x, x + 3) + torch.tanh(x).asinh(), A)
function("error functions", lambda x: torch.erf(x) + torch.special.ndtr(x) + torch.lgamma(x.abs() + 1), A)
function("rounding and remainders", lambda x: x.floor() + x.round() + torch.remainder(x, 0.3) + x.trunc() + x.frac(), A)
function("clamps and signs", lambda x: x.clamp(-0.5, 0.5) + x.sign() * torch.maximum(x, -x) + x.clip(max=0.1), A)
function("lerp, addcmul, addcdiv", lambda x, y: x.lerp(y, 0.3).addcmul(x, y, value=0.5).addcdiv(x, y + 10), A, A + 1)
function("comparisons as numbers", lambda x, y: (x > y).float() + x.eq(y).int() + torch.isclose(x, y).long(), A, A + 1)
function("bits and integers", lambda i: ((i & 3) | (i << 1)) ^ (i // 2) + i % 3, integers(10, 4))
function("type conversions", lambda x: x.long().float() + x.half().float() + x.bool().double().to(x.dtype), A)
function(
    "nan_to_num and heaviside",
    lambda x: torch.nan_to_num(x.log(), nan=0.0) + torch.heaviside(x.detach(), x.detach()),
    A + 1,
)
function("numbers and tensors", lambda x: 3 - x * 2 / 5 + torch.tensor(1.5) * x + 1 / (x.abs() + 1), A)
function("scalars of Python", lambda x: torch.full_like(x, math.pi) + torch.arange(4) * float(x.dim()) + x.numel(), A)
function(
    "constants like an input",
    lambda x: torch.ones_like(x) + x.new_zeros(4) + torch.eye(4)[:3] + torch.linspace(0, 1, 4),
    A,
)
function("histogram", lambda x: torch.histc(x, bins=4, min=-1, max=1), A)
