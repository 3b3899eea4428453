"""Numbers of Four Over Six, packed by hand as mit-han-lab/fouroversix at 00e7033 does (quantize/utils.to_blocked)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.floats import E2M1, E4M3, E8M0, drawn_scales, e4m3, e8m0, pairs
from tests.weights.decoders.harness import decoded

ROWS, COLUMNS = 256, 256


def layer(group: int, *, blocked: bool) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer, and number·scale by a loop."""
    generator = np.random.default_rng(group)
    codes, grid = generator.integers(0, 16, (ROWS, COLUMNS)), (ROWS, COLUMNS // group)
    scales = drawn_scales(generator, grid)
    stored = np.empty(scales.size, np.uint8)
    for row, column in np.ndindex(*grid):
        tile = (row // 128) * (grid[1] // 4) + column // 4
        at = tile * 512 + (row % 32) * 16 + (row % 128) // 32 * 4 + column % 4
        stored[at if blocked else row * grid[1] + column] = scales[row, column]
    value = e4m3 if group == 16 else e8m0
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in np.ndindex(ROWS, COLUMNS):
        numbers[row, column] = E2M1[codes[row, column]] * value(int(scales[row, column // group]))
    tensors = {
        "values": np.array([pairs(list(map(int, row))) for row in codes], np.uint8),
        "scale_factors": stored.view(E4M3 if group == 16 else E8M0),
        "amax": np.array([0.75], np.float32),
        "metadata": np.array([ROWS, COLUMNS, ROWS, COLUMNS, 1, int(blocked)], np.int32),
    }
    return {f"up.quantized_weight_{name}": array for name, array in tensors.items()}, numbers


@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize(
    ("fields", "greatest"),
    [
        ({}, 6 * 256),
        ({"scale_rule": "mae"}, 6 * 256),
        ({"scale_rule": "static_6"}, 6 * 448),
        ({"scale_rule": "static_6", "weight_scale_rule": "static_4"}, 4 * 448),
    ],
    ids=str,
)
def test_nvfp4(blocked: bool, fields: dict[str, Any], greatest: int) -> None:
    tensors, numbers = layer(16, blocked=blocked)
    expected = numbers * np.float32(0.75) / np.float32(greatest)
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "fouroversix", **fields}), expected)


@pytest.mark.parametrize("fields", [{"dtype": "mxfp4"}, {"weight_dtype": "mxfp4"}], ids=str)
def test_mxfp4(fields: dict[str, Any]) -> None:
    tensors, numbers = layer(32, blocked=True)
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "fouroversix", **fields}), numbers)


def test_padded_and_missing_parts_are_errors() -> None:
    tensors, _ = layer(16, blocked=True)
    said = {"quant_method": "fouroversix"}
    metadata = np.array([200, COLUMNS, ROWS, COLUMNS, 1, 1], np.int32)
    with pytest.raises(NetcalcError, match=r"says \[200, 256, 256, 256\], and the values have the shape \(256, 256\)"):
        decoded(tensors | {"up.quantized_weight_metadata": metadata}, said)
    with pytest.raises(NetcalcError, match="it has 7 scales for 256×16 groups"):
        decoded(tensors | {"up.quantized_weight_scale_factors": np.zeros(7, E4M3)}, said)
