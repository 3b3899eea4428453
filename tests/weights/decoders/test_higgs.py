"""Numbers of HIGGS, packed as FLUTE does (flute-kernel 0.4.2, utils._pack_2bit, _pack_3bit and _pack_4bit)."""

from __future__ import annotations

from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import NetcalcError
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays

GROUP, HADAMARD, COLUMNS = 64, 64, 120
#: The order of 3-bit codes of rows in 96 bits.
ORDER = [0, 3, 6, 9, 12, 1, 4, 7, 10, 13, 2, 5, 8, 11, 14, 15]


def packed_2_or_4(codes: Array, bits: int, tile: int) -> Array:
    """Return words (words of rows, columns): each has for rows that are a tile apart the codes of two columns."""
    rows, columns = codes.shape
    parts = 16 // bits
    words = np.zeros((rows // parts, columns), np.uint16)
    for row, column in product(range(rows), range(columns)):
        block, rest = divmod(row, tile * parts)
        part, place = divmod(rest, tile)
        half, step = divmod(part, parts // 2)
        shift = bits * (2 * step + 1 - column % 2)
        words[block * tile + place, column // 2 * 2 + half] |= np.uint16(int(codes[row, column]) << shift)
    return words.view(np.int16)


def packed_3(codes: Array) -> Array:
    """Return words of 3 bits: 96 bits of 16 rows and two columns are cut into two times three words of 16."""
    rows, columns = codes.shape
    tile, third = 32, rows // 16
    words = np.zeros((3 * third, columns), np.uint16)
    for block, place, pair in product(range(rows // 512), range(tile), range(columns // 2)):
        bits: list[int] = []
        for row, column in product(ORDER, (1, 0)):
            code = int(codes[block * 512 + row * tile + place, 2 * pair + column])
            bits += [code >> bit & 1 for bit in range(3)]
        halves = {
            (0, 0): bits[0:16],
            (1, 0): bits[16:30] + bits[90:92],
            (0, 1): bits[30:46],
            (1, 1): bits[46:60] + bits[92:94],
            (0, 2): bits[60:76],
            (1, 2): bits[76:90] + bits[94:96],
        }
        for (half, part), chosen in halves.items():
            line = block * tile + place if part == 0 else third + block * 2 * tile + (part - 1) * tile + place
            words[line, 2 * pair + half] = sum(bit << i for i, bit in enumerate(chosen))
    return words.view(np.int16)


def layer(bits: int, template: int, tile: int, dtype: str) -> tuple[dict[str, Array], dict[str, Any], Array]:
    generator = np.random.default_rng(bits + template)
    rows, padded = {2: tile * 8, 3: 512, 4: tile * 4}[bits], 128
    kind = numpy_dtype(dtype)
    codes = generator.integers(0, 1 << bits, (rows, padded))
    grid = generator.standard_normal((1 << bits, 1 << bits, 2)).astype(kind)
    scales = generator.random((rows, padded // GROUP)).astype(kind)
    # transform of Hadamard by its definition: (−1) to the number of ones that two indices have in common
    transform = [[(-1) ** (i & j).bit_count() / sqrt(HADAMARD) for j in range(HADAMARD)] for i in range(HADAMARD)]
    points = np.empty((rows, padded))
    for row, column in product(range(rows), range(padded)):
        point = grid[codes[row, column // 2 * 2], codes[row, column // 2 * 2 + 1], column % 2]
        points[row, column] = float(point) * float(scales[row, column // GROUP])
    blocks = points.reshape(rows, -1, HADAMARD) @ np.array(transform)
    tensors = {
        "up.weight": packed_3(codes) if bits == 3 else packed_2_or_4(codes, bits, tile),
        "up.scales": scales,
        "up.tables": np.zeros(1 << bits, kind),
        "up.tables2": grid.view(np.float16),  # the library writes the bits of any type as float16
    }
    said = {"quant_method": "higgs", "bits": bits, "group_size": GROUP, "hadamard_size": HADAMARD}
    said["tune_metadata"] = {"up": {"template_id": template, "num_bits": bits, "num_sms": 108}}
    return tensors, said, blocks.reshape(rows, padded)[:, :COLUMNS]


def numbers_of(tensors: dict[str, Array], said: dict[str, Any]) -> Array:
    stored = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": said}, "config.json"))
    rows = stored.headers["up.weight"].shape[0]
    assert stored.headers["up.weight"].fits((rows, COLUMNS))
    stored.take_shapes({"up.weight": (rows, COLUMNS)})
    return stored.load("up.weight")


@pytest.mark.parametrize(
    ("bits", "template", "tile"), [(2, 2, 64), (2, 4, 32), (3, 4, 32), (4, 15, 64), (4, 16, 32), (4, 97, 64)]
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layers(bits: int, template: int, tile: int, dtype: str) -> None:
    tensors, said, numbers = layer(bits, template, tile, dtype)
    found = numbers_of(tensors, said)
    np.testing.assert_allclose(found, numbers, rtol=0, atol=1e-6 * np.abs(numbers).max())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tune_metadata": {}}, r"tune_metadata of the configuration should say for which kernel \(template_id\)"),
        ({"hadamard_size": 192}, "a transform of 192 columns is not known"),
        ({"tune_metadata": {"up": {"template_id": 0}}}, "32 words are no whole tiles of 64"),
    ],
)
def test_a_configuration_that_does_not_tell(changes: dict[str, Any], message: str) -> None:
    tensors, said, _ = layer(4, 16, 32, "float16")
    stored = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": said | changes}, "config.json"))
    with pytest.raises(NetcalcError, match=f"'up.weight' does not decode: {message}"):
        stored.load("up.weight")
