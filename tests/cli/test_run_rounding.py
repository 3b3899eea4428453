"""``netcalc run --quantize`` and ``--prune``: the page, selection, formats, files and options."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc as package
from tests.conftest import CommandResult

SMALL = ["--set", "layers=3", "--set", "d_model=64", "--set", "heads=4", "--set", "vocab=200", "--set", "length=8"]
GPT = ["run", "gpt2", *SMALL, "--quantize", "*.mlp.*=q4_0", "--quantize", "*.h.*=int8"]
Run = Callable[..., CommandResult]


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def test_the_page(netcalc: Run, golden: Callable[[str, str], None]) -> None:
    golden("runs/rounding.txt", netcalc(*GPT).out)


def test_the_page_by_depth(netcalc: Run, golden: Callable[[str, str], None]) -> None:
    run = ["run", "resnet18", "--set", "height=32", "--set", "width=32", "--prune", "2:4", "--depth", "1"]
    golden("runs/pruning.txt", netcalc(*run).out)


def test_rows_are_selected(netcalc: Run) -> None:
    rows = list(
        csv.DictReader(netcalc(*GPT, "--sort", "weight_error", "--top", "2", "--format", "csv").out.splitlines())
    )
    assert [row["path"] for row in rows] == ["transformer.h.0–2.mlp.c_proj", "transformer.h.0–2.mlp.c_fc"] or [
        row["path"] for row in rows
    ] == ["transformer.h.0–2.mlp.c_fc", "transformer.h.0–2.mlp.c_proj"]
    assert {row["schemes"] for row in rows} == {"q4_0"}
    shown = netcalc(*GPT, "--filter", "*.c_attn", "--unroll").out
    assert [f"h.{number}.attn.c_attn" in shown for number in range(4)] == [True, True, True, False]
    assert "| transformer.h.0–2.ln_1 " in netcalc(*GPT, "--format", "markdown").out


def test_the_figures_are_those_of_the_method(netcalc: Run) -> None:
    record = json.loads(netcalc("run", "mlp", "--prune", "0.5", "--seed", "4", "--format", "json").out)
    result = package.load("mlp").pruned("0.5").rounding_errors(seed=4)
    assert record == package.as_dict(result)
    assert record["assigned"] == ["--prune 0.5"]
    assert record["outputs"]["output"]["error"] == result.errors[0].deviation.relative
    assert record["layers"][0]["schemes"] == ["float32 0.5-bitmap"]
    # uniform numbers without the smaller half of them: ∫₀^½ x² / ∫₀^1 x² = 1/8
    assert record["layers"][0]["weight_error"] == pytest.approx(np.sqrt(1 / 8), rel=0.01)


def test_the_outputs_are_those_of_the_rounded_run(netcalc: Run) -> None:
    assert netcalc("run", "mlp", "--quantize", "int8", "-o", "out.npz").code == 0
    expected = package.load("mlp").quantized("int8").run().outputs["output"]
    np.testing.assert_allclose(np.load("out.npz")["output"], expected, rtol=1e-6)


def test_weights_from_a_file_are_rounded(netcalc: Run) -> None:
    assert netcalc("train", "mlp", "--steps", "1", "-o", "mlp.safetensors").code == 0
    ran = netcalc("run", "mlp", "--weights", "mlp.safetensors", "--quantize", "nf4")
    assert ran.code == 0 and "weights from mlp.safetensors" in ran.out and "nf4" in ran.out


def test_training_beside_rounded_weights(netcalc: Run) -> None:
    assert netcalc("train", "mlp", "--steps", "1", "--lr", "0", "-o", "base.npz").code == 0
    qlora = [
        "train",
        "mlp",
        "--weights",
        "base.npz",
        "--lora",
        "2",
        "--quantize",
        "nf4",
        "--steps",
        "3",
        "--lr",
        "0.01",
    ]
    assert netcalc(*qlora, "-o", "tuned.npz").code == 0
    base, tuned = np.load("base.npz"), np.load("tuned.npz")
    expected = package.load("mlp").quantized("nf4").train(1, lr=0.0, weights=dict(base)).parameters
    np.testing.assert_array_equal(tuned["hidden.0.0.weight"], expected["hidden.0.0.weight"])
    assert np.unique(tuned["hidden.0.0.weight"][0, :64] / np.abs(tuned["hidden.0.0.weight"][0, :64]).max()).size <= 16
    np.testing.assert_array_equal(tuned["output.weight"], base["output.weight"])
    assert tuned["hidden.0.0.lora_B.weight"].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--depth", "1"], "--depth is an option of a comparison with full precision"),
        (["--unroll"], "--unroll is an option of a backward pass"),
        (["--quantize", "int8", "--backward"], "--backward does not go with --quantize and --prune"),
        (["--prune", "0.5", "--trace", "*"], "--trace does not go with --quantize and --prune"),
        (["--quantize", "int8", "--profile"], "--profile does not go with --quantize and --prune"),
        (["--quantize", "int8", "--loss", "sum"], "--loss does not go with --quantize and --prune"),
        (["--quantize", "int8", "--sort", "loss"], "--sort loss: there is no such figure or column"),
        (["--quantize", "int8", "--mode", "train"], "compared in inference"),
        (["--quantize", "float32"], "no parameter is rounded or pruned"),
        (["--quantize", "int9"], "there is no scheme 'int9'"),
    ],
)
def test_options_that_do_not_fit(arguments: list[str], message: str, netcalc: Run) -> None:
    ran = netcalc("run", "mlp", *arguments)
    assert ran.code == 2 and "E502" in ran.err and message in ran.err
