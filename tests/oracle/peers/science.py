"""Fields, operators of functions, differential equations, spectra and complex numbers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats

X = floats(4, 3)


@case(X)
class NeRF(nn.Module):
    """Sines and cosines of coordinates, and a skip to the middle."""

    def __init__(self, bands: int = 4) -> None:
        super().__init__()
        self.bands = bands
        self.first, self.second, self.head = nn.Linear(27, 16), nn.Linear(43, 16), nn.Linear(16, 4)

    def encoded(self, x: Any) -> Any:
        parts = [x]
        for band in range(self.bands):
            parts += [torch.sin(2.0**band * math.pi * x), torch.cos(2.0**band * math.pi * x)]
        return torch.cat(parts, -1)

    def forward(self, x: Any) -> Any:
        e = self.encoded(x)
        h = F.relu(self.second(torch.cat([F.relu(self.first(e)), e], -1)))
        colour, density = self.head(h).split([3, 1], -1)
        return torch.sigmoid(colour), F.softplus(density)


@case(floats(2, 6, 3), floats(2, 6))
class VolumeRendering(nn.Module):
    """Colours along rays, weighted by what light is left."""

    def forward(self, colours: Any, densities: Any) -> Any:
        alpha = 1 - torch.exp(-F.relu(densities) * 0.1)
        left = torch.cumprod(torch.cat([torch.ones(2, 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        weights = alpha * left
        return (weights[..., None] * torch.sigmoid(colours)).sum(-2), weights.sum(-1)


@case(X)
class FourierFeatures(nn.Module):
    """A random projection in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.randn(3, 8) * 10)
        self.fc = nn.Linear(16, 1)

    def forward(self, x: Any) -> Any:
        angles = 2 * math.pi * x @ self.b
        return self.fc(torch.cat([angles.sin(), angles.cos()], -1))


class Sine(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.sin(5 * x)


@case(floats(4, 2))
def siren() -> Any:
    return nn.Sequential(nn.Linear(2, 8), Sine(), nn.Linear(8, 8), Sine(), nn.Linear(8, 1))


@case(floats(4, 2))
class HashGrid(nn.Module):
    """Bilinear look-ups in tables of several resolutions, by hashes of corners."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(16, 2) for _ in range(2))

    def forward(self, x: Any) -> Any:
        parts = []
        for level, table in enumerate(self.tables):
            place = torch.sigmoid(x) * 4 * 2**level
            corner = place.floor().long()
            rest = place - corner
            total = 0
            for dx, dy in ((0, 0), (0, 1), (1, 0), (1, 1)):
                index = ((corner[:, 0] + dx) ^ ((corner[:, 1] + dy) * 7)) % 16
                weight = (rest[:, 0] if dx else 1 - rest[:, 0]) * (rest[:, 1] if dy else 1 - rest[:, 1])
                total = total + weight[:, None] * table(index)
            parts.append(total)
        return torch.cat(parts, -1)


@case(floats(4, 3))
class TriPlane(nn.Module):
    """Features of three planes by bilinear sampling."""

    def __init__(self) -> None:
        super().__init__()
        self.planes, self.fc = nn.Parameter(torch.randn(3, 2, 5, 5)), nn.Linear(2, 4)

    def forward(self, x: Any) -> Any:
        grid = torch.stack([x[:, [0, 1]], x[:, [0, 2]], x[:, [1, 2]]])[:, None]
        return self.fc(F.grid_sample(self.planes, grid, align_corners=True).sum(0).squeeze(1).T)


@case(floats(2, 4))
class NeuralODE(nn.Module):
    """Steps of the Runge-Kutta method with one network."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4))

    def field(self, time: float, y: Any) -> Any:
        return self.net(torch.cat([y, torch.full((y.shape[0], 1), time)], 1))

    def forward(self, y: Any, steps: int = 2) -> Any:
        h = 1 / steps
        for step in range(steps):
            t = step * h
            k1 = self.field(t, y)
            k2 = self.field(t + h / 2, y + h / 2 * k1)
            k3 = self.field(t + h / 2, y + h / 2 * k2)
            k4 = self.field(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y


@case(floats(2, 4))
class DeepEquilibrium(nn.Module):
    """A fixed number of iterations to an equilibrium."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.u = nn.Linear(4, 4, bias=False), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        z, injected = torch.zeros_like(x), self.u(x)
        for _ in range(4):
            z = torch.tanh(self.w(z) + injected)
        return z


@case(floats(2, 2))
class HamiltonianStep(nn.Module):
    """A leapfrog step of a learned potential's force."""

    def __init__(self) -> None:
        super().__init__()
        self.force = nn.Sequential(nn.Linear(1, 8), nn.Softplus(), nn.Linear(8, 1))

    def forward(self, state: Any) -> Any:
        q, p = state.chunk(2, -1)
        p = p - 0.05 * self.force(q)
        q = q + 0.1 * p
        return torch.cat([q, p - 0.05 * self.force(q)], -1)


@case(floats(2, 10), floats(5, 1))
class DeepONet(nn.Module):
    """A branch of the function and a trunk of the place."""

    def __init__(self) -> None:
        super().__init__()
        self.branch, self.trunk = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 6)), nn.Linear(1, 6)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, function: Any, place: Any) -> Any:
        return torch.einsum("bi,ni->bn", self.branch(function), torch.tanh(self.trunk(place))) + self.bias


@case(floats(4, 3))
class KolmogorovArnold(nn.Module):
    """Splines for each edge (KAN)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("grid", torch.linspace(-2, 2, 8))
        self.base, self.spline = nn.Parameter(torch.randn(2, 3)), nn.Parameter(torch.randn(2, 3, 4))

    def forward(self, x: Any) -> Any:
        x = x[..., None]
        bases = ((x >= self.grid[:-1]) & (x < self.grid[1:])).to(x.dtype)
        for k in range(1, 4):
            left = (x - self.grid[: -k - 1]) / (self.grid[k:-1] - self.grid[: -k - 1])
            right = (self.grid[k + 1 :] - x) / (self.grid[k + 1 :] - self.grid[1:-k])
            bases = left * bases[..., :-1] + right * bases[..., 1:]
        return F.linear(F.silu(x[..., 0]), self.base) + F.linear(bases.flatten(1), self.spline.flatten(1))


@case(floats(4, 3))
class RadialBasis(nn.Module):
    """Gaussians around learned centres."""

    def __init__(self) -> None:
        super().__init__()
        self.centres, self.log_width, self.fc = (
            nn.Parameter(torch.randn(5, 3)),
            nn.Parameter(torch.zeros(5)),
            nn.Linear(5, 2),
        )

    def forward(self, x: Any) -> Any:
        squares = (x[:, None] - self.centres).pow(2).sum(-1)
        return self.fc(torch.exp(-squares * self.log_width.exp()))


@case(floats(4, 3))
class PolynomialFeatures(nn.Module):
    """All products of pairs, by indices of a triangle."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(9, 1)

    def forward(self, x: Any) -> Any:
        rows, columns = torch.triu_indices(3, 3)
        return self.fc(torch.cat([x, (x[:, :, None] * x[:, None])[:, rows, columns]], 1))


@case(floats(4, 4))
class Quaternions(nn.Module):
    """A matrix of rotation from a quaternion, applied to points."""

    def forward(self, q: Any) -> Any:
        w, x, y, z = F.normalize(q, dim=-1).unbind(-1)
        matrix = torch.stack(
            [
                *(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
                *(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
                *(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
            ],
            -1,
        ).view(-1, 3, 3)
        return matrix @ torch.eye(3)[:, :1]


@case(floats(4, 3))
class HyperbolicDistance(nn.Module):
    """Distances in the ball of Poincaré."""

    def __init__(self) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.rand(5, 3) * 0.1)

    def forward(self, x: Any) -> Any:
        x = x / (1 + x.norm(dim=-1, keepdim=True))
        squares = torch.cdist(x, self.points).square()
        inner = (1 - x.square().sum(-1, keepdim=True)) * (1 - self.points.square().sum(-1))
        return torch.acosh(1 + 2 * squares / (inner.abs() + 0.1))


@case(floats(2, 5, 5))
class CellularAutomaton(nn.Module):
    """Steps of a learned rule of neighbourhoods."""

    def __init__(self) -> None:
        super().__init__()
        self.perceive, self.rule = nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"), nn.Conv2d(4, 1, 1)

    def forward(self, grid: Any) -> Any:
        x = grid[:, None]
        for _ in range(2):
            x = x + self.rule(F.relu(self.perceive(x))) * (F.max_pool2d(x, 3, 1, 1) > 0.1)
        return x.squeeze(1)


# -- spectra and complex numbers --------------------------------------------------------------------


@case(floats(2, 6, 4))
class FNet(nn.Module):
    """The real part of a Fourier transform over tokens and features in place of attention."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.fc(torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)


@case(floats(2, 4, 8))
class SpectralConv1d(nn.Module):
    """Products of low frequencies with complex weights (FNO)."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, 3, dtype=torch.cfloat))

    def forward(self, x: Any) -> Any:
        spectrum = torch.fft.rfft(x)
        out = torch.zeros(2, 3, 5, dtype=torch.cfloat)
        out[..., :3] = torch.einsum("bix,iox->box", spectrum[..., :3], self.weight)
        return torch.fft.irfft(out, n=8)


@case(floats(2, 4, 6, 6))
class GlobalFilter(nn.Module):
    """A learned filter of all frequencies of an image, whose parts are a real parameter (GFNet)."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6, 4, 2) * 0.02)

    def forward(self, x: Any) -> Any:
        spectrum = torch.fft.rfft2(x, norm="ortho") * torch.view_as_complex(self.weight)
        return torch.fft.irfft2(spectrum, s=(6, 6), norm="ortho")


@case(floats(2, 32))
class Spectrogram(nn.Module):
    """The magnitude of a short-time transform, and a layer of its frequencies."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(8))
        self.fc = nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        spectrum = torch.stft(x, 8, 4, window=self.window, return_complex=True)
        return self.fc(torch.log1p(spectrum.abs()).transpose(1, 2))


@case(floats(2, 8))
class FFTConvolution(nn.Module):
    """A long convolution as a product of spectra (Hyena)."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(8))

    def forward(self, x: Any) -> Any:
        product = torch.fft.rfft(x, n=16) * torch.fft.rfft(self.kernel, n=16)
        return torch.fft.irfft(product, n=16)[..., :8]


@case(floats(2, 8, 4))
class AutoCorrelation(nn.Module):
    """Delays by products of spectra (Autoformer)."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        q, k = torch.fft.rfft(self.q(x).mT), torch.fft.rfft(self.k(x).mT)
        return torch.fft.irfft(q * torch.conj(k), n=8).mean(1)


@case(torch.complex(floats(2, 4), floats(2, 4)))
class ComplexLinear(nn.Module):
    """Products of complex inputs with complex weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3, dtype=torch.cfloat))

    def forward(self, z: Any) -> Any:
        return (z @ self.weight).abs()


@case(floats(2, 6, 4))
class LinearRecurrence(nn.Module):
    """Complex states with learned angles (LRU), step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.radius, self.angle = nn.Parameter(torch.rand(3)), nn.Parameter(torch.rand(3))
        self.b = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        turn = torch.polar(torch.exp(-torch.exp(self.radius)), self.angle)
        state = torch.zeros(2, 3, dtype=torch.cfloat)
        for step in self.b(x).unbind(1):
            state = turn * state + step
        return state.real


@case(floats(2, 4), floats(2, 4))
class ComplexProductByParts(nn.Module):
    """The same with real and imaginary parts apart."""

    def __init__(self) -> None:
        super().__init__()
        self.real, self.imaginary = nn.Linear(4, 3, bias=False), nn.Linear(4, 3, bias=False)

    def forward(self, a: Any, b: Any) -> Any:
        real, imaginary = self.real(a) - self.imaginary(b), self.real(b) + self.imaginary(a)
        return torch.hypot(real, imaginary), torch.atan2(imaginary, real)


@case(floats(3, 4, 4))
class LinearAlgebra(nn.Module):
    """A system of equations, a determinant and an inverse."""

    def forward(self, x: Any) -> Any:
        a = x @ x.mT + torch.eye(4)
        return torch.linalg.solve(a, x), torch.linalg.det(a), torch.linalg.inv(a)


@case(floats(3, 4, 4))
class GaussianProcess(nn.Module):
    """A kernel matrix, its Cholesky factor and triangular systems."""

    def forward(self, x: Any) -> Any:
        k = torch.exp(-(torch.cdist(x, x) ** 2)) + torch.eye(4)
        factor = torch.linalg.cholesky(k)
        return torch.cholesky_solve(x, factor), 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


@case(floats(4, 3))
class Whitening(nn.Module):
    """Covariances, and iterations to an inverse root by products."""

    def forward(self, x: Any) -> Any:
        x = x - x.mean(0)
        a = x.T @ x / 3 + torch.eye(3)
        a = a / a.diagonal().sum()
        y, z = a, torch.eye(3)
        for _ in range(3):
            t = (3 * torch.eye(3) - z @ y) / 2
            y, z = y @ t, t @ z
        return x @ z
