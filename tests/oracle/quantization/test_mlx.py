"""Tensors that mlx quantizes: netcalc's numbers are those of ``mlx.core.dequantize``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcalc.schemes.configuration import quantization_of
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.packing.unpacked import unpacked

mx = pytest.importorskip("mlx.core")

MODES = [("affine", bits, group) for bits in (2, 3, 4, 5, 6, 8) for group in (32, 64, 128)]
MODES += [("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)]


@pytest.mark.parametrize("shape", [(8, 256), (2, 4, 256)])
@pytest.mark.parametrize(("mode", "bits", "group"), MODES)
def test_files_of_mlx(mode: str, bits: int, group: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    values = mx.array(np.random.default_rng(bits).standard_normal(shape).astype(np.float32))
    weight, scales, *biases = mx.quantize(values, group_size=group, bits=bits, mode=mode)
    tensors = dict(zip(("up.weight", "up.scales", "up.biases"), (weight, scales, *biases), strict=False))
    file = tmp_path / "model.safetensors"
    mx.save_safetensors(str(file), tensors)
    said = {"quantization": {"group_size": group, "bits": bits, "mode": mode}}
    numbers = unpacked(open_weights(file), quantization_of(said, "config.json")).load("up.weight")
    expected = mx.dequantize(weight, scales, *biases, group_size=group, bits=bits, mode=mode, dtype=mx.float32)
    np.testing.assert_allclose(numbers, np.array(expected), rtol=1e-6, atol=1e-6)
