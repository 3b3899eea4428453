"""Numbers of folders that quanto quantizes: those of its own ``dequantize``, and the logits of its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.quantization.quantized_llama import assert_logits, assert_numbers, plain_folder
from tests.oracle.quantization.test_sizes_and_audits import quantized, saved_as

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
quanto = pytest.importorskip("optimum.quanto")

#: The library warns of what torch will drop.


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("weights", ["int8", "int4", "int2", "float8"])
def test_numbers(weights: str, dtype: str, tmp_path: Path) -> None:
    plain = plain_folder(tmp_path / "plain", dtype)
    config = transformers.QuantoConfig(weights=weights)
    model = quantized(plain, config)
    saved_as(tmp_path / "packed", plain, model, {**config.to_dict(), "quant_method": "quanto"})
    packed = {n: p for n, p in model.named_parameters() if isinstance(p, quanto.QTensor)}
    assert_numbers(tmp_path / "packed", {name: weight.detach().dequantize() for name, weight in packed.items()})
    if dtype == "float32":
        assert_logits(tmp_path / "packed", model)
