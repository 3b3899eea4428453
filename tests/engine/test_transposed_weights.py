"""Weights of linear layers that files have transposed, packed some columns at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netcalc.analysis.walk import instances
from netcalc.engine.compiled import Compiled
from netcalc.engine.lower.conv import packed
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.native.product import filters_in, pack, pack_columns, packed_columns
from netcalc.numerics.parameters import Parameters
from netcalc.weights.writing import write_tensors
from tests.numerics.programs import program

DEPTH, COLUMNS, ROWS = 50, 84, 40
LAYERS = f"inputs: {{x: [{ROWS}, {DEPTH}]}}\nlayers: [{{name: fc, linear: {{out: {COLUMNS}, bias: false}}}}]\n"
RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.skipif(not blocks_fit(), reason="there is no kernel for this processor")
@pytest.mark.parametrize("piece", [1, 7 * COLUMNS * 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("entry", "shapes", "matrix"),
    [
        ("{from: a, transpose: true}", [(DEPTH, COLUMNS)], lambda a: a),
        ("{from: a, chunk: [1, 3], axis: 1, transpose: true}", [(DEPTH, 3 * COLUMNS)], lambda a: np.split(a, 3, 1)[1]),
        ("{from: a, slice: [5, 89], axis: -1, transpose: true}", [(DEPTH, COLUMNS + 9)], lambda a: a[:, 5:89]),
        ("{from: [a, b], axis: 1, transpose: true}", [(DEPTH, 80), (DEPTH, 4)], lambda a, b: np.hstack([a, b])),
        ("{from: [a, b], transpose: true}", [(11, COLUMNS), (DEPTH - 11, COLUMNS)], lambda a, b: np.vstack([a, b])),
    ],
)
@pytest.mark.parametrize("kind", ["one", "shards", "npz", "arrays"])
def test_products_of_transposed_weights(
    entry: str,
    shapes: list[tuple[int, ...]],
    matrix: Callable[..., np.ndarray],
    kind: str,
    dtype: type,
    piece: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packed, "PIECE", piece)
    layers = program(f"{LAYERS}checkpoint: {{fc.weight: {entry}}}")
    tensors: dict[str, np.ndarray] = {
        name: drawn(*shape).astype(dtype) for name, shape in zip("ab", shapes, strict=False)
    }
    paths = [tmp_path / ("w.npz" if kind == "npz" else f"{name}.safetensors") for name in tensors]
    for path, part in zip(paths, tensors.items(), strict=True):
        write_tensors(path, tensors if kind != "shards" else dict([part]))
    weights = tensors if kind == "arrays" else paths if kind == "shards" else paths[0]
    x = drawn(ROWS, DEPTH)
    (instance,) = instances(layers)
    parameters = Parameters(layers, weights, cast=True)
    assert parameters.is_transposed(instance, instance.node.params[0]) == (kind != "npz")
    expected = x.astype(np.float64) @ matrix(*tensors.values()).astype(np.float64)
    computed = Compiled(layers, weights, threads=1, cast=True)(x=x)
    np.testing.assert_allclose(computed[layers.output_names[0]], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not blocks_fit(), reason="there is no kernel for this processor")
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 32, 33, 48, 49, 100])
def test_filters_as_columns_are_packed_as_those_in_rows(columns: int) -> None:
    filters = drawn(columns, 21)
    panels, others = (np.full((packed_columns(columns), 21), np.nan, np.float32) for _ in range(2))
    filters_in(panels, columns)[...] = filters
    pack(panels, columns)
    for start in range(0, 21, 4):
        pack_columns(others, np.ascontiguousarray(filters[:, start : start + 4].T), columns, start)
    np.testing.assert_array_equal(others, panels)
