"""Places of a model in GGUF, against the rules of llama.cpp applied to the names of the tensors in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest

import netcalc
from netcalc.analysis.memory_report import MemoryReport
from tests.formats.gguf.conversion import write
from tests.formats.gguf.small import SMALL, drawn

#: Of `LLM_TENSOR_INFOS` in llama.cpp: the tensors of the input layer, in these models.
_INPUT = ("token_embd.weight", "position_embd.weight", "token_embd_norm.weight", "token_embd_norm.bias")
#: `LLM_FFN_EXPS_REGEX` of llama.cpp's common/common.h.
_EXPERTS = re.compile(r"\.ffn_(up|down|gate|gate_up)_(ch|)exps")


def on_device(name: str, layers: int, gpu_layers: int, host_experts: int) -> bool:
    """Return True for a tensor that llama.cpp puts on the device: `load_tensors` and `--n-cpu-moe`."""
    start = max(layers + 1 - gpu_layers, 0)
    block = re.match(r"blk\.(\d+)\.", name)
    if name in _INPUT:
        return False
    if block is None:
        return layers >= start  # the output is layer number `layers`
    return int(block[1]) >= start and not (_EXPERTS.search(name) and int(block[1]) < host_experts)


def sizes(path: Path) -> dict[str, int]:
    return {tensor.name: int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors}


def splits(layers: int) -> Iterator[tuple[int, int]]:
    yield from ((count, 0) for count in range(layers + 2))
    yield from ((layers + 1, experts) for experts in range(1, layers + 1))


@pytest.fixture(params=["qwen2_moe", "llama tied, biases", "gpt2", "gemma3", "mamba2", "deepseek_v3", "gpt_oss"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    _, arrays = drawn(tmp_path, SMALL[request.param])
    return write(tmp_path / "model.gguf", SMALL[request.param], arrays, quantized=gguf.GGMLQuantizationType.Q8_0)


def test_every_tensor_is_where_llama_cpp_puts_it(model: Path) -> None:
    held = sizes(model)
    layers = 1 + max(int(match[1]) for name in held if (match := re.match(r"blk\.(\d+)\.", name)))
    has_experts = any(_EXPERTS.search(name) for name in held)
    tied = "output.weight" not in held  # the output is a second copy of the embeddings then
    network = netcalc.load(model, set={"length": 4})
    for count, experts in splits(layers):
        if experts and not has_experts:
            continue
        report = network.memory(gpu_layers=count, experts_on=f"cpu:{experts}" if experts else None)
        placement = report.placement
        assert placement is not None and placement.layers == layers + 1
        device = sum(size for name, size in held.items() if on_device(name, layers, count, experts))
        copied = held["token_embd.weight"] if tied and count else 0
        assert (placement.device.weights, placement.copied) == (device + copied, copied), (count, experts)
        assert placement.host.weights == sum(held.values()) - device
        assert_parts_add_up(report)


def assert_parts_add_up(report: MemoryReport) -> None:
    """Weights and caches are on one of two places; the larger of the peaks of activations is the peak of all."""
    placement = report.placement
    assert placement is not None and report.ideal is not None
    device, host = placement.device, placement.host
    assert device.weights + host.weights - placement.copied == report.weights + report.buffers
    for rule in report.conventions:
        assert device.caches[rule.name] + host.caches[rule.name] == report.caches(rule.name)
    assert max(device.activations, host.activations) == report.ideal.peak


def test_a_projector_counts_by_its_header(model: Path, tmp_path: Path) -> None:
    """An architecture without a table, such as that of llama.cpp's mmproj files: tensors, and no activations."""
    writer = gguf.GGUFWriter(tmp_path / "mmproj.gguf", "clip")
    for number in range(3):
        writer.add_tensor(f"v.blk.{number}.ffn_up.weight", np.zeros((8, 5 + number), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    network = netcalc.load(model, set={"length": 4})
    placement = network.memory(companion=[str(tmp_path / "mmproj.gguf")], cache="ideal").placement
    assert placement is not None
    (beside,) = placement.beside
    assert (beside.weights, beside.activations) == (2 * 8 * (5 + 6 + 7), None)
    alone = network.memory(gpu_layers=placement.layers, cache="ideal").placement
    assert alone is not None
    assert placement.device.totals["ideal"] == alone.device.totals["ideal"] + beside.weights
    working = network.explain(memory=True, companion=[beside.name], cache="ideal")
    (opened,) = (section for section in working.sections if section.title == f"companion {beside.name}: weights")
    assert (opened.steps[0].label, opened.steps[0].value) == ("weights, f16", beside.weights)
    assert opened.steps[-1].value == beside.weights
    assert placement.host == alone.host
