"""Numbers of folders that hqq quantizes: those of its own ``dequantize``, and the logits of a model with its layers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.quantization.quantized_llama import assert_logits, assert_numbers, plain_folder
from tests.oracle.quantization.test_sizes_and_audits import HQQ, quantized, saved_as

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
hqq = pytest.importorskip("hqq.core.quantize")

#: The library warns of what torch will drop.
CASES = [*HQQ, {"nbits": 5, "group_size": 32, "axis": 1}, {"nbits": 4, "group_size": None, "axis": 1}]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("arguments", CASES, ids=str)
@pytest.mark.parametrize("as_numbers", [False, True])
def test_numbers(arguments: dict[str, Any], dtype: str, as_numbers: bool, tmp_path: Path) -> None:
    if as_numbers and (dtype != "float16" or arguments["group_size"] is None or arguments["nbits"] == 3):
        pytest.skip("one type is enough, and hqq does not restore others")
    plain = plain_folder(tmp_path / "plain", dtype)
    model, config = quantized(plain), hqq.BaseQuantizeConfig(**arguments, view_as_float=as_numbers)
    said = {"quant_method": "hqq", "quant_config": json.loads(json.dumps(config)), "skip_modules": ["lm_head"]}
    kind = getattr(torch, dtype)
    numbers = {}
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            layer = hqq.HQQLinear(module, config, compute_dtype=kind, device="cpu")
            model.set_submodule(name, layer)
            numbers[f"{name}.weight"] = layer.dequantize()
    saved_as(tmp_path / "packed", plain, model, said)
    assert_numbers(tmp_path / "packed", numbers)
    if dtype == "float32":
        assert_logits(tmp_path / "packed", model)
