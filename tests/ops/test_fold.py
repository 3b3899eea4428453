"""Unfold and fold: recorded torch results, inversion, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from tests.ops.harness import execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict


def test_unfold_equals_torch() -> None:
    case = truth_case("op_attn_embed", "unfold")
    attrs = {"kernel": [3, 2], "padding": [1, 0], "stride": [2, 1]}
    case.check(execute("unfold", attrs, *case.inputs).outputs)


def test_patches_fold_back_into_the_image() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 8)).astype("float32")
    attrs = {"kernel": [3, 2], "stride": [3, 2]}
    (columns,) = execute("unfold", attrs, x).outputs
    (image,) = execute("fold", attrs | {"output_size": [6, 8]}, columns).outputs
    np.testing.assert_array_equal(image, x)


@st.composite
def windows(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[int, ...]]:
    pair = st.lists(st.integers(1, 3), min_size=2, max_size=2)
    attrs = {name: draw(pair) for name in ("kernel", "stride", "dilation")}
    attrs["padding"] = draw(st.lists(st.integers(0, 2), min_size=2, max_size=2))
    sizes = draw(st.lists(st.integers(7, 9), min_size=2, max_size=2))
    return attrs, (*draw(st.lists(st.integers(1, 2), max_size=1)), draw(st.integers(1, 3)), *sizes)


@settings(max_examples=25, deadline=None)
@given(windows(), st.integers(0, 3))
def test_prediction_equals_execution(drawn: tuple[dict[str, Any], tuple[int, ...]], grown: int) -> None:
    attrs, shape = drawn
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    (columns,) = execute("unfold", attrs, x).outputs
    (image,) = execute("fold", attrs | {"output_size": list(shape[-2:])}, columns).outputs
    assert image.shape == shape
    if len(shape) == 4:
        agrees_symbolically("unfold", attrs, shape, grown)


def test_fold_takes_named_sizes() -> None:
    n, h, w = symbol("n", 2), symbol("h", 8), symbol("w", 6)
    (columns,) = predict("unfold", {"kernel": 2, "stride": 2}, (n, 3, h, w)).shapes
    found = predict("fold", {"kernel": 2, "stride": 2, "output_size": [h, w]}, columns)
    assert found.shapes == [(n, 3, h, w)]
    assert found.at(n=1, h=4, w=4).work == {"add": 48}


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, 7, 9), "7 rows do not divide into windows of 2×2"),
        ((1, 8, 8), "an image of 4×4 has 9 windows, and the input has 8 columns"),
        ((1, 1, 8, 9), "takes an input of 2 or 3 dimensions, and this one has 4"),
    ],
)
def test_invalid_inputs(shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(RuleError) as refused:
        predict("fold", {"kernel": 2, "output_size": 4}, shape)
    assert said in refused.value.message
