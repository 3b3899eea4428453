"""Matrix products and Einstein summation: recorded results, work, errors, and symbolic sizes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from tests.ops.harness import execute, truth_case
from tests.ops.prediction import predict


def ones(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.ones(shape, dtype)


def test_einsum_equals_torch() -> None:
    case = truth_case("op_attn_embed", "einsum")
    case.check(execute("einsum", {"equation": "bhid,bhjd->bhij"}, *case.inputs).outputs)


@pytest.mark.parametrize(
    ("equation", "shapes", "work"),
    [
        # attention scores: every combination of b, h, i, j and d once
        ("bhid,bhjd->bhij", [(2, 3, 5, 4), (2, 3, 6, 4)], {"mac": 2 * 3 * 5 * 6 * 4}),
        # a product element by element has no sum in it, and an outer one neither
        ("ij,ij->ij", [(4, 5), (4, 5)], {"mul": 20}),
        ("i,j->ij", [(4,), (5,)], {"mul": 20}),
        # i is summed before the contraction over j: 7 rows make 6 additions for each of 5 columns
        ("ij,jk->k", [(7, 5), (5, 3)], {"add": 30, "mac": 15}),
        # from the left: (2×10)·(10×4) and then (2×4)·(4×3)
        ("ij,jk,kl->il", [(2, 10), (10, 4), (4, 3)], {"mac": 80 + 24}),
        # one operand: a transposition, a diagonal and a trace
        ("ij->ji", [(4, 5)], {}),
        ("ii->i", [(4, 4)], {}),
        ("ii", [(4, 4)], {"add": 3}),
        # an axis of size 1 has nothing to sum along
        ("ij,jk->ik", [(2, 1), (1, 3)], {"mul": 6}),
        ("...ij,...jk->...ik", [(6, 1, 2, 3), (5, 3, 4)], {"mac": 6 * 5 * 2 * 3 * 4}),
    ],
)
def test_work_of_einsum(equation: str, shapes: list[tuple[int, ...]], work: dict[str, int]) -> None:
    assert predict("einsum", {"equation": equation}, *shapes).work == work
    execute("einsum", {"equation": equation}, *(ones(*shape) for shape in shapes))


@settings(max_examples=60, deadline=None)
@given(
    left=st.lists(st.integers(1, 3), max_size=2),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)),
    dtype=st.sampled_from(["float16", "float32", "float64", "int32"]),
)
def test_matmul_is_the_einsum_of_its_axes(left: list[int], sizes: tuple[int, int, int], dtype: str) -> None:
    rows, inner, columns = sizes
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (*left, rows, inner)).astype(dtype)
    other = rng.integers(-3, 4, (inner, columns)).astype(dtype)
    (one,) = execute("matmul", {}, x, other).outputs
    (same,) = execute("einsum", {"equation": "...ij,jk"}, x, other).outputs
    np.testing.assert_array_equal(one, same)


def test_half_precision_accumulates_in_float32() -> None:
    """The sum of 4,096 ones and one 0.25 cannot be accumulated in bfloat16."""
    x = ones(1, 4096).astype(ml_dtypes.bfloat16)
    (y,) = execute("matmul", {}, x, x.T).outputs
    assert y.dtype == ml_dtypes.bfloat16
    assert float(y[0, 0]) == 4096


def test_symbolic_sizes_agree_with_integers() -> None:
    n, d = symbol("n", default=7), symbol("d", default=4)
    for name, attrs, shapes in [
        ("matmul", {}, [(2, "n", "d"), ("d", 3)]),
        ("matmul", {}, [("d",), ("n", "d", 3)]),
        ("einsum", {"equation": "bhid,bhjd->bhij"}, [(2, 3, "n", "d"), (2, 3, "n", "d")]),
        ("einsum", {"equation": "ij,jk,k"}, [("n", "d"), ("d", 5), (5,)]),
    ]:

        def at(values: dict[Any, Any], shapes: Any = shapes) -> list[tuple[Any, ...]]:
            return [tuple(values.get(size, size) for size in shape) for shape in shapes]

        symbolic = predict(name, attrs, *at({"n": n, "d": d}))
        for sizes in ({"n": 7, "d": 4}, {"n": 2, "d": 9}):
            found, numbers = symbolic.at(**sizes), predict(name, attrs, *at(dict(sizes)))
            assert (found.shapes, found.work) == (numbers.shapes, numbers.work)


@pytest.mark.parametrize(
    ("name", "attrs", "arrays", "message"),
    [
        ("matmul", {}, [ones(2, 3), ones(4, 5)], "the first input has 3 columns, and the second 4 rows"),
        ("matmul", {}, [ones(7, 2, 3), ones(6, 3, 4)], "axis 0 is 7 and 6"),
        ("matmul", {}, [ones(), ones(3)], "one is a scalar"),
        ("matmul", {}, [ones(3, dtype="bool"), ones(3, dtype="bool")], "an input is bool"),
        ("matmul", {}, [ones(3), ones(3, dtype="float64")], "these are float32 and float64"),
        ("einsum", {"equation": "ij,jk"}, [ones(2, 3)], "names 2 inputs, and there are 1"),
        ("einsum", {"equation": "ij"}, [ones(2)], "does not fit an input of 1 dimensions"),
        ("einsum", {"equation": "i,i"}, [ones(2), ones(3)], "'i' is 2 in one input and 3 in another"),
        ("einsum", {"equation": "ii"}, [ones(2, 3)], "'i' is twice in one input, as 2 and as 3"),
        ("einsum", {"equation": "i->j"}, [ones(2)], "'j' is in the output"),
        ("einsum", {"equation": "i->ii"}, [ones(2)], "more than once in the output"),
        ("einsum", {"equation": "i..->i"}, [ones(2)], "not letters with at most one ellipsis"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], arrays: list[np.ndarray], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        execute(name, attrs, *arrays)


def test_transposition_is_suggested_if_it_helps() -> None:
    with pytest.raises(RuleError) as caught:
        execute("matmul", {}, ones(2, 3), ones(4, 3))
    assert caught.value.hint == "transpose the last two axes of the second input"
