"""Checkpoints of a linear layer whose numbers are known, packed element by element as a layout says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import netcalc
from netcalc.arrays import Array
from netcalc.schemes.configuration import quantization_of
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.tensor_files import Arrays
from netcalc.weights.writing import write_tensors
from tests.formats.huggingface.packed import LINEAR, LLAMA, plain_llama


def words_of(codes: Sequence[int], bits: int) -> list[int]:
    """Return codes in signed words of 32 bits, the first in the lowest bits, without gaps."""
    stream = sum(int(code) << (bits * place) for place, code in enumerate(codes))
    count = -(-len(codes) * bits // 32)
    words = [(stream >> (32 * place)) & 0xFFFFFFFF for place in range(count)]
    return [word - (1 << 32) if word >> 31 else word for word in words]


def decoded(tensors: Mapping[str, Array], said: Mapping[str, Any] | None, name: str = "up.weight") -> Array:
    """Return the numbers of a tensor, by the configuration of its quantization."""
    config = None if said is None else quantization_of({"quantization_config": dict(said)}, "config.json")
    return UnpackedTensors(Arrays(tensors), config).load(name)


def folder_of(
    folder: Path, said: Mapping[str, Any], pack: Callable[[str, Array], Mapping[str, Array]], seed: int = 0
) -> tuple[Path, dict[str, Array]]:
    """Write a small Llama in float32 whose projections ``pack`` packs; return its folder and the plain tensors."""
    generator = np.random.default_rng(seed)
    plain = {
        name: (generator.standard_normal(shape) * 0.05).astype(np.float32) for name, (_, shape) in plain_llama().items()
    }
    stored: dict[str, Array] = {}
    for name, array in plain.items():
        module = name.removesuffix(".weight")
        stored |= pack(module, array) if module in LINEAR else {name: array}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**LLAMA, "dtype": "float32", **said}))
    write_tensors(folder / "model.safetensors", stored)
    return folder, plain


def outputs(folder: Path, **options: Any) -> Array:
    """Return the logits of a run with the weights of a folder."""
    network = netcalc.load(folder, set={"batch": 1, "length": 5})
    result = network.run(inputs={"input_ids": np.arange(5).reshape(1, 5)}, weights=folder, **options)
    return np.asarray(result.outputs["logits"])
