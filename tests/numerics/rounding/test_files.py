"""Files of encoded parameters: their headers as readers of quantized checkpoints take them, and their bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.constants import GGMLQuantizationType
from safetensors.numpy import save_file

import netcalc as api
from netcalc.analysis.precision import stored
from netcalc.analysis.walk import parameters
from netcalc.numerics.rounding import decode, encode
from netcalc.opdef import Storage
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.packing.unpacked import UnpackedTensors, unpacked

ROWS, COLUMNS = 256, 512
NETWORK = {
    "netcalc": 1,
    "inputs": {"x": [2, COLUMNS]},
    "layers": [{"name": "fc", "linear": {"out": ROWS, "bias": False}}],
}
WEIGHT = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)

_GROUP = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
_BITSANDBYTES = {"values": "weight", "table": "weight.quant_map"}
#: The configuration of each method, and the name of each stored array beside ``fc.``.
METHODS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "gptq-int4-g128": (
        {"quant_method": "gptq", "bits": 4, "group_size": 128},
        {"values": "qweight", "scales": "scales", "zero points": "qzeros", "groups of columns": "g_idx"},
    ),
    "gptq-int3-g128": (
        {"quant_method": "gptq", "bits": 3, "group_size": 128},
        {"values": "qweight", "scales": "scales", "zero points": "qzeros", "groups of columns": "g_idx"},
    ),
    "awq-int4-g128": (
        {"quant_method": "awq", "bits": 4, "group_size": 128},
        {"values": "qweight", "scales": "scales", "zero points": "qzeros"},
    ),
    "int4-g128": (
        {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"0": {"weights": _GROUP}}},
        {"values": "weight_packed", "scales": "weight_scale"},
    ),
    "int4-g128-zp": (
        {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"0": {"weights": _GROUP}}},
        {"values": "weight_packed", "scales": "weight_scale", "zero points": "weight_zero_point"},
    ),
    "mlx-int4-g64": (
        {"group_size": 64, "bits": 4},
        {"values": "weight", "scales": "scales", "biases": "biases"},
    ),
    "int8": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, {"values": "weight", "scales": "SCB"}),
    "nf4": (
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        _BITSANDBYTES | {"scales": "weight.absmax"},
    ),
    "nf4-dq": (
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        _BITSANDBYTES
        | {
            "scales": "weight.absmax",
            "scales of scales": "weight.nested_absmax",
            "table of scales": "weight.nested_quant_map",
        },
    ),
    "float8_e4m3-b128": ({"quant_method": "fp8"}, {"values": "weight", "scales": "weight_scale_inv"}),
    "nvfp4": (
        {"quant_method": "modelopt", "quant_algo": "NVFP4"},
        {"values": "weight", "scales": "weight_scale", "scale of the tensor": "weight_scale_2"},
    ),
}


def form(scheme: str) -> Storage:
    found = next(parameters(stored(api.load_data(NETWORK).program, f"fc.*={scheme}"))).param.storage
    assert found is not None and found.scheme == scheme
    return found


@pytest.mark.parametrize("scheme", METHODS)
def test_readers_of_checkpoints_take_the_arrays(scheme: str, tmp_path: Path) -> None:
    config, names = METHODS[scheme]
    storage = form(scheme)
    tensors = encode(WEIGHT, storage)
    arrays = {}
    for role, name in names.items():
        array = tensors[role]
        array = array[0] if array.ndim > 1 and array.shape[0] == 1 else array
        arrays[f"fc.{name}"] = np.ascontiguousarray(
            array.reshape(-1, 1) if role == "values" and array.ndim == 1 else array
        )
    file = tmp_path / "model.safetensors"
    save_file(arrays, file)
    sizes = {tensor.role: tensor.bytes for tensor in storage.tensors}
    assert {role: arrays[f"fc.{name}"].nbytes for role, name in names.items()} == sizes
    found = unpacked(open_weights(file), quantization_of({"quantization_config": config}, "config.json"))
    assert isinstance(found, UnpackedTensors)
    header = found.headers["fc.weight"]
    assert header.unpacking is not None and not header.unpacking.problem, header
    assert header.elements == ROWS * COLUMNS
    assert header.unpacking.flat or header.shape == (ROWS, COLUMNS)


@pytest.mark.parametrize("scheme", ["q4_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"])
def test_a_file_in_gguf_has_the_values(scheme: str, tmp_path: Path) -> None:
    storage = form(scheme)
    tensors = encode(WEIGHT, storage)
    file = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_tensor("fc.weight", tensors["blocks"][0], raw_dtype=GGMLQuantizationType[scheme.upper()])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (tensor,) = gguf.GGUFReader(file).tensors
    assert (tensor.n_bytes, tuple(tensor.shape)) == (storage.bytes, (COLUMNS, ROWS))
    found = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    np.testing.assert_array_equal(found, decode(tensors, storage)[0])
