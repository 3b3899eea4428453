"""Tensors that ModelOpt quantizes on the CPU: netcalc's numbers are those of ``NVFP4QTensor.dequantize``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from netcalc.arrays import numpy_dtype
from tests.weights.decoders.harness import decoded

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of libraries that ModelOpt imports
    nvfp4_tensor = pytest.importorskip("modelopt.torch.quantization.qtensor.nvfp4_tensor")


@pytest.mark.parametrize("shape", [(8, 64), (2, 8, 64)])
def test_nvfp4(shape: tuple[int, ...]) -> None:
    values = torch.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    quantized, scales, outer = nvfp4_tensor.NVFP4QTensor.quantize(values, 16)
    expected = quantized.dequantize(torch.float32, scale=scales, double_scale=outer, block_sizes={-1: 16})
    tensors = {
        "up.weight": quantized._quantized_data.numpy(),
        "up.weight_scale": scales.view(torch.uint8).numpy().view(numpy_dtype("float8_e4m3fn")),
        "up.weight_scale_2": outer.numpy(),
    }
    numbers = decoded(tensors, {"quant_method": "modelopt", "quant_algo": "NVFP4"})
    np.testing.assert_array_equal(numbers, expected.numpy())
    assert np.abs(numbers - values.numpy()).max() < 0.6
