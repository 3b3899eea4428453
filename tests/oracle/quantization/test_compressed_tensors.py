"""Numbers of folders that compressed-tensors packs: those to which it decompresses, and the logits of such a model."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.numerics.parameters import opened_unpacked
from netcalc.weights.packing.unpacked import UnpackedTensors
from tests.formats.huggingface.packed import LINEAR, LLAMA
from tests.oracle.quantization.test_sizes_and_audits import quantized, saved_as
from tests.weights.decoders.harness import outputs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
library = pytest.importorskip("compressed_tensors.quantization")
compressors = pytest.importorskip("compressed_tensors.compressors")

#: Format, and arguments of the quantization of weights; asymmetric ones have zero points.
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"pack-{bits}-{strategy}{'' if symmetric else '-zeros'}": (
            "pack-quantized",
            {"num_bits": bits, "strategy": strategy, "group_size": size, "symmetric": symmetric},
        )
        for bits in range(1, 9)
        for strategy, size in (("group", 32), ("channel", None), ("tensor", None))
        for symmetric in (True, False)
    },
    **{
        f"{kind}-{strategy}{'' if symmetric else '-zeros'}": (
            f"{kind}-quantized",
            {"num_bits": 8, "type": kind, "strategy": strategy, "symmetric": symmetric, **fields},
        )
        for kind in ("int", "float")
        for strategy, fields in (
            ("tensor", {}),
            ("channel", {}),
            ("group", {"group_size": 32}),
            *((("block", {"block_structure": [48, 40]}),) if kind == "float" else ()),
        )
        for symmetric in ((True, False) if kind == "int" else (True,))
    },
    "nvfp4": (
        "nvfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True},
    ),
    "mxfp4": (
        "mxfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": "torch.uint8"},
    ),
    "mxfp8": (
        "mxfp8-quantized",
        {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": "torch.uint8"},
    ),
}


def packed_model(format_: str, weights: dict[str, Any], dtype: str, folder: Path) -> Any:
    """Return a Llama that the library packs with drawn scales and zero points; its folder is written, too."""
    torch.manual_seed(0)
    fields = {key: value for key, value in LLAMA.items() if key not in ("model_type", "dtype")}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**fields)).to(getattr(torch, dtype))
    model.save_pretrained(folder / "plain")
    arguments = library.QuantizationArgs(**weights)
    scheme = library.QuantizationScheme(targets=["Linear"], weights=arguments, format=format_)
    config = library.QuantizationConfig(config_groups={"all": scheme}, ignore=["lm_head"], format=format_)
    library.apply_quantization_config(model, config)
    half = 1 << (arguments.num_bits - 1)
    with torch.no_grad():
        for name in LINEAR:
            module = model.get_submodule(name)
            module.weight_scale.copy_(0.001 + 0.01 * torch.rand(module.weight_scale.shape))
            if hasattr(module, "weight_global_scale"):
                module.weight_global_scale.copy_(1000 + 1000 * torch.rand(module.weight_global_scale.shape))
                module.weight_scale.mul_(1000)
            if hasattr(module, "weight_zero_point") and not arguments.symmetric:
                module.weight_zero_point.copy_(torch.randint(-half, half, module.weight_zero_point.shape))
            compressors.compress_module(module)
    said = {**json.loads(config.model_dump_json()), "quantization_status": "compressed"}
    saved_as(folder / "packed", folder / "plain", model, said)
    return model


CASES = [
    (name, dtype)
    for name in CONFIGS
    for dtype in ("float32", "bfloat16")
    if dtype == "float32" or "-4-" in name or not name.startswith("pack")
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_numbers(name: str, dtype: str, tmp_path: Path) -> None:
    model = packed_model(*CONFIGS[name], dtype, tmp_path)
    stored = opened_unpacked(tmp_path / "packed")
    assert isinstance(stored, UnpackedTensors)
    stored.read_shapes()
    plain = quantized(tmp_path / "plain")
    for key in LINEAR:
        module = deepcopy(model.get_submodule(key))
        compressors.decompress_module(module)
        numbers = module.weight.data
        loaded = torch.from_numpy(stored.load(f"{key}.weight"))
        assert loaded.abs().max() > 0
        assert torch.equal(loaded.to(numbers.dtype), numbers), (loaded - numbers.float()).abs().max()
        plain.get_submodule(key).weight = torch.nn.Parameter(loaded)
    if dtype == "float32":
        with torch.no_grad():
            expected = plain(torch.arange(5)[None]).logits.numpy()
        np.testing.assert_allclose(
            outputs(tmp_path / "packed"), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max()
        )


def test_logits_of_a_model_that_transformers_loads(tmp_path: Path) -> None:
    packed_model(*CONFIGS["pack-4-group-zeros"], "float32", tmp_path)
    file = tmp_path / "packed" / "config.json"
    config = json.loads(file.read_text())
    config["quantization_config"]["dequantize"] = True
    file.write_text(json.dumps(config))
    model = quantized(tmp_path / "packed")
    assert "weight" in dict(model.get_submodule(next(iter(LINEAR))).named_parameters())
    with torch.no_grad():
        expected = model(torch.arange(5)[None]).logits.numpy()
    np.testing.assert_allclose(outputs(tmp_path / "packed"), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
