"""Numbers of quanto, packed element by element (optimum-quanto 0.2.7, tensor/packed.py and tensor/qbits.py)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays
from tests.weights.decoders.harness import decoded

ROWS, COLUMNS = 7, 32
BF16 = numpy_dtype("bfloat16")


@pytest.mark.parametrize("weights", ["int8", "float8"])
def test_bytes(weights: str) -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(-128, 128, (ROWS, COLUMNS)).astype(np.int8)
    data = codes if weights == "int8" else codes.astype(numpy_dtype("float8_e4m3fn"))
    scales = generator.random((ROWS, 1)).astype(np.float32)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in product(range(ROWS), range(COLUMNS)):
        numbers[row, column] = np.float32(data[row, column]) * scales[row, 0]
    tensors = {"up.weight._data": data, "up.weight._scale": scales}
    np.testing.assert_array_equal(decoded(tensors, {"quant_method": "quanto", "weights": weights}), numbers)


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("group", [COLUMNS, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16], ids=str)
def test_groups(bits: int, group: int, zeros: bool, dtype: np.dtype) -> None:
    generator = np.random.default_rng(bits)
    groups = ROWS * COLUMNS // group
    codes = generator.integers(0, 1 << bits, (groups, group))
    scales = generator.random((groups, 1)).astype(dtype)
    shifts = (generator.random((groups, 1)) * 3).astype(np.uint8 if zeros else dtype)
    height = -(-groups * bits // 8)
    packed = np.zeros((height, group), np.uint8)
    numbers = np.empty((groups, group), np.float32)
    for line, column in product(range(groups), range(group)):
        code = codes[line, column]
        packed[line % height, column] |= int(code) << (bits * (line // height))
        scale, shift = scales[line, 0], shifts[line, 0]
        number = scale * np.asarray(code - shift).astype(dtype) if zeros else scale * code.astype(dtype) - shift
        numbers[line, column] = np.asarray(number).astype(np.float32)
    tensors = {"up.weight._data._data": packed, "up.weight._scale": scales, "up.weight._shift": shifts}
    for said in ({"quant_method": "quanto", "weights": f"int{bits}"}, None):
        config = None if said is None else quantization_of({"quantization_config": said}, "config.json")
        stored = UnpackedTensors(Arrays(tensors), config)
        stored.take_shapes({"up.weight": (ROWS, COLUMNS)})
        found: Array = stored.load("up.weight")
        np.testing.assert_array_equal(found, numbers.reshape(ROWS, COLUMNS))
