"""Autoencoders, adversarial networks, flows, diffusion, and other modules that draw random numbers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers

X = floats(2, 8)


@case(X)
class AutoEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 2))
        self.decoder = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 8), nn.Sigmoid())

    def forward(self, x: Any) -> Any:
        code = self.encoder(x)
        return self.decoder(code), code


@case(X)
class TiedAutoEncoder(nn.Module):
    """A decoder whose weights are those of the encoder, transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.bias = nn.Linear(8, 3), nn.Parameter(torch.zeros(8))

    def forward(self, x: Any) -> Any:
        return F.linear(torch.sigmoid(self.fc(x)), self.fc.weight.t(), self.bias)


@case(X)
class SparseAutoEncoder(nn.Module):
    """The k largest activations alone, and a penalty."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: Any) -> Any:
        values, indices = self.up(x - self.down.bias).topk(3)
        code = torch.zeros(2, 16).scatter(-1, indices, values.relu())
        return self.down(code), code.abs().sum(-1).mean()


@case(X)
class DenoisingAutoEncoder(nn.Module):
    """Inputs with noise and holes."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, x: Any) -> Any:
        noisy = (x + 0.1 * torch.randn_like(x)) * (torch.rand_like(x) > 0.2)
        return self.decoder(torch.relu(self.encoder(noisy)))


@case(X)
class VAE(nn.Module):
    """A sample by reparametrization, and the divergence from the prior."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(2, 8)

    def forward(self, x: Any) -> Any:
        mean, logvar = self.encoder(x).chunk(2, -1)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(logvar)
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp(), 1)
        return self.decoder(z), divergence.mean()


@case(X)
class VAEWithDistributions(nn.Module):
    """The same by ``torch.distributions``."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(2, 8)

    def forward(self, x: Any) -> Any:
        mean, spread = self.encoder(x).chunk(2, -1)
        posterior = torch.distributions.Normal(mean, F.softplus(spread))
        prior = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
        return self.decoder(posterior.rsample()), torch.distributions.kl_divergence(posterior, prior).sum(-1)


@case(floats(2, 1, 12, 12))
class ConvolutionalVAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 8, 4, 2, 1), nn.ReLU())
        self.mean, self.logvar = nn.Linear(72, 3), nn.Linear(72, 3)
        self.start = nn.Linear(3, 72)
        self.decoder = nn.Sequential(nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 1, 4, 2, 1))

    def forward(self, x: Any) -> Any:
        h = self.encoder(x).flatten(1)
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + logvar.mul(0.5).exp_() * torch.randn(mean.shape)
        return torch.sigmoid(self.decoder(self.start(z).view(-1, 8, 3, 3))), mean, logvar


@case(X, integers(3, 2))
class ConditionalVAE(nn.Module):
    """The class of the sample is given to both parts."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(11, 4), nn.Linear(5, 8)

    def forward(self, x: Any, labels: Any) -> Any:
        y = F.one_hot(labels, 3).float()
        mean, logvar = self.encoder(torch.cat([x, y], 1)).split(2, 1)
        return self.decoder(torch.cat([torch.normal(mean, (logvar / 2).exp()), y], 1))


@case(X)
class LadderOfLatents(nn.Module):
    """Two levels of latents, the lower of which depends on the upper."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.top, self.low, self.out = nn.Linear(8, 6), nn.Linear(6, 4), nn.Linear(8, 4), nn.Linear(4, 8)

    def drawn(self, parameters: Any) -> Any:
        mean, spread = parameters.chunk(2, 1)
        return mean + F.softplus(spread) * torch.randn_like(spread)

    def forward(self, x: Any) -> Any:
        h = self.up(x).relu()
        top = self.drawn(self.top(h))
        return self.out(torch.cat([top, self.drawn(self.low(torch.cat([h, top], 1)))], 1))


@case(floats(2, 6, 4))
class VQVAE(nn.Module):
    """The nearest of the vectors in a table, with the gradient passed straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.codebook, self.decoder = nn.Linear(4, 3), nn.Embedding(5, 3), nn.Linear(3, 4)

    def forward(self, x: Any) -> Any:
        z = self.encoder(x)
        indices = torch.cdist(z, self.codebook.weight.expand(2, -1, -1)).argmin(-1)
        q = self.codebook(indices)
        commitment = F.mse_loss(q.detach(), z) + 0.25 * F.mse_loss(q, z.detach())
        return self.decoder(z + (q - z).detach()), commitment


@case(floats(2, 6, 4))
class ResidualQuantizer(nn.Module):
    """Distances by products, and a second table for the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ParameterList(torch.randn(5, 4) for _ in range(2))

    def forward(self, x: Any) -> Any:
        rest, total = x, 0
        for table in self.tables:
            distances = rest.square().sum(-1, keepdim=True) - 2 * rest @ table.T + table.square().sum(-1)
            nearest = F.one_hot(distances.argmin(-1), 5).to(x.dtype) @ table
            rest, total = rest - nearest, total + nearest
        return total


@case(floats(2, 6, 4))
class FiniteScalarQuantizer(nn.Module):
    """Rounded values of bounded ones."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        z = 2 * torch.tanh(self.fc(x))
        return z + (z.round() - z).detach()


@case(X)
class GumbelSoftmax(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 6), nn.Linear(6, 8)

    def forward(self, x: Any) -> Any:
        return self.decoder(F.gumbel_softmax(self.encoder(x), tau=0.5))


@case(X)
class GumbelByHand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 6)

    def forward(self, x: Any) -> Any:
        noise = -torch.log(-torch.log(torch.rand(2, 6) + 1e-6) + 1e-6)
        return torch.softmax((self.fc(x) + noise) / 0.7, -1)


@case(floats(2, 4))
class DCGANGenerator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            *(nn.ConvTranspose2d(4, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True)),
            *(nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU(True)),
            *(nn.ConvTranspose2d(4, 1, 4, 2, 1, bias=False), nn.Tanh()),
        )

    def forward(self, z: Any) -> Any:
        return self.main(z[:, :, None, None])


@case(floats(2, 1, 16, 16))
def dcgan_discriminator() -> Any:
    return nn.Sequential(
        *(nn.Conv2d(1, 4, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)),
        *(nn.Conv2d(4, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(0.2, inplace=True)),
        *(nn.Conv2d(8, 1, 4, 1, 0, bias=False), nn.Flatten(), nn.Sigmoid()),
    )


@case(floats(2, 3), X)
class GAN(nn.Module):
    """A discriminator of real and of generated samples, and both losses."""

    def __init__(self) -> None:
        super().__init__()
        self.g, self.d = (
            nn.Sequential(nn.Linear(3, 8), nn.Tanh()),
            nn.Sequential(nn.Linear(8, 4), nn.GELU(), nn.Linear(4, 1)),
        )

    def forward(self, z: Any, x: Any) -> Any:
        fake = self.g(z)
        real_score, fake_score = self.d(x), self.d(fake.detach())
        d_loss = F.softplus(-real_score).mean() + F.softplus(fake_score).mean()
        return d_loss, F.softplus(-self.d(fake)).mean()


@case(floats(2, 4), integers(3, 2))
class ConditionalBatchNorm(nn.Module):
    """Scales and shifts by class."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.embed = nn.BatchNorm1d(4, affine=False), nn.Embedding(3, 8)

    def forward(self, x: Any, y: Any) -> Any:
        gamma, beta = self.embed(y).chunk(2, 1)
        return gamma * self.norm(x) + beta


@case(floats(2, 3, 8, 8), floats(2, 3, 8, 8))
class AdaptiveInstanceNorm(nn.Module):
    """The statistics of a style image for the content."""

    def forward(self, content: Any, style: Any) -> Any:
        spread, mean = torch.std_mean(style, (2, 3), keepdim=True)
        own_spread, own_mean = torch.std_mean(content, (2, 3), keepdim=True)
        return spread * (content - own_mean) / (own_spread + 1e-5) + mean


@case(floats(2, 4, 6, 6), floats(2, 5))
class ModulatedConvolution(nn.Module):
    """Weights scaled by a style and demodulated, for each image (StyleGAN2), with noise."""

    def __init__(self) -> None:
        super().__init__()
        self.style, self.weight = nn.Linear(5, 4), nn.Parameter(torch.randn(6, 4, 3, 3))
        self.strength = nn.Parameter(torch.zeros(1))

    def forward(self, x: Any, w: Any) -> Any:
        weights = self.weight * self.style(w)[:, None, :, None, None]
        weights = weights * torch.rsqrt(weights.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        y = F.conv2d(x.reshape(1, 8, 6, 6), weights.flatten(0, 1), padding=1, groups=2).view(2, 6, 6, 6)
        return y + self.strength * torch.randn(2, 1, 6, 6)


@case(floats(2, 3, 8, 8), floats(2, 2, 8, 8))
class SpatiallyAdaptiveNorm(nn.Module):
    """Scales and shifts of a norm by a map (SPADE)."""

    def __init__(self) -> None:
        super().__init__()
        self.shared, self.gamma, self.beta = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 3, 1), nn.Conv2d(4, 3, 1)
        self.norm = nn.InstanceNorm2d(3)

    def forward(self, x: Any, labels: Any) -> Any:
        h = F.relu(self.shared(labels))
        return self.norm(x) * (1 + self.gamma(h)) + self.beta(h)


def time_embedding(time: Any, size: int = 8) -> Any:
    """Return sines and cosines of a time."""
    rates = torch.exp(-math.log(10_000) * torch.arange(size // 2) / (size // 2))
    angles = time[:, None].float() * rates
    return torch.cat([angles.sin(), angles.cos()], -1)


@case(floats(2, 3, 8, 8), integers(100, 2))
class DiffusionUNet(nn.Module):
    """A residual block with an embedding of the time."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8))
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm, self.out = nn.GroupNorm(2, 4), nn.Conv2d(4, 3, 3, padding=1)

    def forward(self, x: Any, time: Any) -> Any:
        scale, shift = self.time(time_embedding(time))[:, :, None, None].chunk(2, 1)
        x = self.first(x)
        y = self.second(F.silu(self.norm(x) * (scale + 1) + shift))
        return self.out(x + y)


@case(X, integers(10, 2))
class DiffusionLoss(nn.Module):
    """Noise of a drawn schedule, and the error of the network that predicts it."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(9, 16), nn.SiLU(), nn.Linear(16, 8))
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 10), 0))

    def forward(self, x: Any, time: Any) -> Any:
        noise, share = torch.randn_like(x), self.kept[time][:, None]
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        return F.mse_loss(self.net(torch.cat([noisy, time[:, None] / 10], 1)), noise)


@case(floats(2, 8))
class DiffusionSampler(nn.Module):
    """Three steps of sampling, in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(9, 8)

    def forward(self, x: Any) -> Any:
        for step in (3, 2, 1):
            time = torch.full((x.shape[0], 1), step / 3)
            x = x - 0.1 * self.net(torch.cat([x, time], 1))
            if step > 1:
                x = x + 0.1 * torch.randn_like(x)
        return x


@case(floats(2, 4, 8), floats(2, 5))
class DiTBlock(nn.Module):
    """Norms whose scales, shifts and gates a layer computes (adaLN-Zero)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8, elementwise_affine=False)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(5, 48))

    def forward(self, x: Any, c: Any) -> Any:
        shift, scale, gate, shift2, scale2, gate2 = self.modulation(c)[:, None].chunk(6, -1)
        y = self.norm(x) * (1 + scale) + shift
        x = x + gate * self.attn(y, y, y, need_weights=False)[0]
        return x + gate2 * self.mlp(self.norm(x) * (1 + scale2) + shift2)


@case(floats(2, 6))
class AffineCoupling(nn.Module):
    """Half of the input scales and shifts the other, with the logarithm of the determinant (RealNVP)."""

    def __init__(self) -> None:
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 6)) for _ in range(2))

    def forward(self, x: Any) -> Any:
        a, b = x.split(3, 1)
        total = torch.zeros(len(x))
        for net in self.nets:
            scale, shift = net(a).chunk(2, 1)
            scale = torch.tanh(scale)
            a, b, total = b * scale.exp() + shift, a, total + scale.sum(1)
        return torch.cat([a, b], 1), total


@case(floats(2, 6))
class MaskedAutoregressive(nn.Module):
    """Weights multiplied by masks, so that each output sees inputs before it alone (MADE)."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 10), nn.Linear(10, 12)
        degrees, hidden = torch.arange(6), torch.arange(10) % 5
        self.register_buffer("mask1", (hidden[:, None] >= degrees).float())
        self.register_buffer("mask2", (degrees.repeat(2)[:, None] > hidden).float())

    def forward(self, x: Any) -> Any:
        h = F.relu(F.linear(x, self.first.weight * self.mask1, self.first.bias))
        mean, scale = F.linear(h, self.second.weight * self.mask2, self.second.bias).chunk(2, 1)
        return (x - mean) * torch.exp(-scale), -scale.sum(1)


@case(floats(1, 1, 7, 7))
class PixelCNN(nn.Module):
    """Convolutions that see pixels above and to the left."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 1)
        mask = torch.ones(3, 3)
        mask[1, 1:], mask[2] = 0, 0
        self.register_buffer("mask", mask)

    def forward(self, x: Any) -> Any:
        y = F.conv2d(x, self.conv.weight * self.mask, self.conv.bias, padding=1)
        return self.out(F.elu(y))


@case(floats(2, 4))
class MixtureDensity(nn.Module):
    """Shares, means and spreads of a mixture, and the logarithm of its density."""

    def __init__(self) -> None:
        super().__init__()
        self.shares, self.means, self.spreads = nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        shares, means, spreads = self.shares(x).log_softmax(-1), self.means(x), F.softplus(self.spreads(x)) + 1e-3
        target = x[:, :1]
        density = -0.5 * ((target - means) / spreads) ** 2 - spreads.log() - 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(shares + density, -1)


@case(floats(2, 8))
class MonteCarloDropout(nn.Module):
    """The mean and the variance of several passes with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        passes = torch.stack([self.b(F.dropout(self.a(x), 0.5, training=True)) for _ in range(3)])
        return passes.mean(0), passes.var(0)


@case(floats(2, 8))
class BayesianLinear(nn.Module):
    """Weights that are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.rho = nn.Parameter(torch.randn(3, 8)), nn.Parameter(torch.zeros(3, 8))

    def forward(self, x: Any) -> Any:
        spread = torch.log1p(torch.exp(self.rho))
        weight = self.mean + spread * torch.randn_like(spread)
        return F.linear(x, weight), (0.5 * (weight**2 - 1) - spread.log()).sum()


@case(floats(2, 8))
class PolicyNetwork(nn.Module):
    """A drawn action, its log-probability, the entropy and the value."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.actor, self.critic = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 1)

    def forward(self, x: Any) -> Any:
        h = torch.tanh(self.body(x))
        distribution = torch.distributions.Categorical(logits=self.actor(h))
        action = distribution.sample()
        return action, distribution.log_prob(action), distribution.entropy(), self.critic(h)


@case(floats(2, 8))
class SoftActor(nn.Module):
    """A normal action squashed by tanh, with a clamped spread."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        mean, log_spread = self.fc(x).chunk(2, -1)
        spread = log_spread.clamp(-20, 2).exp()
        action = mean + spread * torch.randn_like(mean)
        correction = 2 * (math.log(2) - action - F.softplus(-2 * action))
        return torch.tanh(action), (-0.5 * ((action - mean) / spread) ** 2 - log_spread - correction).sum(-1)


@case(floats(2, 8))
class DuelingQNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.value, self.advantage = nn.Linear(8, 6), nn.Linear(6, 1), nn.Linear(6, 4)

    def forward(self, x: Any) -> Any:
        h = F.relu(self.body(x))
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(dim=1, keepdim=True)


@case(floats(2, 8))
class NoisyLinear(nn.Module):
    """Noise of factors, for exploration."""

    def __init__(self) -> None:
        super().__init__()
        self.mean, self.spread = nn.Parameter(torch.randn(4, 8)), nn.Parameter(torch.ones(4, 8))

    def factor(self, size: int) -> Any:
        x = torch.randn(size)
        return x.sign() * x.abs().sqrt()

    def forward(self, x: Any) -> Any:
        return F.linear(x, self.mean + self.spread * torch.outer(self.factor(4), self.factor(8)))


@case(floats(2, 3, 8, 8))
class RandomMasking(nn.Module):
    """A drawn order of patches, of which a quarter is kept (MAE)."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.decoder = nn.Conv2d(3, 6, 2, 2), nn.Linear(6, 12)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, 6))

    def forward(self, x: Any) -> Any:
        tokens = self.patches(x).flatten(2).mT
        order = torch.rand(2, 16).argsort(1)
        restore = order.argsort(1)
        kept = tokens.gather(1, order[:, :4, None].expand(-1, -1, 6))
        full = torch.cat([kept, self.mask_token.expand(2, 12, -1)], 1)
        return self.decoder(full.gather(1, restore[..., None].expand(-1, -1, 6)))
