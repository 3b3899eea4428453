"""Numbers of mlx 0.32.4 (mlx.core.quantize) and of the Metal kernels of transformers, packed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.floats import E2M1, drawn_e4m3, drawn_scales, e4m3, e8m0
from tests.weights.decoders.harness import decoded, words_of

ROWS, COLUMNS = 3, 64


def words(codes: Array, bits: int) -> Array:
    return np.array([words_of(row, bits) for row in codes], np.int32).view(np.uint32)


@pytest.mark.parametrize("scales", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("group", [32, 64])
@pytest.mark.parametrize(
    ("method", "bits"), [("mlx", n) for n in (2, 3, 4, 5, 6, 8)] + [("metal", n) for n in (2, 4, 8)]
)
def test_affine(method: str, bits: int, group: int, scales: str) -> None:
    generator = np.random.default_rng(bits)
    codes = generator.integers(0, 1 << bits, (ROWS, COLUMNS))
    scale, bias = (generator.random((ROWS, COLUMNS // group)).astype(numpy_dtype(scales)) for _ in range(2))
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in np.ndindex(ROWS, COLUMNS):
        at = row, column // group
        numbers[row, column] = np.float32(codes[row, column]) * np.float32(scale[at]) + np.float32(bias[at])
    name = "biases" if method == "mlx" else "qbiases"
    tensors = {"up.weight": words(codes, bits), "up.scales": scale, f"up.{name}": bias}
    said = {"quant_method": method, "bits": bits, "group_size": group}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)


@pytest.mark.parametrize(("mode", "bits", "group"), [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)])
def test_floats(mode: str, bits: int, group: int) -> None:
    generator = np.random.default_rng(0)
    codes = drawn_e4m3(generator, (ROWS, COLUMNS)) if bits == 8 else generator.integers(0, 16, (ROWS, COLUMNS))
    scales = drawn_scales(generator, (ROWS, COLUMNS // group))
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in np.ndindex(ROWS, COLUMNS):
        code, scale = int(codes[row, column]), int(scales[row, column // group])
        numbers[row, column] = (e4m3 if bits == 8 else E2M1.__getitem__)(code) * (e4m3 if group == 16 else e8m0)(scale)
    tensors = {"up.weight": words(codes, bits), "up.scales": scales}
    said = {"quant_method": "mlx", "bits": bits, "group_size": group, "mode": mode}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)


def test_modules_have_modes_of_their_own() -> None:
    """Eight experts in a tensor, in mxfp4 where the rest is in 8 bits."""
    said: dict[str, Any] = {"bits": 8, "group_size": 64, "up": {"bits": 4, "group_size": 32, "mode": "mxfp4"}}
    packed = words(np.full((16, COLUMNS), 2), 4).reshape(8, 2, COLUMNS // 8)
    tensors = {"up.weight": packed, "up.scales": np.full((8, 2, 2), 130, np.uint8)}
    np.testing.assert_array_equal(decoded(tensors, said), np.full((8, 2, COLUMNS), 8, np.float32))


def test_the_mode_affine_needs_biases() -> None:
    tensors = {"up.weight": words(np.zeros((ROWS, COLUMNS), int), 4), "up.scales": np.ones((ROWS, 1), np.float32)}
    with pytest.raises(NetcalcError, match=r"'up.weight' does not decode: it has no \.biases"):
        decoded(tensors, {"bits": 4, "group_size": 64})
