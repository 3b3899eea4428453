"""Numbers of AQLM and VPTQ: vectors from codebooks, put together element by element."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.harness import decoded, words_of

HALF = np.float16


@pytest.mark.parametrize(("bits", "kind"), [(8, np.int8), (9, np.int16), (16, np.int16)])
@pytest.mark.parametrize("block", [(1, 8), (2, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_aqlm(bits: int, kind: type, block: tuple[int, int], dtype: str) -> None:
    """Codes are stored less 2^bits from the half on (aqlm 1.1.7, utils.pack_int_data)."""
    generator = np.random.default_rng(bits)
    (height, width), count, rows, columns = block, 2, 6, 16
    codebooks = generator.standard_normal((count, 1 << bits, height, width)).astype(numpy_dtype(dtype))
    scales = generator.random((rows // height, 1, 1, 1)).astype(numpy_dtype(dtype))
    codes = generator.integers(0, 1 << bits, (rows // height, columns // width, count))
    numbers = np.empty((rows, columns), np.float32)
    for row, column in product(range(rows), range(columns)):
        line, group = row // height, column // width
        total = np.float32(0)
        for book in range(count):
            total += np.float32(codebooks[book, codes[line, group, book], row % height, column % width])
        rounded = np.asarray(total).astype(codebooks.dtype)
        numbers[row, column] = np.float32(rounded * scales[line, 0, 0, 0])
    said = {
        "quant_method": "aqlm",
        "num_codebooks": count,
        "nbits_per_codebook": bits,
        "in_group_size": width,
        "out_group_size": height,
    }
    stored = np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes).astype(kind)
    tensors = {"up.codes": stored, "up.codebooks": codebooks, "up.scales": scales}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)


def vptq(
    *, rests: int, outliers: int, groups: int, ordered: bool, normed: bool
) -> tuple[dict[str, Array], dict[str, Any], Array]:
    """Return a layer of 22 rows with vectors of 4 rows, and of 8 for outliers: both are padded."""
    generator = np.random.default_rng(rests + outliers + groups)
    rows, size, vector, long, centroids, points = 22, 10, 4, 8, 512, 32
    columns = groups * size + outliers
    table = generator.standard_normal((groups, centroids, vector)).astype(HALF)
    rest = generator.standard_normal((groups, max(rests, 1), vector)).astype(HALF)
    indices = generator.integers(0, centroids, (groups, -(-rows // vector), size))
    lows = generator.integers(0, max(rests, 1), indices.shape)
    bits, extra = 9, max(rests, 1).bit_length() - 1
    packed = [[words_of(line, bits + extra) for line in group] for group in indices | lows << bits]
    numbers = np.empty((rows, columns), HALF)
    tensors: dict[str, Array] = {
        "up.indices": np.array(packed, np.int32),
        "up.centroids.weight": table.reshape(groups, -1),
    }
    if rests:
        tensors["up.res_centroids.weight"] = rest.reshape(groups, -1)
    apart = generator.standard_normal((points, long)).astype(HALF)
    places = generator.integers(0, points, (1, -(-rows // long), outliers))
    if outliers:
        tensors["up.outlier_centroids.weight"] = apart.reshape(1, -1)
        tensors["up.outlier_indices"] = places.astype(np.int16)
    for row, column in product(range(rows), range(columns)):
        if column < outliers:
            numbers[row, column] = apart[places[0, row // long, column], row % long]
            continue
        group, inner = divmod(column - outliers, size)
        number = table[group, indices[group, row // vector, inner], row % vector]
        if rests:
            number = number + rest[group, lows[group, row // vector, inner], row % vector]
        numbers[row, column] = number
    if ordered:
        order = generator.permutation(columns)
        tensors["up.perm"] = order.astype(np.uint16).view(np.int16)
        whole = numbers.copy()
        for place, column in enumerate(order):  # column `place` of what is stored is `column` of the matrix
            numbers[:, column] = whole[:, place]
    if normed:
        scale, bias = (generator.random(columns).astype(HALF) for _ in range(2))
        tensors |= {"up.weight_scale": scale, "up.weight_bias": bias}
        numbers = numbers * scale + bias
    tensors |= (
        {}
        if ordered or normed
        else {"up.weight_scale": np.ones(columns, HALF), "up.weight_bias": np.zeros(columns, HALF)}
    )
    layer = {
        "vector_lens": [long if outliers else -1, vector],
        "num_centroids": [points if outliers else -1, centroids],
        "num_res_centroids": [-1, rests or -1],
        "group_num": groups,
        "group_size": size,
        "outlier_size": outliers,
        "in_features": columns,
        "out_features": rows,
        "enable_perm": ordered,
        "enable_norm": normed,
    }
    return tensors, {"quant_method": "vptq", "config_for_layers": {"up": layer}}, numbers.astype(np.float32)


CASES = [
    {"rests": rests, "outliers": outliers, "groups": groups, "ordered": ordered, "normed": normed}
    for rests, outliers, groups in ((0, 0, 1), (256, 0, 2), (16, 3, 1), (512, 3, 2))
    for ordered, normed in ((True, True), (False, False), (True, False))
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_vptq(case: dict[str, Any]) -> None:
    tensors, said, numbers = vptq(**case)
    np.testing.assert_array_equal(decoded(tensors, said), numbers)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"perm": np.zeros(13, np.int16)}, "perm is no order of the columns"),
        ({"outlier_indices": np.full((1, 3, 3), 32, np.int16)}, "an index is 32, and there are 32 centroids"),
        ({"weight_bias": None}, "it needs a tensor .weight_bias"),
        ({"res_centroids.weight": None}, "it needs a tensor .res_centroids.weight"),
    ],
)
def test_damaged_tensors(changes: dict[str, Array | None], message: str) -> None:
    tensors, said, _ = vptq(rests=16, outliers=3, groups=1, ordered=True, normed=True)
    changed = tensors | {f"up.{name}": array for name, array in changes.items()}
    with pytest.raises(NetcalcError, match=f"'up.weight' does not decode: {message}"):
        decoded({name: array for name, array in changed.items() if array is not None}, said)


def test_centroids_that_fill_no_bits() -> None:
    tensors, said, _ = vptq(rests=16, outliers=0, groups=1, ordered=False, normed=False)
    said["config_for_layers"]["up"]["num_res_centroids"] = [-1, 15]
    with pytest.raises(NetcalcError, match="15 centroids are no power of 2"):
        decoded(tensors, said)
