"""Totals that sites and tools have shown wrong, each by a small checkpoint of the same structure.

The reports are threads of huggingface/huggingface.js, hub-docs and huggingface_hub, and of jundot/omlx.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from tests.conftest import CommandResult
from tests.formats.huggingface.packed import (
    LLAMA,
    PARAMS,
    SCHEMES,
    Stored,
    awq,
    gptq,
    mlx,
    pack_quantized,
    packed_llama,
    plain_llama,
    write_headers,
    write_model,
)

Run = Callable[..., CommandResult]
#: Parameters of the packed projections.
PROJECTIONS = 73_728


def params(folder: Path) -> int:
    return api.read_checkpoint(folder / "model.safetensors").params


@pytest.mark.parametrize("pack", [gptq(4), awq], ids=["gptq", "awq"])
def test_eight_weights_in_a_word_are_eight(pack: Any, tmp_path: Path) -> None:
    """Pull request 1770 of huggingface.js: 2 B was shown for 8 B, zero points and scales counted as parameters."""
    write_headers(tmp_path / "model.safetensors", packed_llama(pack))
    assert params(tmp_path) == PARAMS
    content = api.read_checkpoint(tmp_path / "model.safetensors")
    words = sum(tensor.elements for tensor in content.tensors if tensor.name.endswith("qweight"))
    assert words == PROJECTIONS // 8
    assert {t.params for t in content.tensors if t.name.endswith(("qzeros", "scales", "g_idx"))} == {0}


def test_a_configuration_within_says_how_words_are_packed(tmp_path: Path) -> None:
    """Pull request 2003 of huggingface.js: 170 B for 1.06 T, as quantization_config stood in text_config."""
    said, pack = SCHEMES["pack-4"]
    outer = {"model_type": "a-model-with-vision", "text_config": {"model_type": "a-text-model", **said}}
    write_model(tmp_path, outer, packed_llama(pack))
    assert params(tmp_path) == PARAMS


def test_two_widths_in_one_checkpoint(tmp_path: Path) -> None:
    """Pull request 2215 of huggingface.js: 9 B for 5.5 B, as the bits of the first group held for all."""
    said = json.loads(json.dumps(SCHEMES["pack-4"][0]))
    groups = said["quantization_config"]["config_groups"]
    weights = groups["group_0"]["weights"] | {"num_bits": 2}
    groups |= {
        "group_0": groups["group_0"] | {"weights": weights, "targets": ["re:.*embed"]},
        "group_1": groups["group_0"],
    }
    stored = packed_llama(pack_quantized(4)) | pack_quantized(2)("model.embed_tokens", 96, 64)
    del stored["model.embed_tokens.weight"]
    write_model(tmp_path, LLAMA | said, stored)
    assert params(tmp_path) == PARAMS


@pytest.mark.parametrize(
    ("companions", "packed"),
    [
        ({"up_scales": ("U8", (4, 64, 3))}, {"up_blocks": ("U8", (4, 64, 3, 16))}),
        (
            {"up.weight.absmax": ("U8", (384,)), "up.weight.quant_map": ("F32", (16,)),
             "up.weight.nested_absmax": ("F32", (2,)), "up.weight.nested_quant_map": ("F32", (256,)),
             "up.weight.quant_state.bitsandbytes__nf4": ("U8", (168,))},
            {"up.weight": ("U8", (4 * 64 * 96 // 2, 1))},
        ),
    ],
    ids=["mxfp4", "bitsandbytes"],
)  # fmt: skip
def test_bookkeeping_is_no_parameter(companions: Stored, packed: Stored, tmp_path: Path) -> None:
    """Pull request 2323 of huggingface.js: block scales, absmax and lookup tables were counted, and even multiplied."""
    write_headers(tmp_path / "model.safetensors", packed | companions)
    assert params(tmp_path) == 4 * 64 * 96


def test_orders_of_activations_are_no_parameters(tmp_path: Path) -> None:
    """Pull request 2323: one index for each column of a packed weight."""
    said, pack = SCHEMES["pack-4"]
    stored = packed_llama(pack)
    orders = {
        name.replace("_packed", "_g_idx"): ("I32", (columns * 8,))
        for name, (_, (_, columns)) in ((n, e) for n, e in stored.items() if n.endswith("_packed"))
    }
    write_model(tmp_path, LLAMA | said, stored | orders)
    assert params(tmp_path) == PARAMS


def test_one_model_has_one_total_at_every_width(tmp_path: Path) -> None:
    """Pull request 2415 of huggingface.js: totals of MLX models depended on the width of their words."""
    totals = set()
    for bits in (4, 6, 8):
        said = {"quantization": {"bits": bits, "group_size": 64}}
        write_model(tmp_path / str(bits), LLAMA | said, packed_llama(mlx(bits)))
        totals.add(params(tmp_path / str(bits)))
    assert totals == {PARAMS}


def test_experts_of_another_type_than_the_rest(tmp_path: Path) -> None:
    """Pull request 2469 of huggingface.js: 485 B for 763 B, as experts held two weights of 4 bits in a byte."""
    stored = packed_llama(SCHEMES["fp8"][1])
    for expert in range(3):
        name = f"model.layers.0.ffn.experts.{expert}.w1"
        stored |= {f"{name}.weight": ("I8", (128, 32)), f"{name}.scale": ("F8_E8M0", (128, 2))}
    said = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "expert_dtype": "fp4"}
    write_model(tmp_path, {"model_type": "another", "quantization_config": said}, stored)
    assert params(tmp_path) == PARAMS + 3 * 128 * 64
    kinds = {found.dtype: found.elements for found in api.read_checkpoint(tmp_path / "model.safetensors").types}
    assert kinds["I8" if "I8" in kinds else "int8"] == 3 * 128 * 32


@pytest.mark.parametrize(("total", "ok"), [(PARAMS, True), (str(PARAMS), True), (PARAMS - PROJECTIONS * 3 // 4, False)])
def test_a_declared_total_is_held_against_headers_and_prediction(
    total: Any, ok: bool, tmp_path: Path, netcalc: Run
) -> None:
    """Issue 2704 of hub-docs: 89 B, the number of words, for 314 B, although the index had the total."""
    said, pack = SCHEMES["mlx-8"]
    folder = write_model(tmp_path, LLAMA | said, packed_llama(pack), metadata={"total_parameters": total})
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert record["stored"]["params"] == PARAMS
    assert record["ok"] == ok
    words = sum(row["elements"] for row in record["stored"]["types"] if row["dtype"] == "uint32")
    assert words == PROJECTIONS // 4


def test_a_total_of_a_part_of_the_model_is_wrong(tmp_path: Path, netcalc: Run) -> None:
    """Issue 4221 of huggingface_hub: 333,312 parameters for 7.6 B, written by a run that had only a part in memory."""
    folder = write_model(tmp_path, LLAMA, plain_llama(), metadata={"total_parameters": 333})
    ran = netcalc("verify", str(folder))
    assert ran.code == 1
    assert "'metadata.total_parameters' is 333, but the spec has 86,336" in " ".join(ran.out.split())


def test_a_wrong_size_in_an_index(tmp_path: Path, netcalc: Run) -> None:
    folder = write_model(tmp_path, LLAMA, plain_llama(), metadata={"total_size": 1 << 40})
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert [(mismatch["kind"], mismatch["name"]) for mismatch in record["mismatches"]] == [
        ("index", "metadata.total_size")
    ]
    assert netcalc("run", str(folder), "--weights", ".", "--set", "length=2").code == 0  # the tensors are all right


def test_bytes_are_those_that_are_stored(tmp_path: Path) -> None:
    """Issue 3489 of omlx: words of 4 bytes times parameters of 4 bits, 8 times too much."""
    said, pack = SCHEMES["mlx-4"]
    folder = write_model(tmp_path, LLAMA | said, packed_llama(pack))
    content = api.read_checkpoint(folder / "model.safetensors")
    words = sum(tensor.bytes for tensor in content.tensors if tensor.dtype == "uint32")
    assert words * 8 == PROJECTIONS * 4
    header = int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    assert content.bytes == (folder / "model.safetensors").stat().st_size - 8 - header


def test_a_tensor_in_two_shards_counts_once(tmp_path: Path) -> None:
    stored = plain_llama()
    write_headers(tmp_path / "model-00001-of-00002.safetensors", stored)
    write_headers(tmp_path / "model-00002-of-00002.safetensors", {"lm_head.weight": stored["lm_head.weight"]})
    content = api.read_checkpoint(tmp_path)
    assert content.params == PARAMS
    assert [found.name for found in content.duplicates] == ["lm_head.weight"]


@pytest.mark.parametrize("scheme", ["mlx-4", "pack-4"])
def test_without_its_configuration_a_total_is_not_guessed(scheme: str, tmp_path: Path, netcalc: Run) -> None:
    write_headers(tmp_path / "model.safetensors", packed_llama(SCHEMES[scheme][1]))
    content = api.read_checkpoint(tmp_path / "model.safetensors")
    assert content.params == content.elements
    assert "14 tensors look packed by" in content.notes[0]
    assert "note: 14 tensors look packed" in netcalc("params", str(tmp_path / "model.safetensors")).out


def test_a_method_that_is_not_known_is_noted(tmp_path: Path) -> None:
    said = {"quantization_config": {"quant_method": "quip"}}
    write_model(tmp_path, LLAMA | said, plain_llama())
    content = api.read_checkpoint(tmp_path / "model.safetensors")
    assert "the quant_method 'quip' is not known; stored elements are counted" in content.notes[0]
