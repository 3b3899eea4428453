"""Planned interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.engine.native.library import blocks
from netcalc.engine.plan import Plan
from netcalc.engine.tuning import Tuning
from tests.engine.agreement import DTYPES, THREADS, agree, drawn, layouts
from tests.engine.tunings import TUNINGS

_MODES = {1: ["linear"], 2: ["bilinear", "bicubic", "lanczos"], 3: ["trilinear"]}


@st.composite
def attributes(draw: Any, rank: int) -> dict[str, Any]:
    """Draw the attributes of an interpolation along so many axes."""
    mode = draw(st.sampled_from(["nearest", "nearest-exact", *_MODES[rank]]))
    found: dict[str, Any] = {"mode": mode}
    if mode in ("bilinear", "bicubic", "lanczos"):
        found["antialias"] = mode == "lanczos" or draw(st.booleans())
    if draw(st.booleans()) and not found.get("antialias"):
        found["size"] = [draw(st.integers(1, 9)) for _ in range(rank)]
    else:
        reduced = [] if found.get("antialias") else [0.6]  # filters widen by a reduction
        found["scale_factor"] = [draw(st.sampled_from([*reduced, 1.0, 1.5, 2.0, 3.0])) for _ in range(rank)]
        found["recompute_scale_factor"] = draw(st.booleans())
    if mode not in ("nearest", "nearest-exact", "lanczos"):
        found["align_corners"] = draw(st.booleans())
    return found


@drawn
@given(st.data(), st.integers(1, 3), DTYPES, THREADS, TUNINGS, st.booleans())
def test_modes(data: st.DataObject, rank: int, dtype: str, threads: int, tuning: Tuning, nan: bool) -> None:
    line, size = {"interpolate": data.draw(attributes(rank))}, blocks()
    channels = data.draw(st.sampled_from([1, 16, 21, 80]))
    shape = [data.draw(st.integers(1, 2)), channels, *(data.draw(st.integers(2, 7)) for _ in range(rank))]
    taken = size is not None and tuning.compiled and dtype != "float64" and channels >= size.lanes
    agree(line, data.draw(layouts(shape)), dtype=dtype, threads=threads, tuning=tuning, nan=nan, planned=bool(taken))


def test_filters_of_many_elements_fall_back_to_the_kernel() -> None:
    line = {"interpolate": {"size": [2, 2], "mode": "bicubic", "antialias": True}}
    agree(line, ([1, 32, 30, 30], []), planned=False)


@pytest.mark.skipif(blocks() is None, reason="there is no kernel for this processor")
def test_parts_of_a_concatenation_are_computed_in_their_places() -> None:
    layers: list[Any] = [
        {"name": "one", "from": "x", "interpolate": {"scale_factor": 2, "mode": "bilinear"}},
        {"name": "other", "from": "y", "interpolate": {"scale_factor": 4, "mode": "nearest"}},
        {"from": ["one", "other"], "concat": {"axis": 1}},
    ]
    inputs = {"x": [2, 32, 4, 6], "y": [2, 48, 2, 3]}
    network = netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": layers})
    assert [step.node.op.name for step in Plan(network.program).steps if not step.what] == ["interpolate"] * 2
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in inputs.items()}
    (found,), (expected,) = (network.run(arrays, plan=plan).outputs.values() for plan in ("fast", "reference"))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
