"""Planned pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.engine.tuning import Tuning
from tests.engine.agreement import DTYPES, THREADS, agree, drawn, layouts
from tests.engine.tunings import TUNINGS


@st.composite
def shapes(draw: Any, rank: int, longest: int = 9) -> list[int]:
    lead = [*([draw(st.integers(1, 3))] if draw(st.booleans()) else []), draw(st.sampled_from([1, 2, 5, 16, 19]))]
    return lead + [draw(st.integers(1, longest)) for _ in range(rank)]


@drawn
@given(st.data(), st.integers(1, 3), DTYPES, THREADS, TUNINGS, st.booleans())
def test_windows(data: st.DataObject, rank: int, dtype: str, threads: int, tuning: Tuning, nan: bool) -> None:
    kind = data.draw(st.sampled_from(["max", "avg"]))
    kernel = [data.draw(st.integers(1, 4)) for _ in range(rank)]
    attributes: dict[str, Any] = {
        "kernel": kernel,
        "stride": data.draw(st.one_of(st.none(), st.lists(st.integers(1, 4), min_size=rank, max_size=rank))),
        "padding": [data.draw(st.integers(0, k // 2)) for k in kernel],
        "ceil_mode": data.draw(st.booleans()),
    }
    if kind == "max":
        attributes["dilation"] = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    else:
        attributes["count_include_pad"] = data.draw(st.booleans())
        attributes["divisor_override"] = data.draw(st.sampled_from([None, None, 3, -2]))
    x = data.draw(layouts(data.draw(shapes(rank))))
    try:
        agree({f"{kind}_pool{rank}d": attributes}, x, dtype=dtype, threads=threads, tuning=tuning, nan=nan)
    except NetcalcError:
        assume(False)  # windows that do not fit


@drawn
@given(st.data(), st.integers(1, 3), DTYPES, THREADS, TUNINGS, st.booleans())
def test_equal_parts(data: st.DataObject, rank: int, dtype: str, threads: int, tuning: Tuning, nan: bool) -> None:
    kind = data.draw(st.sampled_from(["max", "avg"]))
    shape = data.draw(shapes(rank))
    counts = [data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0])) for size in shape[-rank:]]
    line = {f"adaptive_{kind}_pool{rank}d": counts}
    agree(line, data.draw(layouts(shape)), dtype=dtype, threads=threads, tuning=tuning, nan=nan)


@drawn
@given(st.data(), st.integers(1, 3), DTYPES, THREADS, TUNINGS, st.booleans())
def test_global_pooling(data: st.DataObject, rank: int, dtype: str, threads: int, tuning: Tuning, nan: bool) -> None:
    line = {f"global_{data.draw(st.sampled_from(['max', 'avg']))}_pool{rank}d": {"keepdim": data.draw(st.booleans())}}
    agree(line, data.draw(layouts(data.draw(shapes(rank)))), dtype=dtype, threads=threads, tuning=tuning, nan=nan)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_window_of_millions_of_positions_takes_those_of_the_input(stride: int) -> None:
    reach = 1 << 24
    pool = {"kernel": [3, 2 * reach + 1], "stride": [1, stride], "padding": [1, reach]}
    spec = {"netcalc": 1, "inputs": {"x": [1, 2, 9, 9]}, "layers": [{"max_pool2d": pool}]}
    x = np.random.default_rng(0).standard_normal((1, 2, 9, 9)).astype(np.float32)
    result = netcalc.load_data(spec).run({"x": x}).outputs["output"]
    rows = np.stack([x[:, :, max(0, row - 1) : row + 2].max((2, 3)) for row in range(9)], axis=-1)
    np.testing.assert_array_equal(result, np.broadcast_to(rows[..., None], result.shape))


def test_unequal_parts_and_indices_fall_back_to_kernels() -> None:
    agree({"adaptive_avg_pool2d": [2, 3]}, ([1, 2, 5, 7], []), planned=False)
    agree({"adaptive_max_pool1d": 2}, ([1, 2, 5], []), planned=False)
