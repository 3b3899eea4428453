"""Matrix products and Einstein summation with random shapes, against torch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

dtypes = st.sampled_from(["float32", "float32", "float64", "int64", "int32", "bool"])


def some(shape: list[int], dtype: str, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).normal(0, 2, shape)).astype(dtype)


@draws
@given(
    left=st.lists(st.integers(1, 3), max_size=2),
    right=st.lists(st.sampled_from([1, 1, 2, 3]), max_size=2),
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    ranks=st.tuples(st.sampled_from([0, 1, 2, 2, 2, 2]), st.sampled_from([0, 1, 2, 2, 2, 2])),
    odd=st.sampled_from([0, 0, 0, 1]),
    types=st.tuples(dtypes, dtypes, st.booleans()),
)
def test_matmul(
    left: list[int],
    right: list[int],
    sizes: tuple[int, int, int],
    ranks: tuple[int, int],
    odd: int,
    types: tuple[str, str, bool],
) -> None:
    rows, inner, columns = sizes
    x = {0: [], 1: [inner], 2: [*left, rows, inner]}[ranks[0]]
    other = {0: [], 1: [inner + odd], 2: [*right, inner + odd, columns]}[ranks[1]]
    one, two, mixed = types
    agree("matmul", {}, [some(x, one), some(other, two if mixed else one, 1)], lambda w, a, b: torch.matmul(a, b))


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[list[int]]]:
    """Draw an equation and input shapes, with repeated letters, ellipses, sizes of 1 and errors."""
    sizes = {letter: draw(st.integers(1, 3)) for letter in "abcdE"}
    hidden = draw(st.lists(st.integers(1, 3), max_size=2))
    parts, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.lists(st.sampled_from("aabbccdE"), max_size=3))
        single = {letter: draw(st.sampled_from([False] * 5 + [True])) for letter in set(letters)}
        shape = [1 if single[letter] else sizes[letter] for letter in letters]
        at = draw(st.integers(0, len(letters)))
        if draw(st.booleans()):
            own = [draw(st.sampled_from([n, n, 1])) for n in hidden[draw(st.integers(0, len(hidden))) :]]
            letters.insert(at, "...")
            shape[at:at] = own
        parts.append("".join(letters))
        shapes.append(shape)
    text = ",".join(parts)
    if draw(st.booleans()):
        there = sorted(set(text) & set(sizes))
        output = draw(st.permutations(there).map(lambda p: list(p[: len(p) // 2 + 1])))
        output += draw(st.sampled_from([[]] * 12 + [["a"], ["Z"]]))
        if draw(st.sampled_from([True, True, True, False])):
            output.insert(draw(st.integers(0, len(output))), "...")
        text += " -> " + "".join(output)
    return text, shapes


@draws
@given(drawn=equations(), dtype=st.sampled_from(["float32", "float64", "int64"]))
def test_einsum(drawn: tuple[str, list[list[int]]], dtype: str) -> None:
    equation, shapes = drawn
    arrays: list[np.ndarray | None] = [some(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    agree("einsum", {"equation": equation}, arrays, lambda w, *xs: torch.einsum(equation, *xs))


@pytest.mark.parametrize(
    "equation", ["ij,jk,kl->il", "..i->i", "i.->i", "i1->i", "i->j", "ij->ii", "ij,j->i->", "", "i"]
)
def test_einsum_on_two_matrices(equation: str) -> None:
    arrays: list[np.ndarray | None] = [some([2, 2], "float32"), some([2, 2], "float32", 1)]
    agree("einsum", {"equation": equation}, arrays, lambda w, *xs: torch.einsum(equation, *xs))
