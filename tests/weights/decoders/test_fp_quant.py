"""Numbers of FP-Quant, packed by hand as fp_quant 0.3.2 and QuTLASS do (module/linear.py; tests/nvfp4_test.py)."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.floats import E2M1, drawn_scales, e4m3, e8m0, pairs
from tests.weights.decoders.harness import decoded

ROWS, COLUMNS = 3, 128


def layer(dtype: str, size: int) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer with a matrix that is not symmetric, and the numbers after the transform."""
    generator = np.random.default_rng(size)
    codes = generator.integers(0, 16, (ROWS, COLUMNS))
    group, value = (32, e8m0) if dtype == "mxfp4" else (16, e4m3)
    scales = drawn_scales(generator, (ROWS, COLUMNS // group)) // 2 + 64
    numbers = np.empty((ROWS, COLUMNS))
    for row, column in np.ndindex(ROWS, COLUMNS):
        numbers[row, column] = E2M1[codes[row, column]] * value(int(scales[row, column // group])) / 3
    matrix = np.linalg.qr(generator.standard_normal((size, size)))[0].astype(np.float32)
    tensors = {
        "up.qweight": np.array([pairs(list(map(int, row))) for row in codes], np.uint8),
        "up.scales": scales,
        "up.weight_global_scale": np.array([3], numpy_dtype("bfloat16")),
        "up.act_global_scale": np.array([10], numpy_dtype("bfloat16")),
        "up.forward_hadamard_matrix": matrix,
        "up.backward_hadamard_matrix": np.zeros((size, size), np.float32),
    }
    return tensors, numbers


@pytest.mark.parametrize(("dtype", "size"), [("mxfp4", 32), ("mxfp4", 128), ("nvfp4", 16), ("nvfp4", 64)])
def test_outputs_are_those_of_transformed_inputs(dtype: str, size: int) -> None:
    tensors, transformed = layer(dtype, size)
    inputs = np.random.default_rng(1).standard_normal((2, COLUMNS))
    matrix = tensors["up.forward_hadamard_matrix"].astype(float)
    rotated = np.concatenate([inputs[:, at : at + size] @ matrix for at in range(0, COLUMNS, size)], axis=1)
    expected = rotated @ transformed.T
    said = {"quant_method": "fp_quant", "forward_dtype": dtype, "hadamard_group_size": size}
    np.testing.assert_allclose(inputs @ decoded(tensors, said).T, expected, atol=1e-6 * np.abs(expected).max())


def test_a_matrix_of_another_size_is_an_error() -> None:
    tensors, _ = layer("nvfp4", 16)
    tensors |= {f"up.{way}_hadamard_matrix": np.eye(48, dtype=np.float32) for way in ("forward", "backward")}
    with pytest.raises(NetcalcError, match="128 columns are no parts of 48"):
        decoded(tensors, {"quant_method": "fp_quant", "forward_dtype": "nvfp4"})
