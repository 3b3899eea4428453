"""Numbers of HQQ and SINQ, with codes packed line by line (hqq 0.2.8 and sinq 0.2.0, bitpack.py)."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import NetcalcError
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays
from tests.weights.decoders.harness import decoded

ROWS, COLUMNS, GROUP = 48, 64, 16
#: Bits of a word that holds a code of so many bits, by library.
WORDS = {"hqq": {1: 8, 2: 8, 3: 32, 4: 8, 5: 8, 6: 8, 8: 8}, "sinq": {1: 8, 2: 8, 3: 32, 4: 8, 5: 32, 6: 32, 8: 8}}


def lines_of(codes: Array, bits: int, word: int) -> Array:
    """Return words that hold lines of codes: part 0 of them in the highest of the bits that are used."""
    parts = word // bits
    height = -(-len(codes) // parts)
    packed = np.zeros((height, codes.shape[1]), np.int64)
    for line, column in product(range(len(codes)), range(codes.shape[1])):
        packed[line % height, column] |= int(codes[line, column]) << (bits * (parts - 1 - line // height))
    return packed.astype(np.int32 if word == 32 else np.uint8)


def text(characters: str) -> Array:
    return np.frombuffer(characters.encode(), np.uint8)


def hqq(bits: int, axis: int, dtype: str, group: int | None = GROUP) -> tuple[dict[str, Array], dict[str, Any], Array]:
    """Return a layer with its state, the configuration and the numbers by a loop.

    The last of several parts of 3 bits is padded.
    """
    generator = np.random.default_rng(bits)
    size = group or (COLUMNS if axis else ROWS)
    count = ROWS * COLUMNS // size
    shape, flat = ((count, size), (count, 1)) if axis else ((size, count), (1, count))
    codes = generator.integers(0, 1 << bits, shape)
    kind = numpy_dtype(dtype)
    scales, zeros = generator.random(flat).astype(kind), (generator.random(flat) * 2**bits).astype(kind)
    numbers = np.empty(shape, np.float32)
    for line, place in product(*map(range, shape)):
        number = line if axis else place
        difference = np.asarray(codes[line, place]).astype(kind) - zeros.flat[number]
        numbers[line, place] = np.asarray(difference * scales.flat[number]).astype(np.float32)
    word = WORDS["hqq"][bits]
    stored = {2: 2, 1: 1, 3: 3, 4: 4}.get(bits, 8)
    zero = np.zeros((), np.uint8)
    tensors = {
        "W_q": lines_of(codes, stored, word),
        "scale": scales,
        "zero": zeros,
        "shape": np.array([ROWS, COLUMNS]),
        "axis": np.array(axis, np.int32),
        "compute_dtype": text(f"torch.{dtype}"),
        "packing": text(f"{stored}bit_{'32' if word == 32 else 'u8'}"),
        "unpack_view_dtype": text("torch.uint8"),
        "group_size": np.array(size, np.int32),
        "nbits": np.array(bits, np.int32),
        **dict.fromkeys(("channel_wise", "optimize", "encoded_state_dict", "stores_quant_config"), zero + 1),
        **dict.fromkeys(("offload_meta", "quant_scale", "quant_zero", "round_zero", "view_as_float"), zero),
    }
    params = {"nbits": bits, "group_size": group, "axis": axis, "channel_wise": True}
    said = {"quant_method": "hqq", "quant_config": {"weight_quant_params": params}}
    return {f"up.{name}": array for name, array in tensors.items()}, said, numbers.reshape(ROWS, COLUMNS)


def numbers_of(tensors: dict[str, Array], said: dict[str, Any]) -> Array:
    stored = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": said}, "config.json"))
    stored.read_shapes()
    return stored.load("up.weight")


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("bits", WORDS["hqq"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_hqq(bits: int, axis: int, dtype: str) -> None:
    tensors, said, numbers = hqq(bits, axis, dtype)
    np.testing.assert_array_equal(numbers_of(tensors, said), numbers)


@pytest.mark.parametrize("bits", [3, 4])
def test_hqq_without_groups(bits: int) -> None:
    tensors, said, numbers = hqq(bits, 1, "float16", None)
    np.testing.assert_array_equal(numbers_of(tensors, said), numbers)


@pytest.mark.parametrize(("bits", "dtype"), [(4, "float16"), (3, "float16"), (4, "float32"), (2, "bfloat16")])
def test_hqq_with_codes_as_numbers(bits: int, dtype: str) -> None:
    tensors, said, numbers = hqq(bits, 1, dtype)
    tensors["up.W_q"] = tensors["up.W_q"].view(numpy_dtype(dtype))
    tensors["up.view_as_float"] = np.ones((), np.uint8)
    np.testing.assert_array_equal(numbers_of(tensors, said), numbers)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("packing", text("9bit_u8"), "packing is '9bit_u8', not one of 8bit_u8"),
        ("packing", text("8bit_u8"), "96 lines of 8 bits hold no 192 of 8"),
        ("compute_dtype", text("torch.complex64"), "compute_dtype is 'complex64'"),
    ],
)
def test_a_state_that_is_none_of_the_library(name: str, array: Array, message: str) -> None:
    tensors, said, _ = hqq(4, 1, "float16")
    with pytest.raises(NetcalcError, match=f"'up.weight' does not decode: {message}"):
        numbers_of({**tensors, f"up.{name}": array}, said)


def test_a_shape_of_another_number_of_elements() -> None:
    tensors, said, _ = hqq(4, 1, "float16")
    with pytest.raises(NetcalcError, match=r"has 3,072 elements, and its shape is \(48, 63\)"):
        numbers_of({**tensors, "up.shape": np.array([48, 63])}, said)


@pytest.mark.parametrize("bits", WORDS["sinq"])
def test_sinq(bits: int) -> None:
    generator = np.random.default_rng(bits)
    groups = ROWS * COLUMNS // GROUP
    codes = generator.integers(0, 1 << bits, (groups, GROUP))
    half = np.float16

    def restored(x: Array, s: Array, m: Array) -> Array:
        columns = x.shape[1]
        lines = [half(half(x[i, j]) * s[0, j]) + m[0, j] for i in range(len(x)) for j in range(columns)]
        return np.array(lines, half)

    scale = generator.integers(0, 256, (32, groups // 32)).astype(np.uint8)
    zero = generator.integers(0, 256, (groups, 1)).astype(np.uint8)
    parts = {
        "s": generator.random((1, groups // 32)).astype(half),
        "m": generator.random((1, groups // 32)).astype(half),
    }
    whole = {"s": generator.random((1, 1)).astype(half), "m": -generator.random((1, 1)).astype(half)}
    columns = generator.random((1, COLUMNS)).astype(half)
    tensors = {
        "up.W_q": lines_of(codes, bits, WORDS["sinq"][bits]),
        "up.meta.scale.x": scale,
        "up.meta.zero.x": zero,
        **{f"up.meta.scale.{name}": array for name, array in parts.items()},
        **{f"up.meta.zero.{name}": array for name, array in whole.items()},
        "up.meta.scale2": columns,
    }
    scales, zeros = restored(scale, **parts), restored(zero, **whole)
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row, column in product(range(ROWS), range(COLUMNS)):
        group, place = divmod(row * COLUMNS + column, GROUP)
        difference = np.float32(codes[group, place]) - np.float32(zeros[group])
        numbers[row, column] = difference * np.float32(scales[group]) * np.float32(columns[0, column])
    said = {"quant_method": "sinq", "nbits": bits, "group_size": GROUP}
    stored = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": said}, "config.json"))
    stored.take_shapes({"up.weight": (ROWS, COLUMNS)})
    np.testing.assert_array_equal(stored.load("up.weight"), numbers)
    layer = {"name": "up", "linear": {"out": ROWS, "bias": False}}
    network = netcalc.load_data(
        {"netcalc": 1, "inputs": {"x": [2, COLUMNS]}, "layers": [layer]}, quantize=f"sinq-int{bits}-g{GROUP}"
    )
    assert network.cost().weight_bytes == sum(a.nbytes for a in tensors.values())


def test_sinq_without_a_configuration() -> None:
    tensors = {"up.W_q": np.zeros((16, 16), np.uint8), "up.meta.scale2": np.ones((1, 8), np.float16)}
    parts = {"s": np.ones((1, 1), np.float16), "m": np.ones((1, 1), np.float16)}
    for name in ("scale", "zero"):
        tensors |= {f"up.meta.{name}.{part}": array for part, array in parts.items()}
        tensors[f"up.meta.{name}.x"] = np.zeros((32, 1), np.uint8)
    with pytest.raises(NetcalcError, match="the configuration should say how many bits a code has"):
        decoded(tensors, None)
