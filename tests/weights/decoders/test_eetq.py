"""Numbers of EETQ, packed by hand as EETQ 1.0.1 does (csrc/cutlass_kernels/cutlass_preprocessors.cc).

The steps are those of ``preprocess_weights_for_mixed_gemm`` for 8 bits and compute capability 7.5 and later: rows of
the matrix (inputs, outputs) are permuted, it is transposed, its columns are interleaved, and bytes are exchanged.
"""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.harness import decoded

INPUTS, OUTPUTS = 128, 64


def preprocessed(codes: Array) -> Array:
    """Return codes (inputs, outputs) in the order of the kernels."""
    permuted = np.empty_like(codes)
    for base in range(0, INPUTS, 16):
        for row in range(16):
            permuted[base + row] = codes[base + 8 * ((row % 4) // 2) + row % 2 + 2 * (row // 4)]
    flat = np.empty(INPUTS * OUTPUTS, int)
    for column in range(OUTPUTS):
        for row in range(INPUTS):
            tile = row - row % 64
            flat[(column // 2) * INPUTS * 2 + 2 * tile + 64 * (column % 2) + row % 64] = permuted[row, column] + 128
    for base in range(0, flat.size, 4):
        flat[base + 1], flat[base + 2] = flat[base + 2], flat[base + 1]
    return flat.astype(np.uint8).view(np.int8).reshape(INPUTS, OUTPUTS)


def test_layers() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(-128, 128, (INPUTS, OUTPUTS))
    scales = generator.random(OUTPUTS).astype(np.float16)
    numbers = np.empty((OUTPUTS, INPUTS), np.float32)
    for row, column in np.ndindex(OUTPUTS, INPUTS):
        numbers[row, column] = int(codes[column, row]) * np.float32(scales[row])
    tensors = {"up.weight": preprocessed(codes), "up.weight_scales": scales}
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "eetq", "weights": "int8"}), numbers)


def test_sizes_that_the_kernels_do_not_have_are_an_error() -> None:
    tensors = {"up.weight": np.zeros((128, 32), np.int8), "up.weight_scales": np.ones(32, np.float16)}
    with pytest.raises(NetcalcError, match="32 rows and 128 columns are no tiles of 64"):
        decoded(tensors, {"quant_method": "eetq"})
