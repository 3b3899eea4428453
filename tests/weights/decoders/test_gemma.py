"""Numbers of Gemma, packed by hand as transformers 5.23.0 reads them (integrations/gemma_quant.py)."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.arrays import Array
from tests.weights.decoders.harness import decoded

ROWS, COLUMNS = 4, 16


def packed(codes: Array, bits: int) -> Array:
    """Return signed codes as bytes: in 8 bits themselves, else 8/bits in a byte, the first in the lowest bits."""
    if bits == 8:
        return codes.astype(np.int8)
    count = 8 // bits
    rows = [
        [
            sum((int(code) + (1 << (bits - 1))) << (bits * place) for place, code in enumerate(row[at : at + count]))
            for at in range(0, COLUMNS, count)
        ]
        for row in codes
    ]
    return np.array(rows, np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("groups", [0, 1, 4], ids=["linear", "embedding", "embedding of groups"])
def test_layers(bits: int, groups: int) -> None:
    generator = np.random.default_rng(bits)
    codes = generator.integers(-(1 << (bits - 1)), 1 << (bits - 1), (ROWS, COLUMNS))
    scales = generator.random((ROWS, groups or 1)).astype(np.float32)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in np.ndindex(ROWS, COLUMNS):
        numbers[row, column] = np.float32(codes[row, column]) * scales[row, column * (groups or 1) // COLUMNS]
    stored, scale = ("embedding_quantized", "embedding_scale") if groups else ("weight", "weight_scale")
    tensors = {f"up.{stored}": packed(codes, bits), f"up.{scale}": scales}
    if not groups:
        tensors["up.input_activation_scale"] = np.asarray(np.float32(0.5))
    said = {"quant_method": "gemma", "num_bits": 4, "module_quant_configs": {"up": {"num_bits": bits}}}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)
