"""Numbers of AWQ, packed by hand as AutoAWQ 0.2.9 does (modules/linear/gemm.py, WQLinear_GEMM.from_linear)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.harness import decoded, folder_of, outputs, words_of

ROWS, COLUMNS = 32, 64
#: Of eight outputs, the one whose code is at each place of a word, from the lowest bits on.
ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def awq_words(codes: Array, bits: int = 4) -> Array:
    """Return rows of codes, each eight in the order of the kernel, in words."""
    return np.array(
        [words_of([row[8 * (i // 8) + ORDER[i % 8]] for i in range(len(row))], bits) for row in codes], np.int32
    )


def awq_layer(name: str, codes: Array, zeros: Array, scales: Array, bits: int = 4) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer, and (code − zero)·scale by a loop.

    Args:
        codes: (rows, columns).
        zeros: (groups, rows), as the scales are.
    """
    rows, columns = codes.shape
    numbers = np.empty(codes.shape, np.float32)
    for row in range(rows):
        for column in range(columns):
            group = column * len(zeros) // columns
            numbers[row, column] = (int(codes[row, column]) - int(zeros[group, row])) * float(scales[group, row])
    tensors = {"qweight": awq_words(codes.T, bits), "qzeros": awq_words(zeros, bits), "scales": scales}
    return {f"{name}.{key}": array for key, array in tensors.items()}, numbers


def drawn_layer(groups: int, bits: int = 4) -> tuple[dict[str, Array], Array]:
    """Return a layer with drawn codes, zero points and scales."""
    generator = np.random.default_rng(groups + bits)
    codes = generator.integers(0, 1 << bits, (ROWS, COLUMNS))
    zeros = generator.integers(0, 1 << bits, (groups, ROWS))
    return awq_layer("up", codes, zeros, generator.random((groups, ROWS)).astype(np.float16), bits)


@pytest.mark.parametrize(("group_size", "groups"), [(16, 4), (32, 2), (64, 1), (-1, 1)])
@pytest.mark.parametrize("version", ["gemm", "GEMM", "exllama", None])
def test_layers(group_size: int, groups: int, version: str | None) -> None:
    tensors, numbers = drawn_layer(groups)
    said = {"quant_method": "awq", "bits": 4, "group_size": group_size, "version": version}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)


def test_groups_that_have_no_size_are_an_error() -> None:
    tensors, _ = drawn_layer(2)
    with pytest.raises(NetcalcError, match=r"does not decode: 64 columns are 1 groups of 64, and 2 have scales"):
        decoded(tensors, {"quant_method": "awq", "bits": 4, "group_size": -1})


def test_a_model_runs_with_the_numbers_of_its_packed_weights(tmp_path: Path) -> None:
    said = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm"}}

    def pack(name: str, array: Array) -> dict[str, Array]:
        """Pack numbers near those of an array, and put them in its place."""
        rows, columns = array.shape
        codes = np.rint(array * 50).clip(-8, 7).astype(int) + 8
        groups = columns // 32
        tensors, numbers = awq_layer(
            name, codes, np.full((groups, rows), 8), np.full((groups, rows), 1 / 64, np.float16)
        )
        array[...] = numbers
        return tensors

    folder, plain = folder_of(tmp_path / "packed", said, pack)
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
