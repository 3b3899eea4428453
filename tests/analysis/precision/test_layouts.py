"""Sizes of quantized and pruned parameters against recorded layers of libraries, files and independent packers."""

import json
import re
from math import prod
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.analysis.precision import stored
from netcalc.analysis.walk import parameters

RECORDED = json.loads((Path(__file__).parents[2] / "truth" / "packing.json").read_text())["layers"]
BYTES = {"int32": 4, "uint32": 4, "int8": 1, "uint8": 1, "float8_e4m3fn": 1, "float16": 2, "bfloat16": 2, "float32": 4}
#: The scheme of each recorded layer; the rest of the name gives bits and group.
NAMES = [
    (r"gptq-(\d)-(-?\d+)", r"gptq-int\1-g\2"),
    (r"awq-4-(\d+)", r"awq-int4-g\1"),
    (r"bitsandbytes-(nf4|fp4)", r"\1"),
    (r"bitsandbytes-(nf4|fp4)-double", r"\1-dq"),
    ("bitsandbytes-int8", "int8"),
    (r"compressed-tensors-pack-(\d)-group", r"int\1-g128"),
    ("compressed-tensors-pack-4-asymmetric", "int4-g32-zp"),
    (r"compressed-tensors-pack-(\d)-channel", r"int\1-channel"),
    ("compressed-tensors-nvfp4", "nvfp4"),
    ("(compressed-tensors-|mlx-)?mxfp4(-4-32)?", "mxfp4"),
    ("mlx-mxfp8-8-32", "mxfp8"),
    (r"mlx-affine-(\d)-(\d+)", r"mlx-int\1-g\2"),
    ("fp8-block", "float8_e4m3-b128"),
    ("fp8-tensor", "float8_e4m3"),
]
#: Tensors of recorded layers that a size leaves out: the shape once more, a record of the state, and other parameters.
NOT_COUNTED = re.compile(r".*(\.weight_shape|quant_state\.\S+|\.weight_format|\.bias)")


def storage(layer, quantize=(), prune=()):
    program = stored(netcalc.load_data(layer).program, quantize, prune)
    return next(p.param.storage for p in parameters(program) if p.path in ("up.weight", "up.down_proj"))


def linear(rows, columns):
    return {
        "netcalc": 1,
        "inputs": {"x": [2, columns]},
        "layers": [{"name": "up", "linear": {"out": rows, "bias": False}}, {"linear": {"out": 3, "bias": False}}],
    }


def scheme_of(case):
    return next((re.sub(old, new, case) for old, new in NAMES if re.fullmatch(old, case)), None)


def recorded_bytes(case):
    return {
        name: BYTES[dtype] * prod(shape)
        for name, (dtype, shape) in RECORDED[case]["tensors"].items()
        if not NOT_COUNTED.fullmatch(name)
    }


@pytest.mark.parametrize("case", [case for case in RECORDED if scheme_of(case)])
def test_sizes_are_those_of_layers_that_libraries_packed(case):
    scheme = scheme_of(case).replace("g-1", "g256")
    shape = next(iter(RECORDED[case]["modules"].values()))
    found = storage(linear(prod(shape[:-1]), shape[-1]), f"up.*={scheme}")
    expected = recorded_bytes(case)
    if case.startswith("gptq"):  # recorded from a module in float32, released files have float16
        expected["up.scales"] //= 2
    assert found.scheme == scheme
    assert sorted(t.bytes for t in found.tensors) == sorted(expected.values())


def test_every_recorded_layout_of_these_libraries_has_a_scheme():
    assert {case for case in RECORDED if not scheme_of(case)} == {
        "compressed-tensors-fp8",
        "compressed-tensors-fp8-tensor",
        "compressed-tensors-int8",
        "fbgemm",
        "mlx-nvfp4-4-16",  # without a scale for the tensor
    }


@pytest.mark.parametrize(("rows", "columns"), [(8, 32), (5, 36), (16, 100)])
@pytest.mark.parametrize("share", [0.5, 0.3, 0.9])
def test_unstructured_sparsity_has_the_bytes_of_csr_and_of_a_bitmap(rows, columns, share):
    dense = np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns)
    dense.ravel()[: int(share * dense.size)] = 0
    found = storage(linear(rows, columns), prune=f"up.*={share}-csr")
    elements = np.count_nonzero(
        dense
    )  # each a float32 and the int32 of its column, and an int32 for each row and the end
    assert found.bytes == 4 * elements + 4 * elements + 4 * (rows + 1)
    found = storage(linear(rows, columns), prune=f"up.*={share}")
    assert found.bytes == dense[dense != 0].nbytes + np.packbits(dense != 0).nbytes


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_two_of_four_takes_nine_sixteenths_of_16_bits(dtype):
    """NVIDIA, Accelerating Inference with Sparsity Using the Ampere Architecture: 44 % less for 16-bit operands."""
    found = storage(linear(64, 128), dtype, "up.*=2:4")
    assert found.bytes / (64 * 128 * 2) == 9 / 16


def test_two_of_four_and_int4_have_the_bytes_of_packed_words():
    kept = np.zeros((64, 64), np.uint8)  # two of each four of 128 columns
    values = (kept[:, ::2] | kept[:, 1::2] << 4).nbytes
    places = np.packbits(np.zeros((64, 64, 2), np.uint8)).nbytes
    assert storage(linear(64, 128), "int4-g64", "up.*=2:4").bytes == values + places + 64 * 2 * 2


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("columns", [32, 96, 160])
def test_packed_integers_have_the_bytes_of_words_filled_bit_by_bit(bits, columns):
    rows = 6
    numbers = np.arange(rows * columns).reshape(rows, columns) % 2**bits
    ones = (numbers[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(rows, columns * bits)
    padded = np.pad(ones, ((0, 0), (0, -columns * bits % 32)))
    found = storage(linear(rows, columns), f"int{bits}-g32")
    assert found.tensors[0].bytes == np.packbits(padded, axis=1).nbytes


def test_a_file_of_safetensors_has_the_predicted_bytes(tmp_path):
    """bfloat16 without numpy's type: two bytes each, as uint16."""
    rows, columns, group = 24, 256, 128
    words = np.zeros((rows, columns * 4 // 32), np.int32)
    tensors = {"up.weight_packed": words, "up.weight_scale": np.zeros((rows, columns // group), np.float16)}
    save_file(tensors, tmp_path / "model.safetensors")
    loaded = load_file(tmp_path / "model.safetensors")
    assert storage(linear(rows, columns), "int4-g128").bytes == sum(t.nbytes for t in loaded.values())


LLAMA = {"layers": 8, "d_model": 256, "heads": 4, "kv_heads": 1, "head_dim": 64, "d_ff": 512, "vocab": 96}


@pytest.mark.parametrize("name", ["f16", "q8_0", "q4_0", "q5_1", "q4_k_m", "q3_k_l", "q2_k", "q6_k", "iq4_xs"])
def test_a_file_written_by_gguf_has_the_predicted_bytes(tmp_path, name):
    program = stored(netcalc.load("llama-2-7b", set=LLAMA).program, name)
    path, expected = tmp_path / "model.gguf", 0
    writer = gguf.GGUFWriter(path, "llama")
    for found in parameters(program):
        kept = found.param.storage
        kind = {"float32": "F32", "float16": "F16"}.get(kept.scheme, kept.scheme.upper())
        type_ = gguf.GGMLQuantizationType[kind]
        shape = found.param.shape
        if kind in ("F32", "F16"):
            writer.add_tensor(found.path, np.zeros(shape, kept.scheme))
        else:
            packed = np.zeros(gguf.quant_shape_to_byte_shape(shape, type_), np.uint8)
            if kind in ("Q8_0", "Q4_0", "Q5_1"):
                packed = gguf.quants.quantize(np.ones(shape, np.float32), type_)
            writer.add_tensor(found.path, packed, raw_dtype=type_)
        expected += kept.bytes
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors) == expected
    assert analyzed(program) == expected


def analyzed(program):
    return analyze(program).total.weight_bytes
