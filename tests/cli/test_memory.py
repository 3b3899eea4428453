"""Command ``memory``: pages, records, pictures, selection and errors."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

STEP = ["--set", "past=600", "--set", "length=1"]

PAGES: dict[str, list[str]] = {
    "windows": ["memory", "gpt-neo-125m", *STEP],
    "prefill": ["memory", "llama-3-8b", "--dtype", "bfloat16", "--cache", "ideal", "--tokens-in", "24GiB"],
    "convolutions": ["memory", "resnet18", "--depth", "2", "--sort", "bytes", "--top", "4"],
    "states": ["memory", "mamba-130m", "--set", "length=1", "--set", "past=9"],
    "markdown": ["memory", "gpt2", *STEP, "--format", "markdown"],
    "csv": ["memory", "gpt-neo-125m", *STEP, "--format", "csv"],
    "symbolic": ["memory", "gpt2", "--symbolic", "past", "--set", "length=1", "--cache", "ideal"],
    "training": ["memory", "gpt2", "--phase", "training", "--attention", "eager", "--set", "layers=2"],
    "decode": ["memory", "llama-3-8b", "--phase", "decode", "--cache", "ideal", "--tokens-in", "24GiB"],
    "optimizer": ["memory", "resnet18", "--training", "adamw", "--set", "batch=8"],
    "places": [
        *("memory", "mixtral-8x7b", "--phase", "decode", "--gpu-layers", "20", "--experts-on", "cpu:16"),
        *("--cache", "ideal", "--draft", "llama-3.2-1b"),
    ],
    "tied-places": ["memory", "gpt2", *STEP, "--gpu-layers", "1", "--cache", "ideal", "--cache", "llama.cpp"],
    "over": [
        "memory",
        "llama-3-8b",
        "--phase",
        "decode",
        "--over",
        "length=2k,8192,32768,131072",
        "--over",
        "batch=1,8",
    ],
    "over-one": ["memory", "gpt2", "--over", "length=512:1536:512", "--cache", "ideal", "--cache", "vllm"],
    "over-training": ["memory", "resnet18", "--training", "adamw", "--over", "batch=log:1:64:4", "--sort", "total"],
    "over-csv": ["memory", "gpt2", "--over", "length=8,2048", "--over", "layers=2,3", "--format", "csv"],
    "stored": ["memory", "mlp", "--quantize", "int8", "--lora", "4"],
}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc(*PAGES[name])
    assert (ran.code, ran.err) == (0, "")
    assert all(len(line) <= 80 for line in ran.out.splitlines()) or name in ("markdown", "csv", "over-csv")
    golden(f"memory/{name}.txt", ran.out)


def test_the_record_is_that_of_the_api(netcalc: Callable[..., CommandResult]) -> None:
    options = ["--cache-dtype", "q8_0", "--tokens-in", "1GB", "--engine", "reference"]
    record = validated(netcalc("memory", "gpt-neo-125m", *STEP, *options, "--format", "json"), "memory")
    net = package.load("gpt-neo-125m", set={"past": 600, "length": 1})
    assert record == package.as_dict(net.memory(cache_dtype="q8_0", tokens_in="1GB", engine="reference"))
    assert [one["cells"] for one in record["kept"][:2]] == [
        {"ideal": 601, "vllm": 608, "vllm-hybrid": 608, "llama.cpp": 768},
        {"ideal": 256, "vllm": 608, "vllm-hybrid": 624, "llama.cpp": 768},
    ]
    assert [one["cells"]["ideal"] for one in record["kept"] if one["window"]] == [256] * 12
    assert record["kept"][0]["cell_bytes"] == 768 // 32 * 34
    assert record["tokens_in"]["budget"] == 10**9
    assert record["engine"]["name"] == "reference" and record["engine"]["peak"] > record["engine"]["activations"]


def test_experts_on_the_host_are_those_of_the_api(netcalc: Callable[..., CommandResult]) -> None:
    small = ["--set", "layers=4", "--set", "length=8"]
    for text, layers in (("cpu", 4), ("cpu:3", 3)):
        record = validated(netcalc("memory", "mixtral-8x7b", *small, "--experts-on", text, "-f", "json"), "memory")
        net = package.load("mixtral-8x7b", set={"layers": 4, "length": 8})
        assert record == package.as_dict(net.memory(experts_on=text))
        assert record["placement"]["host_experts"] == layers
    for text in ("gpu", "cpu:", "cpu:5", "cpu:-1"):
        ran = netcalc("memory", "mixtral-8x7b", *small, "--experts-on", text)
        assert ran.code == 2 and "--experts-on" in ran.err


def test_the_result_prints_as_the_command(netcalc: Callable[..., CommandResult]) -> None:
    report = package.load("gpt2", set={"past": 600, "length": 1}).memory(cache="vllm")
    assert f"{report}\n" == netcalc("memory", "gpt2", *STEP, "--cache", "vllm").out
    assert f"{report.to_text()}\n" == netcalc("memory", "gpt2", *STEP, "--cache", "vllm", "--wide").out
    assert "<table" in report._repr_html_()  # type: ignore[attr-defined]


def test_the_memory_of_a_plan(netcalc: Callable[..., CommandResult]) -> None:
    record = validated(netcalc("memory", "mlp", "--engine", "fast", "--format", "json"), "memory")
    assert record["engine"]["weights"] >= record["weights"]
    assert record["engine"]["peak"] == record["engine"]["weights"] + record["engine"]["activations"]


def test_layers_are_selected(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("memory", "resnet18", "--depth", "2", "--filter", "layer*", "--sort", "bytes", "--format", "csv")
    rows = [row for row in csv.DictReader(ran.out.splitlines()) if row["part"] == "activations"]
    assert {row["path"].count(".") for row in rows} == {1}
    sizes = [int(row["ideal"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    ideal = package.load("resnet18").memory().ideal
    assert ideal is not None and max(sizes) < ideal.peak == max(point.bytes for point in ideal.layers)


def test_the_chart_is_written_as_svg(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    file = tmp_path / "memory.svg"
    assert netcalc("memory", "resnet18", "-o", str(file)).code == 0
    svg = "{http://www.w3.org/2000/svg}"
    titles = [title.text for title in ElementTree.parse(file).getroot().iterfind(f"{svg}g/{svg}title")]
    assert titles == ["resnet18: memory by layer", "resnet18: activations by layer"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cache", "vlm"], "no such convention"),
        (["--cache-dtype", "fp7"], "no such element type"),
        (["--cache-dtype", "q4_k"], "no multiple of 256"),
        (["--tokens-in", "much"], "a number of bytes"),
        (["--sort", "size"], "no such figure"),
        (["-o", "nowhere/chart.svg"], "no folder"),
        (["--symbolic", "past", "--tokens-in", "1GiB"], "a symbol"),
        (["--symbolic", "past", "--engine", "fast"], ""),
        (["--symbolic", "past", "--phase", "decode"], "past is a symbol"),
        (["--symbolic", "layers", "--phase", "decode", "--set", "past=7"], "their number, layers, is symbolic"),
        (
            ["--symbolic", "layers", "--training", "adam", "--recompute", "every:2"],
            "this one needs numbers, and layers is a symbol",
        ),
        (["--phase", "decode", "--training", "sgd"], "goes with --phase training"),
        (["--phase", "training", "--logits", "last"], "needs the logits of all positions"),
        (["--training", "adamx"], "no optimizer"),
        (["--recompute", "full"], "--recompute says how to train"),
        (["--phase", "training", "--recompute", "every:0"], "every:4 for the inputs"),
        (["--phase", "training", "--precision", "bf16-true", "--dtype", "float16"], "leave out --dtype"),
        (["--training", "adam", "--precision", "32-true", "--mixed", "megatron"], "32-true is not mixed"),
        (["--training", "adam", "--mixed", "deepspeed"], "goes with --precision"),
        (["--training", "adam", "--micro-batch", "3", "--set", "batch=8"], "does not divide a batch of 8"),
        (["--gpu-layers", "14"], "gpt2 has 12 layers and the output, 13 in all"),
        (["--gpu-layers", "1", "--training", "sgd"], "no such split"),
        (["--gpu-layers", "1", "--symbolic", "past"], "past is a symbol"),
        (["--experts-on", "cpu"], "gpt2 has no routed experts"),
        (["--draft", "resnet18"], "keeps no caches"),
        (["--companion", "gpt5"], "no shipped spec 'gpt5'"),
        (["--over", "length=8", "--gpu-layers", "1"], "--gpu-layers with --over"),
        (["--over", "length=8", "--tokens-in", "1GiB"], "--tokens-in with --over"),
        (["--over", "length=8", "--symbolic", "batch"], "batch is a symbol"),
        (["--over", "length=8:4"], "LOW up to HIGH"),
        (["--over", "lenght=8"], "'length'?"),
    ],
)
def test_bad_options_are_refused(options: list[str], message: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("memory", "gpt2", "--set", "length=1", *options)
    assert ran.code == 2 and message in ran.err


def test_a_network_without_caches_holds_no_tokens(netcalc: Callable[..., CommandResult]) -> None:
    assert "keeps no caches" in netcalc("memory", "resnet18", "--tokens-in", "1GiB").err


def test_a_network_that_does_not_decode_has_no_such_phase(netcalc: Callable[..., CommandResult]) -> None:
    assert "does not decode" in netcalc("memory", "resnet18", "--phase", "prefill").err
    assert "has no such choice" in netcalc("memory", "resnet18", "--logits", "last").err


def test_the_signature_folds_numbered_names_in_tables_only(netcalc: Callable[..., CommandResult]) -> None:
    settings = ["--set", "past=4", "--set", "length=1", "--set", "use_cache=true"]
    text = netcalc("summary", "gpt2", *settings).out
    assert "past_key_values.0–11.key 1×12×4×64 float32" in " ".join(text.split())
    record = json.loads(netcalc("summary", "gpt2", *settings, "--format", "json").out)
    assert len(record["inputs"]) == 25


@pytest.mark.parametrize(("kernel", "squares"), [("eager", 12), ("flash", 0)])
def test_a_kernel_of_attention_keeps_scores_or_none(kernel: str, squares: int) -> None:
    """A head keeps its weights, of four bytes for each pair of positions, or nothing that grows by the square."""
    lengths = {64: 0, 128: 0}
    for length in lengths:
        net = package.load("gpt2", set={"layers": 1, "length": length, "batch": 1}, mode="eval")
        report = net.memory(phase="training", attention=kernel)
        assert report.saved is not None and report.attention == report.saved.attention == kernel
        assert report.saved.loss and report.saved.mode == "eval"
        lengths[length] = sum(by.bytes for by in report.saved.operations if by.op == "scaled_dot_product_attention")
    linear = 16 if kernel == "flash" else 0  # the state of the random numbers is kept once
    assert lengths[128] - 2 * lengths[64] + linear == squares * (128**2 - 2 * 64**2) * 4
