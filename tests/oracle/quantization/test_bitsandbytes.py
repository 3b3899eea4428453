"""Numbers of folders that bitsandbytes quantizes: those of its own dequantization, and the logits of such a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.numerics.parameters import opened_unpacked
from netcalc.weights.packing.unpacked import UnpackedTensors
from tests.formats.huggingface.packed import LINEAR, LLAMA
from tests.oracle.quantization.test_sizes_and_audits import quantized
from tests.weights.decoders.harness import outputs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
bitsandbytes = pytest.importorskip("bitsandbytes")

CONFIGS: dict[str, dict[str, Any]] = {
    **{
        f"{kind}, {'nested' if nested else 'plain'}": {
            "load_in_4bit": True,
            "bnb_4bit_quant_type": kind,
            "bnb_4bit_use_double_quant": nested,
        }
        for kind in ("nf4", "fp4")
        for nested in (False, True)
    },
    "int8": {"load_in_8bit": True},
}


def packed_folder(folder: Path, dtype: str, said: dict[str, Any]) -> Path:
    """Return the folder of a Llama that the library quantizes."""
    torch.manual_seed(0)
    fields = {key: value for key, value in LLAMA.items() if key not in ("model_type", "dtype")}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**fields))
    model.to(getattr(torch, dtype)).save_pretrained(folder / "plain")
    quantized(folder / "plain", transformers.BitsAndBytesConfig(**said)).save_pretrained(folder / "packed")
    return folder / "packed"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", CONFIGS)
def test_numbers(name: str, dtype: str, tmp_path: Path) -> None:
    folder = packed_folder(tmp_path, dtype, CONFIGS[name])
    model = quantized(folder)
    stored = opened_unpacked(folder)
    assert isinstance(stored, UnpackedTensors)
    stored.read_shapes()
    numbers = {}
    for module in LINEAR:
        weight = model.get_submodule(module).weight
        numbers[module] = (
            bitsandbytes.functional.int8_vectorwise_dequant(weight.data, weight.SCB)
            if name == "int8"
            else bitsandbytes.functional.dequantize_4bit(weight.data, weight.quant_state)
        )
        loaded = torch.from_numpy(stored.load(f"{module}.weight")).to(numbers[module].dtype)
        assert torch.equal(loaded, numbers[module]), (loaded.float() - numbers[module].float()).abs().max()
    if dtype == "float32":
        plain = quantized(tmp_path / "plain")
        for module, weight in numbers.items():
            plain.get_submodule(module).weight = torch.nn.Parameter(weight)
        expected = plain(torch.arange(5)[None]).logits.detach().numpy()
        np.testing.assert_allclose(outputs(folder), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
