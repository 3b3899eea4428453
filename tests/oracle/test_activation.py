"""Activations and gated units with random attributes and shapes, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")
F = torch.nn.functional

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4)
numbers = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-4, 4, allow_subnormal=False, width=32))
scales = st.sampled_from([0.1, 1, 10, 100])

PLAIN: dict[str, Callable[[Any], Any]] = {
    "identity": torch.nn.Identity(),
    "detach": torch.detach,
    "relu": F.relu,
    "relu6": F.relu6,
    "selu": F.selu,
    "gelu": F.gelu,
    "silu": F.silu,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softsign": F.softsign,
    "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink,
}


def normal(shape: list[int], scale: float = 1, dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(0).normal(size=shape) * scale).astype(dtype)


@pytest.mark.parametrize("name", PLAIN)
@draws
@given(shape=shapes, scale=scales)
def test_plain(name: str, shape: list[int], scale: float) -> None:
    agree(name, {}, [normal(shape, scale)], lambda w, x: PLAIN[name](x))


@pytest.mark.parametrize("name", PLAIN)
def test_half_precision(name: str) -> None:
    """Within one step of float16."""
    agree(name, {}, [normal([200], 3, "float16")], lambda w, x: PLAIN[name](x), tolerance=1e-3)


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "gelu"])  # torch: gelu(∞) is NaN
def test_not_numbers_and_infinities(name: str) -> None:
    # torch's derivatives of vectors of 4 or more elements treat NaN differently on different processors
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    # autograd computes ∞/∞ for softsign, whose derivative tends to 0
    agree(name, {}, [x], lambda w, x: PLAIN[name](x), gradients=name != "softsign")


KINKS: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    **{name: ({}, function) for name, function in PLAIN.items()},
    "leaky_relu": ({"negative_slope": 0.25}, lambda x: F.leaky_relu(x, 0.25)),
    "elu": ({"alpha": 0.5}, lambda x: F.elu(x, 0.5)),
    "celu": ({"alpha": 0.5}, lambda x: F.celu(x, 0.5)),
    "hardtanh": ({"min": -0.5, "max": 3.0}, lambda x: F.hardtanh(x, -0.5, 3.0)),
    "hardshrink": ({"lambd": 0.5}, lambda x: F.hardshrink(x, 0.5)),
    "softshrink": ({"lambd": 0.5}, lambda x: F.softshrink(x, 0.5)),
    "threshold": ({"threshold": 3.0, "value": 0.5}, lambda x: F.threshold(x, 3.0, 0.5)),
    "softplus": ({"beta": 2.0, "threshold": 6.0}, lambda x: F.softplus(x, 2.0, 6.0)),
    "squared_relu": ({}, lambda x: F.relu(x) ** 2),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name: str) -> None:
    """The subgradients where the slope jumps are those of torch."""
    attrs, reference = KINKS[name]
    x = np.array([0.0, -0.0, 0.5, -0.5, 3.0, -3.0, 6.0, -6.0], np.float32)
    agree(name, attrs, [x], lambda w, x: reference(x))


def test_kink_of_a_learned_slope() -> None:
    agree("prelu", {}, [np.array([[0.0, -0.0, 1.0]], np.float32)], lambda w, x: F.prelu(x, w["weight"]))


@draws
@given(shape=shapes, slope=numbers, alpha=numbers, scale=scales)
def test_slopes(shape: list[int], slope: float, alpha: float, scale: float) -> None:
    x = normal(shape, scale)
    agree("leaky_relu", {"negative_slope": slope}, [x], lambda w, x: F.leaky_relu(x, slope))
    agree("elu", {"alpha": alpha}, [x], lambda w, x: F.elu(x, alpha))
    agree("celu", {"alpha": alpha}, [x], lambda w, x: F.celu(x, alpha))


@draws
@given(shape=shapes, beta=numbers, threshold=st.floats(-5, 30), scale=scales)
def test_softplus(shape: list[int], beta: float, threshold: float, scale: float) -> None:
    attrs = {"beta": beta, "threshold": threshold}
    agree("softplus", attrs, [normal(shape, scale)], lambda w, x: F.softplus(x, beta, threshold))


@draws
@given(shape=shapes, lambd=numbers, scale=scales)
def test_shrinking(shape: list[int], lambd: float, scale: float) -> None:
    x = normal(shape, scale)
    agree("hardshrink", {"lambd": lambd}, [x], lambda w, x: F.hardshrink(x, lambd))
    agree("softshrink", {"lambd": lambd}, [x], lambda w, x: F.softshrink(x, lambd))


@draws
@given(shape=shapes, limit=numbers, value=numbers)
def test_threshold(shape: list[int], limit: float, value: float) -> None:
    x = np.array([*normal([5]), np.nan, np.inf, -np.inf], np.float32) if len(shape) == 1 else normal(shape)
    agree("threshold", {"threshold": limit, "value": value}, [x], lambda w, x: F.threshold(x, limit, value))


@draws
@given(shape=shapes, low=numbers, high=numbers)
def test_hardtanh(shape: list[int], low: float, high: float) -> None:
    agree("hardtanh", {"min": low, "max": high}, [normal(shape, 3)], lambda w, x: F.hardtanh(x, low, high))


@draws
@given(shape=shapes, count=st.integers(1, 6))
def test_prelu(shape: list[int], count: int) -> None:
    def reference(weights: dict[str, Any], x: Any) -> Any:
        return F.prelu(x, weights.get("weight", torch.zeros(count)))

    agree("prelu", {"num_parameters": count}, [normal(shape)], reference)


@draws
@given(shape=shapes, scale=scales)
def test_approximations(shape: list[int], scale: float) -> None:
    x = normal(shape, scale)
    agree("gelu", {"approximate": "tanh"}, [x], lambda w, x: F.gelu(x, approximate="tanh"))
    agree("quick_gelu", {}, [x], lambda w, x: x * torch.sigmoid(1.702 * x))
    agree("squared_relu", {}, [x], lambda w, x: F.relu(x) ** 2)


@draws
@given(shape=shapes, axis=st.integers(-4, 4), scale=scales, masked=st.booleans())
def test_softmax(shape: list[int], axis: int, scale: float, masked: bool) -> None:
    x = normal(shape, scale)
    if masked:
        x[x > 0] = -np.inf
    agree("softmax", {"axis": axis}, [x], lambda w, x: F.softmax(x, axis))
    agree("log_softmax", {"axis": axis}, [x], lambda w, x: F.log_softmax(x, axis))


@draws
@given(shape=shapes, axis=st.integers(-4, 4))
def test_gated_units(shape: list[int], axis: int) -> None:
    x = normal(shape)
    agree("glu", {"axis": axis}, [x], lambda w, x: F.glu(x, axis))
    for name, activation in {"reglu": F.relu, "geglu": F.gelu, "swiglu": F.silu}.items():

        def reference(w: dict[str, Any], x: Any, activation: Callable[[Any], Any] = activation) -> Any:
            gate, value = torch.stack(x.chunk(2, axis)) if x.shape[axis] > 1 else None
            return activation(gate) * value

        agree(name, {"axis": axis}, [x], reference)
