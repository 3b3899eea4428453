"""Bytes of the parameters of quantized models, from their configurations alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import count
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc as api
from netcalc.analysis.memory import memory
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config
from tests.formats.huggingface.packed import (
    BITS,
    LLAMA,
    SCHEMES,
    VPTQ_LAYERS,
    Stored,
    compressed,
    packed_llama,
    torchao,
)
from tests.formats.huggingface.test_released import MODELS
from tests.formats.huggingface.tiny_models import TINY

Run = Callable[..., CommandResult]
TRUTH = Path(__file__).parents[2] / "truth"
SAVED: dict[str, dict[str, Any]] = json.loads((TRUTH / "packed_checkpoints.json").read_text())["checkpoints"]
#: Tensors that sizes leave out: records of a state, and the shape once more; scales of inputs and outputs, and
#: frequencies of positions, are no weights.
NOT_COUNTED = re.compile(
    r".*(\.quant_state\..*|\.weight_format|\.weight_shape|_weight_metadata|\.(input|output)_(global_|activation_)?scale(_ub)?"
    r"|rotary_emb\..*)"
)
PLAIN = 172_672  # bytes of the model in bfloat16


def bytes_of(stored: Stored) -> int:
    return sum(prod(shape) * BITS[kind] // 8 for name, (kind, shape) in stored.items() if not NOT_COUNTED.match(name))


def loaded(path: Path, config: dict[str, Any], **options: Any) -> api.Network:
    return api.load(write_config(path, config), **options)


@pytest.mark.parametrize("name", SCHEMES)
def test_the_bytes_are_those_of_the_packed_tensors(name: str, tmp_path: Path) -> None:
    said, pack = SCHEMES[name]
    packed = packed_llama(pack)
    if name == "bitsandbytes-4":  # the tensors are those of double quantization
        said = {"quantization_config": said["quantization_config"] | {"bnb_4bit_use_double_quant": True}}
    if name.startswith("mlx"):  # mlx packs embeddings and the last layer too
        for module in ("model.embed_tokens", "lm_head"):
            del packed[f"{module}.weight"]
            packed |= pack(module, 96, 64)
    assert loaded(tmp_path, LLAMA | said).cost().weight_bytes == bytes_of(packed)


@pytest.mark.parametrize("case", SAVED)
def test_the_bytes_are_those_that_the_libraries_saved(case: str, tmp_path: Path) -> None:
    saved = SAVED[case]
    network = loaded(tmp_path, saved["config"])
    expected = bytes_of({name: (kind, tuple(shape)) for name, (kind, shape) in saved["tensors"].items()})
    assert network.cost().weight_bytes == expected


def test_the_experts_of_gpt_oss(tmp_path: Path) -> None:
    """The ``total_size`` in the index of openai/gpt-oss-20b."""
    config = next(m["config"] for m in MODELS if m["model"] == "openai/gpt-oss-20b")
    network = loaded(tmp_path, config)
    assert network.program.dtype == "bfloat16"  # which the configuration does not name
    assert network.cost().weight_bytes == 13_761_264_768
    groups = {group.scheme: group.params for group in network.storage().groups if not group.reason}
    assert groups["mxfp4"] == 24 * 32 * 3 * 2880 * 2880


#: Fields of Qwen/Qwen3-30B-A3B-FP8, with the modules that it lists.
QWEN = {
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "norm_topk_prob": True,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "quantization_config": {
        "activation_scheme": "dynamic",
        "fmt": "e4m3",
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": [
            "lm_head",
            *(
                f"model.layers.{layer}.{module}"
                for layer in range(48)
                for module in ("input_layernorm", "mlp.gate", "post_attention_layernorm")
            ),
        ],
    },
}


def test_blocks_of_8_bits_with_modules_that_are_left_out(tmp_path: Path) -> None:
    """29 GiB in place of 56.9; by hand: 8 bits of attention and experts, and 4 bytes for 16,384 of them."""
    network = loaded(tmp_path, QWEN)
    eights = 48 * (2 * 2048 * 4096 + 2 * 2048 * 512 + 128 * 3 * 2048 * 768)
    plain = 2 * 151936 * 2048 + 48 * 128 * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048
    assert network.params == eights + plain
    assert network.cost().weight_bytes == eights + eights // 128**2 * 4 + 2 * plain
    assert network.cost().weight_bytes / 2**30 == pytest.approx(29.03, abs=0.01)
    assert network.summary().stored_as == "fp8, blocks of 128×128"


def left_out(network: api.Network) -> set[str]:
    """Return the paths of matrices in full precision."""
    from netcalc.analysis.walk import parameters

    params = [p for p in parameters(network.program) if len(p.param.shape) > 1]
    return {p.path for p in params if p.param.storage is None or p.param.storage.scheme == "bfloat16"}


LAYERS = [f"model.layers.{layer}" for layer in range(2)]


@pytest.mark.parametrize(
    ("scheme", "said", "modules"),
    [
        ("awq", {"modules_to_not_convert": ["model.layers.1.mlp"]}, "gate up down"),
        ("awq", {"modules_to_not_convert": ["up_proj"]}, ""),
        ("bitsandbytes-4", {"llm_int8_skip_modules": ["lm_head", "model.layers.1.mlp"]}, "gate up down"),
        ("pack-4", {"ignore": ["lm_head", "re:.*1.mlp.*"]}, "gate up down"),
        ("pack-4", {"ignore": ["lm_head", "re:.*layers\\.1\\.mlp\\.(gate|up)_proj$"]}, "gate up"),
        ("mlx-4", {f"model.layers.1.mlp.{part}_proj": False for part in ("up", "down")}, "up down"),
    ],
    ids=str,
)
def test_modules_that_are_not_quantized(scheme: str, said: dict[str, Any], modules: str, tmp_path: Path) -> None:
    ((key, fields),) = SCHEMES[scheme][0].items()
    expected = {f"model.layers.1.mlp.{part}_proj.weight" for part in modules.split()}
    if not modules:
        expected = {f"{layer}.mlp.up_proj.weight" for layer in LAYERS}
    if scheme != "mlx-4":
        expected |= {"model.embed_tokens.weight", "lm_head.weight"}
    assert left_out(loaded(tmp_path, LLAMA | {key: fields | said})) == expected


FLOAT8 = torchao("Float8WeightOnlyConfig", weight_dtype={"_data": "float8_e4m3fn"})
INT8 = torchao("Int8WeightOnlyConfig", granularity={"_type": "PerRow", "_data": {}})


def default_of(said: dict[str, Any]) -> Any:
    return said["quantization_config"]["quant_type"]["default"]


def hqq(**modules: Any) -> dict[str, Any]:
    entries = {name.replace("__", "."): {"weight_quant_params": fields} for name, fields in modules.items()}
    return {"quant_method": "hqq", "quant_config": entries, "skip_modules": ["lm_head"]}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            torchao(
                "FqnToConfig",
                1,
                fqn_to_config={
                    "re:.*mlp.*": default_of(INT8),
                    "re:.*up_proj": default_of(FLOAT8),
                    "model.layers.0.self_attn.q_proj": default_of(FLOAT8),
                    "model.layers.1.mlp.up_proj.weight": None,
                },
            )["quantization_config"],
            {"torchao-int8-row": 5 * 64 * 128, "torchao-float8-row": 64 * 64},
        ),
        (
            torchao("ModuleFqnToConfig", 1, module_fqn_to_config={"_default": default_of(INT8), "re:.*mlp.*": None})[
                "quantization_config"
            ],
            {"torchao-int8-row": 2 * (2 * 64 * 64 + 2 * 32 * 64)},
        ),
        (
            hqq(mlp__down_proj={"nbits": 4, "group_size": 64}, self_attn__q_proj={"nbits": 8, "group_size": 32}),
            {"hqq-int4-g64-axis1": 2 * 64 * 128, "hqq-int8-g32-axis1": 2 * 64 * 64},
        ),
        (
            {
                "quant_method": "gemma",
                "num_bits": 4,
                "module_quant_configs": {"mlp": {"num_bits": 2}, "mlp.up": {"num_bits": 8}},
            },
            {"gemma-int2": 6 * 64 * 128, "gemma-int4": 2 * (2 * 64 * 64 + 2 * 32 * 64)},
        ),
        (
            {
                "quant_method": "auto-round",
                "bits": 4,
                "group_size": 32,
                "extra_config": {"model.layers.1.mlp.up_proj": {"bits": 8}, ".*layers.0.mlp.*": {"bits": 16}},
            },
            {"auto-round-int8-g32": 64 * 128, "auto-round-int4-g32": 2 * (2 * 64 * 64 + 2 * 32 * 64) + 2 * 64 * 128},
        ),
        (
            {"quant_method": "vptq", "config_for_layers": dict([next(iter(VPTQ_LAYERS.items()))])},
            {"vptq-v8-k256-r16-g1x64-o0-v0-k0-n1-p1": 64 * 64},
        ),
    ],
    ids=["torchao", "torchao, default", "hqq", "gemma", "auto-round", "vptq"],
)
def test_modules_have_fields_of_their_own(said: dict[str, Any], expected: dict[str, int], tmp_path: Path) -> None:
    groups = loaded(tmp_path, LLAMA | {"quantization_config": said}).storage().groups
    assert {group.scheme: group.params for group in groups if group.scheme != "bfloat16"} == expected


def test_modules_of_mlx_have_schemes_of_their_own(tmp_path: Path) -> None:
    own = {"bits": 4, "group_size": 64, "model.layers.0.mlp.up_proj": {"bits": 8, "group_size": 32}}
    groups = loaded(tmp_path, LLAMA | {"quantization": own}).storage().groups
    assert {group.scheme: group.params for group in groups}["mlx-int8-g32"] == 64 * 128


GROUP = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}


def pack(**fields: Any) -> dict[str, Any]:
    said = compressed("pack-quantized", **GROUP)
    return {"quantization_config": said["quantization_config"] | fields}


def method(quant_method: str, **fields: Any) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": quant_method, **fields}}


def groups(**targets: list[str]) -> dict[str, Any]:
    """Return groups of 8 bits and of 4 with these targets."""
    bits = {"eight": 8, "four": 4}
    return {name: {"weights": GROUP | {"num_bits": bits[name]}, "targets": value} for name, value in targets.items()}


#: Elements of the layers of the small Llama.
ATTENTION, FEED_FORWARD, HEAD = 2 * (64 + 32) * 64, 3 * 64 * 128, 96 * 64


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (pack(ignore=[]), {"int4-g32": 2 * (ATTENTION + FEED_FORWARD) + HEAD}),
        (pack(ignore=None), {"int4-g32": 2 * (ATTENTION + FEED_FORWARD) + HEAD}),
        (pack(ignore=["re:.*layers.1.*", "Linear"]), {}),
        (
            pack(config_groups=groups(four=["Linear"], eight=["re:.*down_proj"])),
            {"int8-g32": 2 * 64 * 128, "int4-g32": 2 * (ATTENTION + 2 * 64 * 128)},
        ),
        (
            pack(config_groups=groups(eight=["model.layers.0.mlp.up_proj"], four=["re:.*o_proj"])),
            {"int8-g32": 64 * 128, "int4-g32": 2 * 64 * 64},
        ),
        (
            method("gptq", bits=4, group_size=32, dynamic={"-:.*self_attn": {}, "+:.*\\.1\\..*up": {"bits": 8}}),
            {"gptq-int4-g32": 2 * FEED_FORWARD - 64 * 128, "gptq-int8-g32": 64 * 128},
        ),
        (
            method("gptq", bits=4, group_size=32, modules_in_block_to_quantize=[["self_attn.q_proj"], ["mlp.up_proj"]]),
            {"gptq-int4-g32": 2 * (64 * 64 + 64 * 128)},
        ),
        (method("gptq", bits=4, group_size=32, lm_head=True), {"gptq-int4-g32": 2 * (ATTENTION + FEED_FORWARD) + HEAD}),
        (method("gptq", bits=4, group_size=-1), {"gptq-int4-channel": 2 * (ATTENTION + FEED_FORWARD)}),
        (method("awq", bits=4, group_size=-1), {"awq-int4-channel": 2 * (ATTENTION + FEED_FORWARD)}),
        (method("fp8", weight_block_size=[32, 64]), {"float8_e4m3-b32x64": 2 * (ATTENTION + FEED_FORWARD)}),
        (method("fp8", weight_block_size=None), {"float8_e4m3": 2 * (ATTENTION + FEED_FORWARD)}),
        # a list takes the place of the default one, in which the last layer is
        (
            method("fp8", weight_block_size=[128, 128], modules_to_not_convert=["model.layers.*.mlp"]),
            {"float8_e4m3-b128": 2 * ATTENTION + HEAD},
        ),
        (
            method("fp8", weight_block_size=[128, 128], ignored_layers=["model.layers.*.mlp", "lm_head"]),
            {"float8_e4m3-b128": 2 * ATTENTION},
        ),
        (
            method("awq", bits=4, group_size=32, modules_to_not_convert=["model.layers.*.mlp"]),
            {"awq-int4-g32": 2 * ATTENTION},
        ),
        (
            method("modelopt", quant_algo="NVFP4", ignore=["lm_head", "model.layers.*.self_attn*"]),
            {"nvfp4": 2 * FEED_FORWARD},
        ),
        (
            method(
                "modelopt",
                quant_algo="MIXED_PRECISION",
                quantized_layers={"*up_proj": {"quant_algo": "FP8"}, "*down_proj": {"quant_algo": "NVFP4"}},
            ),
            {"float8_e4m3": 2 * 64 * 128, "nvfp4": 2 * 64 * 128},
        ),
        (
            {"quantization": {"bits": 4, "group_size": 32, "mode": "mxfp4", "lm_head": {"bits": 8, "mode": "affine"}}},
            {"mxfp4": 2 * (ATTENTION + FEED_FORWARD) + HEAD, "mlx-int8-g32": HEAD},
        ),
    ],
    ids=str,
)
def test_schemes_by_module(said: dict[str, Any], expected: dict[str, int], tmp_path: Path) -> None:
    if expected:
        report = loaded(tmp_path, LLAMA | said).storage()
        assert {group.scheme: group.params for group in report.groups if group.scheme != "bfloat16"} == expected
        return
    with pytest.raises(NetcalcError, match=r"no parameter of .* is stored as int4, groups of 32"):
        loaded(tmp_path, LLAMA | said).storage()


@pytest.mark.parametrize(
    ("said", "place", "message"),
    [
        (method("gptq", bits=4, group_size=70_000), "group_size", "netcalc knows no scheme 'gptq-int4-g70000'"),
        (method("gptq", group_size=128), "quantization_config", "'quantization_config.bits' is missing"),
        (method("awq", modules_to_not_convert=[4]), "modules_to_not_convert", "should be a list of names of modules"),
        (method("awq", modules_to_not_convert={"a": 1}), "modules_to_not_convert", "should be a list of names"),
        (method("awq", modules_to_not_convert=["a*" * 3000]), "modules_to_not_convert", "more than 2,000 characters"),
        (
            method("awq", group_size=32, modules_to_not_convert=["mlp.up"]),
            "modules_to_not_convert",
            "no module has a name that 'mlp.up' matches",
        ),
        (method("awq", group_size=48), "group_size", "64×64 and 3 more cannot be stored as awq-int4-g48: 64 mod 48"),
        (method("fp8", weight_block_size="128"), "weight_block_size", "does not follow from weight_block_size '128'"),
        (method("fp8", weight_block_size={"0": 1}), "weight_block_size", "does not follow from weight_block_size"),
        (method("fp8", weight_block_size=[128]), "weight_block_size", "does not follow from weight_block_size [128]"),
        (
            method("fp8", modules_to_convert=["up_proj"]),
            "modules_to_convert",
            "does not follow from modules_to_convert",
        ),
        (method("bitsandbytes"), "quantization_config", "does not follow from the configuration"),
        (
            {"quantization": {"bits": 4, "group_size": 16, "mode": "mxfp4"}},
            "mode",
            "does not follow from mode 'mxfp4', group_size 16",
        ),
        (pack(ignore=["lm_head", "re:(a+)+$"]), "ignore", "repeats too much"),
        (pack(ignore=["lm_head", "re:a("]), "ignore", "is no regular expression"),
        (pack(ignore=["lm_head", "re:" + ".*a" * 20]), "ignore", "repeats too much"),
        (
            pack(config_groups={"a": {"targets": ["Linear"], "weights": GROUP | {"type": "float"}}}),
            "num_bits",
            "no layout with these values is known",
        ),
        (pack(config_groups={}), "config_groups", "config_groups should say how modules are quantized"),
        (
            pack(config_groups={"a": {"weights": GROUP}}),
            "a",
            "'quantization_config.config_groups.a.targets' is missing",
        ),
        (
            pack(config_groups=groups(four=["re:.*nothing"])),
            "targets",
            "no module has a name that 're:.*nothing' matches",
        ),
    ],
    ids=count(),
)
def test_what_does_not_follow_is_an_error(said: dict[str, Any], place: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(NetcalcError) as caught:
        loaded(tmp_path, LLAMA | said).cost()
    (problem,) = (problem for problem in caught.value.diagnostics if message in problem.message)
    assert problem.code == "E007"
    assert problem.span is not None
    assert problem.span.text.strip().startswith(f'"{place}":')


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    said = pack(
        ignore=["re:("],
        config_groups={name: {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float"}} for name in "ab"},
    )
    with pytest.raises(NetcalcError) as caught:
        loaded(tmp_path, LLAMA | said)
    assert [problem.code for problem in caught.value.diagnostics] == ["E007"] * 3


def test_entries_without_a_module_are_named(tmp_path: Path) -> None:
    """Published lists name norms, and modules of other versions of a model."""
    report = loaded(
        tmp_path,
        LLAMA | method("fp8", weight_block_size=[128, 128], modules_to_not_convert=["lm_head", "mlp.gate", "visual"]),
    ).summary()
    assert "modules_to_not_convert: no module has a name that 'mlp.gate', 'visual' matches" in report.notes


def test_a_list_may_name_only_parts_that_the_model_leaves_in_the_checkpoint(tmp_path: Path) -> None:
    config = TINY["qwen3_5_text"] | {"architectures": ["Qwen3_5ForCausalLM"]}
    report = loaded(tmp_path, config | method("fp8", modules_to_not_convert=["mtp*", "mtp.layers.0*"])).summary()
    assert "modules_to_not_convert: no module has a name that 'mtp*', 'mtp.layers.0*' matches" in report.notes


def test_a_producer_tells_modelopt_from_other_methods(tmp_path: Path) -> None:
    """As files of ModelOpt 0.31 have it."""
    said = {"quant_algo": "FP8", "ignore": ["lm_head"], "producer": {"name": "modelopt", "version": "0.31.0"}}
    stored = [
        loaded(tmp_path / str(place), LLAMA | {"quantization_config": said | named}).storage().bytes
        for place, named in enumerate(({}, {"quant_method": "modelopt"}))
    ]
    assert stored[0] == stored[1] < PLAIN


def test_an_element_type_replaces_the_schemes(tmp_path: Path) -> None:
    network = loaded(tmp_path, LLAMA | SCHEMES["gptq-4"][0], dtype="float16")
    assert network.cost().weight_bytes == PLAIN
    replaced = "--dtype float16 replaces the form in which the checkpoint stores parameters: gptq, 4 bits, groups of 32"
    for view in ("summary", "params", "flops"):
        report = network.summary(view=view)
        assert replaced in report.notes
        assert replaced in " ".join(str(report).split()) and replaced in api.as_dict(report)["notes"]
    assert not network.summary(view="shapes").notes


@pytest.mark.parametrize(("quant_method", "dtype"), [("gptq", "float16"), ("fp8", "bfloat16"), (None, "float32")])
def test_an_assumed_element_type_is_named(quant_method: str | None, dtype: str, tmp_path: Path) -> None:
    config = {key: value for key, value in LLAMA.items() if key != "dtype"}
    said = {} if quant_method is None else method(quant_method, bits=4, group_size=32)
    said = method("fp8") if quant_method == "fp8" else said
    network = loaded(tmp_path, config | said)
    assert network.program.dtype == dtype
    assert f"element type {dtype} is assumed, as nothing names one; --dtype sets it" in network.summary().notes
    given = loaded(tmp_path, config | said, dtype="float32")
    assert not [note for note in given.summary().notes if "assumed" in note]


def test_assignments_of_a_user_come_first(tmp_path: Path) -> None:
    network = loaded(tmp_path, LLAMA | SCHEMES["gptq-4"][0])
    assert network.quantized("bfloat16").cost().weight_bytes == PLAIN
    groups = network.quantized(["*.up_proj.*=int8", "*.down_proj.*=plain"]).storage().groups
    params = {group.scheme: group.params for group in groups if not group.reason}
    assert params == {"gptq-int4-g32": 73_728 - 4 * 64 * 128, "int8": 2 * 64 * 128, "bfloat16": 2 * 64 * 128}
    with pytest.raises(NetcalcError, match="E502") as caught:
        network.pruned("0.5")
    assert "gptq-int4-g32 has no layout with elements removed" in caught.value.diagnostics[0].message
    with pytest.raises(NetcalcError, match="E503"):
        network.quantized("*.nothing.*=int8")


def test_a_run_does_not_round_what_the_checkpoint_stores(tmp_path: Path) -> None:
    network = loaded(tmp_path / "quantized", LLAMA | SCHEMES["gptq-4"][0], set={"length": 4}, dtype="float32")
    plain = loaded(tmp_path / "plain", LLAMA, set={"length": 4}, dtype="float32")
    ((found,), (expected,)) = (each.run().outputs.values() for each in (network, plain))
    np.testing.assert_array_equal(found, expected)
    assert memory(network.program) == memory(plain.program)
    assert network.verify(values=True).ok
    with pytest.raises(NetcalcError, match="no parameter is rounded"):
        network.rounding_errors()
    assert network.quantized("*.up_proj.*=int8").rounding_errors().assigned == ("--quantize *.up_proj.*=int8",)


def test_commands_count_the_stored_bytes(tmp_path: Path, netcalc: Run) -> None:
    """2 caches of 2 layers, 2 heads of 16: 256 bytes a token in bfloat16."""
    file = str(write_config(tmp_path, LLAMA | SCHEMES["gptq-4"][0]))
    assert json.loads(netcalc("params", file, "-f", "json").out)["totals"]["weight_bytes"] == 71_936
    page = netcalc("params", file).out
    assert "gptq-int4-g32" in page
    step = ("memory", file, "--set", "past=15", "--set", "length=1", "--tokens-in", "128KiB")
    record = json.loads(netcalc(*step, "-f", "json").out)
    assert (record["weights"], record["token_bytes"]) == (71_936, 256)
    assert [row["scheme"] for row in record["stored"]] == ["bfloat16", "gptq-int4-g32"]
    assert (128 * 1024 - 71_936 - record["ideal"]["peak"]) // 256 == 227
    assert " 227 " in next(line for line in netcalc(*step).out.splitlines() if "with weights" in line)
    assert "gptq-int4-g32" in netcalc("summary", file).out


def test_adapters_beside_quantized_layers_are_not_quantized(tmp_path: Path) -> None:
    groups = loaded(tmp_path, LLAMA | SCHEMES["bitsandbytes-4"][0], lora="*.q_proj=4").storage().groups
    assert {(group.scheme, group.reason): group.params for group in groups}["bfloat16", "an adapter"] == 2 * 2 * 4 * 64
