"""Numbers of layers that sinq quantizes and writes: those of its own ``dequantize``."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.schemes.configuration import quantization_of
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.packing.unpacked import UnpackedTensors

torch = pytest.importorskip("torch")
layers = pytest.importorskip("sinq.sinqlinear_hf")
models = pytest.importorskip("sinq.patch_model")

#: The library warns of what torch will drop.
SHAPE = (64, 128)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_numbers(bits: int, dtype: str, tmp_path: Path) -> None:
    torch.manual_seed(bits)
    linear = torch.nn.Linear(SHAPE[1], SHAPE[0], bias=False).to(getattr(torch, dtype))
    config = layers.sinq_base_quant_config(nbits=bits, group_size=64, method="sinq")
    layer = layers.SINQLinear(
        linear_layer=linear, quant_config=config, compute_dtype=getattr(torch, dtype), device="cpu"
    )
    models.BaseSINQHFModel.save_weights_safetensors({"up": layer.state_dict()}, str(tmp_path))
    said = {"quantization_config": {"quant_method": "sinq", "nbits": bits, "group_size": 64}}
    stored = UnpackedTensors(open_weights(tmp_path), quantization_of(said, "config.json"))
    stored.take_shapes({"up.weight": SHAPE})
    expected = layer.dequantize()
    assert torch.equal(torch.from_numpy(stored.load("up.weight")).to(expected.dtype), expected)
