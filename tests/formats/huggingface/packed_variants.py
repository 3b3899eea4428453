"""Further schemes of the small Llama: static activations, zero points, orders of columns."""

from __future__ import annotations

from math import ceil
from typing import Any

from tests.formats.huggingface.packed import (
    SCHEMES,
    Packing,
    Stored,
    compressed,
    nvfp4,
    pack_quantized,
    torchao,
)

_GROUPS = {"type": "int", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False}


def of(method: str, **fields: Any) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": method, **fields}}


def with_inputs(said: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the configuration of compressed-tensors with quantized inputs."""
    said["quantization_config"]["config_groups"]["group_0"]["input_activations"] = fields
    return said


def beside(pack: Packing, **others: tuple[str, tuple[int, ...]]) -> Packing:
    """Return a layout with further companions."""

    def packed(name: str, rows: int, columns: int) -> Stored:
        return pack(name, rows, columns) | {f"{name}.{key}": entry for key, entry in others.items()}

    return packed


def of_types(pack: Packing, **types: str) -> Packing:
    """Return a layout whose companions have other types."""

    def packed(name: str, rows: int, columns: int) -> Stored:
        stored = pack(name, rows, columns)
        return stored | {f"{name}.{key}": (dtype, stored[f"{name}.{key}"][1]) for key, dtype in types.items()}

    return packed


def zero_points(name: str, rows: int, columns: int) -> Stored:
    return pack_quantized(4)(name, rows, columns) | {
        f"{name}.weight_zero_point": ("I32", (rows * 4 // 32, columns // 32))
    }


def ordered(name: str, rows: int, columns: int) -> Stored:
    return pack_quantized(4)(name, rows, columns) | {f"{name}.weight_g_idx": ("I32", (columns,))}


def bytes_of_rows(name: str, rows: int, columns: int) -> Stored:
    return {f"{name}.weight": ("I8", (rows, columns)), f"{name}.weight_scale": ("BF16", (rows, 1))}


def one_scale(name: str, rows: int, columns: int) -> Stored:
    return {f"{name}.weight": ("F8_E4M3", (rows, columns)), f"{name}.weight_scale": ("F32", ())}


def inverse(name: str, rows: int, columns: int) -> Stored:
    return {f"{name}.weight": ("F8_E4M3", (rows, columns)), f"{name}.weight_scale_inv": ("F32", ())}


def tiles(name: str, rows: int, columns: int) -> Stored:
    scales = (ceil(rows / 32), ceil(columns / 32))
    return {f"{name}.weight": ("F8_E4M3", (rows, columns)), f"{name}.weight_scale": ("BF16", scales)}


def small_blocks(name: str, rows: int, columns: int) -> Stored:
    scales = (ceil(rows / 32), ceil(columns / 16))
    return {f"{name}.weight": ("F8_E4M3", (rows, columns)), f"{name}.weight_scale_inv": ("F32", scales)}


def modelopt(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.weight": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (rows, columns // 16)),
        f"{name}.weight_scale_2": ("F32", ()),
        f"{name}.input_scale": ("F32", ()),
    }


def nf4_single(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.weight": ("U8", (rows * columns // 2, 1)),
        f"{name}.weight.absmax": ("F32", (rows * columns // 64,)),
        f"{name}.weight.quant_map": ("F32", (16,)),
        f"{name}.weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
    }


def quanto(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.weight._data": ("I8", (rows, columns)),
        f"{name}.weight._scale": ("BF16", (rows, 1)),
        f"{name}.input_scale": ("BF16", ()),
        f"{name}.output_scale": ("BF16", ()),
    }


def quanto4(name: str, rows: int, columns: int) -> Stored:
    groups = rows * columns // 64
    return {
        f"{name}.weight._data._data": ("U8", (groups // 2, 64)),
        f"{name}.weight._scale": ("BF16", (groups, 1)),
        f"{name}.weight._shift": ("BF16", (groups, 1)),
    }


def torchao_int8(name: str, rows: int, columns: int) -> Stored:
    return {f"{name}._weight_qdata": ("I8", (rows, columns)), f"{name}._weight_scale": ("F32", (rows, 1))}


def torchao_nvfp4(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}._weight_qdata": ("U8", (rows, columns // 2)),
        f"{name}._weight_scale": ("F8_E4M3", (32 * ceil(rows / 128), 16 * ceil(columns / 64))),
        f"{name}._weight_per_tensor_scale": ("F32", ()),
    }


def hqq(name: str, rows: int, columns: int) -> Stored:
    groups = rows * columns // 64
    settings = "axis channel_wise encoded_state_dict group_size nbits offload_meta optimize quant_scale quant_zero"
    names = (*settings.split(), "round_zero", "stores_quant_config", "view_as_float")
    return {
        f"{name}.W_q": ("U8", (groups // 2, 64)),
        f"{name}.scale": ("BF16", (groups, 1)),
        f"{name}.zero": ("BF16", (groups, 1)),
        f"{name}.shape": ("I64", (2,)),
        f"{name}.compute_dtype": ("U8", (14,)),
        f"{name}.packing": ("U8", (7,)),
        f"{name}.unpack_view_dtype": ("U8", (11,)),
        **{f"{name}.{each}": ("I32", ()) for each in names},
    }


def gemv(name: str, rows: int, columns: int) -> Stored:
    """``WQLinear_GEMV`` of AutoAWQ 0.2.9, modules/linear/gemv.py: words of zero points are padded to 4 for 2 groups."""
    return {
        f"{name}.qweight": ("I32", (rows, columns // 8)),
        f"{name}.qzeros": ("I32", (rows, 4)),
        f"{name}.scales": ("F16", (rows, 32)),
    }


_NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}
_FLOAT8 = {"num_bits": 8, "type": "float", "symmetric": True}
_HQQ = {"weight_quant_params": {"nbits": 4, "group_size": 64, "axis": 1, "channel_wise": True}}
#: Schemes by name: what the configuration says, and the tensors of a layer.
#: Weights and scales of ModelOpt 0.47.0, torch/export/quant_utils.py (to_quantized_weight, get_weight_scaling_factor).
MODELOPT: dict[str, Packing] = {
    "FP8_PER_CHANNEL_PER_TOKEN": lambda name, rows, columns: {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale": ("F32", (rows,)),
    },
    "FP8_PB_WO": lambda name, rows, columns: {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale": ("F32", (ceil(rows / 128), ceil(columns / 128))),
    },
    "MXFP8": lambda name, rows, columns: {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale": ("U8", (rows, columns // 32)),
    },
    "W4A8_MXFP4_FP8": lambda name, rows, columns: {
        f"{name}.weight": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("U8", (rows, columns // 32)),
    },
    "W8A16": lambda name, rows, columns: {
        f"{name}.weight": ("I8", (rows, columns)),
        f"{name}.weight_scale": ("F32", (rows,)),
    },
}
VARIANTS: dict[str, tuple[dict[str, Any], Packing]] = SCHEMES | {
    "nf4": (of("bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4"), nf4_single),
    "fp8-static": (
        of("fp8", weight_block_size=None, activation_scheme="static"),
        beside(inverse, activation_scale=("F32", ())),
    ),
    "fp8-tensor": (of("fp8", weight_block_size=None, activation_scheme="dynamic"), inverse),
    "fp8-32x16": (of("fp8", weight_block_size=[32, 16], activation_scheme="dynamic"), small_blocks),
    "fp8-scale": (of("fp8", weight_block_size=None), one_scale),
    "pack-4-zp": (compressed("pack-quantized", num_bits=4, **_GROUPS | {"symmetric": False}), zero_points),
    "pack-4-order": (compressed("pack-quantized", num_bits=4, actorder="group", **_GROUPS), ordered),
    "bytes": (compressed("int-quantized", num_bits=8, type="int", strategy="channel", symmetric=True), bytes_of_rows),
    "bytes-static": (
        with_inputs(
            compressed("int-quantized", num_bits=8, type="int", strategy="channel", symmetric=True),
            dynamic=False,
            strategy="tensor",
            symmetric=False,
        ),
        beside(bytes_of_rows, input_scale=("BF16", (1,)), input_zero_point=("I8", (1,))),
    ),
    "tiles": (compressed("float-quantized", strategy="block", block_structure=[32, 32], **_FLOAT8), tiles),
    "float8-static": (
        with_inputs(compressed("float-quantized", strategy="tensor", **_FLOAT8), dynamic=False, strategy="tensor"),
        beside(of_types(one_scale, weight_scale="BF16"), input_scale=("F32", (1,))),
    ),
    "nvfp4-inputs": (
        with_inputs(compressed("nvfp4-pack-quantized", **_NVFP4), dynamic="local", strategy="tensor_group"),
        nvfp4,
    ),
    "modelopt": (of("modelopt", quant_algo="NVFP4", ignore=["lm_head"]), modelopt),
    "modelopt-fp8": (
        of("modelopt", quant_algo="FP8", ignore=["lm_head"]),
        beside(one_scale, input_scale=("F32", ())),
    ),
    **{
        f"modelopt-{algorithm}": (of("modelopt", quant_algo=algorithm, ignore=["lm_head"]), pack)
        for algorithm, pack in MODELOPT.items()
    },
    "quanto": (of("quanto", weights="int8", activations="int8"), quanto),
    "quanto-4": (of("quanto", weights="int4"), quanto4),
    "torchao-int8": (torchao("Int8WeightOnlyConfig", granularity={"_type": "PerRow", "_data": {}}), torchao_int8),
    "torchao-nvfp4": (torchao("NVFP4WeightOnlyConfig", 1, use_dynamic_per_tensor_scale=True), torchao_nvfp4),
    "hqq": (of("hqq", quant_config=_HQQ, skip_modules=["lm_head"]), hqq),
}
#: Layouts that no configuration here names, for files that do not fit theirs.
LAYOUTS: dict[str, Packing] = {name: pack for name, (_, pack) in VARIANTS.items()} | {"gemv": gemv}


def exl2(name: str, rows: int, columns: int) -> Stored:
    """``QuantLinear`` of exllamav2 0.3.2, conversion/compile.py: here 4 bits in groups of 32 columns."""
    return {
        f"{name}.q_weight": ("I32", (columns * 4 // 32, rows)),
        f"{name}.q_invperm": ("I32", (columns,)),
        f"{name}.q_scale": ("I32", (columns // 32, rows // 8)),
        f"{name}.q_scale_max": ("F16", (columns // 32,)),
        f"{name}.q_groups": ("I16", (2 * columns // 32,)),
    }


def exl3(name: str, rows: int, columns: int) -> Stored:
    """``LinearEXL3`` of exllamav3 1.6.5, modules/quant/exl3.py: here 3 bits in tiles of 16 × 16."""
    return {
        f"{name}.trellis": ("I16", (columns // 16, rows // 16, 3 * 16)),
        f"{name}.suh": ("F16", (columns,)),
        f"{name}.svh": ("F16", (rows,)),
    }


#: Methods whose configurations leave bytes open.
TOLD_BY_HEADERS: dict[str, tuple[dict[str, Any], Packing]] = {
    "exl2": (of("exl2", bits=4.0), exl2),
    "exl3": (of("exl3", bits=3.0), exl3),
}
