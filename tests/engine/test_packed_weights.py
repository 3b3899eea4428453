"""Weights that several operations share, packed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.engine.native.library import blocks_fit
from netcalc.engine.native.product import PackedRows, filters_in, pack, packed_columns
from tests.engine.agreement import drawn

pytestmark = pytest.mark.skipif(not blocks_fit(), reason="there is no kernel for this processor")

_SIZES = st.integers(1, 70)


def tied(rows: int, vocab: int, width: int, **attributes: Any) -> netcalc.Network:
    """Return an embedding whose table is the weight of two linear layers behind it."""
    head = {"linear": {"out": vocab, "bias": False}, "tie": {"weight": "table.weight"}}
    layers: list[Any] = [
        {"name": "table", "embedding": {"num_embeddings": vocab, "embedding_dim": width, **attributes}},
        {"name": "first", **head},
        {"name": "second", "from": "table", **head},
    ]
    ids = {"shape": [1, rows], "dtype": "int64"}
    spec = {"netcalc": 1, "inputs": {"ids": ids}, "layers": layers, "outputs": ["table", "first", "second"]}
    return netcalc.load_data(spec)


@drawn
@given(_SIZES, _SIZES, st.lists(st.integers(0, 10**6), max_size=5))
def test_rows_of_packed_filters_are_the_filters(columns: int, depth: int, numbers: list[int]) -> None:
    filters = np.random.default_rng(columns).normal(size=(columns, depth)).astype(np.float32)
    panels = np.full((1, packed_columns(columns), depth), np.nan, np.float32)
    filters_in(panels[0], columns)[:] = filters
    pack(panels[0], columns)
    rows = np.array(numbers, np.int64).reshape(1, -1) % columns
    np.testing.assert_array_equal(PackedRows(panels)[rows], filters[rows])


@pytest.mark.parametrize("attributes", [{}, {"scale": 3.0}, {"max_norm": 1.0}, {"padding_idx": 0}])
@pytest.mark.parametrize(("rows", "vocab", "width"), [(1, 30, 12), (2, 1, 1), (5, 50, 7), (40, 257, 33)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_tied_table_agrees_with_the_kernels(
    rows: int, vocab: int, width: int, threads: int, attributes: dict[str, Any]
) -> None:
    network = tied(rows, vocab, width, **attributes)
    run = network.compile(seed=1, threads=threads, processes=threads > 1)
    ids = np.random.default_rng(rows).integers(0, vocab, (1, rows))
    expected = network.run({"ids": ids}, seed=1, plan="reference").outputs
    found = run(ids=ids)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5)


def test_a_table_is_stored_once() -> None:
    assert tied(8, 4096, 64).compile(seed=1, threads=1).memory.weights == 4096 * 64 * 4


def test_a_weight_that_is_a_tensor_too_is_not_packed() -> None:
    """A line without an input has the weight of a layer, as where a program computes with `layer.weight`."""
    weight = {"name": "weight", "parameter": [64, 96]}
    head = {"name": "head", "from": "x", "linear": {"out": 64, "bias": False}, "tie": {"weight": "/weight"}}
    spec = {"netcalc": 1, "inputs": {"x": [8, 96]}, "layers": [weight, head], "outputs": ["weight", "head"]}
    network = netcalc.load_data(spec)
    assert network.params == 64 * 96
    assert network.verify().ok
