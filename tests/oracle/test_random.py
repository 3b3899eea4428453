"""Random numbers against torch: shapes, refusals, and samples of one distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.models import ValidationError
from tests.numerics.kolmogorov_smirnov import p_value_of_two
from tests.ops.harness import execute
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")

SIZES = [40, 100]
#: Distributions of netcalc, and the calls of PyTorch that draw from the same.
DISTRIBUTIONS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "randn": ("normal", {}, lambda: torch.randn(SIZES)),
    "normal": ("normal", {"mean": 2.0, "std": 0.5}, lambda: torch.normal(2.0, 0.5, SIZES)),
    "rand": ("uniform", {}, lambda: torch.rand(SIZES)),
    "uniform": ("uniform", {"low": -3.0, "high": -1.0}, lambda: torch.empty(SIZES).uniform_(-3, -1)),
    "exponential": ("exponential", {"rate": 2.5}, lambda: torch.empty(SIZES).exponential_(2.5)),
    "randint": ("randint", {"low": -5, "high": 90}, lambda: torch.randint(-5, 90, SIZES)),
}


@pytest.mark.parametrize(("name", "attrs", "theirs"), DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_distributions(name: str, attrs: dict[str, Any], theirs: Any) -> None:
    torch.manual_seed(1)
    expected = theirs().numpy()
    (drawn,) = execute(name, {"shape": SIZES, "seed": 1, **attrs}).outputs
    assert (drawn.shape, drawn.dtype) == (expected.shape, expected.dtype)
    assert p_value_of_two(drawn, expected) > 1e-3


def test_randperm() -> None:
    (drawn,) = execute("randperm", {"n": 300, "seed": 1}).outputs
    expected = torch.randperm(300, generator=torch.Generator().manual_seed(1)).numpy()
    assert drawn.dtype == expected.dtype
    assert p_value_of_two(drawn[:150], expected[:150]) > 1e-3


@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_functions_of_elements(name: str) -> None:
    x = np.tile(np.linspace(0, 1, 11, dtype=np.float32), (2000, 1))
    torch.manual_seed(1)
    expected = getattr(torch, name)(torch.from_numpy(x)).numpy()
    (drawn,) = execute(name, {"seed": 1}, x).outputs
    assert drawn.dtype == expected.dtype
    for moment in (1, 2):
        ours, theirs = (array.astype(np.float64) ** moment for array in (drawn, expected))
        error = np.sqrt((ours.var(0) + theirs.var(0)) / len(x))
        assert (np.abs(ours.mean(0) - theirs.mean(0)) <= 5 * error + 1e-9).all()


@pytest.mark.parametrize("name", ["gamma", "binomial"])
def test_functions_of_parameters(name: str) -> None:
    shapes = np.linspace(0.1, 20, 3000, dtype=np.float32)
    torch.manual_seed(1)
    if name == "gamma":
        expected = torch._standard_gamma(torch.from_numpy(shapes))
        (drawn,) = execute("gamma", {"seed": 1}, shapes).outputs
    else:
        count = np.full_like(shapes, 1000)
        expected = torch.binomial(torch.from_numpy(count), torch.from_numpy(shapes / 40))
        (drawn,) = execute("binomial", {"seed": 1}, count, shapes / 40).outputs
    assert drawn.dtype == expected.numpy().dtype
    assert p_value_of_two(drawn, expected.numpy()) > 1e-3


@draws
@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    samples=st.integers(0, 6),
    replacement=st.booleans(),
    zeros=st.booleans(),
)
def test_multinomial(shape: list[int], samples: int, replacement: bool, zeros: bool) -> None:
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    x = x * 0 if zeros else x
    try:
        expected = torch.multinomial(torch.from_numpy(x), samples, replacement)
    except RuntimeError:
        expected = None
    attrs = {"samples": samples, "replacement": replacement, "seed": 0}
    try:
        declared = ops.find("multinomial")
        assert declared is not None
        (drawn,) = execute("multinomial", attrs, x).outputs
    except (RuleError, ValidationError):
        assert expected is None
    else:
        assert expected is not None
        assert (drawn.shape, str(drawn.dtype)) == (tuple(expected.shape), "int64")
        assert drawn.min() >= 0
        assert drawn.max() < shape[-1]
