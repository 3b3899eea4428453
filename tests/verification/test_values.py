"""Comparison of executed operations with their references: what it sees, what rounding may do, and its gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import ops
from netcalc.arrays import numpy_dtype
from netcalc.numerics.kernels import Run, apply
from netcalc.verification import values
from netcalc.verification.references import REFERENCES, Attributes, Expected, Value
from netcalc.verification.values import Comparison, Difference, compare_values


def compared(
    name: str,
    attrs: dict[str, Any],
    *arrays: np.ndarray,
    change: Callable[[np.ndarray], np.ndarray] = lambda array: array,
    params: dict[str, np.ndarray] | None = None,
    **options: Any,
) -> Comparison:
    """Return the comparison of an executed operation whose first output is changed before."""
    declared = ops.find(name)
    assert declared is not None
    op = declared(**attrs)
    first, *others = apply(op, Run(), arrays, params or {})
    return compare_values(op, arrays, params or {}, [change(first), *others], rng=np.random.default_rng(0), **options)


def normal(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_rounding_passes_and_a_missing_term_of_hundreds_does_not(dtype: str) -> None:
    x, weight = normal(3, 700, dtype=dtype), normal(8, 700, dtype=dtype, seed=1)
    whole = compared("linear", {"out": 8, "bias": False}, x, params={"weight": weight})
    assert whole == Comparison((), 24, ())

    shorter = x.copy()
    shorter[:, 311] = 0
    missing = np.matmul(shorter.astype(np.float64), weight.T.astype(np.float64)).astype(x.dtype)
    found = compared("linear", {"out": 8, "bias": False}, x, params={"weight": weight}, change=lambda _: missing)
    assert [difference.what for difference in found.differences] == ["output"]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda y: y[:, :1], Difference("output", "2×2 float32", "2×1 float32")),
        (lambda y: y.astype(np.float64), Difference("output", "2×2 float32", "2×2 float64")),
        (lambda y: y + np.eye(2, dtype=np.float32), Difference("output", "6", "7", (0, 0))),
        (lambda y: np.where(y > 10, np.float32(np.nan), y), Difference("output", "15", "nan", (1, 0))),
        (lambda y: np.where(y > 10, np.float32(np.inf), y), Difference("output", "15", "inf", (1, 0))),
    ],
)
def test_names_the_difference(change: Callable[[np.ndarray], np.ndarray], difference: Difference) -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    weight = np.ones((2, 3), np.float32)
    found = compared("linear", {"out": 2, "bias": False}, x, params={"weight": weight}, change=change)
    assert found.differences == (difference,)


@pytest.mark.parametrize(
    ("terms", "executed", "agrees", "gap"),
    [
        ((3e38, 3e38, -3e38), np.nan, True, True),  # ∞ − 3e38, or a rounding to −∞ in another order
        ((3e38, 3e38, -3e38), 3e38, True, False),
        ((3e38, 3e38, -3e38), 1e36, False, False),
        ((3e38, 3e38), np.inf, True, False),
        ((3e38, 3e38), -np.inf, False, False),
        ((3e38, 3e38), np.nan, False, False),
        ((1e38, 1e38, -1e38), np.nan, False, False),
        ((1e38, 1e38, -1e38), np.inf, False, False),
    ],
)
def test_sums_of_terms_that_overflow_are_named_and_not_compared(
    terms: tuple[float, ...], executed: float, agrees: bool, gap: bool
) -> None:
    x = np.array(terms, np.float32)
    found = compared("sum", {"axis": [0]}, x, change=lambda y: np.asarray(executed, np.float32))
    assert (not found.differences, found.compared) == (agrees, int(not gap))
    assert found.gaps == (("output: 1 positions where terms exceed the largest number of float32",) if gap else ())


def test_compares_the_parameters_that_the_operation_took() -> None:
    linear = ops.find("linear")
    assert linear is not None
    params = {"weight": normal(4, 3)}
    found = compare_values(linear(out=4), [normal(2, 3)], params, [normal(2, 4)], rng=np.random.default_rng(0))
    assert found.differences == (Difference("parameters", "bias 4, weight 4×3", "weight 4×3"),)


def test_infinities_and_nan_are_equal_to_themselves_and_rounding_may_overflow() -> None:
    x = np.array([[np.inf], [-np.inf], [np.nan], [65000]], np.float16)
    attrs = {"out": 1, "bias": False}
    assert not compared("linear", attrs, x, params={"weight": np.ones((1, 1), np.float16)}).differences
    assert not compared("linear", attrs, x, params={"weight": np.full((1, 1), 2, np.float16)}).differences
    swapped = compared("linear", attrs, x, params={"weight": np.ones((1, 1), np.float16)}, change=lambda y: -y)
    assert swapped.differences == (Difference("output", "inf", "-inf", (0, 0)),)


def test_samples_a_large_output_at_its_ends_and_within_the_work() -> None:
    visited: list[tuple[int, ...]] = []
    y = np.zeros((1000, 1000))

    def at(index: tuple[int, ...]) -> float:
        visited.append(index)
        return 0.0

    def run(expected: Expected, **limits: int) -> Comparison:
        options = {"positions": 32, "reads": 1 << 22} | limits
        return values._compare_output("output", expected, y, np.random.default_rng(0), *options.values())

    assert run(Expected(y.shape, "float64", at)) == Comparison((), 32, ())
    assert len(set(visited)) == 32
    assert {(0, 0), (999, 999)} <= set(visited)
    for axis in (0, 1):
        assert {0, 999} <= {index[axis] for index in visited if index not in [(0, 0), (999, 999)]}
    few = run(Expected(y.shape, "float64", at, 1000), reads=10_000)
    assert few == Comparison((), 10, ("output: 22 positions, each computed from 1000 elements",))
    none = run(Expected(y.shape, "float64", at, 1000), reads=100)
    assert none == Comparison((), 0, ("output: each value is computed from 1000 elements",))
    assert run(Expected(y.shape, "float64", None)) == Comparison((), 0, ("output: random values",))


def test_terms_that_cancel_are_rounded_relative_to_their_magnitude() -> None:
    expected = Expected((1,), "float32", lambda index: Value(0.0, 1e6))
    for executed, differs in ((0.5, False), (50.0, True)):
        found = values._compare_output(
            "output", expected, np.array([executed], np.float32), np.random.default_rng(0), 32, 1 << 22
        )
        assert bool(found.differences) == differs


def test_an_operation_without_a_reference_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(REFERENCES, "get", lambda name: None)
    assert compared("max_pool1d", {"kernel": 2}, normal(1, 2, 8)).gaps == ("max_pool1d has no reference",)


def test_references_see_the_attributes_and_not_the_rules() -> None:
    linear = ops.find("linear")
    assert linear is not None
    attributes = Attributes(linear(out=4), training=False, dtype="float32")
    assert (attributes.name, attributes.out, attributes.bias) == ("linear", 4, True)
    with pytest.raises(AttributeError, match="linear has no attribute 'infer'"):
        attributes.infer  # noqa: B018


def test_a_mean_by_weights_that_cancel_is_a_quotient() -> None:
    """−∞, as PyTorch 2.13 gives: a negative sum of weighted terms by a sum of weights of 0."""
    net = netcalc.loads(
        "netcalc: 1\ninputs: {x: [2], y: [2], w: {shape: [2], dtype: int64, range: [-1, 2]}}\n"
        "layers: [{mse_loss: {}, from: [x, y, w]}]\n"
    )
    arrays = {"x": np.float32([2, 1]), "y": np.float32([0, 0]), "w": np.array([-1, 1])}
    (loss,) = net.run(inputs=arrays).outputs.values()
    assert loss == -np.inf
    program = net.program
    (node,) = program.main.nodes
    compared = compare_values(node.op, tuple(arrays.values()), {}, (np.float32(-np.inf),), rng=np.random.default_rng(0))
    assert not compared.differences and compared.compared == 1
