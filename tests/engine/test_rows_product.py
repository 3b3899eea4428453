"""Products by the kernel in C against NumPy, for all remainders of rows, depth and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.native.library import blocks_fit
from netcalc.engine.native.rows_product import Panels, rows_product
from netcalc.engine.tuning import Tuning
from tests.engine.agreement import agree, drawn
from tests.engine.tunings import SMALL, without

_SIZES = st.integers(1, 70)
#: Weights that are not packed.
_TUNINGS = [without("packed", tuning=tuning) for tuning in (Tuning(compiled_product_sides=1), SMALL)]


@pytest.mark.skipif(not blocks_fit(), reason="there is no kernel for this processor")
@drawn
@given(_SIZES, _SIZES, _SIZES, st.sampled_from([(32, 16), (64, 5), (64, 100)]), st.booleans(), st.integers(0, 3))
def test_products_agree_with_those_of_numpy(
    rows: int, depth: int, columns: int, panels: tuple[int, int], special: bool, gap: int
) -> None:
    rng = np.random.default_rng(rows)

    def numbers(height: int, width: int) -> Any:
        return rng.normal(size=(height, width + gap)).astype(np.float32)[:, :width]

    x, weight, out = numbers(rows, depth), numbers(columns, depth), numbers(rows, columns)
    if special:
        x[0, -1], weight[-1, 0] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        expected = x @ weight.T
    steps = Panels(*panels)
    rows_product(x, weight, out, np.full(steps.elements, np.nan, np.float32), steps)()
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 3, 40])
@pytest.mark.parametrize("features", [1, 5, 30])
@pytest.mark.parametrize("tuning", _TUNINGS, ids=["default", "small"])
@pytest.mark.parametrize("threads", [1, 2])
def test_linear_layers_read_their_weights_in_place(rows: int, features: int, tuning: Tuning, threads: int) -> None:
    agree({"linear": features}, ([rows, 37], []), tuning=tuning, threads=threads, processes=threads > 1)
