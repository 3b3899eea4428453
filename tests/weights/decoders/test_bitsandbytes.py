"""Numbers of bitsandbytes, packed by hand as version 0.50.2 does (functional.quantize_4bit, int8_vectorwise_quant)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.diagnostics import NetcalcError
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays
from tests.weights.decoders.harness import decoded, folder_of, outputs

FOUR = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
EIGHT = {"quant_method": "bitsandbytes", "load_in_8bit": True}
#: A table that is none of the library's, so that the stored one is seen to count.
TABLE = np.linspace(-1, 1, 16).astype(np.float32) ** 3
NESTED = np.linspace(-1, 1, 256).astype(np.float32)


def state_of(**fields: Any) -> Array:
    """Return fields as bytes of JSON."""
    return np.frombuffer(json.dumps(fields).encode(), np.uint8)


def table_layer(
    name: str, shape: tuple[int, ...], blocksize: int, nested: int = 0, kind: str = "nf4", table: Array = TABLE
) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer with drawn codes, and the numbers by a loop; ``nested`` are scales in a block."""
    generator = np.random.default_rng(blocksize + nested)
    count = int(np.prod(shape))
    codes = [int(code) for code in generator.integers(0, 16, count)]
    blocks = -(-count // blocksize)
    padded = codes + [0] * (count % 2)
    packed = np.array([[16 * a + b] for a, b in zip(padded[::2], padded[1::2], strict=True)], np.uint8)
    fields: dict[str, Any] = {"quant_type": kind, "blocksize": blocksize, "dtype": "float32", "shape": list(shape)}
    tensors = {"": packed, ".quant_map": table}
    if nested:
        places = generator.integers(0, 256, blocks)
        outer = generator.random(-(-blocks // nested)).astype(np.float32)
        scales = [np.float32(NESTED[p] * outer[i // nested]) + np.float32(0.3) for i, p in enumerate(places)]
        tensors |= {".absmax": places.astype(np.uint8), ".nested_absmax": outer, ".nested_quant_map": NESTED}
        fields |= {"nested_blocksize": nested, "nested_dtype": "float32", "nested_offset": float(np.float32(0.3))}
    else:
        scales = list(generator.random(blocks).astype(np.float32))
        tensors |= {".absmax": np.array(scales, np.float32)}
    tensors[f".quant_state.bitsandbytes__{kind}"] = state_of(**fields)
    numbers = np.empty(count, np.float32)
    for i, code in enumerate(codes):
        numbers[i] = table[code] * scales[i // blocksize]
    return {f"{name}.weight{suffix}": array for suffix, array in tensors.items()}, numbers.reshape(shape)


def read(tensors: dict[str, Array]) -> Array:
    """Return the numbers of a layer whose shape stands in its data."""
    view = UnpackedTensors(Arrays(tensors), quantization_of({"quantization_config": FOUR}, "config.json"))
    assert view.has_open_shapes
    view.read_shapes()
    return view.load("up.weight")


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
@pytest.mark.parametrize("nested", [0, 256])
@pytest.mark.parametrize(
    ("shape", "blocksize"), [((16, 24), 64), ((5, 9), 64), ((7, 3, 4), 64), ((32, 64), 128), ((128, 160), 64)]
)
def test_layers_of_tables(shape: tuple[int, ...], blocksize: int, nested: int, kind: str) -> None:
    tensors, numbers = table_layer("up", shape, blocksize, nested, kind)
    np.testing.assert_array_equal(read(tensors), numbers)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quant_state.bitsandbytes__nf4": None}, "it has no quant_state"),
        ({"quant_state.bitsandbytes__nf4": np.array([123, 255], np.uint8)}, "its quant_state is no JSON"),
        ({"quant_state.bitsandbytes__nf4": state_of(blocksize=64)}, "the quant_state has the shape None"),
        ({"quant_state.bitsandbytes__nf4": state_of(shape=[16, 23])}, r"has 384 elements, and its shape is \(16, 23\)"),
        ({"quant_state.bitsandbytes__nf4": state_of(shape=[16, 24])}, "its quant_state has the blocksize None"),
        (
            {"quant_state.bitsandbytes__nf4": state_of(shape=[16, 24], blocksize=128)},
            "384 numbers are 3 blocks of 128, not 6",
        ),
        ({"nested_absmax": np.ones(1, np.float32)}, "absmax are float32, which nested_absmax"),
        ({"nested_quant_map": NESTED}, "absmax are float32, which nested_absmax"),
        (
            {"absmax": np.zeros(6, np.uint8), "nested_absmax": np.ones(1, np.float32)},
            "absmax are uint8, which nested_absmax",
        ),
        ({"absmax": np.zeros(6, np.uint8)}, "absmax are uint8, which nested_absmax"),
    ],
    ids=range(10),
)
def test_damaged_states_are_errors(changes: dict[str, Array | None], reason: str) -> None:
    tensors, _ = table_layer("up", (16, 24), 64)
    tensors |= {f"up.weight.{name}": array for name, array in changes.items() if array is not None}
    tensors = {
        name: array for name, array in tensors.items() if changes.get(name.removeprefix("up.weight."), 0) is not None
    }
    with pytest.raises(NetcalcError, match=reason):
        read(tensors)


def int8_layer(name: str, rows: int, columns: int) -> tuple[dict[str, Array], Array]:
    """Return the tensors of a layer with drawn codes, and code·scale/127 by a loop."""
    generator = np.random.default_rng(rows)
    codes = generator.integers(-127, 128, (rows, columns)).astype(np.int8)
    scales = generator.random(rows).astype(np.float32)
    numbers = np.empty((rows, columns))
    for row in range(rows):
        for column in range(columns):
            numbers[row, column] = int(codes[row, column]) * float(scales[row]) / 127
    return {f"{name}.weight": codes, f"{name}.SCB": scales, f"{name}.weight_format": np.zeros((), np.uint8)}, numbers


def test_layers_of_integers() -> None:
    tensors, numbers = int8_layer("up", 16, 24)
    np.testing.assert_allclose(decoded(tensors, EIGHT), numbers, rtol=3e-7)
    del tensors["up.weight_format"]
    np.testing.assert_allclose(decoded(tensors, EIGHT), numbers, rtol=3e-7)


@pytest.mark.parametrize(("number", "name"), [(1, "col32"), (2, "col_turing"), (3, "col_ampere"), (9, "9")])
def test_orders_of_kernels_are_errors(number: int, name: str) -> None:
    tensors, _ = int8_layer("up", 16, 24)
    tensors["up.weight_format"] = np.array(number, np.uint8)
    with pytest.raises(NetcalcError, match=f"its weight_format is {name}, the order of a kernel"):
        decoded(tensors, EIGHT)


@pytest.mark.parametrize(("said", "nested"), [(FOUR, 0), (FOUR | {"bnb_4bit_use_double_quant": True}, 256), (EIGHT, 0)])
def test_a_model_runs_with_the_numbers_of_its_packed_weights(said: dict[str, Any], nested: int, tmp_path: Path) -> None:
    def pack(name: str, array: Array) -> dict[str, Array]:
        """Put drawn numbers in the place of an array, and return their tensors."""
        rows, columns = array.shape
        if said is EIGHT:
            tensors, _ = int8_layer(name, rows, columns)
            tensors[f"{name}.SCB"] /= 8
            array[...] = decoded({"up" + key[len(name) :]: value for key, value in tensors.items()}, EIGHT)
        else:
            tensors, array[...] = table_layer(name, array.shape, 64, nested, table=TABLE / 8)
        return tensors

    folder, plain = folder_of(tmp_path / "packed", {"quantization_config": said}, pack)
    full, _ = folder_of(tmp_path / "full", {}, lambda name, array: {f"{name}.weight": plain[f"{name}.weight"]})
    np.testing.assert_array_equal(outputs(folder), outputs(full))
