"""Operations of the compiled epilogue against NumPy, element by element, NaN and infinities included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from netcalc.engine.lower.compiled_broadcast import broadcast_passes
from netcalc.engine.native.epilogue import BINARY, ITSELF, UNARY, Operation, epilogue
from netcalc.engine.native.library import available

pytestmark = pytest.mark.skipif(not available(), reason="the kernels in C were not compiled")

Array = np.ndarray[Any, Any]

_SPECIAL = [0.0, -0.0, 1e-30, -1e-30, 1.0, -1.0, 87.0, -87.0, 88.7, 89.5, -104.0, 1e20, -1e20, np.inf, -np.inf, np.nan]


def expit(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_UFUNCS: dict[str, Any] = {
    "subtract_from": lambda x, y: y - x,
    "divide_into": lambda x, y: y / x,
    **{name: getattr(np, name) for name in BINARY if hasattr(np, name)},
}

_FUNCTIONS: dict[str, Any] = {
    "clip": lambda x: np.clip(x, -0.5, 2.0),
    "leaky_relu": lambda x: np.where(x > 0, x, -0.5 * x),
    "gated": lambda x: x * expit(-0.5 * x),
    "gelu": lambda x: x * np.vectorize(math.erfc)(-x * math.sqrt(0.5)) / 2,
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "sigmoid": expit,
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    **{name: getattr(np, name) for name in ("tanh", "exp", "square", "abs")},
}


def elements(shape: tuple[int, int]) -> Array:
    x = np.random.default_rng(0).normal(0, 5, shape).astype(np.float32)
    x.flat[: len(_SPECIAL)] = _SPECIAL
    return x


def compare(result: Array, expected: Array) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(result, expected.astype(np.float32), rtol=1e-6, atol=3e-7)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
def test_lower_tails_keep_their_digits(name: str) -> None:
    x = np.linspace(-7, -1, 1000, dtype=np.float32)[None]
    y = np.empty_like(x)
    epilogue(x, y, [Operation(name)])()
    exact = x.astype(np.float64)
    if name == "gelu":
        expected = _FUNCTIONS[name](exact)
    else:  # ½·(1 + tanh(u)) = 1/(1 + exp(−2u))
        expected = exact * expit(2 * np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3))
    np.testing.assert_allclose(y, expected, rtol=5e-6)


def test_every_operation_is_tested() -> None:
    assert (set(_UFUNCS), set(_FUNCTIONS)) == (set(BINARY), set(UNARY))


@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str) -> None:
    x = elements((3, 1500))
    result = np.empty_like(x)
    epilogue(x, result, [Operation(name, None, (-0.5, 2.0))])()
    with np.errstate(all="ignore"):
        compare(result, _FUNCTIONS[name](x.astype(np.float64)))


@pytest.mark.parametrize("columns", [1, 7, 24, 600, 2500])
@pytest.mark.parametrize("name", BINARY)
def test_operations_of_two_operands(name: str, columns: int) -> None:
    """The second is a vector, rows that lie apart, a number, or the first; the result is written in place."""
    x = elements((37, columns)) if columns > 1 else elements((37, 1))
    rows = np.random.default_rng(1).normal(0, 1, (37, columns + 5)).astype(np.float32)[:, 2:-3]
    vector = np.random.default_rng(2).normal(0, 1, columns).astype(np.float32)
    for operand, value in ((vector, vector), (rows, rows), (None, np.float32(1.5)), (ITSELF, x)):
        result = x.copy()
        epilogue(result, result, [Operation(name, operand, (1.5,) if operand is None else ())])()
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(result, _UFUNCS[name](x, value))


@pytest.mark.parametrize("columns", [3, 40, 513, 1024, 3000])
@pytest.mark.parametrize("gap", [0, 4])
def test_several_operations(columns: int, gap: int) -> None:
    """More vectors than are repeated for short rows; rows of the result lie apart."""
    random = np.random.default_rng(3)
    x = random.normal(0, 1, (29, columns)).astype(np.float32)
    vectors = [random.normal(0, 1, columns).astype(np.float32) for _ in range(6)]
    for count in (2, 6):
        result = np.full((29, columns + gap), np.nan, np.float32)
        operations = [Operation("add" if i % 2 else "multiply", vectors[i]) for i in range(count)]
        epilogue(x, result[:, :columns], [*operations, Operation("clip", None, (0.0, np.inf))])()
        expected = x
        for i in range(count):
            expected = expected + vectors[i] if i % 2 else expected * vectors[i]
        np.testing.assert_array_equal(result[:, :columns], np.maximum(expected, 0))
        assert np.isnan(result[:, columns:]).all()


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.divide])
@pytest.mark.parametrize(
    "first, second",
    [
        ((2, 5, 6, 24), (2, 1, 1, 24)),
        ((24,), (3, 5, 24)),
        ((4, 7, 8), (7, 8)),
        ((1, 7, 8), (1, 1, 8)),
        ((3, 1, 8), (1, 7, 8)),
        ((2, 3, 1, 5, 16), (3, 4, 1, 16)),
        ((7, 8), (7, 8)),
    ],
)
def test_broadcasting(ufunc: Any, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Operands broadcast along leading, middle or several axes, in parts of larger arrays."""
    random = np.random.default_rng(4)
    x, y = (random.normal(0, 1, (*shape[:-1], shape[-1] + 3)).astype(np.float32)[..., :-3] for shape in (first, second))
    expected = ufunc(x, y)
    out = np.zeros_like(expected)
    passes = broadcast_passes(ufunc, np.broadcast_to(x, out.shape), np.broadcast_to(y, out.shape), out)
    assert passes is not None
    for one in passes:
        one()
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("second, kind", [((3, 1), np.float32), ((3, 8), np.float64), ((1,), np.float32)])
def test_broadcasting_that_the_kernel_does_not_take(second: tuple[int, ...], kind: Any) -> None:
    x, y, out = np.ones((3, 8), np.float32), np.ones(second, kind), np.zeros((3, 8), kind)
    assert broadcast_passes(np.add, x, np.broadcast_to(y, x.shape), out) is None
    assert broadcast_passes(np.power, x, x, x) is None
