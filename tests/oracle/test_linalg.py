"""Inverses, determinants and systems of linear equations against torch.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

BATCHES = st.sampled_from([(), (1,), (2,), (2, 3)])


def matrices(seed: int, *shape: int) -> np.ndarray:
    """Return matrices that are far from singular ones."""
    drawn = np.random.default_rng(seed).normal(size=shape) / shape[-1]
    return (drawn + 2 * np.eye(*shape[-2:])).astype(np.float32)


def sides(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed + 100).normal(size=shape).astype(np.float32)


@draws
@given(batch=BATCHES, n=st.integers(1, 6), seed=st.integers(0, 9), name=st.sampled_from(["inv", "det", "slogdet"]))
def test_functions_of_matrices(batch: tuple[int, ...], n: int, seed: int, name: str) -> None:
    agree(name, {}, [matrices(seed, *batch, n, n)], lambda w, x: getattr(torch.linalg, name)(x))


@draws
@given(batch=BATCHES, n=st.integers(1, 6), seed=st.integers(0, 9), upper=st.booleans())
def test_cholesky(batch: tuple[int, ...], n: int, seed: int, upper: bool) -> None:
    x = matrices(seed, *batch, n, n)
    x = x @ x.swapaxes(-1, -2)
    agree("cholesky", {"upper": upper}, [x], lambda w, x: torch.linalg.cholesky(x, upper=upper))


@draws
@given(batch=BATCHES, other=BATCHES, n=st.integers(1, 4), columns=st.integers(0, 3), seed=st.integers(0, 9))
def test_solve(batch: tuple[int, ...], other: tuple[int, ...], n: int, columns: int, seed: int) -> None:
    b = sides(seed, *other, n, columns) if columns else sides(seed, *other, n)
    agree("solve", {}, [matrices(seed, *batch, n, n), b], lambda w, x, y: torch.linalg.solve(x, y))


@draws
@given(
    batch=BATCHES,
    other=BATCHES,
    n=st.integers(1, 20),
    attrs=st.fixed_dictionaries({"upper": st.booleans(), "unitriangular": st.booleans()}),
    seed=st.integers(0, 9),
)
def test_solve_triangular(
    batch: tuple[int, ...], other: tuple[int, ...], n: int, attrs: dict[str, Any], seed: int
) -> None:
    x, b = matrices(seed, *batch, n, n), sides(seed, *other, n, 2)
    agree("solve_triangular", attrs, [x, b], lambda w, x, y: torch.linalg.solve_triangular(x, y, **attrs))
