"""Reports of ``shapes``, ``params``, ``flops`` and ``summary`` on a small spec against golden files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from netcalc import load
from netcalc.analysis.conventions import FIRST
from netcalc.analysis.figures import layer_fields
from netcalc.dims.formulas import formula
from tests.conftest import CommandResult

SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")

CALLS = str(Path(__file__).parent.parent / "fixtures" / "calls.yaml")

REPORTS: dict[str, list[str]] = {
    "shapes": ["shapes", SMALL],
    "shapes-hwc": ["shapes", SMALL, "--layout", "hwc"],
    "shapes-symbolic": ["shapes", SMALL, "--symbolic", "batch", "--symbolic", "size", "--depth", "1"],
    "shapes-receptive-field": ["shapes", "resnet18", "--receptive-field"],
    "shapes-receptive-field-csv": ["shapes", "alexnet", "--receptive-field", "--format", "csv"],
    "shapes-receptive-field-json": ["shapes", "alexnet", "--receptive-field", "--format", "json", "--depth", "1"],
    "params": ["params", SMALL],
    "flops": ["flops", SMALL],
    "flops-torch": ["flops", SMALL, "--convention", "torch"],
    "flops-torchvision": ["flops", SMALL, "--convention", "torchvision"],
    "flops-fvcore": ["flops", SMALL, "--convention", "fvcore"],
    "summary": ["summary", SMALL],
    "summary-unrolled": ["summary", SMALL, "--unroll"],
    "summary-depth-1": ["summary", SMALL, "--depth", "1"],
    "summary-training": ["summary", SMALL, "--train", "--set", "batch=2"],
    "summary-markdown": ["summary", SMALL, "--format", "markdown"],
    "summary-csv": ["summary", SMALL, "--format", "csv"],
    "summary-json": ["summary", SMALL, "--format", "json"],
    "shapes-json": ["shapes", SMALL, "--format", "json", "--depth", "1"],
    "params-json": ["params", SMALL, "--format", "json", "--depth", "1"],
    "flops-json": ["flops", SMALL, "--format", "json", "--depth", "1"],
    "summary-calls": ["summary", CALLS],
    "params-calls-csv": ["params", CALLS, "--depth", "1", "--format", "csv"],
    "flops-calls-json": ["flops", CALLS, "--depth", "1", "--format", "json"],
    "symbolic-gpt2": ["summary", "gpt2", "--symbolic", "batch", "--symbolic", "length", "--depth", "2"],
    "symbolic-resnet18": ["flops", "resnet18", "--symbolic", "height", "--symbolic", "width", "--depth", "1"],
    "symbolic-bert": ["flops", "bert-base", "--symbolic", "batch", "--symbolic", "length", "--depth", "1"],
    "symbolic-densenet121": ["summary", "densenet121", "--symbolic", "batch", "--symbolic", "height", "--depth", "2"],
    "flops-backward": ["flops", SMALL, "--backward"],
    "flops-backward-torch": ["flops", "resnext50_32x4d", "--backward", "--convention", "torch", "--depth", "1"],
    "flops-training": ["flops", "gpt2", "--training", "adamw", "--depth", "2"],
    "flops-training-csv": ["flops", SMALL, "--training", "sgd", "--format", "csv"],
    "flops-training-json": ["flops", SMALL, "--training", "momentum", "--format", "json", "--depth", "1"],
    "summary-backward": ["summary", "gpt2", "--backward", "--depth", "2"],
    "symbolic-backward": ["flops", "gpt2", "--backward", "--symbolic", "batch", "--depth", "2"],
    "explain-backward": ["explain", "resnet18", "layer1.0.bn1", "--training", "adamw", "--mode", "eval"],
    "explain-backward-grouped": ["explain", "resnext50_32x4d", "layer1.0.conv2", "--backward", "--convention", "torch"],
    "explain-backward-whole": ["explain", SMALL, "--backward"],
    "params-quantized": ["params", "llama-3.1-8b", "--quantize", "q4_k_m", "--depth", "1"],
    "params-quantized-json": ["params", "gpt2", "--quantize", "int4-g128-zp", "--format", "json", "--depth", "1"],
    "summary-quantized": ["summary", SMALL, "--quantize", "*conv*=int8", "--prune", "0.5-csr", "--depth", "1"],
    "flops-quantized": ["flops", "gpt2", "--quantize", "nf4-dq", "--depth", "1"],
    "explain-quantized": ["explain", "gpt2", "transformer.h.3.mlp.c_fc", "--quantize", "nf4-dq"],
    "explain-pruned": ["explain", "gpt2", "transformer.h.3.mlp.c_fc", "--quantize", "int4-g128", "--prune", "2:4"],
    "explain-quantized-whole": ["explain", "gpt2", "--quantize", "q4_k_m"],
    "compare-quantized": ["compare", "gpt2", "gpt2", "--quantize", "2:int8", "--depth", "1"],
    "explain": ["explain", SMALL],
    "explain-layer": ["explain", SMALL, "stage.0.conv"],
    "explain-layer-json": ["explain", SMALL, "stem", "--format", "json"],
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc(*REPORTS[name])
    assert (ran.code, ran.err) == (0, "")
    golden(f"reports/{name}.txt", ran.out)


def test_a_pipe_and_wide_output_are_complete(
    netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = netcalc("summary", SMALL).out
    wide = netcalc("summary", SMALL, "--wide").out
    monkeypatch.delenv("COLUMNS")
    piped = netcalc("summary", SMALL).out
    assert "columns not shown: input, frozen, buffers, FLOPs (--wide shows all)" in narrow
    assert "not shown" not in piped and "…" not in piped
    assert {"input", "buffers", "share"} <= set(piped.splitlines()[4].split())
    assert wide == piped


@pytest.mark.parametrize("width", [20, 60, 80])
def test_numbers_are_not_truncated_at_any_width(
    width: int, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = netcalc("params", SMALL).out
    for text in ("1,776", "72 tied", "224"):
        assert text in out


def test_resnet34_has_the_published_number_of_parameters(netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("params", "resnet34").out
    assert "21,797,672" in out
    assert "21.8 M" in out


def test_torchvision_counts_macs_and_lists_uncounted_operations(netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("flops", "resnet34", "--convention", "torchvision").out
    assert "3.664 GMAC" in out
    assert "FLOP" not in out
    (line,) = [line for line in out.splitlines() if line.startswith("not counted by torchvision: ")]
    assert set(line.partition(": ")[2].split(", ")) == {
        "batch_norm",
        "relu",
        "max_pool2d",
        "add",
        "global_avg_pool2d",
    }


def test_the_work_of_an_eager_fallback_is_named(netcalc: Callable[..., CommandResult]) -> None:
    (line,) = [line for line in netcalc("flops", "mamba2-130m").out.splitlines() if line.startswith("ssd_scan: ")]
    assert line == "ssd_scan: the work of transformers' eager fallback mamba2_chunk_scan"
    assert "eager fallback" in netcalc("explain", "mamba2-130m", "backbone.layers.0.mixer.scan").out
    assert "eager fallback" not in netcalc("params", "mamba2-130m").out
    assert "eager fallback" not in netcalc("flops", "mamba-130m").out


def test_heavy_layers_are_highlighted(netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("params", "seed_cnn").out
    assert "56×56×128 = 401,408 inputs to 4,096 units is 1,644,171,264 (1.64 B) parameters" in " ".join(out.split())
    assert "note:" not in netcalc("params", "resnet34").out


def test_output_goes_to_the_file_only(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    file = tmp_path / "report.csv"
    file.write_text("old")
    ran = netcalc("summary", SMALL, "--format", "csv", "--output", str(file))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert tuple(rows[0]) == layer_fields("summary")
    assert rows[0]["outputs"] == "1x8x16x16"
    assert list(tmp_path.iterdir()) == [file]


def test_a_failing_command_leaves_the_output_file_as_it_was(
    netcalc: Callable[..., CommandResult], tmp_path: Path
) -> None:
    file = tmp_path / "report.csv"
    file.write_text("old")
    assert netcalc("summary", "renset34", "--output", str(file)).code == 2
    assert file.read_text() == "old"


@pytest.mark.parametrize("convention", [*FIRST, "thop"])
def test_reports_name_their_convention(convention: str, netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("flops", SMALL, "-c", convention).out
    assert f"counted as {convention} does" in out
    assert json.loads(netcalc("flops", SMALL, "-c", convention, "-f", "json").out)["convention"] == convention


def test_help_names_the_first_conventions(netcalc: Callable[..., CommandResult]) -> None:
    words = netcalc("flops", "--help").out.replace("│", " ").replace(",", " ").split()
    assert {*FIRST} <= {word.strip(".") for word in words}


def test_alternating_layers_fold(netcalc: Callable[..., CommandResult]) -> None:
    """Gemma 2 alternates local and global attention, which are two rows for 26 layers."""
    text = netcalc("summary", "gemma-2-2b").out
    assert len(text.splitlines()) <= 90
    assert "0,2,…,24 ×13" in text
    assert "1,3,…,25 ×13" in text
    assert len(netcalc("summary", "gemma-2-2b", "--unroll", "--wide").out.splitlines()) > 990
    listed = netcalc("flops", "gemma-3-1b", "--filter", "model.layers.0–4,6–10,…,24–25.mlp.*", "--wide").out
    assert "model.layers.0–4,6–10,…,24–25.mlp.gate_proj ×22" in listed


def test_json_and_csv_number_the_instances(netcalc: Callable[..., CommandResult]) -> None:
    layers = json.loads(netcalc("summary", "gemma-3-1b", "--format", "json").out)["layers"]
    numbers = {tuple(layer["instances"][0].values()) for layer in layers if layer["instances"]}
    assert numbers == {("model.layers.", 0, 22, 5, 6), ("model.layers.", 5, 4, 1, 6)}
    assert "model.layers.5,11,...,23.mlp.gate_proj" in netcalc("summary", "gemma-3-1b", "--format", "csv").out


@pytest.mark.parametrize("command", ["summary", "flops", "explain"])
def test_long_formulas_are_shortened_but_not_in_json(
    command: str, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [command, "unet", "--symbolic", "height", "--symbolic", "width"]
    lines = netcalc(*options).out.splitlines()
    assert max(map(len, lines)) <= 80
    monkeypatch.delenv("COLUMNS")
    lines = netcalc(*options).out.splitlines()
    assert max(map(len, lines)) <= 500
    assert "terms)" in netcalc(*options).out
    assert "terms)" not in netcalc(*options, "--format", "json").out


def test_long_formulas_are_whole_with_wide(netcalc: Callable[..., CommandResult]) -> None:
    options = ["flops", "longformer-base-4096", "--symbolic", "length"]
    (total,) = (line for line in netcalc(*options, "--wide").out.splitlines() if line.startswith("total "))
    macs = load("longformer-base-4096", symbolic=["length"]).macs
    assert "terms)" not in total
    assert formula(macs) in total
    assert json.loads(netcalc(*options, "--format", "json").out)["totals"]["macs"] == str(macs)


def test_assumptions_are_few_lines_and_name_divisibility(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    arguments = ["shapes", "swin_t", "--symbolic", "height", "--symbolic", "width", "--depth", "1"]
    below = netcalc(*arguments).out.partition("\nassuming ")[2].splitlines()
    assert len(below) == 5
    assert below[-1].endswith("more assumptions, which --format json lists")
    record = json.loads(netcalc(*arguments, "--format", "json").out)
    assert len(record["assumptions"]) > 5
    assert "assumptions" not in json.loads(netcalc("shapes", "swin_t", "--format", "json").out)
    spec = tmp_path / "rows.yaml"
    spec.write_text(
        "netcalc: 1\nname: rows\ndims: {width: 12}\ninputs: {x: [1, width]}\nlayers: [{reshape: [-1, 3]}]\n",
        encoding="utf-8",
    )
    assert "assuming width is a multiple of 3" in netcalc("shapes", str(spec), "--symbolic", "width").out


def test_a_step_of_training_is_explained_with_the_inputs_and_outputs_of_the_network(
    netcalc: Callable[..., CommandResult],
) -> None:
    for options in (
        ["--training", "adamw"],
        ["--training", "adamw", "--mode", "eval"],
        ["--backward", "--loss", "loss"],
    ):
        assert "\n1×784 → 1×10\n" in netcalc("explain", "mlp", *options).out
