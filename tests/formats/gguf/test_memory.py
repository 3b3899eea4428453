"""Bytes of weights in ``memory`` by the headers of files in GGUF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import netcalc
from tests.formats.gguf.conversion import write
from tests.formats.gguf.small import SMALL, drawn

Q4, Q8 = gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q8_0


def written(folder: Path, name: str, **options: Any) -> tuple[Path, dict[str, int]]:
    """Return a file, and the bytes of its tensors by their types, as the library reads them."""
    _, arrays = drawn(folder, SMALL[name])
    path = write(folder / "model.gguf", SMALL[name], arrays, **options)
    sizes: dict[str, int] = {}
    for tensor in gguf.GGUFReader(path).tensors:
        kind = {"F32": "float32"}.get(tensor.tensor_type.name, tensor.tensor_type.name.lower())
        sizes[kind] = sizes.get(kind, 0) + int(tensor.n_bytes)
    return path, sizes


@pytest.mark.parametrize("quantized", [None, Q4, Q8], ids=str)
@pytest.mark.parametrize("name", ["llama", "llama tied, biases", "bert", "deepseek_v3", "gpt_oss", "mamba2", "mixtral"])
def test_every_tensor_counts_in_its_type(name: str, quantized: Any, tmp_path: Path) -> None:
    path, sizes = written(tmp_path, name, quantized=quantized)
    report = netcalc.load(path).memory()
    assert report.files is not None and (report.files.files, report.files.configured) == (1, None)
    assert report.files.unused == 0
    found: dict[str, int] = {}
    for group in report.stored:
        assert isinstance(group.bytes, int)
        found[group.scheme] = found.get(group.scheme, 0) + group.bytes
    assert found == sizes


def test_figures_by_patterns_of_types_agree(tmp_path: Path) -> None:
    """Biases of experts, which the file stores in blocks, count so, too."""
    for name in ("llama", "gpt_oss"):
        folder = tmp_path / name
        folder.mkdir()
        path, _ = written(folder, name, quantized=Q4)
        net = netcalc.load(path)
        patterns = net.memory(bytes_from="configuration")
        assert patterns.weights == net.memory().weights
        assert patterns.files is None


def test_a_tensor_that_the_model_does_not_use_is_named(tmp_path: Path) -> None:
    path, sizes = written(tmp_path, "llama", others={"rope_freqs.weight": np.ones(4, np.float32)})
    report = netcalc.load(path).memory()
    assert report.weights == sizes["float32"] - 16
    assert report.notes == ("tensors that the network does not use are not counted: rope_freqs 16 B",)


def test_another_element_type_leaves_the_types_of_the_file(tmp_path: Path) -> None:
    path, sizes = written(tmp_path, "llama", quantized=Q8)
    assert netcalc.load(path, dtype="bfloat16").memory().weights == sum(sizes.values())
    report = netcalc.load(path, quantize=["int8"]).memory()
    assert report.files is None
    assert report.notes == ("bytes of weights by --quantize, not by the headers of the files",)
