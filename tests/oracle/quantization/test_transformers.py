"""Folders that transformers' own code quantizes: netcalc's logits with the packed weights are those of the library."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import netcalc
from tests.formats.huggingface.packed import GPT_OSS, LLAMA
from tests.weights.decoders.floats import E4M3
from tests.weights.decoders.harness import decoded

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

Tensors = dict[str, Any]
#: Packs one matrix: its name and numbers give the tensors that a file has.
Pack = Callable[[str, Any], Tensors]
IDS = np.arange(5).reshape(1, 5)

QWEN3 = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}


def fp8(block: list[int] | None, scale_fmt: str = "float") -> Pack:
    """Return a packer by ``Fp8Quantize``."""
    from transformers.integrations.finegrained_fp8 import Fp8Quantize

    said = SimpleNamespace(weight_block_size=block, scale_fmt=scale_fmt)
    operation = Fp8Quantize(SimpleNamespace(quantization_config=said))

    def pack(name: str, weight: Any) -> Tensors:
        tensors = operation.convert({name: weight})
        return {
            key: tensor.reshape(()) if block is None and "scale" in key else tensor for key, tensor in tensors.items()
        }

    return pack


def mxfp8(name: str, weight: Any) -> Tensors:
    """Pack numbers with powers of two for 32 columns, which are stored as bytes."""
    tensors = fp8([1, 32], "ue8m0")(name, weight)
    return {key: tensor.view(torch.uint8) if "scale" in key else tensor for key, tensor in tensors.items()}


def metal(bits: int) -> Pack:
    def pack(name: str, weight: Any) -> Tensors:
        from transformers.integrations.metal_quantization import _affine_quantize_tensor

        words, scales, biases = _affine_quantize_tensor(weight, 32, bits)
        module = name.removesuffix(".weight")
        return {name: words, f"{module}.scales": scales, f"{module}.qbiases": biases}

    return pack


def gemma(bits: int) -> Pack:
    """Return a packer of drawn codes, which ``QuantizedLinear`` reads."""

    def pack(name: str, weight: Any) -> Tensors:
        rows, columns = weight.shape
        stored = torch.int8 if bits == 8 else torch.uint8
        codes = torch.randint(-128 if bits == 8 else 0, 128 if bits == 8 else 256, (rows, columns * bits // 8))
        scales = torch.rand(rows, 1) / 2 ** (bits + 3)
        zero = torch.tensor(0.0)
        module = name.removesuffix(".weight")
        return {
            name: codes.to(stored),
            f"{module}.weight_scale": scales,
            f"{module}.input_activation_scale": zero,
            f"{module}.output_activation_scale": zero.clone(),
        }

    return pack


CASES: dict[str, tuple[dict[str, Any], Callable[[], Pack]]] = {
    "fp8": ({"quant_method": "fp8", "weight_block_size": None}, lambda: fp8(None)),
    "fp8, tiles": ({"quant_method": "fp8", "weight_block_size": [32, 16]}, lambda: fp8([32, 16])),
    "fp8, powers of two": (
        {"quant_method": "fp8", "weight_block_size": [32, 32], "scale_fmt": "ue8m0"},
        lambda: fp8([32, 32], "ue8m0"),
    ),
    "mxfp8": ({"quant_method": "mxfp8", "weight_block_size": [1, 32], "scale_fmt": "ue8m0"}, lambda: mxfp8),
    **{
        f"metal, {b}": ({"quant_method": "metal", "bits": b, "group_size": 32}, lambda b=b: metal(b)) for b in (2, 4, 8)
    },
    **{f"gemma, {b}": ({"quant_method": "gemma", "num_bits": b}, lambda b=b: gemma(b)) for b in (2, 4, 8)},
}


def write(folder: Path, config: dict[str, Any], said: dict[str, Any], tensors: Tensors) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**config, "dtype": "float32", "quantization_config": said}))
    stored = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    safetensors.save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})


def deviation(folder: Path) -> float:
    """Return the greatest difference of the logits, relative to the greatest of the library's."""
    with torch.no_grad():
        where = {"device_map": "cpu"} if find_spec("accelerate") else {}  # else Metal's would be asked for
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **where)
        expected = model(torch.from_numpy(IDS)).logits.numpy()
    network = netcalc.load(folder, set={"batch": 1, "length": IDS.size})
    logits = np.asarray(network.run(inputs={"input_ids": IDS}, weights=folder).outputs["logits"])
    return float(np.abs(logits - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("case", CASES)
def test_llama(case: str, tmp_path: Path) -> None:
    if "gemma" not in case:
        pytest.importorskip("accelerate")
    said, packer = CASES[case]
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**{k: v for k, v in LLAMA.items() if k not in ("model_type", "dtype")})
    pack, tensors = packer(), {}
    for name, weight in transformers.LlamaForCausalLM(config).state_dict().items():
        tensors |= pack(name, weight) if "_proj." in name else {name: weight}
    write(tmp_path, LLAMA, {**said, "modules_to_not_convert": ["lm_head"]}, tensors)
    assert deviation(tmp_path) < 1e-6


def test_experts_of_qwen3(tmp_path: Path) -> None:
    """Experts that are stored one by one, with tiles of scales, as Qwen3-30B-A3B-FP8 has them."""
    pytest.importorskip("accelerate")
    torch.manual_seed(0)
    model = transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(**QWEN3))
    model.save_pretrained(tmp_path / "plain")
    pack, tensors = fp8([32, 16]), {}
    for name, weight in safetensors.load_file(tmp_path / "plain" / "model.safetensors").items():
        tensors |= pack(name, weight) if "_proj." in name else {name: weight}
    assert "model.layers.1.mlp.experts.3.down_proj.weight_scale_inv" in tensors
    said = {"quant_method": "fp8", "weight_block_size": [32, 16], "modules_to_not_convert": ["lm_head", "mlp.gate"]}
    write(tmp_path, model.config.to_dict(), said, tensors)
    assert deviation(tmp_path) < 1e-6


def test_gpt_oss(tmp_path: Path) -> None:
    """Drawn codes and exponents, which ``Mxfp4Dequantize`` reads."""
    pytest.importorskip("accelerate")
    torch.manual_seed(0)
    plain = {k: v for k, v in GPT_OSS.items() if k not in ("model_type", "dtype", "quantization_config")}
    config = transformers.GptOssConfig(**plain)
    tensors: Tensors = {}
    for name, weight in transformers.GptOssForCausalLM(config).state_dict().items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            experts, columns, rows = weight.shape
            tensors[f"{name}_blocks"] = torch.randint(0, 256, (experts, rows, columns // 32, 16)).to(torch.uint8)
            tensors[f"{name}_scales"] = torch.randint(118, 124, (experts, rows, columns // 32)).to(torch.uint8)
        else:
            tensors[name] = weight
    write(tmp_path, {**config.to_dict(), **GPT_OSS}, GPT_OSS["quantization_config"], tensors)
    assert deviation(tmp_path) < 1e-6


@pytest.mark.parametrize("block", [None, [32, 16], [128, 24]], ids=str)
def test_tiles_that_do_not_divide(block: list[int] | None) -> None:
    """Numbers of ``_dequantize_fp8_weight``, with smaller tiles at the ends of 200 rows and 100 columns."""
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight

    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(200, 100, generator=generator).to(torch.float8_e4m3fn)
    grid = () if block is None else (-(-200 // block[0]), -(-100 // block[1]))
    scales = torch.rand(grid, generator=generator)
    tensors = {"up.weight": weight.view(torch.uint8).numpy().view(E4M3), "up.weight_scale_inv": scales.numpy()}
    numbers = decoded(tensors, {"quant_method": "fp8", "weight_block_size": block})
    np.testing.assert_array_equal(numbers, _dequantize_fp8_weight(weight, scales, block, torch.float32).numpy())


@pytest.mark.parametrize("divided", [True, False], ids=["bitlinear", "autobitlinear"])
def test_bitnet(divided: bool) -> None:
    """Weights as ``unpack_weights`` has them; the layers of the library round their inputs, so that logits differ."""
    from transformers.integrations.bitnet import pack_weights, unpack_weights

    codes = torch.randint(-1, 2, (64, 32), generator=torch.Generator().manual_seed(0)).to(torch.int8)
    packed, scale = pack_weights(codes.clone()), torch.tensor([2.5])
    numbers = unpack_weights.__wrapped__(packed, torch.float32)
    assert torch.equal(numbers, codes.float())
    said = {"quant_method": "bitnet", "linear_class": "bitlinear" if divided else "autobitlinear"}
    found = decoded({"up.weight": packed.numpy(), "up.weight_scale": scale.numpy()}, said)
    np.testing.assert_array_equal(found, (numbers / scale if divided else numbers * scale).numpy())
