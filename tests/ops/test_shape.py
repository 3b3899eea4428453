"""Reshaping, permuting and repeating: named sizes, explanations, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, assumptions, symbol
from netcalc.models import ValidationError
from tests.ops.harness import execute
from tests.ops.prediction import agrees_symbolically, predict

n, h, w = symbol("n", default=2), symbol("h", default=8), symbol("w", default=6)


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "result"),
    [
        ("reshape", {"shape": [n, -1]}, (n, 3, h, w), (n, 3 * h * w)),
        ("reshape", {"shape": [n, h * w, 3]}, (n, 3, h, w), (n, h * w, 3)),
        ("reshape", {"shape": [n, -1, 4, 16]}, (n, h * w + 1, 64), (n, h * w + 1, 4, 16)),
        ("reshape", {"shape": [n * (h + 1), -1]}, (n, h + 1, 12), (n * (h + 1), 12)),
        ("flatten", {}, (n, 3, h, w), (n, 3 * h * w)),
        ("flatten", {"start_axis": 0, "end_axis": 1}, (n, h, 3), (n * h, 3)),
        ("unflatten", {"axis": -1, "sizes": [4, -1]}, (n, h, 4 * w), (n, h, 4, w)),
        ("unflatten", {"axis": 1, "sizes": [h, w]}, (n, h * w, 3), (n, h, w, 3)),
        ("permute", {"axes": [0, 2, 3, 1]}, (n, 3, h, w), (n, h, w, 3)),
        ("transpose", {"axes": [1, 2]}, (n, h, w), (n, w, h)),
        ("squeeze", {}, (n, 1, h, 1), (n, h)),
        ("squeeze", {"axis": [1, 2]}, (n, 1, h, 1), (n, h, 1)),
        ("unsqueeze", {"axis": -1}, (n, h), (n, h, 1)),
        ("expand", {"shape": [n, -1, -1]}, (1, 1, 768), (n, 1, 768)),
        ("expand", {"shape": [h, -1, 4]}, (n, 1), (h, n, 4)),
        ("tile", {"repeats": [h, 1]}, (3, w), (3 * h, w)),
        ("repeat_interleave", {"repeats": 3, "axis": 1}, (n, h), (n, 3 * h)),
        ("repeat_interleave", {"repeats": h}, (n, 3), (3 * n * h,)),
    ],
)
def test_named_sizes_stay_symbolic(
    name: str, attrs: dict[str, Any], shape: tuple[Dim, ...], result: tuple[Dim, ...]
) -> None:
    (found,) = predict(name, attrs, shape).shapes
    assert [str(size) for size in found] == [str(size) for size in result]
    assert found == result


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(
        [
            ("reshape", {"shape": [2, -1]}),
            ("flatten", {"start_axis": 1, "end_axis": -2}),
            ("permute", {"axes": [3, 0, 2, 1]}),
            ("transpose", {"axes": [0, -1]}),
            ("unsqueeze", {"axis": 2}),
            ("squeeze", {"axis": 1}),
            ("expand", {"shape": [3, -1, -1, -1, -1]}),
            ("tile", {"repeats": [2, 1, 3]}),
            ("repeat_interleave", {"repeats": 2, "axis": -2}),
            ("repeat_interleave", {"repeats": 2}),
        ]
    ),
    st.lists(st.integers(2, 4), min_size=3, max_size=3),
    st.integers(0, 3),
)
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any]], sizes: list[int], grown: int) -> None:
    name, attrs = drawn
    shape = (sizes[0], 4, *sizes[1:])
    execute(name, attrs, np.random.default_rng(0).normal(size=shape).astype("float32"))
    agrees_symbolically(name, attrs, shape, grown)


def test_a_named_size_of_one_is_squeezed_on_an_assumption() -> None:
    one = symbol("batch", default=1)
    with assumptions() as notes:
        assert predict("squeeze", {"axis": 0}, (one, 3)).shapes == [(3,)]
        assert predict("squeeze", {"axis": 0}, (n, 3)).shapes == [(n, 3)]
    assert [str(note) for note in notes] == ["batch <= 1", "n > 1"]


def test_scalars() -> None:
    scalar = np.asarray(3.0, "float32")
    (vector,) = execute("reshape", {"shape": [1]}, scalar).outputs
    assert execute("reshape", {"shape": []}, vector).outputs[0] == scalar
    assert execute("expand", {"shape": [2, 3]}, scalar).outputs[0].shape == (2, 3)
    assert execute("squeeze", {}, vector).outputs[0].shape == ()


def test_data_movement_is_no_work() -> None:
    assert predict("permute", {"axes": [1, 0]}, (n, h)).work == {}


def test_the_working_is_shown() -> None:
    (step,) = predict("flatten", {}, (1, 512, 7, 7)).steps
    assert (step.formula, step.substituted, step.value) == ("d1·d2·d3", "512·7·7", 25_088)
    (step,) = predict("reshape", {"shape": [4, -1]}, (2, 6)).steps
    assert (step.substituted, step.value) == ("⌊12/4⌋", 3)


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "message"),
    [
        ("reshape", {"shape": [2, 5]}, (3, 4), "cannot make 2×5, of 10 elements, from 3×4, of 12"),
        ("reshape", {"shape": [5, -1]}, (3, 4), "cannot make 5×? from 3×4: 12 elements are not divisible by 5"),
        ("reshape", {"shape": [n, 49]}, (n, h, w), "of 49*n elements, from n×h×w, of h*n*w"),
        ("reshape", {"shape": [n, 4, -1]}, (n, 6, symbol("h", default=5)), "6*h*n elements are not divisible by 4*n"),
        ("flatten", {}, (3,), "no axis 1 in a tensor of 1 dimensions"),
        ("flatten", {"start_axis": 2, "end_axis": 1}, (1, 2, 3), "start axis 2 comes after the end axis 1"),
        ("unflatten", {"axis": 1, "sizes": [3, 5]}, (2, 12), "3×5, of 15 elements, from axis 1 of 2×12, of 12"),
        ("permute", {"axes": [0, 2]}, (1, 2, 3), "lists 2 of the 3 axes of 1×2×3"),
        ("permute", {"axes": [0, 1, -2]}, (1, 2, 3), "axis 1 is listed twice"),
        ("expand", {"shape": [3, 4]}, (2, 4), "axis 0 of 2×4 is 2, not 3"),
        ("expand", {"shape": [-1, 2, 4]}, (2, 4), "axis 0 is new"),
        ("expand", {"shape": [4]}, (2, 4), "the input has more"),
        ("repeat_interleave", {"repeats": [1, 2], "axis": 1}, (2, 3), "2 numbers of repetitions for axis 1 of 2×3"),
        ("repeat_interleave", {"repeats": 0, "axis": 1}, (2, 3), "the result is empty"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], shape: tuple[Dim, ...], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        predict(name, attrs, shape)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("reshape", {"shape": [-1, 2, -1]}, "at most one size open"),
        ("reshape", {"shape": [-2, 2]}, "at least 0"),
        ("reshape", {"shape": [2.0]}, "whole number"),
        ("reshape", {"shape": [-1.0]}, "whole number"),
        ("unflatten", {"axis": 0, "sizes": []}, "at least 1 item"),
        ("transpose", {"axes": [0, 1, 2]}, "should be two axes"),
        ("permute", {"axes": [True, False]}, "valid integer"),
        ("tile", {"repeats": [0]}, "at least 1"),
        ("repeat_interleave", {"repeats": []}, "at least 1 item"),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any], message: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError, match=message):
        declared(**attrs)
