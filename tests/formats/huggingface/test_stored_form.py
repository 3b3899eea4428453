"""Fields of quantizations as released models have them, what replaces them, and what reports say of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config
from tests.formats.huggingface.packed import LLAMA, compressed, torchao

Run = Callable[..., CommandResult]
#: Elements of the linear layers of the small Llama, its rows, and the bytes of everything else in bfloat16.
QUANTIZED = 2 * (2 * (64 + 32) * 64 + 3 * 64 * 128)
ROWS = 2 * (64 + 32 + 32 + 64 + 128 + 128 + 64)
REST = 2 * (2 * 96 * 64 + 5 * 64)
PLAIN = 2 * QUANTIZED + REST


def method(quant_method: str, **fields: Any) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": quant_method, **fields}}


def loaded(path: Path, said: dict[str, Any], **options: Any) -> api.Network:
    return api.load(write_config(path, LLAMA | said), **options)


def floats(**fields: Any) -> dict[str, Any]:
    return compressed("float-quantized", num_bits=8, type="float", **fields)


def with_sparsity(said: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"quantization_config": said["quantization_config"] | {"sparsity_config": fields}}


PER_ROW = {"_type": "PerRow", "_data": {"dim": -1}, "_version": 1}
PER_TENSOR = {"_type": "PerTensor", "_data": {}, "_version": 1}
E4M3 = {"_type": "torch.dtype", "_data": "float8_e4m3fn"}


def dynamic(granularity: Any) -> dict[str, Any]:
    return torchao("Float8DynamicActivationFloat8WeightConfig", granularity=granularity, weight_dtype=E4M3)


@pytest.mark.parametrize(
    ("said", "size"),
    [
        # MiniMax-M2 names the format so
        (method("fp8", fmt="float8_e4m3fn", weight_block_size=[32, 32]), QUANTIZED + QUANTIZED // 1024 * 4),
        # blocks as earlier versions of compressed-tensors wrote them
        (floats(strategy="block", block_structure="32x64"), QUANTIZED + QUANTIZED // 2048 * 2),
        (floats(strategy="block", block_structure=[32, 64]), QUANTIZED + QUANTIZED // 2048 * 2),
        (
            with_sparsity(floats(strategy="channel"), format="dense", global_sparsity=0.1, sparsity_structure="2:4"),
            QUANTIZED + 2 * ROWS,
        ),
        (
            compressed("mxfp6-pack-quantized", num_bits=6, type="float", strategy="group", group_size=32),
            QUANTIZED * 6 // 8 + QUANTIZED // 32,
        ),
        (dynamic([PER_ROW, PER_ROW]), QUANTIZED + 4 * ROWS),
        (dynamic(PER_ROW), QUANTIZED + 4 * ROWS),
        (dynamic([PER_TENSOR, PER_TENSOR]), QUANTIZED + 4 * 14),
        (dynamic(None), QUANTIZED + 4 * 14),
        (method("modelopt", quant_algo="FP8_PER_CHANNEL_PER_TOKEN"), QUANTIZED + 4 * ROWS),
        (method("modelopt", quant_algo="MXFP8", group_size=32), QUANTIZED + QUANTIZED // 32),
        (method("modelopt", quant_algo="W4A8_MXFP4_FP8"), QUANTIZED // 2 + QUANTIZED // 32),
        (method("modelopt", quant_algo="W4A8_NVFP4_FP8"), QUANTIZED // 2 + QUANTIZED // 16 + 4 * 14),
        (method("modelopt", quant_algo="W8A16"), QUANTIZED + 4 * ROWS),
        # of blocks of 128×128, of which each matrix here has one
        (method("modelopt", quant_algo="FP8_PB_WO"), QUANTIZED + 4 * 14),
        (
            method("bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_quant_storage="bfloat16"),
            QUANTIZED // 2 + QUANTIZED // 64 * 4 + 14 * 64,
        ),
    ],
    ids=str,
)
def test_fields_of_released_models(said: dict[str, Any], size: int, tmp_path: Path) -> None:
    assert loaded(tmp_path, said).cost().weight_bytes == size + REST


@pytest.mark.parametrize(
    ("said", "place", "message"),
    [
        (method("gptq", bits=4, group_size=0), "group_size", "a group has at least one column"),
        (
            method("bitsandbytes", load_in_4bit=True, load_in_8bit=True),
            "load_in_4bit",
            "one of load_in_4bit and load_in_8bit",
        ),
        (method("awq", modules_to_not_convert="lm_head"), "modules_to_not_convert", "should be a list of names"),
        (floats(strategy="block"), "strategy", "block_structure should have rows and columns"),
        (floats(strategy="block", block_structure=[32, 32, 32]), "block_structure", "should have rows and columns"),
        (floats(strategy="block", block_structure="32"), "block_structure", "should have rows and columns"),
        (floats(strategy="block", block_structure=[1.5, 2]), "block_structure", "netcalc knows no scheme"),
        (
            compressed("pack-quantized", num_bits=4, type="int", strategy="group"),
            "strategy",
            "groups need a group_size",
        ),
        (
            compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=48),
            "group_size",
            "64 mod 48",
        ),
        (
            compressed("nvfp4-pack-quantized", num_bits=8, type="int"),
            "quantization_config",
            "no layout with these values",
        ),
        (
            compressed("nvfp4-pack-quantized", num_bits=4, type="float", group_size=32),
            "group_size",
            "the format has groups of another size",
        ),
        (
            compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=32, actorder="some"),
            "actorder",
            "should be one of",
        ),
        (with_sparsity(floats(strategy="channel"), format="sparse-24-bitmask"), "sparsity_config", "sparse tensors"),
        (method("modelopt", quant_algo="NVFP4", group_size=32), "group_size", "groups of another size"),
        (
            method("modelopt", quant_algo="W4A16_AWQ", group_size=128),
            "quant_algo",
            "no layout with these values is known",
        ),
        (method("modelopt", quant_algo="MIXED_PRECISION"), "quant_algo", "quantized_layers should say"),
        (method("torchao", quant_type="int4_weight_only"), "quant_type", "should be an object"),
        (torchao("Int4WeightOnlyConfig", 1, group_size=32, use_hqq=False), "_type", "is stored in pickles"),
        (method("exl2", bits=4.0), "quantization_config", "bits differ between tensors"),
        (
            {"quantization": {"bits": 4, "group_size": 64}} | method("gptq", bits=4),
            "quantization",
            "should say the same",
        ),
    ],
    ids=str,
)
def test_what_leaves_the_bytes_open_is_an_error(said: dict[str, Any], place: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(NetcalcError) as caught:
        loaded(tmp_path, said)
    (problem,) = (problem for problem in caught.value.diagnostics if message in problem.message)
    assert problem.code == "E007"
    assert problem.span is not None
    if place != "quantization_config":
        assert problem.span.text.strip().startswith(f'"{place}":')


def test_a_list_of_no_targets_is_an_error(tmp_path: Path) -> None:
    said = floats(strategy="channel")
    said["quantization_config"]["config_groups"]["group_0"]["targets"] = []
    with pytest.raises(NetcalcError, match="targets should name the modules that are quantized"):
        loaded(tmp_path, said)


def test_every_group_that_does_not_fit_is_named(tmp_path: Path) -> None:
    weights = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 48}
    groups = {name: {"weights": weights, "targets": [f"re:.*{name}.*"]} for name in ("self_attn", "mlp")}
    with pytest.raises(NetcalcError) as caught:
        loaded(tmp_path, method("compressed-tensors", format="pack-quantized", config_groups=groups))
    assert [problem.message for problem in caught.value.diagnostics] == [
        "a linear layer of 64×64 and 1 more cannot be stored as int4-g48: 64 mod 48 is not 0",
        "a linear layer of 128×64 and 1 more cannot be stored as int4-g48: 64 mod 48 is not 0",
    ]


EXL2 = method("exl2", bits=4.0)


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"quantize": "bfloat16"}], ids=str)
def test_options_replace_what_is_left_open(options: dict[str, Any], tmp_path: Path) -> None:
    network = loaded(tmp_path, EXL2, **options)
    assert network.cost().weight_bytes == PLAIN
    ((option, value),) = options.items()
    replaced = f"--{option} {value} replaces the form in which the checkpoint stores parameters: exl2"
    assert replaced in network.summary().notes
    assert network.summary().stored_as == ""


def test_a_pattern_does_not_replace_all_that_is_left_open(tmp_path: Path) -> None:
    with pytest.raises(NetcalcError, match="bits differ between tensors"):
        loaded(tmp_path, EXL2, quantize="*.mlp.*=int8")


BLOCKS = method("fp8", weight_block_size=[128, 128])
FORM = "the form in which the checkpoint stores parameters: fp8, blocks of 128×128"


@pytest.mark.parametrize(
    ("quantize", "stored_as", "note"),
    [
        (["int8"], "", f"--quantize int8 replaces {FORM}"),
        (["plain"], "", f"--quantize plain replaces {FORM}"),
        (
            ["*.mlp.*=int8"],
            "fp8, blocks of 128×128",
            f"--quantize *.mlp.*=int8 replaces, where it applies, {FORM}",
        ),
        (["*.embed_tokens.*=int8"], "fp8, blocks of 128×128", None),
    ],
    ids=str,
)
def test_reports_say_what_quantize_replaces(
    quantize: list[str], stored_as: str, note: str | None, tmp_path: Path
) -> None:
    summary = loaded(tmp_path, BLOCKS, quantize=quantize).summary()
    assert summary.stored_as == stored_as
    assert [text for text in summary.notes if "replaces" in text] == ([] if note is None else [note])


def test_pages_say_how_parameters_are_stored(tmp_path: Path, netcalc: Run) -> None:
    file = str(write_config(tmp_path, LLAMA | BLOCKS))
    line = "stored as fp8, blocks of 128×128, bfloat16 elsewhere: 96.7 KiB"
    assert QUANTIZED + 4 * 14 + REST == 99_000
    for verb in ("params", "flops", "summary", "memory", "explain"):
        assert line in netcalc(verb, file).out.splitlines(), verb
    page = " ".join(netcalc("compare", file, file, "--quantize", "2:int8").out.split())
    name = Path(file).parent.name
    assert f"{name} (1): {line}" in page
    assert f"{name} (2): --quantize int8 replaces" in page
    record = json.loads(netcalc("compare", file, file, "--quantize", "2:int8", "-f", "json").out)
    assert record["stored_as"] == ["fp8, blocks of 128×128", ""]
    assert record["dtypes"] == ["bfloat16", "bfloat16"]
    assert [len(notes) for notes in record["notes"]] == [0, 1]
