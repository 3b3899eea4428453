"""Bytes of weights in ``memory`` by the headers of a model's own files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.analysis.memory_report import MemoryReport
from netcalc.diagnostics import NetcalcError
from netcalc.formats import counted_files as counted_files_module
from netcalc.weights.tensor_files import TensorFile
from tests.conftest import CommandResult
from tests.formats.huggingface.packed import (
    BITS,
    LLAMA,
    SCHEMES,
    Stored,
    packed_llama,
    plain_llama,
    write_model,
)
from tests.formats.huggingface.packed_variants import TOLD_BY_HEADERS
from tests.formats.huggingface.test_storage import SAVED
from tests.records.test_records import validated

Run = Callable[..., CommandResult]
FP8, _BLOCKS = SCHEMES["fp8"]
FP8_MODEL: dict[str, Any] = LLAMA | FP8
PACKED = packed_llama(_BLOCKS)
#: Bytes of the plain tensors, and of the values and the scales of the packed ones: 7 projections in 2 layers.
PLAIN, VALUES, SCALES = 2 * (2 * 96 * 64 + 5 * 64), 73_728, 14 * 4


def size_of(stored: Stored) -> int:
    return sum(prod(shape) * BITS[kind] // 8 for kind, shape in stored.values())


def memory_of(folder: Path, config: Mapping[str, Any], stored: Stored, **options: Any) -> MemoryReport:
    """Return the memory of a model that is written first; other options than ``memory``'s are those of ``load``."""
    own = {name: options.pop(name) for name in ("bytes_from", "phase", "tokens_in") if name in options}
    return api.load(write_model(folder / "model", config, stored), **options).memory(**own)


@pytest.mark.parametrize("name", SCHEMES)
def test_all_tensors_of_a_scheme_are_counted(name: str, tmp_path: Path) -> None:
    said, pack = SCHEMES[name]
    stored = packed_llama(pack)
    report = memory_of(tmp_path, LLAMA | said, stored)
    assert report.weights + report.buffers == size_of(stored)
    groups = {group.scheme: group.bytes for group in report.stored}
    assert groups.pop("bfloat16") == PLAIN
    assert report.files is not None and (report.files.files, report.files.unused) == (1, 0)
    configured = memory_of(tmp_path, LLAMA | said, stored, bytes_from="configuration")
    assert report.files.configured == configured.weights + configured.buffers
    assert bool(report.notes) == (report.files.configured != size_of(stored))
    if not name.startswith("mlx"):  # whose configurations say that embeddings are packed too
        assert list(groups) == [group.scheme for group in configured.stored if group.scheme != "bfloat16"]


@pytest.mark.parametrize("case", SAVED)
def test_the_bytes_are_those_of_all_tensors_that_the_libraries_saved(case: str, tmp_path: Path) -> None:
    tensors = {name: (kind, tuple(shape)) for name, (kind, shape) in SAVED[case]["tensors"].items()}
    report = memory_of(tmp_path, SAVED[case]["config"], tensors)
    assert report.files is not None
    assert report.weights + report.buffers + report.files.unused == size_of(tensors)
    frequencies = "tensors that the network does not use are not counted: model.rotary_emb 64 B"
    assert (frequencies in report.notes) == (case == "sinq4") == (report.files.unused > 0)


def test_scales_of_caches_count_with_the_packed_tensors_of_their_layer(tmp_path: Path) -> None:
    said, pack = SCHEMES["gemma"]
    own: Stored = {f"model.layers.{n}.self_attn.k_cache_scale": ("F32", ()) for n in range(2)}
    elsewhere: Stored = {"model.other.k_cache_scale": ("F32", (2,))}
    report = memory_of(tmp_path, LLAMA | said, packed_llama(pack) | own | elsewhere)
    assert report.weights == size_of(packed_llama(pack) | own)
    assert report.files is not None and report.files.unused == size_of(elsewhere)


def test_scales_of_another_type_are_a_remark_with_both_figures(tmp_path: Path) -> None:
    stored = {name: ("BF16" if name.endswith("_inv") else kind, shape) for name, (kind, shape) in PACKED.items()}
    report = memory_of(tmp_path, FP8_MODEL, stored)
    assert report.weights == PLAIN + VALUES + SCALES // 2
    assert report.notes == (
        "the files hold 98,972 bytes of weights, and the configuration gives 99,000: "
        "float8_e4m3-b128 72 KiB in place of 72.1 KiB",
    )


def test_an_embedding_in_another_type_is_named(tmp_path: Path) -> None:
    report = memory_of(tmp_path, FP8_MODEL, PACKED | {"model.embed_tokens.weight": ("F32", (96, 64))})
    assert {group.scheme: group.bytes for group in report.stored} == {
        "float32": 4 * 96 * 64,
        "bfloat16": PLAIN - 2 * 96 * 64,
        "float8_e4m3-b128": VALUES + SCALES,
    }
    assert report.notes == (
        "the files hold 109 KiB of weights, and the configuration gives 96.7 KiB: "
        "model.embed_tokens.weight is float32, not bfloat16",
    )


def test_what_differs_is_named_by_pattern_and_shortened(tmp_path: Path) -> None:
    report = memory_of(tmp_path, LLAMA, PACKED)
    (note,) = report.notes
    assert "the configuration gives 169 KiB: model.layers.*.mlp." in note
    assert "gate_proj.weight ×2 is fp8, not bfloat16" in note and note.endswith(" and 4 more")


def test_tensors_that_the_network_does_not_use_are_no_bytes_of_it(tmp_path: Path) -> None:
    others: Stored = {f"vision_tower.blocks.{n}.weight": ("BF16", (128, 64)) for n in range(2)}
    others |= {"model.layers.2.norm.weight": ("F32", (3,))}
    report = memory_of(tmp_path, FP8_MODEL, PACKED | others)
    assert report.weights == PLAIN + VALUES + SCALES
    assert report.files is not None and report.files.unused == size_of(others)
    assert report.notes == (
        "tensors that the network does not use are not counted: vision_tower 32 KiB; model.layers.* 12 B",
    )


@pytest.mark.parametrize("both", [True, False])
def test_tied_parameters_count_once(both: bool, tmp_path: Path) -> None:
    stored = plain_llama()
    if not both:
        del stored["lm_head.weight"]
    report = memory_of(tmp_path, LLAMA | {"tie_word_embeddings": True}, stored)
    assert report.weights == size_of(plain_llama()) - 2 * 96 * 64
    left = ("tensors that the network does not use are not counted: lm_head 12 KiB",)
    assert report.notes == (left if both else ())


@pytest.mark.parametrize("name", TOLD_BY_HEADERS)
def test_headers_tell_what_a_configuration_leaves_open(name: str, tmp_path: Path, netcalc: Run) -> None:
    said, pack = TOLD_BY_HEADERS[name]
    stored = packed_llama(pack)
    report = memory_of(tmp_path, LLAMA | said, stored)
    assert report.weights == size_of(stored)
    assert report.stored_as == name and report.files is not None and report.files.configured is None
    assert {group.scheme: group.bytes for group in report.stored} == {"bfloat16": PLAIN, name: size_of(stored) - PLAIN}
    network = api.load(tmp_path / "model")
    assert network.audit().ok
    with pytest.raises(NetcalcError, match="the headers of the"):
        _ = network.params
    for option in ({"dtype": "bfloat16"}, {"quantize": "plain"}):
        assert api.load(tmp_path / "model", **option).cost().weight_bytes == PLAIN + 2 * VALUES
    with pytest.raises(NetcalcError, match="how parameters are stored does not follow"):
        network.memory(bytes_from="configuration")
    ran = netcalc("run", str(tmp_path / "model"), "--weights", ".", "--set", "length=4")
    assert (ran.code, ran.out) == (2, "") and f"14 tensors packed by {name}" in ran.err
    assert netcalc("run", str(tmp_path / "model"), "--set", "length=4").code == 0
    (tmp_path / "model" / "model.safetensors").unlink()
    with pytest.raises(NetcalcError, match="how parameters are stored does not follow"):
        api.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("file", "method"),
    [("quantize_config.json", "gptq"), ("quant_config.json", "awq"), ("hf_quant_config.json", "modelopt")],
)
def test_a_quantization_that_another_file_describes_is_not_left_out(file: str, method: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_model(folder, LLAMA, {})
    (folder / "model.safetensors").unlink()
    (folder / file).write_text('{"bits": 4, "group_size": 128}')
    with pytest.raises(NetcalcError) as caught:
        api.load(folder)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E007"
    assert problem.message == f"{folder / file} says how model is quantized, and config.json has no quantization_config"
    assert method in str(problem.hint)
    assert api.load(folder, dtype="bfloat16").cost().weight_bytes == PLAIN + 2 * VALUES
    (folder / "config.json").write_text(json.dumps(LLAMA | SCHEMES["gptq-4"][0]))
    assert api.load(folder).summary().stored_as


NO_SCHEME = "no tensor is packed by {}, as the configuration says"
#: A configuration, tensors, and parts of the messages.
CONTRADICTING: dict[str, tuple[dict[str, Any], Stored, list[str]]] = {
    "missing": (
        FP8_MODEL,
        {name: stored for name, stored in PACKED.items() if "norm" not in name},
        [
            "the parameter 'model.layers.*.input_layernorm.weight' ×2 is missing",
            "the parameter 'model.layers.*.post_attention_layernorm.weight' ×2 is missing",
            "the parameter 'model.norm.weight' is missing",
        ],
    ),
    "shape": (
        FP8_MODEL,
        PACKED | {"model.embed_tokens.weight": ("BF16", (97, 64))},
        ["'model.embed_tokens.weight' is 97×64 bfloat16, and the spec has 96×64 bfloat16"],
    ),
    "full precision": (FP8_MODEL, plain_llama(), [NO_SCHEME.format("float8_e4m3-b128")]),
    "another scheme": (
        LLAMA | SCHEMES["gptq-4"][0],
        PACKED,
        [NO_SCHEME.format("gptq-int4-g32")],
    ),
    "no scales": (
        FP8_MODEL,
        {name: stored for name, stored in PACKED.items() if not name.endswith("weight_scale_inv")},
        ["the tensor 'model.layers.*.{self_attn,mlp}.*.weight_scale_inv' ×14 is missing: fp8 has it beside .weight"],
    ),
}


@pytest.mark.parametrize("case", CONTRADICTING)
def test_headers_that_contradict_the_configuration_are_refused(case: str, tmp_path: Path) -> None:
    config, stored, messages = CONTRADICTING[case]
    with pytest.raises(NetcalcError) as error:
        memory_of(tmp_path, config, stored)
    assert [problem.code for problem in error.value.diagnostics] == ["E007"] * len(messages)
    for problem, message in zip(error.value.diagnostics, messages, strict=True):
        assert message in problem.message
        assert "`netcalc verify`" in str(problem.hint) and "--bytes-from configuration" in str(problem.hint)
        if "no tensor is packed" in message:
            text = (tmp_path / "model" / "config.json").read_text()
            assert problem.span is not None and text[problem.span.column - 1 :].startswith('"quantization_config"')
    report = memory_of(tmp_path, config, stored, bytes_from="configuration")
    assert report.files is None
    assert report.notes == ("bytes of weights by the configuration, not by the headers of the files",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "float32"}, "--dtype"),
        ({"quantize": ["int8"]}, "--quantize"),
        ({"quantize": ["int8"], "prune": ["0.5"]}, "--quantize, --prune"),
        ({"set": {"num_hidden_layers": 3}}, "--set"),
    ],
    ids=str,
)
def test_options_that_replace_what_is_stored_are_named(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    report = memory_of(tmp_path, FP8_MODEL, PACKED, **options)
    assert report.files is None
    assert report.notes[-1] == f"bytes of weights by {said}, not by the headers of the files"
    assert report.weights == api.load(tmp_path / "model", **options).cost().weight_bytes


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"set": {"length": 5, "batch": 2}}, 0),
        ({"symbolic": ["length"]}, 0),
        ({"set": {"past": 3, "length": 1}}, 0),
        ({"lora": 4}, 2 * 4 * 2 * (4 * 128 - 2 * 32 + 3 * 192)),  # ranks of 4 beside rows and columns
    ],
    ids=str,
)
def test_other_options_leave_the_bytes_of_the_headers(options: dict[str, Any], more: int, tmp_path: Path) -> None:
    report = memory_of(tmp_path, FP8_MODEL, PACKED, **options)
    assert report.files is not None
    assert report.weights == size_of(PACKED) + more


def test_fewer_layers_leave_tensors_unused(tmp_path: Path) -> None:
    report = memory_of(tmp_path, FP8_MODEL, PACKED, set={"num_hidden_layers": 1})
    unused = size_of({name: stored for name, stored in PACKED.items() if ".layers.1." in name})
    assert report.files is not None and report.files.unused == unused
    assert report.weights == size_of(PACKED) - unused


def test_the_tokens_that_fit_are_beside_the_bytes_of_the_headers(tmp_path: Path) -> None:
    """A position has keys and values of 2 heads of 16 in 2 layers: 256 bytes in bfloat16."""
    wide = PACKED | {"model.embed_tokens.weight": ("F32", (96, 64))}
    size = size_of(wide)
    seven = memory_of(tmp_path, FP8_MODEL, wide, set={"length": 7}, phase="prefill")
    assert seven.ideal is not None and seven.total("ideal") == size + 7 * 256 + seven.ideal.peak
    report = memory_of(tmp_path, FP8_MODEL, wide, tokens_in=size + 7 * 256 + seven.ideal.peak + 255)
    assert report.token_bytes == 256
    assert report.tokens_in is not None and report.tokens_in.tokens["ideal"] == 7


def test_a_table_over_sizes_reads_the_headers_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = api.load(write_model(tmp_path / "model", FP8_MODEL, PACKED))
    read: list[object] = []
    counted = counted_files_module._counted
    monkeypatch.setattr(counted_files_module, "_counted", lambda *args: read.append(args) or counted(*args))
    table = network.memory_over("length=4,7", phase="prefill")
    assert len(read) == 1 and {point.weights for point in table.points} == {size_of(PACKED)}
    first, second = (point.caches["ideal"] for point in table.points)
    assert second - first == 3 * 256


def test_only_headers_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError

    for method in ("load", "write"):
        monkeypatch.setattr(TensorFile, method, refuse)
    folder = write_model(tmp_path / "shards", FP8_MODEL, PACKED, metadata={})
    report = api.load(folder).memory()
    assert report.weights == size_of(PACKED)
    assert report.files is not None and report.files.files == 2


def test_pickles_and_damaged_files_are_refused(tmp_path: Path, netcalc: Run) -> None:
    folder = write_model(tmp_path / "model", FP8_MODEL, PACKED)
    (folder / "model.safetensors").write_bytes(b"\xff" * 20)
    assert "error[E605]" in netcalc("memory", str(folder)).err
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").touch()
    ran = netcalc("memory", str(folder))
    assert (ran.code, "error[E605]" in ran.err, "holds pickles only" in ran.err) == (2, True, True)
    assert "--bytes-from configuration counts without the files" in ran.err
    assert netcalc("memory", str(folder), "--bytes-from", "configuration").code == 0
    (folder / "pytorch_model.bin").unlink()
    report = api.load(folder).memory()
    assert (report.files, report.notes, report.weights) == (None, (), size_of(PACKED))


def test_a_page_and_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Run, golden: Callable[[str, str], None]
) -> None:
    stored = PACKED | {"model.embed_tokens.weight": ("F32", (96, 64)), "vision_tower.weight": ("BF16", (128, 64))}
    write_model(tmp_path / "small", FP8_MODEL, stored, metadata={})
    monkeypatch.chdir(tmp_path)
    ran = netcalc("memory", "small/", "--cache", "ideal", "--set", "length=8")
    assert (ran.code, ran.err) == (0, "")
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    golden("memory/headers.txt", ran.out)
    explained = " ".join(netcalc("explain", "small/", "--memory", "--set", "length=8").out.split())
    assert "weights, float32: bytes of weights by the headers of 2 files; single precision" in explained
    assert "elements 73,728 sum 73,784" in explained
    assert "model.embed_tokens.weight is float32, not bfloat16" in explained
    record = validated(netcalc("memory", "small/", "--format", "json"), "memory")
    assert record["files"] == {"files": 2, "configured": PLAIN + VALUES + SCALES, "unused": 2 * 128 * 64}
    assert record["weights"] == PLAIN + VALUES + SCALES + 2 * 96 * 64
    assert json.loads(netcalc("memory", "gpt2", "--format", "json").out)["files"] is None
