"""A published file: llama-2-7b.Q4_K_M.gguf, as llama.cpp's loader prints it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np

import netcalc
from netcalc.formats import opened_weights
from netcalc.numerics.parameters import check_weights

METADATA = {
    "context_length": 4096,
    "embedding_length": 4096,
    "block_count": 32,
    "feed_forward_length": 11008,
    "rope.dimension_count": 128,
    "attention.head_count": 32,
    "attention.head_count_kv": 32,
}
#: Layers whose values and last projections have more bits than the others.
MORE_BITS = {*range(4), *range(6, 28, 3), *range(28, 32)}


def tensors() -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Yield the names, shapes and types of the tensors."""
    yield "token_embd.weight", (32000, 4096), "Q4_K"
    for layer in range(32):
        more = "Q6_K" if layer in MORE_BITS else "Q4_K"
        for name, shape, kind in (
            ("attn_q", (4096, 4096), "Q4_K"),
            ("attn_k", (4096, 4096), "Q4_K"),
            ("attn_v", (4096, 4096), more),
            ("attn_output", (4096, 4096), "Q4_K"),
            ("ffn_gate", (11008, 4096), "Q4_K"),
            ("ffn_up", (11008, 4096), "Q4_K"),
            ("ffn_down", (4096, 11008), more),
            ("attn_norm", (4096,), "F32"),
            ("ffn_norm", (4096,), "F32"),
        ):
            yield f"blk.{layer}.{name}.weight", shape, kind
    yield "output_norm.weight", (4096,), "F32"
    yield "output.weight", (32000, 4096), "Q6_K"


def test_types_bits_and_parameters_are_those_of_the_loader(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    for key, value in METADATA.items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    length = 0
    for name, shape, kind in tensors():
        quantized = gguf.GGMLQuantizationType[kind]
        size = int(np.prod(gguf.quant_shape_to_byte_shape(shape, quantized)))
        writer.add_tensor_info(name, shape, np.dtype(np.float32), size, quantized)
        length += size
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    path = tmp_path / "model.gguf"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + length + 32)
    network = netcalc.load(path)
    assert network.params == 6_738_415_616  # model params = 6.74 B
    report = check_weights(network.program, opened_weights(path))
    assert report.ok
    stored = report.inventory
    assert stored is not None
    # type f32: 65 tensors, type q4_K: 193 tensors, type q6_K: 33 tensors
    assert Counter({t.dtype: t.tensors for t in stored.types}) == {"float32": 65, "Q4_K": 193, "Q6_K": 33}
    # model size = 3.80 GiB (4.84 BPW)
    assert round(stored.bytes / 2**30, 2) == 3.80
    assert round(stored.bits or 0, 2) == 4.84
