"""Resizing and pixel shuffling: recorded torch results, counts, named sizes, and invalid arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, UndecidedError, symbol
from netcalc.models import ValidationError
from tests.ops.harness import case_ids, execute, truth_case
from tests.ops.prediction import agrees_symbolically, predict

n, h, w = symbol("n", default=2), symbol("h", default=8), symbol("w", default=6)

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "pixel_shuffle": ("pixel_shuffle", {"upscale_factor": 2}),
    "channel_shuffle": ("channel_shuffle", {"groups": 2}),
    "interp_nearest": ("interpolate", {"size": [11, 9]}),
    "interp_bilinear": ("interpolate", {"size": [11, 9], "mode": "bilinear"}),
    "interp_bilinear_ac": ("interpolate", {"size": [11, 9], "mode": "bilinear", "align_corners": True}),
    "interp_bicubic": ("interpolate", {"size": [11, 9], "mode": "bicubic"}),
    "interp_bicubic_ac": ("interpolate", {"size": [11, 9], "mode": "bicubic", "align_corners": True}),
}


@pytest.mark.parametrize("case_id", [c for c in case_ids("op_attn_embed") if "shuffle" in c or "interp" in c])
def test_equals_torch(case_id: str) -> None:
    case = truth_case("op_attn_embed", case_id)
    name, attrs = CASES[case_id]
    case.check(execute(name, attrs, *case.inputs).outputs)


def test_pixel_shuffle_equals_torch_in_shape() -> None:
    """nn.PixelShuffle(3) in torch 2.13: 1×2×21×15, without parameters and without FLOPs."""
    found = predict("pixel_shuffle", {"upscale_factor": 3}, (1, 18, 7, 5))
    assert (found.shapes, found.params, found.work) == ([(1, 2, 21, 15)], {}, {})


def test_pixel_unshuffle_inverts_pixel_shuffle() -> None:
    x = np.random.default_rng(0).normal(size=(2, 12, 3, 5)).astype("float32")
    (large,) = execute("pixel_shuffle", {"upscale_factor": 2}, x).outputs
    np.testing.assert_array_equal(execute("pixel_unshuffle", {"downscale_factor": 2}, large).outputs[0], x)


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "result"),
    [
        ("pixel_shuffle", {"upscale_factor": 2}, (n, 16, h, w), (n, 4, 2 * h, 2 * w)),
        ("pixel_unshuffle", {"downscale_factor": 2}, (n, 4, 2 * h, 4 * w), (n, 16, h, 2 * w)),
        ("channel_shuffle", {"groups": 3}, (n, 6, h, w), (n, 6, h, w)),
        ("interpolate", {"scale_factor": 2}, (n, 3, h, w), (n, 3, 2 * h, 2 * w)),
        ("interpolate", {"scale_factor": [0.5, 1.5]}, (n, 3, h, w), (n, 3, h // 2, 3 * w // 2)),
        ("interpolate", {"size": [h, w], "mode": "bilinear"}, (n, 3, 7, 7), (n, 3, h, w)),
    ],
)
def test_named_sizes_stay_symbolic(
    name: str, attrs: dict[str, Any], shape: tuple[Dim, ...], result: tuple[Dim, ...]
) -> None:
    assert predict(name, attrs, shape).shapes == [result]


@st.composite
def resizings(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[int, ...]]:
    axes = draw(st.integers(1, 3))
    modes = [["linear"], ["bilinear", "bicubic", "lanczos"], ["trilinear"]][axes - 1]
    mode = draw(st.sampled_from([*modes, "nearest", "area"]))
    attrs: dict[str, Any] = {"mode": mode, "antialias": mode == "lanczos"}
    if mode in ("bilinear", "bicubic"):
        attrs |= {"antialias": draw(st.booleans()), "align_corners": draw(st.booleans())}
    if draw(st.booleans()) and mode != "area":
        attrs["scale_factor"] = draw(st.sampled_from([0.5, 0.75, 1, 1.25, 2, 3]))
    else:
        attrs["size"] = draw(st.integers(1, 8))
    return attrs, (draw(st.integers(1, 2)), 3, *draw(st.lists(st.integers(4, 9), min_size=axes, max_size=axes)))


@settings(max_examples=60, deadline=None)
@given(resizings(), st.integers(0, 3))
@example(  # positions that rounding moves off an element, so that its neighbors have weights
    ({"mode": "bicubic", "antialias": False, "align_corners": True, "scale_factor": 3}, (2, 3, 8, 4)), 0
)
def test_prediction_equals_execution(drawn: tuple[dict[str, Any], tuple[int, ...]], grown: int) -> None:
    attrs, shape = drawn
    execute("interpolate", attrs, np.random.default_rng(0).normal(size=shape).astype("float32"))
    agrees_symbolically("interpolate", attrs, shape, grown)


@pytest.mark.parametrize("dtype", ["float16", "float64", "float32"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_the_output_has_the_type_of_the_input(mode: str, dtype: str) -> None:
    execute("interpolate", {"size": 5, "mode": mode}, np.ones((1, 2, 4, 7), dtype))


@pytest.mark.parametrize(
    ("attrs", "taps"),
    [  # Pillow's filters, which a reduction to a third widens three times
        ({"mode": "bilinear"}, 2),
        ({"mode": "bicubic"}, 4),
        ({"mode": "bilinear", "antialias": True}, 7),
        ({"mode": "bicubic", "antialias": True}, 13),
        ({"mode": "lanczos", "antialias": True}, 19),
    ],
)
def test_every_tap_of_the_filter_is_counted(attrs: dict[str, Any], taps: int) -> None:
    work = predict("interpolate", {"size": [10, 10], **attrs}, (1, 1, 30, 30)).work
    assert work == {"mul": taps * (30 * 10 + 10 * 10), "add": (taps - 1) * (30 * 10 + 10 * 10)}


def test_integers_are_rounded_to_the_nearest() -> None:
    x = np.arange(6).reshape(1, 1, 6)
    assert execute("interpolate", {"scale_factor": 0.5}, x).outputs[0].tolist() == [[[0, 2, 4]]]
    with pytest.raises(RuleError, match="interpolate with mode linear takes floating-point numbers"):
        execute("interpolate", {"scale_factor": 0.5, "mode": "linear"}, x)


def test_a_constant_stays_constant() -> None:
    x = np.full((1, 1, 9, 5), 3, "float64")
    for mode, antialias in [("bilinear", True), ("bicubic", True), ("lanczos", True), ("bicubic", False)]:
        (y,) = execute("interpolate", {"size": [4, 11], "mode": mode, "antialias": antialias}, x).outputs
        np.testing.assert_allclose(y, 3, rtol=1e-12)


def test_the_working_is_shown() -> None:
    steps = predict("interpolate", {"scale_factor": [2, 0.75, 1.3]}, (1, 1, 4, 6, 10)).steps
    assert [(s.label, s.substituted, s.value) for s in steps] == [
        ("depth", "4·2", 8),
        ("height", "⌊6·3/4⌋", 4),
        ("width", "floor(10·1.3)", 13),
    ]


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "message"),
    [
        ("pixel_shuffle", {"upscale_factor": 2}, (1, 6, 4, 4), "takes a multiple of 4 channels, and there are 6"),
        ("pixel_unshuffle", {"downscale_factor": 2}, (1, 6, 4, 5), "a width that is a multiple of 2, not 5"),
        ("pixel_unshuffle", {"downscale_factor": 2}, (1, 6, symbol("h", default=5), 4), "a multiple of 2, not h"),
        ("channel_shuffle", {"groups": 4}, (1, 6, 4, 4), "4 groups do not divide 6 channels"),
        ("interpolate", {"size": 3, "mode": "linear"}, (1, 2, 4, 4), "an input of 3 dimensions, and this one has 4"),
        ("interpolate", {"size": 3}, (2, 4), "3 or 4 or 5 dimensions"),
        ("interpolate", {"size": [3, 3, 3]}, (1, 2, 4, 4), "3 values of size or scale_factor for 2 axes"),
        ("interpolate", {"scale_factor": 0.1}, (1, 2, 4, 40), "with size 0×4"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], shape: tuple[Dim, ...], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        predict(name, attrs, shape)
    assert message in caught.value.message


def test_the_error_names_the_mode_for_the_rank() -> None:
    with pytest.raises(RuleError) as caught:
        predict("interpolate", {"size": 3, "mode": "bilinear"}, (1, 2, 4, 4, 4))
    assert caught.value.hint == "an input of 5 dimensions takes mode trilinear"


def test_a_named_size_takes_no_fractional_factor() -> None:
    with pytest.raises(UndecidedError, match="h is symbolic"):
        predict("interpolate", {"scale_factor": 1.3}, (n, 3, h, 4))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({}, "either size or scale_factor"),
        ({"size": 3, "scale_factor": 2}, "either size or scale_factor"),
        ({"scale_factor": 0}, "greater than 0"),
        ({"scale_factor": [2, float("nan")]}, "greater than 0"),
        ({"size": 3, "recompute_scale_factor": True}, "requires scale_factor"),
        ({"size": 3, "align_corners": True}, "align_corners is not supported with mode nearest"),
        ({"size": 3, "antialias": True}, "antialias requires mode bilinear, bicubic or lanczos"),
        ({"size": 3, "mode": "lanczos"}, "lanczos requires antialias"),
    ],
)
def test_invalid_attributes(attrs: dict[str, Any], message: str) -> None:
    declared = ops.find("interpolate")
    assert declared is not None
    with pytest.raises(ValidationError, match=message):
        declared(**attrs)
