"""Numbers of folders that torchao quantizes: those of its own ``dequantize``, and the logits of a model with these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcalc.numerics.parameters import opened_unpacked
from tests.formats.huggingface.packed import LLAMA
from tests.oracle.test_quantized_by_libraries import TORCHAO, quantized
from tests.weights.decoders.harness import outputs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
ao = pytest.importorskip("torchao.quantization")
mx = pytest.importorskip("torchao.prototype.mx_formats")

#: The libraries warn of what they will drop.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", TORCHAO)
def test_numbers(name: str, dtype: str, tmp_path: Path) -> None:
    if (name.startswith("mxfp") and dtype != "bfloat16") or (name.startswith("nvfp") and dtype == "float16"):
        pytest.skip("torchao does not take this type")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**{k: v for k, v in LLAMA.items() if k not in ("model_type", "dtype")})
    transformers.LlamaForCausalLM(config).to(getattr(torch, dtype)).save_pretrained(tmp_path / "plain")
    model = quantized(tmp_path / "plain", transformers.TorchAoConfig(TORCHAO[name](ao, mx)))
    model.save_pretrained(tmp_path / "packed")
    stored = opened_unpacked(tmp_path / "packed")
    packed = 0
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if hasattr(parameter, "dequantize") and type(parameter.data) is not torch.Tensor:
                packed += 1
                numbers = parameter.dequantize()
                loaded = torch.from_numpy(stored.load(key)).to(numbers.dtype)
                assert torch.equal(loaded, numbers), (loaded.float() - numbers.float()).abs().max()
                owner, _, own = key.rpartition(".")
                setattr(model.get_submodule(owner), own, torch.nn.Parameter(numbers))
    assert packed
    if dtype == "float32":
        expected = model(torch.arange(5)[None]).logits.detach().numpy()
        found = outputs(tmp_path / "packed")
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
