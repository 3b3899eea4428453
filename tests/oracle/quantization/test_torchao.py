"""Numbers of folders that torchao quantizes: those of its own ``dequantize``, and the logits of a model with these."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.quantization.quantized_llama import assert_logits, assert_numbers, plain_folder
from tests.oracle.quantization.test_sizes_and_audits import TORCHAO, quantized

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
ao = pytest.importorskip("torchao.quantization")
mx = pytest.importorskip("torchao.prototype.mx_formats")

#: The libraries warn of what they will drop.


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", TORCHAO)
def test_numbers(name: str, dtype: str, tmp_path: Path) -> None:
    if (name.startswith("mxfp") and dtype != "bfloat16") or (name.startswith("nvfp") and dtype == "float16"):
        pytest.skip("torchao does not take this type")
    plain = plain_folder(tmp_path / "plain", dtype)
    model = quantized(plain, transformers.TorchAoConfig(TORCHAO[name](ao, mx)))
    model.save_pretrained(tmp_path / "packed")
    packed = {n: p for n, p in model.named_parameters() if type(p.data) not in (torch.Tensor, torch.nn.Parameter)}
    numbers = {name: parameter.detach().dequantize() for name, parameter in packed.items()}
    assert_numbers(tmp_path / "packed", numbers)
    if dtype == "float32":
        for name, number in numbers.items():
            module, _, own = name.rpartition(".")
            setattr(model.get_submodule(module), own, torch.nn.Parameter(number))
        assert_logits(tmp_path / "packed", model)
