"""Look-ups, scattering, windows, sampling and transforms with drawn attributes and inputs, written in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.oracle.onnx.exported import assert_same


def places(shape: list[int], size: int, least: int = 0) -> dict[str, Any]:
    return {"shape": shape, "dtype": "int64", "range": [least, size]}


def listed(name: str, options: dict[str, Any], inputs: dict[str, Any]) -> netcalc.Network:
    """Return a network of one operation that takes a list of inputs."""
    layer = {"name": "y", "from": list(inputs), name: options}
    return netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [layer]})


#: Axes, and the shapes of their indices.
INDEXED: list[tuple[list[int], list[list[int]]]] = [
    ([0], [[3]]),
    ([-1], [[2, 3]]),
    ([0, 1], [[2, 6], [6]]),
    ([1, 2], [[3, 1], [4]]),
    ([2, 0], [[3], [2, 3]]),
    ([2, 1], [[3], [2, 3]]),
    ([0, 1, 2], [[2], [2], [1]]),
]
SIZES = [4, 5, 3]


@pytest.mark.parametrize(("axes", "shapes"), INDEXED)
def test_index(axes: list[int], shapes: list[list[int]], tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"x": SIZES}
    for number, (axis, shape) in enumerate(zip(axes, shapes, strict=True)):
        inputs[f"i{number}"] = places(shape, SIZES[axis], -SIZES[axis])
    assert_same(listed("index", {"axis": axes}, inputs), tmp_path / "index.onnx")


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(
    ("axes", "shapes", "values"),
    [
        ([1], [[1]], [4, 1, 3]),
        ([0, 1], [[2, 1], [1]], [3]),
        ([1, 2], [[1], [1]], [4, 1]),
        ([2, 0], [[1], [1, 1]], [1, 1, 5]),
    ],
)
def test_index_put(
    axes: list[int], shapes: list[list[int]], values: list[int], accumulate: bool, tmp_path: Path
) -> None:
    """Without accumulation places that occur twice have any of their values: there is one place, or one value."""
    inputs: dict[str, Any] = {"x": SIZES, "values": values}
    if not accumulate and axes == [0, 1]:
        shapes = [[1, 1], [1]]
    for number, (axis, shape) in enumerate(zip(axes, shapes, strict=True)):
        inputs[f"i{number}"] = places(shape, SIZES[axis], -SIZES[axis])
    network = listed("index_put", {"axis": axes, "accumulate": accumulate}, inputs)
    assert_same(network, tmp_path / "index_put.onnx")


@pytest.mark.parametrize("reduce", [None, "sum", "prod", "amax", "amin"])
def test_scatter(reduce: str | None, tmp_path: Path) -> None:
    """Without a reduction there is one element for each line, as places that occur twice have any of theirs."""
    shape = [3, 1, 2] if reduce is None else [3, 7, 2]
    inputs = {"x": SIZES, "index": places(shape, SIZES[1]), "source": shape}
    assert_same(listed("scatter", {"axis": -2, "reduce": reduce}, inputs), tmp_path / "scatter.onnx")


@pytest.mark.parametrize(("shape", "mask"), [([2, 4], [2, 4]), ([1, 4], [3, 1]), ([2, 3, 4], [2, 3, 1])])
def test_masked_scatter(shape: list[int], mask: list[int], tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"x": shape, "mask": {"shape": mask, "dtype": "bool"}, "source": [6, 4]}
    assert_same(listed("masked_scatter", {}, inputs), tmp_path / "masked.onnx")


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("numbered", [False, True])
def test_roi_align(aligned: bool, numbered: bool, tmp_path: Path) -> None:
    """Boxes lie partly outside the image."""
    boxes: dict[str, Any] = {"shape": [2, 4, 4], "range": [-2, 20]}
    if numbered:
        boxes = {"shape": [5, 5], "range": [0, 1.9]}
    inputs = {"x": [2, 3, 9, 8], "boxes": boxes}
    options = {"output_size": [2, 3], "sampling_ratio": 2, "spatial_scale": 0.5, "aligned": aligned}
    assert_same(listed("roi_align", options, inputs), tmp_path / "roi_align.onnx")


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(mode: str, padding: str, corners: bool, tmp_path: Path) -> None:
    inputs = {"x": [2, 3, 7, 6], "grid": {"shape": [2, 4, 5, 2], "range": [-1.3, 1.3]}}
    options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    network = listed("grid_sample", options, inputs)
    for opset in (18, 21):
        assert_same(network, tmp_path / "grid_sample.onnx", opset=opset)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_of_a_volume_and_of_its_mirror_image(mode: str, tmp_path: Path) -> None:
    inputs = {"x": [1, 2, 4, 7, 6], "grid": {"shape": [1, 2, 4, 5, 3], "range": [-1.3, 1.3]}}
    for padding in ("zeros", "reflection"):
        network = listed("grid_sample", {"mode": mode, "padding_mode": padding}, inputs)
        assert_same(network, tmp_path / "grid_sample.onnx")


WINDOWS: list[dict[str, Any]] = [
    {"kernel": 2, "stride": 2},
    {"kernel": 3, "padding": 1},
    {"kernel": [2, 3], "stride": [1, 2], "dilation": 2, "padding": [1, 2]},
    {"kernel": [2, 3], "stride": [2, 3]},
]


@pytest.mark.parametrize("options", WINDOWS)
@pytest.mark.parametrize("batch", [[], [2]])
def test_unfold_and_fold(options: dict[str, Any], batch: list[int], tmp_path: Path) -> None:
    layers = [{"name": "columns", "unfold": options}, {"name": "image", "fold": {"output_size": [8, 9], **options}}]
    document = {"netcalc": 1, "inputs": {"x": [*batch, 3, 8, 9]}, "layers": layers, "outputs": ["columns", "image"]}
    assert_same(netcalc.load_data(document), tmp_path / "fold.onnx")


@pytest.mark.parametrize("axes", [[-1], [1, 2], [0, 2]])
def test_fourier(axes: list[int], tmp_path: Path) -> None:
    network = listed("fourier", {"axis": axes}, {"x": [4, 7, 12]})
    for opset in (18, 21):
        assert_same(network, tmp_path / "fourier.onnx", opset=opset)
