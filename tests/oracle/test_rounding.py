"""Rounding to 8-bit floats, bfloat16 and 8-bit integers, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.codecs import codec_named
from netcalc.codecs.floats import float8_cast

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(("name", "dtype"), [("float8_e4m3", torch.float8_e4m3fn), ("float8_e5m2", torch.float8_e5m2)])
def test_float8_is_rounded_as_by_torch(name: str, dtype: Any) -> None:
    greatest = torch.finfo(dtype).max
    values = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    values = np.concatenate([values, values * 1e-3, values * 1e-5, values * 100]).clip(-greatest, greatest)
    halves = np.arange(256, dtype=np.uint8).view(float8_cast(values[:1], name).dtype).astype(np.float32)
    halves = np.sort(halves[np.isfinite(halves)])
    values = np.concatenate([values, (halves[:-1] + halves[1:]) / 2])  # ties go to even
    expected = torch.from_numpy(values).to(dtype).view(torch.uint8).numpy()
    np.testing.assert_array_equal(float8_cast(values, name).view(np.uint8), expected)


@pytest.mark.parametrize(("name", "dtype"), [("bfloat16", torch.bfloat16), ("float16", torch.float16)])
def test_element_types_are_rounded_as_by_torch(name: str, dtype: Any) -> None:
    values = (np.random.default_rng(0).standard_normal((1, 100, 1000)) * 3).astype(np.float32)
    codec = codec_named(name)
    found = codec.decode(codec.encode(values), values.shape).astype(np.float32)
    np.testing.assert_array_equal(found, torch.from_numpy(values).to(dtype).float().numpy())


def test_integers_of_a_tensor_are_those_of_torch() -> None:
    values = np.random.default_rng(0).standard_normal((1, 64, 256)).astype(np.float32)
    codec = codec_named("int8-tensor")
    tensors = codec.encode(values)
    scale = float(tensors["scales"][0])
    theirs = torch.fake_quantize_per_tensor_affine(torch.from_numpy(values), scale, 0, -128, 127).numpy()
    found = codec.decode(tensors, values.shape)
    assert np.isclose(found, theirs, rtol=1e-5, atol=0).mean() > 0.9999  # the halves of an inverse may differ


def test_mxfp4_is_read_by_transformers() -> None:
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    values = (np.random.default_rng(0).standard_normal((3, 64, 128)) * 0.1).astype(np.float32)
    codec = codec_named("mxfp4")
    tensors = codec.encode(values)
    blocks = torch.from_numpy(tensors["values"].reshape(3, 64, 4, 16))
    scales = torch.from_numpy(np.ascontiguousarray(tensors["scales"]))
    found = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    np.testing.assert_array_equal(found.numpy().swapaxes(1, 2), codec.decode(tensors, values.shape))
