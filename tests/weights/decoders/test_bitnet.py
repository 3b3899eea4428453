"""Numbers of BitNet, packed by hand as transformers 5.23.0 does (integrations/bitnet.pack_weights)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.harness import decoded

ROWS, COLUMNS = 12, 5


def layer() -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer, in which row r is in bits 2·(r // 3) of line r % 3, and its codes."""
    codes = np.random.default_rng(0).integers(-1, 2, (ROWS, COLUMNS))
    lines = np.zeros((ROWS // 4, COLUMNS), np.uint8)
    for row, column in np.ndindex(ROWS, COLUMNS):
        lines[row % 3, column] |= (codes[row, column] + 1) << (2 * (row // 3))
    return {"up.weight": lines, "up.weight_scale": np.array([3], numpy_dtype("bfloat16"))}, codes


@pytest.mark.parametrize(
    ("fields", "factor"), [({}, np.float32(1) / 3), ({"linear_class": "autobitlinear"}, np.float32(3))], ids=str
)
def test_scales_divide_or_multiply(fields: dict[str, Any], factor: float) -> None:
    tensors, codes = layer()
    numbers = np.array([int(code) * factor for code in codes.reshape(-1)], np.float32).reshape(ROWS, COLUMNS)
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "bitnet", **fields}), numbers)


def test_weights_that_are_not_packed_have_a_scale() -> None:
    """A state of ``AutoBitLinear``, whose weights transformers unpacks as it reads them."""
    tensors, codes = layer()
    tensors["up.weight"] = codes.astype(numpy_dtype("bfloat16"))
    said = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "offline"}
    np.testing.assert_array_equal(decoded(tensors, said), codes.astype(np.float32) * 3)


def test_a_code_of_3_is_an_error() -> None:
    tensors, _ = layer()
    tensors["up.weight"][1, 2] |= 3 << 4
    with pytest.raises(NetcalcError, match="codes of 3"):
        decoded(tensors, {"quant_method": "bitnet"})


def test_layers_that_normalize_their_inputs_are_refused() -> None:
    tensors, _ = layer()
    tensors["up.rms_norm.weight"] = np.ones(COLUMNS, np.float32)
    with pytest.raises(NetcalcError, match=r"'up.weight' does not decode: its layer normalizes its inputs"):
        decoded(tensors, {"quant_method": "bitnet", "use_rms_norm": True})
