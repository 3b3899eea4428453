"""Attention: plans against the reference kernel, for masks, shared heads, extreme scores and many small blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc import loads
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.numerics.parameters import Parameters
from tests.engine.agreement import DTYPES, THREADS, Layout, agree, drawn, layouts
from tests.engine.tunings import SMALL, TUNINGS

OP = "scaled_dot_product_attention"

#: Lines that make a mask of numbers: visible or hidden keys, a bias, −∞, the largest float that −∞ is written as.
MASKS: dict[str, list[Any]] = {
    "visible": [{"greater_equal": 0.0}],
    "mostly hidden": [{"greater_equal": 1.3}],
    "bias": [{"mul": 2.0}],
    "large bias": [{"mul": 100.0}],
    "infinite": ["relu", "log"],
    "finite": [{"greater_equal": 0.3}, {"cast": "float32"}, {"sub": 1.0}, {"mul": 3e38}],
}


@st.composite
def cases(draw: Any) -> tuple[dict[str, Any], list[Layout]]:
    """Draw attributes, and layouts of query, key, value and perhaps a mask."""
    choose = lambda *choices: draw(st.sampled_from(choices))  # noqa: E731
    lead = choose([], [3], [2, 4], [2, 3, 2])
    queries, keys, depth, width = choose(1, 5, 9), choose(1, 5, 12), choose(1, 4), choose(1, 3)
    grouped = bool(lead) and choose(True, False)
    own = [*lead[:-1], choose(1, lead[-1])] if grouped else lead
    attributes: dict[str, Any] = {"causal": choose(True, False), "scale": choose(None, 0.3), "enable_gqa": grouped}
    attributes["alignment"] = choose("upper_left", "lower_right")
    attributes["window"] = choose(None, None, [2, 0], [1, 1])
    inputs = [draw(layouts(shape)) for shape in ([*lead, queries, depth], [*own, keys, depth], [*own, keys, width])]
    kind = choose(None, *MASKS)
    if kind is not None:
        rows = choose([], [1] * len(lead), lead)
        shape, lines = draw(layouts([*rows, choose(1, queries), choose(1, keys)]))
        inputs.append((shape, [*lines, *MASKS[kind]]))
    return attributes, inputs


@drawn
@given(cases(), DTYPES, THREADS, TUNINGS, st.booleans())
def test_plans_agree_with_the_kernel(
    case: tuple[dict[str, Any], list[Layout]], dtype: str, threads: int, tuning: Tuning, processes: bool
) -> None:
    attributes, inputs = case
    if dtype != "float32" and len(inputs) > 3 and {"cast": "float32"} in inputs[3][1]:
        inputs = inputs[:3]
    agree({OP: attributes}, *inputs, dtype=dtype, threads=threads, processes=processes, tuning=tuning)


#: Lines that make inputs of −x, 0 and x, whose products are exact.
def _of_size(size: float) -> list[Any]:
    return ["sign", {"mul": size}]


@pytest.mark.parametrize("size", [1e-3, 1.0, 4.0, 8.0, 16.0, 100.0, 1e4, 1e18])
@pytest.mark.parametrize("tuning", [Tuning(), SMALL], ids=["default", "small"])
@pytest.mark.parametrize("mask", [None, *MASKS])
def test_scores_of_any_size(size: float, tuning: Tuning, mask: str | None) -> None:
    q, k = ([2, 3, 7, 4], _of_size(size)), ([2, 3, 11, 4], _of_size(size))
    v: Layout = ([2, 3, 11, 5], [])
    masks = [] if mask is None else [([7, 11], MASKS[mask])]
    agree({OP: {}}, q, k, v, *masks, tuning=tuning)


@pytest.mark.parametrize("shift", [-1000.0, -60.0, -30.0, 30.0, 39.0, 60.0, 1000.0])
@pytest.mark.parametrize("size", [0.0, 1e-33, 1e-18, 1e-12, 1e12, 1e30, 1e38])
def test_values_of_any_size_and_scores_far_from_zero(shift: float, size: float) -> None:
    bias: Layout = ([7, 11], [{"mul": 0.5}, {"add": shift}])
    agree({OP: {}}, ([2, 7, 4], []), ([2, 11, 4], []), ([2, 11, 5], ["tanh", {"mul": size}]), bias)


def test_a_query_of_small_scores_beside_one_of_large_scores() -> None:
    rows: Layout = ([7, 1], [{"greater_equal": 0.3}, {"cast": "float32"}, {"sub": 0.5}, {"mul": 200.0}])
    agree({OP: {}}, ([2, 7, 4], []), ([2, 11, 4], []), ([2, 11, 5], []), rows)


def test_infinities_and_nan() -> None:
    agree({OP: {}}, ([2, 7, 4], []), ([2, 11, 4], []), ([2, 11, 5], []), nan=True)


@pytest.mark.parametrize(("queries", "keys"), [(1, 3000), (511, 129), (700, 700), (33, 2049)])
@pytest.mark.parametrize("causal", [True, False])
def test_long_sequences(queries: int, keys: int, causal: bool) -> None:
    attributes = {"causal": causal, "alignment": "lower_right"}
    agree({OP: attributes}, ([1, queries, 2, 8], _HEADS), ([1, keys, 2, 8], _HEADS), ([1, keys, 2, 8], _HEADS))


_HEADS = [{"permute": [0, 2, 1, 3]}]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("most", [1, 50, 300, 1 << 17])
def test_windows_of_several_samples(threads: int, most: int) -> None:
    windows: Layout = ([12, 5, 2, 4], _HEADS)
    tuning = replace(Tuning(), attention_group_scores=most, pass_elements_per_worker=16)
    agree({OP: {}}, windows, windows, windows, ([2, 5, 5], []), threads=threads, processes=threads > 1, tuning=tuning)


SHARED = """
netcalc: 1
inputs:
  x: [2, 3, 5, 4]
  mask: {shape: [5, 5], dtype: bool}
  padding: {shape: [2, 5], dtype: bool}
layers:
  - name: a
    scaled_dot_product_attention: {}
    from: {query: x, key: x, value: x, attn_mask: mask, key_padding_mask: padding}
  - name: b
    scaled_dot_product_attention: {}
    from: {query: a, key: x, value: a, attn_mask: mask, key_padding_mask: padding}
"""


def test_a_mask_is_prepared_once_for_all_layers() -> None:
    net = loads(SHARED).program
    steps = [step.what or step.node.op.name for step in Plan(net).steps]
    assert steps == ["mask", "mask", OP, OP]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 5, 4)).astype(np.float32)
    for _ in range(3):
        inputs = {"x": x, "mask": rng.random((5, 5)) < 0.6, "padding": rng.random((2, 5)) < 0.3}
        fast, expected = (
            next(iter(forward(net, inputs, plan=plan).outputs.values())) for plan in ("fast", "reference")
        )
        np.testing.assert_allclose(fast, expected, rtol=1e-5, atol=1e-6)


OPTIONS = """
netcalc: 1
inputs:
  q: [2, 4, 21, 5]
  k: [2, 2, 50, 5]
  v: [2, 2, 50, 3]
  mask: {{shape: [{rows}, 50], dtype: bool}}
  padding: {{shape: [2, 50], dtype: bool}}
  sinks: [4]
layers:
  - name: a
    scaled_dot_product_attention: {{enable_gqa: true, scale: -0.7, {attributes}}}
    from: {{query: q, key: k, value: v, attn_mask: mask, key_padding_mask: padding, sinks: sinks}}
"""


@pytest.mark.parametrize(
    "attributes", ["softcap: 1.5", "causal: true", "window: [7, 3]", "window: 4, global_tokens: 2"]
)
@pytest.mark.parametrize("rows", [1, 21])
@pytest.mark.parametrize("mask_bytes", [0, 1 << 20])
@pytest.mark.parametrize("compiled", [True, False])
def test_masks_sinks_and_caps_together(attributes: str, rows: int, mask_bytes: int, compiled: bool) -> None:
    net = loads(OPTIONS.format(attributes=attributes, rows=rows)).program
    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in {"q": (2, 4, 21, 5), "k": (2, 2, 50, 5), "v": (2, 2, 50, 3)}.items()
    }
    inputs |= {"mask": rng.random((rows, 50)) < 0.7, "padding": rng.random((2, 50)) < 0.3}
    inputs["sinks"] = rng.normal(size=4).astype(np.float32)
    tuning = Tuning(attention_mask_bytes=mask_bytes, compiled=compiled)
    (expected,) = forward(net, inputs, plan="reference").outputs.values()
    (fast,) = Session(Plan(net, 1, False, tuning), Parameters(net, {}))(list(inputs.values()))
    np.testing.assert_allclose(fast, expected, rtol=1e-5, atol=1e-6)
