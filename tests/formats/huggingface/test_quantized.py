"""Quantized models: their configurations are imported, and their checkpoints audited."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.diagnostics import NetcalcError
from netcalc.formats.huggingface.quantization import quantization_problems, storage_of
from netcalc.schemes.methods import Layout
from netcalc.spec.cursor import Cursor
from netcalc.weights.packing.layouts import Found, companions_of
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config
from tests.formats.huggingface.packed import (
    GPT_OSS,
    LLAMA,
    PARAMS,
    SCHEMES,
    Stored,
    packed_llama,
    plain_llama,
    torchao,
    write_model,
)
from tests.records.test_records import validated
from tests.weights.test_packing import RECORDED

Run = Callable[..., CommandResult]
INDEX = "model.safetensors.index.json"
SAVED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "truth" / "packed_checkpoints.json").read_text()
)["checkpoints"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_packed_checkpoint_fits_its_configuration(scheme: str, tmp_path: Path, netcalc: Run) -> None:
    said, pack = SCHEMES[scheme]
    stored = packed_llama(pack)
    folder = write_model(tmp_path / "model", LLAMA | said, stored)
    record = validated(netcalc("verify", str(folder), "-f", "json"), "weights")
    assert record["ok"], record["mismatches"]
    assert (record["tensors"], record["stored"]["params"]) == (len(stored), PARAMS)
    (packed,) = record["stored"]["packed"]
    assert packed["tensors"] == 14
    assert packed["params"] == PARAMS - 2 * 96 * 64 - 5 * 64
    assert record["stored"]["bytes"] == record["stored"]["types"][0]["bytes"] + sum(
        row["bytes"] for row in record["stored"]["types"][1:]
    )
    content = validated(netcalc("params", str(folder / "model.safetensors"), "-f", "json"), "checkpoint")
    assert content["totals"]["params"] == PARAMS
    assert content["totals"]["elements"] == record["stored"]["elements"] != PARAMS
    assert content["packed"] == record["stored"]["packed"]
    assert api.load(folder).params == PARAMS


@pytest.mark.parametrize("case", SAVED)
def test_checkpoints_that_the_libraries_saved(case: str, tmp_path: Path, netcalc: Run) -> None:
    """Headers, configuration and totals of the index as they were saved."""
    saved = SAVED[case]
    stored: Stored = {name: (dtype, tuple(shape)) for name, (dtype, shape) in saved["tensors"].items()}
    folder = write_model(tmp_path / "model", saved["config"], stored, metadata=saved["metadata"])
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert record["ok"], record["mismatches"]
    assert record["stored"]["params"] == PARAMS
    assert api.read_checkpoint(folder / (INDEX if saved["metadata"] else "model.safetensors")).params == PARAMS


def test_pages_have_both_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Run, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    said, pack = SCHEMES["gptq-4"]
    stored = packed_llama(pack) | {"mtp.proj.weight": ("BF16", (64, 64)), "visual.0.bias": ("BF16", (64,))}
    write_model(Path("model"), LLAMA | said, stored, metadata={"total_parameters": 1})
    golden("checkpoints/verify-gptq.txt", netcalc("verify", "model").out)
    golden("checkpoints/params-gptq.txt", netcalc("params", "model/model.safetensors.index.json").out)


def test_a_run_refuses_packed_weights_of_an_unknown_layout(
    tmp_path: Path, netcalc: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_decoder(layout: Layout, *arguments: Any) -> Found | None:
        return companions_of(layout._replace(decoder=None), *arguments)

    monkeypatch.setattr("netcalc.weights.packing.unpacked.companions_of", without_decoder)
    said, pack = SCHEMES["mlx-4"]
    folder = write_model(tmp_path / "model", LLAMA | said, packed_llama(pack))
    ran = netcalc("run", str(folder), "--weights", ".", "--set", "length=4")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("error[") == 1
    assert "14 tensors packed by mlx, which netcalc does not decode" in ran.err.replace("\n", " ")


def test_a_packed_tensor_of_another_shape_is_shown_with_the_arithmetic(tmp_path: Path, netcalc: Run) -> None:
    said, pack = SCHEMES["gptq-4"]
    stored = packed_llama(pack)
    stored |= pack("model.layers.1.mlp.up_proj", 96, 64)
    record = json.loads(netcalc("verify", str(write_model(tmp_path / "m", LLAMA | said, stored)), "-f", "json").out)
    (mismatch,) = record["mismatches"]
    assert mismatch["kind"] == "shape"
    assert mismatch["message"] == (
        "'model.layers.1.mlp.up_proj.weight' is 96×64 gptq (unpacked from 8×96 int32, bits = ⌊32·12/96⌋ = 4, "
        "columns = ⌊32·8/4⌋ = 64), and the spec has 128×64 bfloat16"
    )


def test_packed_tensors_of_another_width_are_a_mismatch(tmp_path: Path, netcalc: Run) -> None:
    said, _ = SCHEMES["gptq-4"]
    folder = write_model(tmp_path / "m", LLAMA | said, packed_llama(SCHEMES["gptq-8"][1]))
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert {mismatch["kind"] for mismatch in record["mismatches"]} == {"shape"}
    assert "does not unpack: bits is 4, and by the shapes" in record["mismatches"][0]["message"]


def test_plain_modules_of_a_quantized_model(tmp_path: Path, netcalc: Run) -> None:
    """Modules that a configuration leaves out of the quantization, here all of layer 1, are stored plainly."""
    said, pack = SCHEMES["awq"]
    stored = {name: entry for name, entry in packed_llama(pack).items() if ".1." not in name}
    stored |= {name: entry for name, entry in plain_llama().items() if ".1." in name}
    said = {"quantization_config": said["quantization_config"] | {"modules_to_not_convert": ["model.layers.1"]}}
    record = json.loads(netcalc("verify", str(write_model(tmp_path / "m", LLAMA | said, stored)), "-f", "json").out)
    assert record["ok"], record["mismatches"]
    assert record["stored"]["params"] == PARAMS


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        ("awq", {"modules_to_not_convert": ["up_proj"]}),
        ("bitsandbytes-4", {"llm_int8_skip_modules": ["lm_head", "up_proj"]}),
        ("pack-4", {"ignore": ["lm_head", "model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj"]}),
        ("mlx-4", {"model.layers.0.mlp.up_proj": False, "model.layers.1.mlp.up_proj": False}),
    ],
)
def test_a_module_that_should_be_plain_and_is_packed(
    scheme: str, said: dict[str, Any], tmp_path: Path, netcalc: Run
) -> None:
    ((key, settings),) = SCHEMES[scheme][0].items()
    folder = write_model(tmp_path / "m", LLAMA | {key: settings | said}, packed_llama(SCHEMES[scheme][1]))
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert [group["pattern"] for group in record["groups"]] == ["model.layers.*.mlp.up_proj.weight"]
    assert "the configuration says that it is not packed" in record["groups"][0]["message"]


def test_other_tensors_are_listed_by_group(tmp_path: Path, netcalc: Run) -> None:
    said, pack = SCHEMES["fp8"]
    stored = packed_llama(pack) | {"visual.patch.weight": ("BF16", (8, 4)), "visual.norm.bias": ("F32", (4,))}
    for layer in (2, 3):
        stored |= pack(f"model.layers.{layer}.eh_proj", 64, 128)
    record = json.loads(netcalc("verify", str(write_model(tmp_path / "m", LLAMA | said, stored)), "-f", "json").out)
    assert record["stored"]["extra"] == [
        {
            "prefix": "model.layers.*",
            "groups": 2,
            "ignored": False,
            "tensors": 4,
            "params": 2 * 64 * 128,
            "bytes": 16392,
        },
        {"prefix": "visual", "groups": 1, "ignored": False, "tensors": 2, "params": 36, "bytes": 80},
    ]
    assert record["stored"]["params"] == PARAMS + 2 * 64 * 128 + 36


def experts_in_blocks() -> Stored:
    """The names and the order of axes in the files of gpt-oss: blocks of 32 inputs, 16 bytes each."""
    layer, experts = "model.layers.0", "model.layers.0.mlp.experts"
    stored: Stored = {
        "model.embed_tokens.weight": ("BF16", (96, 64)),
        "lm_head.weight": ("BF16", (96, 64)),
        "model.norm.weight": ("BF16", (64,)),
        f"{layer}.input_layernorm.weight": ("BF16", (64,)),
        f"{layer}.post_attention_layernorm.weight": ("BF16", (64,)),
        f"{layer}.self_attn.sinks": ("BF16", (4,)),
        f"{layer}.mlp.router.weight": ("BF16", (4, 64)),
        f"{layer}.mlp.router.bias": ("BF16", (4,)),
        f"{experts}.gate_up_proj_blocks": ("U8", (4, 64, 2, 16)),
        f"{experts}.gate_up_proj_scales": ("U8", (4, 64, 2)),
        f"{experts}.gate_up_proj_bias": ("BF16", (4, 64)),
        f"{experts}.down_proj_blocks": ("U8", (4, 64, 1, 16)),
        f"{experts}.down_proj_scales": ("U8", (4, 64, 1)),
        f"{experts}.down_proj_bias": ("BF16", (4, 64)),
    }
    for part, rows in {"q": 64, "k": 32, "v": 32}.items():
        stored[f"{layer}.self_attn.{part}_proj.weight"] = ("BF16", (rows, 64))
        stored[f"{layer}.self_attn.{part}_proj.bias"] = ("BF16", (rows,))
    stored |= {
        f"{layer}.self_attn.o_proj.weight": ("BF16", (64, 64)),
        f"{layer}.self_attn.o_proj.bias": ("BF16", (64,)),
    }
    return stored


def test_experts_in_blocks(tmp_path: Path, netcalc: Run) -> None:
    stored = experts_in_blocks()
    folder = write_model(tmp_path / "model", GPT_OSS, stored)
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert record["ok"], record["mismatches"]
    (packed,) = record["stored"]["packed"]
    assert (packed["tensors"], packed["companions"], packed["params"]) == (2, 2, 4 * 64 * 64 + 4 * 32 * 64)
    assert record["stored"]["params"] == api.load(folder).params


@pytest.mark.parametrize("scheme", ["awq", "gptq-4", "bitsandbytes-4", "mlx-4", "float8"])
def test_experts_that_are_stored_one_by_one(scheme: str, tmp_path: Path, netcalc: Run) -> None:
    said, pack = SCHEMES[scheme]
    config = LLAMA | said | {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 3}
    stored = {name: entry for name, entry in packed_llama(pack).items() if ".mlp." not in name}
    for layer in range(2):
        block = f"model.layers.{layer}.block_sparse_moe"
        stored[f"{block}.gate.weight"] = ("BF16", (3, 64))
        for expert in range(3):
            for part, (rows, columns) in {"w1": (128, 64), "w2": (64, 128), "w3": (128, 64)}.items():
                stored |= pack(f"{block}.experts.{expert}.{part}", rows, columns)
    folder = write_model(tmp_path / "model", config, stored)
    record = json.loads(netcalc("verify", str(folder), "-f", "json").out)
    assert record["ok"], record["mismatches"]
    assert record["stored"]["params"] == api.load(folder).params


@pytest.mark.parametrize("case", RECORDED)
def test_recorded_configurations_are_known(case: str) -> None:
    config = Cursor(RECORDED[case]["config"], (), {})
    assert list(quantization_problems(config)) == []
    assert storage_of(config, "bfloat16", "config.json")


def hqq(**fields: Any) -> dict[str, Any]:
    return {"quant_method": "hqq", "quant_config": {"weight_quant_params": fields}}


@pytest.mark.parametrize(
    ("quantization", "message"),
    [
        ({"quant_method": "quip", "bits": 4}, "the quant_method 'quip' is not known"),
        ({}, "the quant_method null is not known"),
        ({"quant_method": "gptq", "bits": 5}, "bits should be one of 2, 3, 4, 8, not 5"),
        ({"quant_method": "gptq", "bits": "4"}, "bits should be a whole number, not '4'"),
        ({"quant_method": "gptq", "bits": 4, "rotation": True}, "'quantization_config.rotation' of gptq is not known"),
        ({"quant_method": "awq", "bits": 4, "version": "gemv"}, "version should be one of 'gemm'"),
        ({"quant_method": "compressed-tensors", "format": "marlin"}, "format should be one of"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": [], "weights": {"bits": 4}}}},
            "'quantization_config.config_groups.a.weights.bits' of compressed-tensors is not known",
        ),
        ("gptq", "quantization_config should be an object, not 'gptq'"),
        (hqq(nbits=7), "weight_quant_params.nbits should be one of 1, 2, 3, 4, 5, 6, 8, not 7"),
        (hqq(bits=4), "'quantization_config.quant_config.weight_quant_params.bits' of hqq is not known"),
        ({"quant_method": "hqq", "quant_config": {"lm_head": 4}}, "quant_config.lm_head should be an object, not 4"),
        (
            {"quant_method": "torchao", "quant_type": "int4_weight_only"},
            "quant_type should be an object, not 'int4_weight_only'",
        ),
        (torchao("Int4WeightOnly")["quantization_config"], "_type should be one of 'Float8DynamicActivation"),
        (torchao("Int8WeightOnlyConfig", 3)["quantization_config"], "_version should be one of 1, 2, not 3"),
        (
            torchao("FqnToConfig", 1, fqn_to_config={"re:.*": {"_type": "Int8", "_data": {"rows": 1}}})[
                "quantization_config"
            ],
            "'quantization_config.quant_type.default._data.fqn_to_config.re:.*._data.rows' of torchao is not known",
        ),
        ({"quant_method": "aqlm", "nbits_per_codebook": 40}, "nbits_per_codebook should be at most 32, not 40"),
        ({"quant_method": "higgs", "bits": 8, "p": 3}, "p should be one of 1, 2, not 3"),
        (
            {"quant_method": "vptq", "config_for_layers": {"a": {"group_size": 0}}},
            "a.group_size should be at least 1, not 0",
        ),
        ({"quant_method": "spqr", "bits": 4}, "bits should be one of 3, not 4"),
        (
            {"quant_method": "auto-round", "extra_config": {"a": {"bits": 1}}},
            "extra_config.a.bits should be one of 2, 3",
        ),
        (
            {"quant_method": "gemma", "module_quant_configs": {"a": {"bits": 2}}},
            "'quantization_config.module_quant_configs.a.bits'",
        ),
    ],
    ids=str,
)
def test_what_is_not_known_is_refused(quantization: Any, message: str, tmp_path: Path) -> None:
    file = write_config(tmp_path / "model", LLAMA | {"quantization_config": quantization})
    with pytest.raises(NetcalcError) as caught:
        api.load(file)
    assert {problem.code for problem in caught.value.diagnostics} == {"E007"}
    assert any(message in problem.message for problem in caught.value.diagnostics), caught.value.diagnostics


def test_an_import_reads_no_tensors(tmp_path: Path) -> None:
    """The figures of a quantized model need no NumPy, as those of any other."""
    folder = write_model(tmp_path / "model", LLAMA | SCHEMES["gptq-4"][0], {})
    code = f"import sys, netcalc; print(netcalc.load({str(folder)!r}).params, 'numpy' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == [str(PARAMS), "False"]


def test_fields_of_modules_are_those_of_the_model(tmp_path: Path) -> None:
    own = {"bits": 4, "group_size": 64, "lm_head": False, "model.norm": False, "model.layers.0.mlp": {"bits": 7}}
    with pytest.raises(NetcalcError) as caught:
        api.load(write_config(tmp_path / "model", LLAMA | {"quantization": own}))
    messages = " ".join(problem.message for problem in caught.value.diagnostics)
    assert "'quantization.lm_head' of mlx is not known" not in messages
    assert "bits should be one of 2, 3, 4, 5, 6, 8, not 7" in messages
