"""Products of matrix multiplication and Einstein summation against central differences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.ops.matmul import Matmul
from tests.ops.backward import BackwardPass, away, central_differences

sizes = st.integers(1, 3)


@settings(max_examples=30, deadline=None)
@given(
    batch=st.lists(sizes, max_size=2), left=st.integers(0, 4), right=st.integers(0, 4), matrix=st.tuples(sizes, sizes)
)
def test_matmul(batch: list[int], left: int, right: int, matrix: tuple[int, int]) -> None:
    """0 is a vector; n > 0 a matrix with the last n − 1 batch axes, those at odd places of size 1."""
    rows, columns = matrix

    def operand(rank: int, shape: tuple[int, ...], single: int) -> np.ndarray:
        own = [1 if axis % 2 == single else size for axis, size in enumerate(batch)]
        return away(*own[max(len(own) - rank + 1, 0) :], *shape, seed=single)

    x = operand(left, (rows, 3), 0) if left else away(3)
    other = operand(right, (3, columns), 1) if right else away(3, seed=1)
    central_differences("matmul", {}, [x, other])


@pytest.mark.parametrize(
    ("left", "right", "macs"),
    [
        # what PyTorch runs as mm and bmm is matrix products, for both operands
        ((4, 5), (5, 6), 2 * 4 * 5 * 6),
        ((5,), (5, 6), 2 * 5 * 6),
        ((2, 3, 4, 5), (5, 6), 2 * 6 * 4 * 5 * 6),
        ((2, 4, 5), (2, 5, 6), 2 * 2 * 4 * 5 * 6),
        ((4, 5), (2, 5, 6), 2 * 2 * 4 * 5 * 6),
        ((3, 1, 4, 5), (2, 5, 6), 2 * 6 * 4 * 5 * 6),
        # ger, mv and dot are not
        ((5,), (5,), 0),
        ((4, 5), (5,), 0),
        ((2, 4, 5), (5,), 0),
        ((5,), (2, 5, 6), 0),
    ],
)
def test_matrix_products(left: tuple[int, ...], right: tuple[int, ...], macs: int) -> None:
    passed = BackwardPass(Matmul(), [away(*left), away(*right, seed=1)], {})
    passed.check()
    work: Counter[str] = Counter()
    for term in passed.declared.cost(passed.op, passed.call):
        work[term.kind] += int(term.count)
    assert work["mac"] == macs


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bhid,bhjd->bhij", [(2, 2, 3, 2), (2, 2, 1, 2)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("i,j->ji", [(2,), (3,)]),
        ("ij,jk->k", [(2, 3), (3, 2)]),
        ("ij,jk,kl,l->il", [(2, 3), (3, 2), (2, 4), (4,)]),
        ("...i,ij->...j", [(2, 3, 2), (2, 3)]),
        ("...i,...i", [(2, 1, 3), (4, 3)]),
        ("iij,kk->jk", [(2, 2, 3), (3, 3)]),
        ("iii->", [(3, 3, 3)]),
        ("ij->", [(2, 3)]),
        ("ij,ij,ij", [(2, 3), (1, 3), (2, 1)]),
        ("ab,cd,ad,cb->", [(2, 3), (2, 2), (2, 2), (2, 3)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [away(*shape, seed=n, spread=1.0) for n, shape in enumerate(shapes)]
    central_differences("einsum", {"equation": equation}, arrays)
