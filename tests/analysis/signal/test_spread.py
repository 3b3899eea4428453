"""Mean and variance of initializers against drawn tensors."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.inits import parse_init, spread
from netcalc.numerics.initializers import draw
from netcalc.opdef import Init

INITS = [
    "kaiming_uniform",
    "kaiming_normal(mode=fan_out, nonlinearity=relu)",
    "kaiming_uniform(a=2.2360679)",
    "xavier_uniform(gain=2)",
    "xavier_normal",
    "uniform(-0.2, 0.5)",
    "normal(mean=0.3, std=0.1)",
    "truncated_normal(std=0.5, a=-0.4, b=0.8)",
    "truncated_normal",
    "orthogonal(gain=3)",
    "lecun_normal",
    "log_of_uniform(a=0.5, b=16)",
    "step_size",
    "log_range",
    "constant(0.2)",
    "formula((position % 7) ** 2 / 10)",
]
DEFAULTS = [Init.of("fan_in_uniform", fan_in=40), Init.of("uniform", bound=0.1), Init.of("constant", value=2.0)]


@pytest.mark.parametrize("shape", [(300, 400), (400, 300), (64, 30, 7, 7)])
@pytest.mark.parametrize("text", [*INITS, *DEFAULTS], ids=str)
def test_mean_and_variance_are_those_of_a_drawn_tensor(text: str | Init, shape: tuple[int, ...]) -> None:
    init = parse_init(text) if isinstance(text, str) else text
    assert init is not None
    drawn = draw(init, shape, "float64", np.random.default_rng(0))
    found = spread(init, shape)
    assert found is not None
    scale = max(float(drawn.std()), 1e-9)
    assert found.mean == pytest.approx(float(drawn.mean()), abs=0.02 * scale)
    assert found.variance == pytest.approx(float(drawn.var()), rel=0.02, abs=1e-15)


def test_a_tail_and_a_table() -> None:
    found = spread(Init.of("truncated_normal", mean=0.0, std=1.0, a=60.0, b=61.0), (2, 2))
    assert found == (60.0, 0.0)
    assert spread(Init("table"), (2, 2)) is None
