"""Values of buffers in short: what the spec says is the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.constants import constants_of
from netcalc.formats.graph.constants.expressions import progression
from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph, ModuleCall, Stored, StoredTensor, Value
from netcalc.formats.graph.recipes import content_of
from netcalc.tensor_type import TensorType


def window(height: int, width: int, *, torchvision: bool) -> np.ndarray:
    """Return the relative positions of a window as Swin computes them."""
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    places = np.stack([rows.ravel(), columns.ravel()])
    apart = (places[:, :, None] - places[:, None, :]).transpose(1, 2, 0)
    index = (apart[..., 0] + height - 1) * (2 * width - 1) + apart[..., 1] + width - 1
    return index.ravel() if torchvision else index


def bordered(inner: np.ndarray) -> np.ndarray:
    """Return a table with indices for a class token before the others, as BEiT has it."""
    rows, columns = inner.shape
    table = np.full((rows + 1, columns + 1), inner.max() + 3)
    table[0, 1:], table[1:, 0], table[1:, 1:] = inner.max() + 1, inner.max() + 2, inner
    return table


def distances(height: int, width: int) -> np.ndarray:
    """Return numbers of the distances in an image, in the order in which LeViT meets them."""
    places = [(y, x) for y in range(height) for x in range(width)]
    numbers: dict[tuple[int, int], int] = {}
    apart = [[(abs(y1 - y2), abs(x1 - x2)) for y2, x2 in places] for y1, x1 in places]
    return np.array([[numbers.setdefault(both, len(numbers)) for both in row] for row in apart])


def shifted(height: int, width: int, window: tuple[int, int], shift: tuple[int, int]) -> np.ndarray:
    """Return the mask of shifted windows as timm computes it, from numbers of nine parts of the image."""
    image, number = np.zeros((height, width)), 0
    parts = [
        [slice(0, -side), slice(-side, -moved or None), slice(-moved, None) if moved else slice(0, 0)]
        for side, moved in zip(window, shift, strict=True)
    ]
    for rows in parts[0]:
        for columns in parts[1]:
            image[rows, columns] = number
            number += 1
    cut = image.reshape(height // window[0], window[0], width // window[1], window[1])
    places = cut.transpose(0, 2, 1, 3).reshape(-1, window[0] * window[1])
    return np.where(places[:, None, :] != places[:, :, None], -100.0, 0.0).astype("float32")


ARRAYS: dict[str, np.ndarray] = {
    "positions": np.arange(512).reshape(1, 512),
    "positions behind": np.arange(5, 205).reshape(200, 1),
    "positions of a batch": np.broadcast_to(np.arange(40), (3, 40)),
    "even numbers": np.arange(0, 64, 2),
    "downwards": np.arange(300)[::-1],
    "floats": np.arange(300, dtype="float32"),
    "zeros": np.zeros((1, 512), "int64"),
    "minus infinity": np.full((2, 3), -np.inf, "float32"),
    "frequencies": (1.0 / 10000 ** (np.arange(0, 64, 2) / 64)).astype("float32"),
    "truths": np.array([[True, False], [False, False]]),
    "window": window(7, 7, torchvision=False),
    "flat window": window(7, 7, torchvision=True),
    "oblong window": window(3, 5, torchvision=False),
    "window with a class token": bordered(window(4, 5, torchvision=False)),
    "distances": distances(7, 7),
    "distances in an oblong image": distances(3, 6),
    "distances along a line": distances(1, 20),
    "blocks": np.repeat(np.arange(16), 16),
    "tiles": np.tile(np.arange(16), 20),
    "triangle": np.tril(np.ones((1, 1, 32, 32), bool)),
    "triangle of floats": np.tril(np.ones((20, 20), "float32")),
    "causal mask": np.triu(np.full((77, 77), -np.inf, "float32"), 1),
    "causal mask of samples": np.triu(np.full((1, 1, 20, 20), -np.inf, "float32"), 1),
    "grid": np.add.outer(np.arange(20) * 3, np.arange(30) * -1) + 7,
    "shifted windows": shifted(28, 28, (7, 7), (3, 3)),
    "shifted oblong windows": shifted(16, 42, (8, 6), (4, 2)),
    "windows shifted along one axis": shifted(24, 12, (4, 6), (2, 0)),
    "shifted windows of samples": shifted(14, 14, (7, 7), (3, 3))[:, None],
    "scalar": np.array(2.5, "float32"),
}


def table_of(array: np.ndarray) -> np.ndarray:
    """Return what a spec gives for an array that has a short form."""
    dtype = str(array.dtype)
    content = content_of(array, dtype)
    assert content is not None
    graph = Graph("table")
    graph.tensors["table"] = StoredTensor(
        TensorType(array.shape, dtype), buffer=True, persistent=False, value=content.value, computed=content.computed
    )
    Builder(graph).read(Value(TensorType(array.shape, dtype), "", Stored("table")))
    (line,) = graph.lines
    assert len(repr(line.attributes)) < 4000
    document: dict[str, Any] = {
        "netcalc": 1,
        "name": "table",
        "inputs": {"x": [1]},
        "layers": [{"name": "table", "buffer": line.attributes}],
        "outputs": {"table": "table"},
    }
    network = netcalc.load_data(document)
    return network.run({"x": np.zeros(1, "float32")}).outputs["table"]


@pytest.mark.parametrize("name", ARRAYS)
def test_that_the_spec_gives_the_array(name: str) -> None:
    array = ARRAYS[name]
    found = table_of(array)
    assert found.dtype == array.dtype
    assert (found == array).all()


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("shift", [0, 1])
def test_that_the_spec_gives_sines_of_positions_but_for_rounding(*, alternate: bool, shift: int) -> None:
    frequencies = 10000.0 ** (-np.arange(16, dtype="float32") / np.float32(16 - shift))
    angles = np.arange(300, dtype="float32")[:, None] * frequencies.astype("float32")
    both = np.sin(angles), np.cos(angles)
    array = np.stack(both, -1).reshape(300, 32) if alternate else np.concatenate(both, -1)
    for padding in (300, 0, 1):
        padded = array.copy()
        padded[padding : padding + 1] = 0
        np.testing.assert_allclose(table_of(padded), padded, atol=1e-4)
    assert content_of(array + np.float32(0.001) * (array == 1), "float32") is None


@pytest.mark.parametrize(
    "array",
    [
        np.random.default_rng(0).normal(size=(30, 30)),
        np.random.default_rng(0).integers(0, 100, size=400),
        np.tril(np.ones((20, 20)), 1),
        np.arange(400) ** 2,
        shifted(28, 28, (7, 7), (3, 3))[::-1],
        shifted(28, 28, (7, 7), (3, 3)) + np.eye(49),
        np.concatenate([np.arange(200), np.arange(201)]),
        distances(7, 7) + np.eye(49, dtype="int64"),
        bordered(distances(5, 5)).T + np.tri(26, k=-20, dtype="int64"),
    ],
)
def test_that_other_arrays_have_no_short_form(array: np.ndarray) -> None:
    assert content_of(array, str(array.dtype)) is None


def test_that_computed_buffers_are_constants() -> None:
    graph = Graph("positions")
    content = content_of(np.arange(3, 515).reshape(1, 512), "int64")
    assert content is not None
    graph.tensors["ids"] = StoredTensor(TensorType((1, 512), "int64"), buffer=True, computed=content.computed)
    value = Builder(graph).read(Value(TensorType((1, 512), "int64"), "", Stored("ids")))
    assert progression(constants_of(graph)[value]) == (1, 3, 1)


def test_that_modules_with_other_computed_buffers_are_no_calls_of_one_block() -> None:
    """Lines cannot be an argument of a block."""
    graph = Graph("net")
    build = Builder(graph)
    x = graph.inputs["x"] = Value(TensorType((2, 300), "float32"), "x")
    arrays = [np.arange(start, start + 300, dtype="float32") for start in (3, 5, 5)]
    weights = {f"blocks.{number}.linear.weight": np.eye(300, dtype="float32") for number in range(3)}
    graph.tensors |= {path: StoredTensor(TensorType((300, 300))) for path in weights}
    for (path, weight), array in zip(weights.items(), arrays, strict=True):
        content = content_of(array, "float32")
        assert content is not None
        block, type_ = path.removesuffix(".linear.weight"), TensorType((300,))
        graph.tensors[f"{block}.table"] = StoredTensor(type_, True, persistent=False, computed=content.computed)
        build.scope = (ModuleCall("blocks", kind="ModuleList"), ModuleCall(block, kind="Block"))
        x = build.line("add", [x, build.read(Value(type_, "", Stored(f"{block}.table")))])
        build.scope = (*build.scope, ModuleCall(f"{block}.linear", kind="Linear"))
        stored = Value(TensorType(weight.shape), stored=Stored(path))
        x = build.line("linear", [x], {"out": 300, "bias": False}, {"weight": stored})
    graph.outputs["y"] = x
    network = netcalc.load_data(spec_document(graph))
    found = network.run({"x": np.zeros((2, 300), "float32")}, weights=weights).outputs["y"]
    np.testing.assert_allclose(found, np.broadcast_to(sum(arrays), (2, 300)), rtol=1e-6)
