"""Numbers of GPTQ, packed by hand as AutoGPTQ 0.7.1 does (nn_modules/qlinear/qlinear_cuda_old.py, pack)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from tests.weights.decoders.harness import decoded, folder_of, outputs, words_of

ROWS, COLUMNS, GROUP = 32, 64, 32


def layer(bits: int, offset: int, *, ordered: bool) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer with drawn codes, and (code − zero)·scale by a loop."""
    generator = np.random.default_rng(bits)
    groups = COLUMNS // GROUP
    codes = generator.integers(0, 1 << bits, (ROWS, COLUMNS))
    zeros = generator.integers(offset, 1 << bits, (groups, ROWS))
    scales = generator.random((groups, ROWS)).astype(np.float16)
    order = np.arange(COLUMNS) // GROUP
    if not ordered:
        generator.shuffle(order)
    tensors = {
        "up.qweight": np.array([words_of(row, bits) for row in codes], np.int32).T,
        "up.qzeros": np.array([words_of(row - offset, bits) for row in zeros], np.int32),
        "up.scales": scales,
    }
    numbers = np.empty((ROWS, COLUMNS), np.float32)
    for row in range(ROWS):
        for column in range(COLUMNS):
            group = order[column]
            numbers[row, column] = (int(codes[row, column]) - int(zeros[group, row])) * float(scales[group, row])
    return tensors if ordered else {**tensors, "up.g_idx": order.astype(np.int32)}, numbers


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("fields", [{}, {"checkpoint_format": "gptq_v2"}], ids=["v1", "v2"])
@pytest.mark.parametrize("ordered", [True, False])
def test_layers(bits: int, fields: dict[str, Any], ordered: bool) -> None:
    tensors, numbers = layer(bits, 0 if fields else 1, ordered=ordered)
    said = {"quant_method": "gptq", "bits": bits, "group_size": GROUP, "desc_act": not ordered, **fields}
    np.testing.assert_array_equal(decoded(tensors, said), numbers)


def test_a_group_that_has_no_scales_is_an_error() -> None:
    tensors, _ = layer(4, 1, ordered=False)
    tensors["up.g_idx"][3] = 2
    with pytest.raises(NetcalcError, match=r"'up.weight' does not decode: g_idx names groups beyond the 2"):
        decoded(tensors, {"quant_method": "gptq", "bits": 4, "group_size": GROUP})


def packed_in_eight_bits(name: str, array: Array, group: int, zero: int) -> dict[str, Array]:
    """Return the tensors of numbers near those of an array, which are put in its place.

    Args:
        zero: what is stored for a zero point of 128.
    """
    rows, columns = array.shape
    codes = np.rint(array * 500).clip(-127, 127).astype(int) + 128
    array[...] = (codes - 128) / np.float32(512)
    groups = columns // group
    return {
        f"{name}.qweight": np.array([words_of(row, 8) for row in codes], np.int32).T,
        f"{name}.qzeros": np.array([words_of([zero] * rows, 8)] * groups, np.int32),
        f"{name}.scales": np.full((groups, rows), 1 / 512, np.float16),
    }


def test_a_model_runs_with_the_numbers_of_its_packed_weights(tmp_path: Path) -> None:
    said = {"quantization_config": {"quant_method": "gptq", "bits": 8, "group_size": 64, "desc_act": False}}
    folder, plain = folder_of(tmp_path / "packed", said, partial(packed_in_eight_bits, group=64, zero=127))
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
