"""Checkpoints of a small Llama as quantized ones are stored: headers with data of zeros."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from typing import Any

#: Bits of an element of a type in a file.
BITS = {"F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "U32": 32, "U8": 8, "I8": 8}
BITS |= {"F8_E4M3": 8, "F8_E8M0": 8}

#: Name → type and shape.
Stored = dict[str, tuple[str, tuple[int, ...]]]

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "dtype": "bfloat16",
}
#: Parameters of this model, as transformers counts them: 2·96·64 + 64 + 2·(2·64·64 + 2·32·64 + 3·64·128 + 2·64).
PARAMS = 86_336
#: A small gpt-oss, whose experts are in MXFP4.
GPT_OSS: dict[str, Any] = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "layer_types": ["full_attention"],
    "dtype": "bfloat16",
    "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
}


def plain_llama() -> Stored:
    """Return the tensors of the model."""
    found: Stored = {"model.embed_tokens.weight": ("BF16", (96, 64)), "model.norm.weight": ("BF16", (64,))}
    for layer in range(2):
        name = f"model.layers.{layer}"
        for part in ("input_layernorm", "post_attention_layernorm"):
            found[f"{name}.{part}.weight"] = ("BF16", (64,))
        for part, shape in {"q": (64, 64), "k": (32, 64), "v": (32, 64), "o": (64, 64)}.items():
            found[f"{name}.self_attn.{part}_proj.weight"] = ("BF16", shape)
        for part, shape in {"gate": (128, 64), "up": (128, 64), "down": (64, 128)}.items():
            found[f"{name}.mlp.{part}_proj.weight"] = ("BF16", shape)
    return found | {"lm_head.weight": ("BF16", (96, 64))}


Packing = Callable[[str, int, int], Stored]


def gptq(bits: int, group: int = 32) -> Packing:
    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.qweight": ("I32", (columns * bits // 32, rows)),
            f"{name}.qzeros": ("I32", (ceil(columns / group), rows * bits // 32)),
            f"{name}.scales": ("F16", (ceil(columns / group), rows)),
            f"{name}.g_idx": ("I32", (columns,)),
        }

    return pack


def awq(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.qweight": ("I32", (columns, rows // 8)),
        f"{name}.qzeros": ("I32", (columns // 32, rows // 8)),
        f"{name}.scales": ("F16", (columns // 32, rows)),
    }


def nf4(name: str, rows: int, columns: int) -> Stored:
    blocks = rows * columns // 64
    return {
        f"{name}.weight": ("U8", (rows * columns // 2, 1)),
        f"{name}.weight.absmax": ("U8", (blocks,)),
        f"{name}.weight.quant_map": ("F32", (16,)),
        f"{name}.weight.nested_absmax": ("F32", (ceil(blocks / 256),)),
        f"{name}.weight.nested_quant_map": ("F32", (256,)),
        f"{name}.weight.quant_state.bitsandbytes__nf4": ("U8", (168,)),
    }


def int8(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.weight": ("I8", (rows, columns)),
        f"{name}.SCB": ("F32", (rows,)),
        f"{name}.weight_format": ("U8", ()),
    }


def pack_quantized(bits: int, group: int = 32) -> Packing:
    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.weight_packed": ("I32", (rows, ceil(columns * bits / 32))),
            f"{name}.weight_scale": ("BF16", (rows, columns // group)),
            f"{name}.weight_shape": ("I64", (2,)),
        }

    return pack


def marlin24(bits: int, group: int = 32) -> Packing:
    """``Marlin24Compressor`` of compressed-tensors 0.9.4."""

    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.weight_packed": ("I32", (columns // 32, rows * bits // 2)),
            f"{name}.scale_packed": ("F16", (columns // group, rows)),
            f"{name}.meta": ("I16", (columns // 32, 2 * rows)),
        }

    return pack


def nvfp4(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.weight_packed": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (rows, columns // 16)),
        f"{name}.weight_global_scale": ("F32", (1,)),
        f"{name}.input_global_scale": ("F32", (1,)),
    }


def mxfp4(name: str, rows: int, columns: int) -> Stored:
    """``QuantLinear`` of auto-round 0.16.1, export/export_to_autoround/qlinear_fp.py, with mx_fp4."""
    return {
        f"{name}.weight_packed": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("U8", (rows, columns // 32)),
    }


def float8_static(name: str, rows: int, columns: int) -> Stored:
    """``FP8QLinear`` of auto-round 0.16.1, export/export_to_autoround/export_to_fp8.py."""
    return {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale": ("BF16", (rows,)),
        f"{name}.input_scale": ("BF16", (1,)),
    }


def float8(name: str, rows: int, columns: int) -> Stored:
    return {f"{name}.weight": ("F8_E4M3", (rows, columns)), f"{name}.weight_scale": ("BF16", (rows, 1))}


def fbgemm(name: str, rows: int, columns: int) -> Stored:
    return {f"{name}.weight": ("F8_E4M3", (rows, columns)), f"{name}.weight_scale": ("F32", (rows, 1))}


def blocks8(name: str, rows: int, columns: int) -> Stored:
    return {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale_inv": ("F32", (ceil(rows / 128), ceil(columns / 128))),
    }


def mlx(bits: int, group: int = 64) -> Packing:
    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.weight": ("U32", (rows, columns * bits // 32)),
            f"{name}.scales": ("BF16", (rows, columns // group)),
            f"{name}.biases": ("BF16", (rows, columns // group)),
        }

    return pack


def aqlm(name: str, rows: int, columns: int) -> Stored:
    """Two codebooks of 2⁹ blocks of 1 × 8, as ``QuantizedLinear`` of aqlm 1.1.7 (inference.py) declares them."""
    return {
        f"{name}.codes": ("I16", (rows, columns // 8, 2)),
        f"{name}.codebooks": ("BF16", (2, 512, 1, 8)),
        f"{name}.scales": ("BF16", (rows, 1, 1, 1)),
    }


def bitnet(name: str, rows: int, columns: int) -> Stored:
    """``BitLinear`` of transformers 5.23.0, integrations/bitnet.py."""
    return {f"{name}.weight": ("U8", (rows // 4, columns)), f"{name}.weight_scale": ("BF16", (1,))}


def bitnet_norm(name: str, rows: int, columns: int) -> Stored:
    return bitnet(name, rows, columns) | {f"{name}.rms_norm.weight": ("BF16", (columns,))}


def eetq(name: str, rows: int, columns: int) -> Stored:
    """``EetqLinear`` of transformers 5.23.0, integrations/eetq.py."""
    return {f"{name}.weight": ("I8", (columns, rows)), f"{name}.weight_scales": ("F16", (rows,))}


def fp_quant(group: int) -> Packing:
    """``FPQuantLinear`` of fp_quant 0.3.2, module/linear.py, with matrices of 32 × 32."""

    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.qweight": ("U8", (rows, columns // 2)),
            f"{name}.scales": ("U8", (rows, columns // group)),
            **{f"{name}.{side}_global_scale": ("BF16", (1,)) for side in ("weight", "act")},
            **{f"{name}.{way}_hadamard_matrix": ("BF16", (32, 32)) for way in ("forward", "backward")},
        }

    return pack


def higgs(bits: int) -> Packing:
    """``HiggsLinear`` of transformers 5.23.0, integrations/higgs.py, with groups of 64."""

    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.weight": ("I16", (rows * bits // 16, columns)),
            f"{name}.scales": ("BF16", (rows, columns // 64)),
            f"{name}.tables": ("BF16", (2**bits,)),
            f"{name}.tables2": ("BF16", (2**bits, 2**bits, 2)),
        }

    return pack


def metal(bits: int) -> Packing:
    """``MetalLinear`` of transformers 5.23.0, integrations/metal_quantization.py."""

    def pack(name: str, rows: int, columns: int) -> Stored:
        return {
            f"{name}.weight": ("U32", (rows, columns * bits // 32)),
            f"{name}.scales": ("BF16", (rows, columns // 32)),
            f"{name}.qbiases": ("BF16", (rows, columns // 32)),
        }

    return pack


def auto_round(name: str, rows: int, columns: int) -> Stored:
    """``QuantLinear`` of auto-round 0.16.1, auto_round_extension/torch/qlinear_torch_zp.py."""
    return {
        f"{name}.qweight": ("I32", (columns // 32 * 4, rows)),
        f"{name}.qzeros": ("I32", (columns // 32, rows // 32 * 4)),
        f"{name}.scales": ("F16", (columns // 32, rows)),
    }


def fouroversix(name: str, rows: int, columns: int) -> Stored:
    """``FourOverSixLinear`` of fouroversix at 00e7033, model/modules/linear.py."""
    return {
        f"{name}.quantized_weight_values": ("U8", (rows, columns // 2)),
        f"{name}.quantized_weight_scale_factors": ("F8_E4M3", (rows * columns // 16,)),
        f"{name}.quantized_weight_amax": ("F32", (1,)),
        f"{name}.quantized_weight_metadata": ("I32", (6,)),
    }


def gemma(name: str, rows: int, columns: int) -> Stored:
    """``QuantizedLinear`` of transformers 5.23.0, integrations/gemma_quant.py, with 4 bits."""
    return {
        f"{name}.weight": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F32", (rows, 1)),
        f"{name}.input_activation_scale": ("F32", ()),
        f"{name}.output_activation_scale": ("F32", ()),
    }


def mxfp8(name: str, rows: int, columns: int) -> Stored:
    """``Fp8Dequantize`` of transformers 5.23.0, integrations/finegrained_fp8.py: one byte for 32 columns."""
    return {
        f"{name}.weight": ("F8_E4M3", (rows, columns)),
        f"{name}.weight_scale_inv": ("U8", (rows, columns // 32)),
    }


#: Layers of the model that are packed, with their rows and columns.
LINEAR = {name.removesuffix(".weight"): shape for name, (_, shape) in plain_llama().items() if "_proj." in name}


def spqr(name: str, rows: int, columns: int) -> Stored:
    """``QuantizedLinear`` of spqr_quant 0.2.0, inference.py: 16 words for each tile of 16 × 16, here 37 outliers."""
    return {
        f"{name}.dense_weights": ("I64", (rows * columns // 16,)),
        f"{name}.row_offsets": ("I32", (rows + 1,)),
        f"{name}.col_vals": ("I32", (37,)),
        f"{name}.in_perm": ("I32", (columns // 2,)),
    }


SPQR_SHAPES = {
    f"{tensor}.shape": shape[0]
    for name, (rows, columns) in LINEAR.items()
    for tensor, (_, shape) in spqr(name, rows, columns).items()
}
VPTQ = {
    "vector_lens": [-1, 8],
    "num_centroids": [-1, 256],
    "num_res_centroids": [-1, 16],
    "group_num": 1,
    "outlier_size": 0,
    "indices_as_float": False,
    "is_indice_packed": True,
}


def vptq(name: str, rows: int, columns: int) -> Stored:
    """``VQuantLinear`` of vptq 0.0.5, layers/vqlinear.py: 8 + 4 bits for 8 rows of a column."""
    return {
        f"{name}.indices": ("I32", (1, rows // 8, ceil(columns * 12 / 32))),
        f"{name}.centroids.weight": ("BF16", (1, 256 * 8)),
        f"{name}.res_centroids.weight": ("BF16", (1, 16 * 8)),
        f"{name}.perm": ("I16", (columns,)),
        f"{name}.weight_scale": ("BF16", (columns,)),
        f"{name}.weight_bias": ("BF16", (columns,)),
    }


VPTQ_LAYERS = {
    name: VPTQ | {"in_features": columns, "out_features": rows, "group_size": columns}
    for name, (rows, columns) in LINEAR.items()
}


def torchao_int4(name: str, rows: int, columns: int) -> Stored:
    """``Int4Tensor`` of torchao 0.18.0, quantize_/workflows/int4/int4_tensor.py."""
    return {
        f"{name}._weight_qdata": ("I8", (rows, columns // 2)),
        f"{name}._weight_scale": ("BF16", (columns // 32, rows)),
        f"{name}._weight_zero_point": ("BF16", (columns // 32, rows)),
    }


def torchao(kind: str, version: int = 2, **fields: Any) -> dict[str, Any]:
    """Return the configuration of torchao with one kind of tensor."""
    default = {"_type": kind, "_version": version, "_data": fields}
    return {"quantization_config": {"quant_method": "torchao", "quant_type": {"default": default}}}


def compressed(format_: str, **weights: Any) -> dict[str, Any]:
    """Return the configuration of compressed-tensors with one group."""
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None, "output_activations": None}
    config = {"quant_method": "compressed-tensors", "format": format_, "config_groups": {"group_0": group}}
    return {"quantization_config": config | {"ignore": ["lm_head"], "quantization_status": "compressed"}}


def _method(method: str, **fields: Any) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": method, **fields}}


_GROUPS = {"type": "int", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False}
#: Schemes by name: what the configuration says, and the tensors of a layer.
SCHEMES: dict[str, tuple[dict[str, Any], Packing]] = {
    **{f"gptq-{b}": (_method("gptq", bits=b, group_size=32, desc_act=True), gptq(b)) for b in (2, 3, 4, 8)},
    "awq": (_method("awq", bits=4, group_size=32, version="gemm", zero_point=True), awq),
    "bitsandbytes-4": (_method("bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4"), nf4),
    "bitsandbytes-8": (_method("bitsandbytes", load_in_8bit=True, llm_int8_threshold=6.0), int8),
    "pack-4": (compressed("pack-quantized", num_bits=4, **_GROUPS), pack_quantized(4)),
    "pack-3": (compressed("pack-quantized", num_bits=3, **_GROUPS), pack_quantized(3)),
    **{f"marlin24-{b}": (compressed("marlin-24", num_bits=b, **_GROUPS), marlin24(b)) for b in (4, 8)},
    "nvfp4": (compressed("nvfp4-pack-quantized", num_bits=4, type="float", group_size=16), nvfp4),
    "float8": (compressed("float-quantized", num_bits=8, type="float", strategy="channel"), float8),
    "fp8": (_method("fp8", weight_block_size=[128, 128], activation_scheme="dynamic"), blocks8),
    "fbgemm": (_method("fbgemm_fp8", activation_scale_ub=1200.0), fbgemm),
    "aqlm": (_method("aqlm", num_codebooks=2, nbits_per_codebook=9, in_group_size=8, out_group_size=1), aqlm),
    "auto-round": (_method("auto-round", bits=4, group_size=32, packing_format="auto_round:auto_gptq"), auto_round),
    "auto-round-mxfp4": (
        _method("auto-round", bits=4, group_size=32, data_type="mx_fp", packing_format="auto_round:llm_compressor"),
        mxfp4,
    ),
    "auto-round-fp8": (
        _method(
            "auto-round", bits=8, group_size=-1, data_type="fp", fmt="e4m3", packing_format="auto_round:fp8_static"
        ),
        float8_static,
    ),
    "bitnet": (_method("bitnet", linear_class="autobitlinear", quantization_mode="offline"), bitnet),
    "bitnet-norm": (_method("bitnet", use_rms_norm=True), bitnet_norm),
    "eetq": (_method("eetq", weights="int8"), eetq),
    "fouroversix": (_method("fouroversix", dtype="nvfp4"), fouroversix),
    "gemma": (_method("gemma", num_bits=4), gemma),
    "mxfp8": (_method("mxfp8", weight_block_size=[1, 32]), mxfp8),
    "spqr": (_method("spqr", bits=3, beta1=16, beta2=16, shapes=SPQR_SHAPES), spqr),
    "vptq": (_method("vptq", config_for_layers=VPTQ_LAYERS), vptq),
    "fp_quant-mxfp4": (_method("fp_quant", forward_dtype="mxfp4"), fp_quant(32)),
    "fp_quant-nvfp4": (_method("fp_quant", forward_dtype="nvfp4", hadamard_group_size=32), fp_quant(16)),
    **{f"higgs-{b}": (_method("higgs", bits=b, group_size=64, hadamard_size=64), higgs(b)) for b in (2, 3, 4)},
    **{f"metal-{b}": (_method("metal", bits=b, group_size=32), metal(b)) for b in (2, 4, 8)},
    "torchao-int4": (
        torchao("Int4WeightOnlyConfig", group_size=32, int4_packing_format={"_data": "PLAIN"}),
        torchao_int4,
    ),
    **{f"mlx-{b}": ({"quantization": {"bits": b, "group_size": 64}}, mlx(b)) for b in (2, 3, 4, 6, 8)},
}


def packed_llama(pack: Packing) -> Stored:
    """Return the tensors of the model, all projections but the output packed."""
    found: Stored = {}
    for name, (dtype, shape) in plain_llama().items():
        if "_proj." in name:
            found |= pack(name.removesuffix(".weight"), shape[0], shape[1])
        else:
            found[name] = dtype, shape
    return found


def write_headers(file: Path, stored: Mapping[str, tuple[str, tuple[int, ...]]]) -> int:
    """Write a file of tensors of zeros, and return the bytes of the data."""
    entries, end = {}, 0
    for name, (dtype, shape) in stored.items():
        start, size = end, BITS[dtype]
        for axis in shape:
            size *= axis
        end += size // 8
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    header = json.dumps(entries).encode()
    with file.open("wb") as out:
        out.write(len(header).to_bytes(8, "little") + header)
        out.truncate(8 + len(header) + end)
    return end


def write_model(
    folder: Path, config: Mapping[str, Any], stored: Stored, *, metadata: Mapping[str, Any] | None = None
) -> Path:
    """Write a model's folder: one file, or with ``metadata`` two shards and an index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    if metadata is None:
        write_headers(folder / "model.safetensors", stored)
        return folder
    names = [f"model-{number:05}-of-00002.safetensors" for number in (1, 2)]
    places = {name: names[position % 2] for position, name in enumerate(stored)}
    size = sum(
        write_headers(folder / shard, {name: stored[name] for name in stored if places[name] == shard})
        for shard in names
    )
    index = {"metadata": {"total_size": size} | dict(metadata), "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder
