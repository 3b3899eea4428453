"""Joining, splitting, selecting and padding: recorded torch results, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, UndecidedError, assumptions, symbol
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict

n, h, w = symbol("n", default=2), symbol("h", default=8), symbol("w", default=6)


def test_pad_equals_torch() -> None:
    case = truth_case("op_attn_embed", "pad_reflect")  # F.pad(x, (1, 2, 3, 0), mode="reflect")
    case.check(execute("pad", {"padding": [[3, 0], [1, 2]], "mode": "reflect"}, *case.inputs).outputs)


@pytest.mark.parametrize(
    ("name", "attrs", "shapes", "results"),
    [
        ("concat", {}, [(n, 64, h, w), (n, 32, h, w)], [(n, 96, h, w)]),
        ("concat", {"axis": -1}, [(n, h), (n, w), (n, 1)], [(n, h + w + 1)]),
        ("stack", {}, [(n, h), (n, h)], [(n, 2, h)]),
        ("split", {"sizes": [h, w], "axis": -1}, [(n, h + w)], [(n, h), (n, w)]),
        ("split", {"sizes": w, "axis": 0}, [(3 * w, n)], [(w, n)] * 3),
        ("chunk", {"chunks": 2, "axis": -1}, [(n, 2 * h)], [(n, h), (n, h)]),
        ("slice", {"axis": 1, "start": 1}, [(n, h + 1, 3)], [(n, h, 3)]),
        ("slice", {"axis": 1, "stop": -1}, [(n, h + 1, 3)], [(n, h, 3)]),
        ("slice", {"axis": [1, 2], "step": 2}, [(n, h, 2 * w)], [(n, (h + 1) // 2, w)]),
        ("slice", {"axis": 0, "start": h, "stop": 2 * h}, [(4 * h, 3)], [(h, 3)]),
        ("select", {"axis": 1, "index": 0}, [(n, h, 3)], [(n, 3)]),
        ("index_select", {"axis": 1, "indices": [0, 0, -1]}, [(n, h)], [(n, 3)]),
        ("pad", {"padding": [[1, 2]]}, [(n, h)], [(n, h + 3)]),
        ("pad", {"padding": [1, [0, w]]}, [(n, h, w)], [(n, h + 2, 2 * w)]),
        ("pad", {"padding": [[0, 64]], "axis": 1}, [(n, 64, h, w)], [(n, 128, h, w)]),
        ("roll", {"shifts": [-3, -3], "axis": [1, 2]}, [(n, h, w)], [(n, h, w)]),
        ("flip", {"axis": 1}, [(n, h)], [(n, h)]),
    ],
)
def test_named_sizes_stay_symbolic(
    name: str, attrs: dict[str, Any], shapes: list[tuple[Dim, ...]], results: list[tuple[Dim, ...]]
) -> None:
    found = predict(name, attrs, *shapes)
    assert found.shapes == results
    assert found.work == {}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        [
            ("split", {"sizes": [3, 1]}),
            ("split", {"sizes": 3}),
            ("chunk", {"chunks": 3}),
            ("slice", {"axis": [0, -1], "start": [0, -3], "stop": [None, -1], "step": [2, 1]}),
            ("slice", {"axis": -1, "start": 1, "stop": 100, "step": 3}),
            ("select", {"axis": -1, "index": -2}),
            ("index_select", {"axis": 2, "indices": [2, 0, 2]}),
            ("roll", {"shifts": 5}),
            ("flip", {"axis": [0, 1]}),
            ("pad", {"padding": [[2, -1], 1], "mode": "reflect"}),
            ("pad", {"padding": [[2, -1], 1], "mode": "circular"}),
            ("pad", {"padding": [[7, 0], 5], "mode": "replicate", "axis": [2, 0]}),
            ("pad", {"padding": [-1, [0, 3]], "value": 2.5}),
        ]
    ),
    st.lists(st.integers(3, 5), min_size=3, max_size=3),
    st.integers(0, 3),
)
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any]], sizes: list[int], grown: int) -> None:
    name, attrs = drawn
    shape = (sizes[0], 4, *sizes[1:])
    execute(name, attrs, np.random.default_rng(0).normal(size=shape).astype("float32"))
    agrees_symbolically(name, attrs, shape, grown)


def test_a_decision_by_the_default_is_an_assumption() -> None:
    with assumptions() as notes:
        (size,) = predict("slice", {"axis": 0, "start": 3, "stop": 5}, (h,)).shapes[0]
    assert str(size) == "min(5, h) - 3"
    assert [str(note) for note in notes] == ["h >= 3"]


def test_padding_with_minus_infinity_and_integers() -> None:
    x = np.ones((1, 2), "float32")
    assert execute("pad", {"padding": [[1, 0]], "value": float("-inf")}, x).outputs[0][0, 0] == -np.inf
    assert execute("pad", {"padding": [1], "value": 7}, x.astype("int64")).outputs[0].tolist() == [[7, 1, 1, 7]]


@pytest.mark.parametrize("dtype", ["float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_preserves_the_element_type(mode: str, dtype: str) -> None:
    execute("pad", {"padding": [1, [2, 1]], "mode": mode}, np.ones((3, 4), dtype))


def test_concat_inverts_split() -> None:
    x = np.random.default_rng(0).normal(size=(2, 7, 3)).astype("float32")
    pieces = execute("split", {"sizes": [2, 4, 1]}, x).outputs
    np.testing.assert_array_equal(execute("concat", {}, *pieces).outputs[0], x)


@pytest.mark.parametrize(
    ("name", "attrs", "shapes", "message"),
    [
        ("concat", {}, [(1, 64, 56, 56), (1, 128, 28, 28)], "differ in axis 2: 1×64×56×56, 1×128×28×28"),
        ("concat", {}, [(1, 64), (1, 64, 1)], "the same number of dimensions, and these differ: 1×64, 1×64×1"),
        ("concat", {}, [(n, 3, h), (n, 3, w)], "differ in axis 2: n×3×h, n×3×w"),
        ("stack", {}, [(1, 64), (1, 65)], "inputs of one shape, and these differ: 1×64, 1×65"),
        ("split", {"sizes": [1, 3]}, [(2, 5)], "the sizes 1, 3 add up to 4, and the axis has 5"),
        ("slice", {"axis": 1, "start": 5, "stop": 3}, [(2, 9)], "from 5 to 3 of axis 1 of 2×9 ends before it starts"),
        ("slice", {"axis": 1, "start": 10}, [(2, 9)], "index 10 is past the end of axis 1 of 2×9"),
        ("slice", {"axis": [0, 1], "start": [1, 2, 3]}, [(2, 9)], "3 values of start for 2 axes"),
        ("slice", {"axis": [1, -1]}, [(2, 9)], "axis 1 is listed twice"),
        ("select", {"axis": 1, "index": 9}, [(2, 9)], "index 9 is out of range along axis 1 of 2×9"),
        ("select", {"axis": 1, "index": -10}, [(2, 9)], "index -10 is out of range along axis 1 of 2×9"),
        ("index_select", {"axis": 1, "indices": [0, 9]}, [(2, 9)], "index 9 is out of range"),
        ("index_select", {"axis": 1, "indices": []}, [(2, 9)], "empty list of indices"),
        ("index_select", {"axis": 1}, [(2, 9)], "either indices or the input index, and has neither"),
        ("roll", {"shifts": [1, 2], "axis": [1]}, [(2, 9)], "2 shifts for 1 axes"),
        ("pad", {"padding": [1, 1, 1]}, [(2, 9)], "3 entries of padding for a tensor of 2 dimensions"),
        ("pad", {"padding": [1, 1], "axis": 0}, [(2, 9)], "2 entries of padding for 1 axes"),
        ("pad", {"padding": [[-5, -4]]}, [(2, 9)], "removes all of axis 1 of 2×9"),
        ("pad", {"padding": [[-10, 5]]}, [(2, 9)], "removes more than the 9 elements of axis 1"),
        ("pad", {"padding": [[0, 9]], "mode": "reflect"}, [(2, 9)], "reflect can add at most 8 along axis 1 of 9"),
        ("pad", {"padding": [[-2, 8]], "mode": "circular"}, [(2, 9)], "circular can add at most 7 along axis 1"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], shapes: list[tuple[Dim, ...]], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        predict(name, attrs, *shapes)
    assert message in caught.value.message


@pytest.mark.parametrize(("name", "attrs"), [("split", {"sizes": 3}), ("chunk", {"chunks": 3})])
def test_the_number_of_pieces_must_be_known(name: str, attrs: dict[str, Any]) -> None:
    with pytest.raises(UndecidedError, match="number of pieces"):
        predict(name, attrs, (n, h))


@pytest.mark.parametrize("name", ["gather", "index_select"])
def test_an_index_of_the_wrong_type_is_an_error(name: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError, match="index of int64 or int32, and this one is float32") as caught:
        declared(axis=0).infer(Context(), TensorType((3,)), TensorType((2,)))
    assert caught.value.code == "E402"


@pytest.mark.parametrize("place", [-1, 3])
@pytest.mark.parametrize("name", ["gather", "index_select"])
def test_indices_out_of_range_are_errors(name: str, place: int) -> None:
    with pytest.raises(RuleError, match=f"index {place} is out of range for an axis of 3") as caught:
        execute(name, {"axis": 0}, np.ones(3, "float32"), np.array([0, place]))
    assert caught.value.code == "E602"


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("pad", {"padding": 1}, "a list with an entry for each axis"),
        ("pad", {"padding": [[1, 2, 3]]}, "a number or \\[before, after\\]"),
        ("slice", {"axis": 0, "step": -1}, "at least 1"),
        ("split", {"sizes": [2, 0]}, "at least 1"),
        ("chunk", {"chunks": 0}, "greater than or equal to 1"),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any], message: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError, match=message):
        declared(**attrs)
