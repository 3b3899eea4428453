"""Look-up and replacement at positions that tensors hold: named sizes, work, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, symbol
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute

n, h, w = symbol("n", default=2), symbol("h", default=8), symbol("w", default=6)


def ids(*shape: Dim) -> TensorType:
    return TensorType(shape, "int64")


@pytest.mark.parametrize(
    ("axis", "indices", "result"),
    [
        (0, [(w,)], (w, h, w, 3)),
        (1, [(w, 4)], (n, w, 4, w, 3)),
        ([1, 2], [(4, 1), (w,)], (n, 4, w, 3)),
        ([0, 2], [(w,), (w,)], (w, h, 3)),
        ([2, 1], [(), (5,)], (n, 5, 3)),
        ([-1, 0], [(1,), (n,)], (n, h, w)),
    ],
)
def test_positions_take_the_place_of_the_axes(axis: Any, indices: list[Any], result: tuple[Dim, ...]) -> None:
    declared = ops.every()["index"]
    x = TensorType((n, h, w, 3))
    assert declared(axis=axis).infer(Context(), x, *(ids(*shape) for shape in indices)) == TensorType(result)


def work(name: str, attrs: dict[str, Any], *arrays: np.ndarray) -> dict[str, int]:
    """Run an operation, which compares the work that is done with the terms, and return the terms."""
    execute(name, attrs, *arrays)
    op = ops.every()[name](**attrs)
    types = [TensorType(array.shape, str(array.dtype)) for array in arrays]  # type: ignore[arg-type]
    return {term.kind: int(term.count) for term in op.cost(Context(), types, [types[0]])}


def test_only_combinations_are_work() -> None:
    put = np.zeros((2, 4), np.float32), np.ones((1, 4), np.float32), np.array([1, 1, -1])
    assert work("index_put", {"axis": 0}, *put) == {}
    assert work("index_put", {"axis": 0, "accumulate": True}, *put) == {"add": 12}  # 3 rows of 4 elements
    scattered = np.ones((3, 2)), np.zeros((4, 2), int), np.ones((4, 2))
    assert work("scatter", {"axis": 0}, *scattered) == {}
    for reduce, kind in (("sum", "add"), ("prod", "mul"), ("amax", "compare"), ("amin", "compare")):
        assert work("scatter", {"axis": 0, "reduce": reduce}, *scattered) == {kind: 8}


def test_values_of_one_axis_are_added_at_each_place() -> None:
    x, values, places = np.zeros(2, np.float32), np.array([1, 10], np.float32), np.array([[0, 1], [0, 0]])
    executed = execute("index_put", {"axis": 0, "accumulate": True}, x, values, places)
    assert executed.outputs[0].tolist() == [12, 10]


@pytest.mark.parametrize(
    ("name", "attrs", "types", "message"),
    [
        ("index", {"axis": [0, 1]}, [TensorType((2, 3)), ids(2)], "an index for each axis: 1 for 2 axes"),
        ("index", {"axis": 0}, [TensorType((2, 3)), TensorType((2,))], "takes an index of int64 or int32"),
        ("index", {"axis": [0, 1]}, [TensorType((2, 3)), ids(2), ids(3)], "cannot broadcast"),
        ("index_put", {"axis": 0}, [TensorType((4, 3)), TensorType((3, 3)), ids(2)], "values of 3×3 for 2×3 elements"),
        ("index_put", {"axis": 0}, [TensorType((4,)), ids(2), ids(2)], "the values are int64"),
        ("scatter", {"axis": 0}, [TensorType((4, 3)), ids(2), TensorType((2,))], "as many dimensions"),
        ("scatter", {"axis": 0}, [TensorType((4, 3)), ids(2, 3), TensorType((2, 2))], "for each element of its source"),
        ("scatter", {"axis": 0}, [TensorType((4, 3)), ids(2, 4), TensorType((2, 4))], "is longer than 4×3 in axis 1"),
        ("masked_scatter", {}, [TensorType((4,)), ids(4), TensorType((4,))], "takes a bool mask"),
    ],
)
def test_refusals(name: str, attrs: dict[str, Any], types: list[TensorType], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        ops.every()[name](**attrs).infer(Context(), *types)


def test_positions_out_of_range_end_a_run() -> None:
    x = np.zeros((2, 3))
    for index in (2, -3):
        with pytest.raises(RuleError, match=f"index {index} is out of range for an axis of 2"):
            execute("index", {"axis": 0}, x, np.array([0, index]))
    with pytest.raises(RuleError, match="index -1 is out of range"):
        execute("scatter", {"axis": 0}, x, np.array([[0, -1]]), np.zeros((1, 2)))
    with pytest.raises(RuleError, match="3 elements to replace, and the source has 2"):
        execute("masked_scatter", {}, np.zeros(3), np.ones(3, bool), np.zeros(2))
