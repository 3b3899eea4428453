"""Modules that draw random numbers, imported: outputs with the same draws, and the distributions of operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc
from tests.numerics.kolmogorov_smirnov import p_value_of_two
from tests.oracle.module_outputs import Case, assert_agrees, by_name

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

X = (torch.zeros(5, 12),)


def called(function: Any) -> Any:
    """Return the class of a module of a linear layer whose ``forward`` is a function of the module and its input."""

    class Called(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(12, 8)
            self.back = nn.Linear(4, 12)
            self.table = nn.Embedding(8, 12)
            self.deviation = nn.Parameter(torch.zeros(8, 12))

        def forward(self, x: Any) -> Any:
            return function(self, x)

    return Called


def autoencoder(self: Any, x: Any) -> Any:
    mean, log_variance = self.fc(x).chunk(2, -1)
    code = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
    return self.back(code), mean, log_variance


def distribution(self: Any, x: Any) -> Any:
    mean, log_deviation = self.fc(x).chunk(2, -1)
    normal = torch.distributions.Normal(mean, log_deviation.exp())
    code = normal.rsample()
    return self.back(code), normal.log_prob(code)


def categories(self: Any, x: Any) -> Any:
    chosen = torch.distributions.Categorical(logits=self.fc(x))
    action = chosen.sample()
    return self.table(action), chosen.log_prob(action)


def denoising(self: Any, x: Any) -> Any:
    step = torch.randint(0, 8, (x.shape[0],))
    noise = torch.randn(x.shape)
    return functional.mse_loss(x + self.table(step) * noise, noise)


def machine(self: Any, x: Any) -> Any:
    visible = torch.sigmoid(x)
    for _ in range(2):
        hidden = torch.bernoulli(torch.sigmoid(visible @ self.deviation.t()))
        visible = torch.bernoulli(torch.sigmoid(hidden @ self.deviation))
    return visible


def masked(self: Any, x: Any) -> Any:
    order = torch.argsort(torch.rand(x.shape), dim=-1)
    kept = torch.gather(x, 1, order[:, :6])
    return kept, x[torch.randperm(x.shape[0])]


def noisy_weights(self: Any, x: Any) -> Any:
    first, second = (noise.sign() * noise.abs().sqrt() for noise in (torch.randn(8), torch.randn(12)))
    return functional.linear(x, self.fc.weight + self.deviation * torch.outer(first, second))


def tensors(self: Any, x: Any) -> Any:
    return (
        torch.normal(0.0, 2.0, (3, 12)),
        torch.normal(x, 1.0),
        torch.normal(1.0, x.abs()),
        torch.normal(x, x.exp()),
        torch.poisson(x.abs()),
        torch.rand_like(x, dtype=torch.float64),
        torch.randint_like(x, 7),
        torch.bernoulli(x, 0.3),
        torch.binomial(x.abs().ceil() + 3, x.sigmoid()),
        torch._standard_gamma(x.exp()),
        torch.distributions.Dirichlet(x.exp()).sample(),
        torch.distributions.Beta(x.exp(), torch.tensor(2.0)).rsample(),
        torch.distributions.NegativeBinomial(4, logits=x).sample(),
    )


def in_place(self: Any, x: Any) -> Any:
    noise = torch.empty_like(x).normal_(1.0, 2.0)
    kept = torch.empty_like(x).bernoulli_(0.3)
    steps = torch.zeros(12, dtype=torch.long).random_(5)
    noise[:, :4].uniform_(-1, 1)
    return x + noise * kept + steps, torch.empty(12).cauchy_(1.0, 0.5), x.new_empty(12).log_normal_(0.0, 0.5)


def always_dropped(self: Any, x: Any) -> Any:
    x = self.fc(x)
    image = x[..., None]
    return (
        functional.dropout(x, 0.3),
        functional.dropout(x * 2, 0.3, inplace=True),
        functional.dropout(x, 1.0),
        functional.dropout2d(image, 0.3),
        functional.alpha_dropout(x, 0.3, training=True),
        functional.feature_alpha_dropout(image, 0.3, training=True),
        functional.rrelu(x, training=True),
        functional.rrelu(x * 2, 0.1, 0.9, training=True, inplace=True),
        torch.native_dropout(x, 0.3, True)[0],
    )


def dropped_weights(self: Any, x: Any) -> Any:
    x = self.fc(x)[None]
    attention = functional.scaled_dot_product_attention
    return (
        attention(x, x, x, dropout_p=0.3, is_causal=True),
        attention(x, x, x, dropout_p=0.3, attn_mask=x[..., :5] > 0.2, scale=0.5),
        attention(x, x, x, dropout_p=0.3, attn_mask=x[..., :5]),
    )


class Noise(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A layer with noise."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(12, 12)

    def forward(self, x: Any) -> Any:
        return functional.relu(self.fc(x)) + 0.1 * torch.randn_like(x)


CASES = [
    Case("autoencoder", called(autoencoder), X),
    Case("distribution", called(distribution), X),
    Case("categories", called(categories), X),
    Case("gumbel", called(lambda self, x: functional.gumbel_softmax(self.fc(x), tau=0.5)), X),
    Case("hard_gumbel", called(lambda self, x: functional.gumbel_softmax(self.fc(x), hard=True)), X),
    Case("denoising", called(denoising), X),
    Case("machine", called(machine), X),
    Case("masked", called(masked), X),
    Case("noisy_weights", called(noisy_weights), X),
    Case("samples", called(lambda self, x: self.table(torch.multinomial(self.fc(x).softmax(-1), 3))), X),
    Case("replaced", called(lambda self, x: torch.multinomial(self.fc(x).exp(), 9, replacement=True)), X),
    Case("tensors", called(tensors), X),
    Case("in_place", called(in_place), X),
    Case("always_dropped", called(always_dropped), X),
    Case("dropped_weights", called(dropped_weights), X),
    Case("layers", lambda: nn.Sequential(Noise(), Noise(), Noise()), X),
]


@by_name(CASES)
def test_outputs_with_the_same_draws(case: Case) -> None:
    assert_agrees(case)


def test_layers_with_noise_are_repeated_and_draw_their_own() -> None:
    net = netcalc.from_torch(nn.Sequential(Noise(), Noise(), Noise()), *X)
    assert "repeat: 3" in net.to_yaml()
    report = net.verify_against(nn.Sequential(Noise(), Noise(), Noise()), *X)
    assert report.drawn == (("aten.randn_like", 3),)
    assert "random numbers: both sides drew the same, in calls of aten.randn_like (3)" in str(report)


def test_other_noise_is_seen() -> None:
    class Wider(Noise):
        def forward(self, x: Any) -> Any:
            return functional.relu(self.fc(x)) + 0.2 * torch.randn_like(x)

    assert not netcalc.from_torch(Noise(), *X).verify_against(Wider(), *X).ok


def test_layers_that_draw_in_training_alone_draw_nothing() -> None:
    module = nn.Sequential(nn.Linear(12, 12), nn.Dropout(0.5), nn.RReLU(), nn.AlphaDropout(0.5))
    assert netcalc.from_torch(module, *X).verify_against(module, *X).drawn == ()


LARGE = torch.zeros(40, 100)
#: Operators of PyTorch whose numbers are compared with those of a run, from other generators.
OPERATORS: dict[str, Any] = {
    "randn_like": torch.randn_like,
    "rand": lambda x: torch.rand(x.shape),
    "normal_": lambda x: torch.empty_like(x).normal_(2.0, 3.0),
    "uniform_": lambda x: torch.empty_like(x).uniform_(-2.0, 5.0),
    "exponential_": lambda x: torch.empty_like(x).exponential_(0.5),
    "log_normal_": lambda x: torch.empty_like(x).log_normal_(0.5, 0.25),
    "cauchy_": lambda x: torch.empty_like(x).cauchy_(1.0, 2.0),
    "geometric_": lambda x: torch.empty_like(x).geometric_(0.1),
    "geometric_ of integers": lambda x: torch.zeros(x.shape, dtype=torch.int64).geometric_(0.05),
    "randint": lambda x: torch.randint(-20, 300, x.shape),
    "random_": lambda x: torch.empty_like(x).random_(),
    "random_ of bytes": lambda x: torch.empty(x.shape, dtype=torch.uint8).random_(),
    "normal of tensors": lambda x: torch.normal(x + 1, x + 2),
    "multinomial": lambda x: torch.multinomial(torch.arange(1.0, 101.0).expand(40, 100), 90),
    "poisson": lambda x: torch.poisson(x + 30),
    "gamma": lambda x: torch.distributions.Gamma(x + 0.7, x + 2.0).sample(),
    "beta": lambda x: torch.distributions.Beta(x + 0.5, x + 2.0).sample(),
    "Student's t": lambda x: torch.distributions.StudentT(x + 5).sample(),
    "binomial": lambda x: torch.distributions.Binomial(200, x + 0.4).sample(),
    "negative binomial": lambda x: torch.distributions.NegativeBinomial(x + 90, x + 0.6).sample(),
    "Dirichlet": lambda x: torch.distributions.Dirichlet(x + 0.8).sample(),
    "dropout": lambda x: functional.dropout(x + 1, 0.3),
    "alpha_dropout": lambda x: functional.alpha_dropout(x + 1, 0.3, training=True),
    "rrelu": lambda x: functional.rrelu(x - 1, 0.1, 0.9, training=True),
    "Gumbel": lambda x: -torch.empty_like(x).exponential_().log(),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_distributions_are_those_of_torch(name: str) -> None:
    class Drawn(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def forward(self, x: Any) -> Any:
            return OPERATORS[name](x) + 0 * x

    torch.manual_seed(0)
    expected = Drawn()(LARGE[:, :90] if name == "multinomial" else LARGE).numpy()
    drawn = netcalc.from_torch(Drawn(), LARGE[:, :90] if name == "multinomial" else LARGE).run(
        {"x": np.zeros(expected.shape, np.float32)}, seed=0
    )
    assert drawn.outputs["output"].dtype == expected.dtype
    assert p_value_of_two(drawn.outputs["output"], expected) > 1e-3
