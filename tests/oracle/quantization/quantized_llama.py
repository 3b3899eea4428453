"""Small Llamas that libraries quantize, with the numbers that they compute for each packed weight."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.numerics.parameters import opened_unpacked
from netcalc.weights.packing.unpacked import UnpackedTensors
from tests.formats.huggingface.packed import LLAMA
from tests.weights.decoders.harness import outputs

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def plain_folder(folder: Path, dtype: str) -> Path:
    """Write the model in full precision."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**{k: v for k, v in LLAMA.items() if k not in ("model_type", "dtype")})
    transformers.LlamaForCausalLM(config).to(getattr(torch, dtype)).save_pretrained(folder)
    return folder


def assert_numbers(folder: Path, numbers: Mapping[str, Any]) -> None:
    """Assert that packed weights are a library's numbers bit for bit, in the type that the library gives them."""
    assert numbers
    stored = opened_unpacked(folder)
    assert isinstance(stored, UnpackedTensors)
    stored.read_shapes()
    stored.take_shapes({name: tuple(expected.shape) for name, expected in numbers.items()})
    for name, expected in numbers.items():
        loaded = torch.from_numpy(stored.load(name)).to(expected.dtype)
        assert torch.equal(loaded, expected), (name, (loaded.float() - expected.float()).abs().max())


def assert_logits(folder: Path, model: Any) -> None:
    """Assert that a run with the weights of a folder gives the logits of a model in float32."""
    with torch.no_grad():
        expected = model(torch.arange(5)[None]).logits.numpy()
    np.testing.assert_allclose(outputs(folder), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
