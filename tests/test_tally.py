"""Tallied arrays against work counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netcalc.numerics.tally import Tallied, note, tallied, tallying


def array(*shape: int) -> Any:
    return tallied(np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape))


def out_of_place() -> Any:
    result = np.zeros((2, 3), np.float32)
    return np.add(array(2, 3), 1, out=result)


def in_place() -> Any:
    x = array(2, 3)
    x *= 2
    return x


def in_place_on_a_plain_array() -> Any:
    x = np.zeros((2, 3), np.float32)
    x += array(3)
    return x


def at_indices() -> Any:
    x = array(5)
    np.add.at(x, [0, 0, 4], 1)
    return x


MASK = np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    ("work", "counted"),
    [
        # calls: one for each element of the result, broadcasting included
        (lambda: array(2, 3) + 1, {"add": 6}),
        (lambda: array(2, 1) - array(3), {"add": 6}),
        (lambda: -array(2, 3), {"add": 6}),
        (lambda: array(4) * array(4), {"mul": 4}),
        (lambda: array(4) / 2, {"div": 4}),
        (lambda: array(4) ** 2.5, {"transcendental": 4}),
        (lambda: np.exp(array(2, 2)), {"transcendental": 4}),
        (lambda: np.maximum(array(3), 0), {"compare": 3}),
        (lambda: array(3) > 1, {"compare": 3}),
        (lambda: np.abs(array(3)), {"compare": 3}),
        (lambda: 1 / (1 + np.exp(-array(2))), {"add": 4, "transcendental": 2, "div": 2}),
        (lambda: np.add(array(2, 3), 1, where=MASK, out=np.zeros((2, 3), np.float32)), {"add": 3}),
        (out_of_place, {"add": 6}),
        (in_place, {"mul": 6}),
        (in_place_on_a_plain_array, {"add": 6}),
        # reductions: n numbers take n − 1 applications
        (lambda: np.add.reduce(array(2, 3), axis=1), {"add": 4}),
        (lambda: np.add.reduce(array(2, 3), axis=0), {"add": 3}),
        (lambda: np.add.reduce(array(2, 3), axis=None), {"add": 5}),
        (lambda: np.add.reduce(array(2, 3, 4), axis=(0, 2), keepdims=True), {"add": 21}),
        (lambda: array(2, 3).sum(axis=1), {"add": 4}),
        (lambda: array(2, 3).mean(), {"add": 5, "div": 1}),
        (lambda: np.maximum.reduce(array(1, 5), axis=0), {}),
        (lambda: np.add.reduce(array(1, 3), axis=1, where=np.array([[True, False, True]])), {"add": 1}),
        (lambda: np.multiply.reduce(array(5)), {"mul": 4}),
        # the others
        (lambda: np.add.accumulate(array(2, 5), axis=1), {"add": 8}),
        (lambda: np.add.accumulate(array(2, 5)), {"add": 5}),
        (lambda: np.add.reduceat(array(2, 6), [0, 1, 4], axis=1), {"add": 6}),
        (lambda: np.multiply.outer(array(3), array(4)), {"mul": 12}),
        (at_indices, {"add": 3}),
        # matrix products: rows × inner × columns, and no additions besides
        (lambda: array(2, 3) @ array(3, 4), {"mac": 24}),
        (lambda: np.matmul(array(5, 2, 3), array(3, 4)), {"mac": 120}),
        (lambda: array(3) @ array(3), {"mac": 3}),
        (lambda: array(3) @ array(3, 2), {"mac": 6}),
        (lambda: np.ones((2, 3), np.float32) @ array(3), {"mac": 6}),
        # moving and testing data is no work
        (lambda: array(2, 3).T.reshape(6)[::2].astype(np.float64), {}),
        (lambda: np.isfinite(array(3)), {}),
        (lambda: np.where(MASK, array(2, 3), 0), {}),
        (lambda: np.concatenate([array(2), array(2)]), {}),
        (lambda: np.asarray(array(3)) + 1, {}),
    ],
)
def test_counts(work: Callable[[], Any], counted: dict[str, int]) -> None:
    with tallying() as tally:
        work()
    assert dict(tally) == counted


def test_values_are_those_of_numpy() -> None:
    np.testing.assert_array_equal(out_of_place(), np.arange(2, 8, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(in_place(), np.arange(2, 14, 2, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(at_indices(), [3, 2, 3, 4, 6])


def test_results_continue_counting() -> None:
    assert isinstance(array(3) + 1, Tallied)
    assert isinstance(np.add.reduce(array(3)), Tallied)
    assert isinstance(array(2, 3)[0].T, Tallied)
    with tallying() as tally:
        np.sqrt(np.add.reduce(array(3)))
    assert dict(tally) == {"add": 2, "transcendental": 1}


def test_an_unknown_ufunc_raises() -> None:
    with tallying(), pytest.raises(NotImplementedError, match="'nextafter'"):
        np.nextafter(array(3), 1)


def test_notes_and_nesting() -> None:
    note("compare", 7)  # nothing is tallied, so nothing is noted
    with tallying() as outer:
        note("compare", 7)
        with tallying() as inner:
            _ = array(3) + 1
        note("compare", 0)
    assert dict(outer) == {"compare": 7}
    assert dict(inner) == {"add": 3}
