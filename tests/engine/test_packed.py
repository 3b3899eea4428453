"""Products with packed filters, by the kernel in C, against NumPy and the reference path."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from netcalc.engine.compiled import Compiled
from netcalc.engine.native.epilogue import Operation, epilogue_arguments
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.native.product import ADDRESS, filters_in, pack, packed_columns, product, step_of
from netcalc.engine.native.windows import Geometry
from netcalc.engine.tuning import Tuning
from tests.engine.agreement import agree, drawn
from tests.engine.tunings import SMALL, without
from tests.numerics.programs import program

pytestmark = pytest.mark.skipif(not blocks_fit(), reason="there is no kernel for this processor")

_ROWS, _DEPTHS, _COLUMNS = (st.one_of(st.integers(1, 40), st.integers(1, most)) for most in (400, 700, 600))
_SINGLE = Geometry((1,), (1,), (1,), (0,))


@drawn
@given(_ROWS, _DEPTHS, _COLUMNS, st.booleans(), st.integers(0, 3))
def test_products_and_what_follows_agree_with_numpy(
    rows: int, depth: int, columns: int, special: bool, gap: int
) -> None:
    rng = np.random.default_rng(rows)

    def numbers(height: int, width: int) -> Any:
        return rng.normal(size=(height, width + gap)).astype(np.float32)[:, :width]

    x, weight, out, other = (
        numbers(rows, depth),
        numbers(columns, depth),
        numbers(rows, columns),
        numbers(rows, columns),
    )
    shift = numbers(1, columns)[0].copy()
    if special:
        x[0, -1], weight[-1, 0] = np.inf, np.nan
    panels = np.full((1, packed_columns(columns), depth), np.nan, np.float32)
    filters_in(panels[0], columns)[...] = weight
    pack(panels[0], columns)
    operations = [Operation("add", shift), Operation("add", other), Operation("clip", None, (-1, 20)), Operation("neg")]
    taps = np.zeros(step_of(rows), ADDRESS)
    stages = epilogue_arguments(out, out, operations)
    product(x[None], panels, out, taps, first=0, counts=(rows,), geometry=_SINGLE, epilogue=stages)()
    with np.errstate(invalid="ignore"):
        expected = -np.clip(x.astype(np.float64) @ weight.T + shift + other, -1, 20)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-4)


@pytest.mark.parametrize("tuning", [Tuning(), SMALL, without("packed")], ids=["default", "small", "without"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("channels", "filters", "groups"), [(3, 20, 1), (20, 70, 1), (32, 64, 4), (300, 9, 1)])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(1, 2, 0), (3, 2, 1), (2, 1, 2)])
def test_convolutions(
    channels: int, filters: int, groups: int, kernel: int, stride: int, padding: int, tuning: Tuning, threads: int
) -> None:
    attributes = {"out": filters, "kernel": kernel, "stride": stride, "padding": padding, "groups": groups}
    agree({"conv2d": attributes}, ([2, channels, 9, 8], []), tuning=tuning, threads=threads, processes=threads > 1)


@pytest.mark.parametrize("attributes", [{"kernel": 1}, {"kernel": 3, "padding": 1}, {"kernel": 3, "groups": 16}])
def test_factors_of_a_normalization_are_in_the_filters(attributes: dict[str, Any]) -> None:
    """Against the definitions: windows times filters, and the normalization with given statistics."""
    rng = np.random.default_rng(0)
    layers = [{"name": "conv", "conv2d": {"out": 16, "bias": False, **attributes}}, {"name": "bn", "batch_norm": {}}]
    net = program(f"inputs: {{x: [1, 16, 7, 6]}}\nlayers: {json.dumps(layers)}\n")
    kernel, pad, groups = (
        attributes.get(name, other) for name, other in (("kernel", 1), ("padding", 0), ("groups", 1))
    )
    filters = rng.normal(size=(16, 16 // groups, kernel, kernel)).astype(np.float32)
    x = rng.normal(size=(1, 16, 7, 6)).astype(np.float32)
    scale, shift, mean, variance = (rng.uniform(0.2, 3, 16).astype(np.float32) for _ in range(4))
    statistics = {"weight": scale, "bias": shift, "running_mean": mean, "running_var": variance}
    weights = {"conv.weight": filters, **{f"bn.{name}": values for name, values in statistics.items()}}
    (result,) = Compiled(net, weights, threads=1, processes=True)(x=x).values()
    windows = sliding_window_view(np.pad(x[0], ((0, 0), (pad, pad), (pad, pad))), (kernel, kernel), axis=(1, 2))
    dense = np.zeros((16, 16, kernel, kernel))
    for number in range(16):
        first = number // (16 // groups) * (16 // groups)
        dense[number, first : first + 16 // groups] = filters[number]
    sums = np.einsum("cijab,fcab->fij", windows, dense)
    factors, means, shifts = (v[:, None, None] for v in (scale / np.sqrt(variance + 1e-5), mean, shift))
    np.testing.assert_allclose(result[0], (sums - means) * factors + shifts, rtol=1e-4, atol=1e-4)
