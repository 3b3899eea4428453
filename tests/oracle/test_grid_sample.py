"""Sampling at computed positions, against torch and against the lookup of RAFT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.engine.run import PLANS, forward
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")
F = torch.nn.functional


@draws
@given(
    axes=st.integers(2, 3),
    mode=st.sampled_from(["bilinear", "nearest", "bicubic"]),
    padding=st.sampled_from(["zeros", "border", "reflection"]),
    corners=st.booleans(),
    reach=st.sampled_from([0.5, 1.0, 4.0]),
    dtype=st.sampled_from(["float32", "float64"]),
    data=st.data(),
)
def test_grid_sample(
    axes: int, mode: str, padding: str, corners: bool, reach: float, dtype: str, data: st.DataObject
) -> None:
    sizes = st.lists(st.integers(1, 6), min_size=axes, max_size=axes)
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    x = rng.normal(size=(2, data.draw(st.integers(1, 3)), *data.draw(sizes))).astype(dtype)
    batch, last = data.draw(st.sampled_from([(2, axes), (2, axes), (2, axes), (1, axes), (2, 5 - axes)]))
    grid = (rng.uniform(-1, 1, size=(batch, *data.draw(sizes), last)) * reach).astype(dtype)
    attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    agree("grid_sample", attrs, [x, grid], lambda _, x, grid: F.grid_sample(x, grid, **attrs), tolerance=1e-4)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_positions_on_the_borders(mode: str, padding: str) -> None:
    """Positions on elements, on borders and half-way, which are exact in binary."""
    side = np.array([-3, -2, -1.5, -1.25, -1, -0.75, -0.5, 0, 0.25, 0.5, 1, 1.25, 1.75, 2, 3], np.float32)
    grid = np.stack(np.meshgrid(side, side), -1)[None]
    for size in (1, 2, 4, 5):
        x = np.random.default_rng(0).normal(size=(1, 2, size, 4)).astype(np.float32)
        for corners in (False, True):
            attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
            agree("grid_sample", attrs, [x, grid], lambda _, x, grid, attrs=attrs: F.grid_sample(x, grid, **attrs))


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_fvcore(mode: str) -> None:
    fvcore = pytest.importorskip("fvcore.nn")

    class Sample(torch.nn.Module):  # type: ignore[name-defined,misc]
        def forward(self, x: Any, grid: Any) -> Any:
            return F.grid_sample(x, grid, mode, align_corners=False)

    shapes = {"x": [2, 3, 5, 6], "grid": [2, 4, 7, 2]}
    spec = {"netcalc": 1, "inputs": shapes, "layers": [{"from": ["x", "grid"], "grid_sample": mode}]}
    counted = fvcore.FlopCountAnalysis(Sample(), tuple(torch.zeros(shape) for shape in shapes.values())).total()
    assert Analysis(elaborate(load_data(spec)), CONVENTIONS["fvcore"]).total.flops == counted


RADIUS = 2

#: One level of CorrBlock.__call__: torchvision.models.optical_flow.raft and github.com/princeton-vl/RAFT, core/corr.py.
LOOKUP = {
    "netcalc": 1,
    "dims": {"pixels": 12, "height": 5, "width": 7},
    "vars": {"radius": RADIUS},
    "inputs": {"volume": ["pixels", 1, "height", "width"], "coords": ["pixels", 1, 1, 2]},
    "layers": [
        {"name": "steps", "arange": {"start": "${-radius}", "stop": "${radius + 1}", "dtype": "float32"}},
        {"name": "down", "unsqueeze": 1},
        {"name": "dy", "expand": ["${2 * radius + 1}", "${2 * radius + 1}"]},
        {"name": "dx", "from": "dy", "transpose": [0, 1]},
        {"name": "delta", "from": ["dy", "dx"], "stack": {"axis": -1}},
        {"name": "places", "from": ["coords", "delta"], "add": {}},
        {"name": "last", "constant": {"value": ["${width - 1}", "${height - 1}"], "dtype": "float32"}},
        {"name": "scaled", "from": ["places", "last"], "div": {}},
        {"name": "doubled", "mul": 2.0},
        {"name": "grid", "sub": 1.0},
        {"from": ["volume", "grid"], "grid_sample": {"align_corners": True}},
    ],
}


def test_lookup_of_raft() -> None:
    rng = np.random.default_rng(0)
    volume = rng.normal(size=(12, 1, 5, 7)).astype(np.float32)
    coords = rng.uniform(-2, 8, size=(12, 1, 1, 2)).astype(np.float32)
    steps = torch.linspace(-RADIUS, RADIUS, 2 * RADIUS + 1)
    delta = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), axis=-1)
    x, y = (torch.from_numpy(coords) + delta).split([1, 1], dim=-1)
    grid = torch.cat([2 * x / (7 - 1) - 1, 2 * y / (5 - 1) - 1], dim=-1)
    expected = F.grid_sample(torch.from_numpy(volume), grid, align_corners=True).numpy()
    program = elaborate(load_data(LOOKUP))
    for plan in PLANS:
        (found,) = forward(program, {"volume": volume, "coords": coords}, plan=plan).outputs.values()
        np.testing.assert_allclose(found, expected, atol=1e-5)
