"""``netcalc run --backward``: the loss, gradients by layer, the file of gradients, and options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import netcalc as package
from tests.conftest import CommandResult

SMALL = ["--set", "layers=3", "--set", "d_model=16", "--set", "heads=2", "--set", "vocab=50", "--set", "length=8"]
GPT = ["run", "gpt2", *SMALL, "--backward"]


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def test_the_page(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    golden("runs/backward.txt", netcalc(*GPT).out)


def test_rows_stand_for_equal_layers(netcalc: Callable[..., CommandResult]) -> None:
    folded = json.loads(netcalc(*GPT, "--format", "json").out)
    single = json.loads(netcalc(*GPT, "--unroll", "--format", "json").out)
    rows = {row["path"]: row for row in single["layers"]}
    row = next(row for row in folded["layers"] if row["path"] == "transformer.h.0–2.mlp.c_fc")
    norms = [rows[f"transformer.h.{number}.mlp.c_fc"]["norm"] for number in range(3)]
    assert (row["instances"], row["least"], row["greatest"]) == (3, min(norms), max(norms))
    assert row["norm"] == pytest.approx(np.sqrt(np.sum(np.square(norms))))
    every = [row["norm"] for row in single["layers"]]
    assert single["norm"] == pytest.approx(np.sqrt(np.sum(np.square(every))))
    assert sum(row["elements"] for row in single["layers"]) == sum(row["elements"] for row in folded["layers"])


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_gradients_are_written(suffix: str, netcalc: Callable[..., CommandResult]) -> None:
    file = f"gradients.{suffix}"
    assert netcalc("run", "mlp", "--backward", "--seed", "3", "--wrt", "*.weight", "--wrt", "x", "-o", file).code == 0
    found = load_file(file) if suffix == "safetensors" else dict(np.load(file))
    expected = package.load("mlp").gradients(seed=3, wrt=["*.weight", "x"])
    assert found.keys() == {"hidden.0.0.weight", "hidden.1.0.weight", "output.weight", "x"}
    for name, array in found.items():
        np.testing.assert_array_equal(array, {**expected.parameters, **expected.inputs}[name])


def test_the_gradient_of_an_input_is_written(netcalc: Callable[..., CommandResult]) -> None:
    """Of the sum of a linear layer's outputs it is the sum of the rows of the weight, and no other is computed."""
    Path("linear.yaml").write_text("netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{name: a, linear: 2}]\n")
    np.savez("weights.npz", **{"a.weight": np.float32([[1, 2, 3], [10, 20, 30]]), "a.bias": np.zeros(2, np.float32)})
    ran = netcalc("run", "linear.yaml", "-w", "weights.npz", "--backward", "--wrt", "x", "-o", "gradients.npz")
    assert ran.code == 0 and "input" in ran.out
    found = dict(np.load("gradients.npz"))
    assert found.keys() == {"x"} and found["x"].tolist() == [[11, 22, 33], [11, 22, 33]]


def test_the_count_includes_gradients_of_inputs(netcalc: Callable[..., CommandResult]) -> None:
    """torch.utils.flop_counter counts 10,884,440,064 FLOPs with the gradient of the image, three forward passes."""
    counted = ["flops", "resnet18", "--convention", "torch", "--backward", "--format", "json"]
    totals = json.loads(netcalc(*counted, "--input-gradients", "image").out)["totals"]
    assert totals["flops_total"] == 10_884_440_064
    page = netcalc(*counted[:-2], "--input-gradients", "image").out
    assert "with the gradient of image" in " ".join(page.split())
    first = 2 * 64 * 3 * 7 * 7 * 112 * 112  # of the first convolution, which alone needs it
    assert totals["flops_total"] - json.loads(netcalc(*counted).out)["totals"]["flops_total"] == first
    assert "E502" in netcalc("flops", "resnet18", "--input-gradients", "image").err


def test_labels_are_inputs(netcalc: Callable[..., CommandResult]) -> None:
    np.save("labels.npy", np.array([[1, 2, 3, -100, -100, 7, 8, 9]]))
    ran = netcalc(*GPT, "--input", "labels=labels.npy")
    assert ran.code == 0 and "labels drawn" not in ran.out and "input_ids drawn" in ran.out
    np.save("wrong.npy", np.array([[1, 2, 3, 4, 5, 6, 7, 50]]))
    assert "E602" in netcalc(*GPT, "--input", "labels=wrong.npy").err
    assert "no input 'labels'" in netcalc(*GPT, "--loss", "sum", "--input", "labels=labels.npy").err


def test_the_loss_is_chosen(netcalc: Callable[..., CommandResult]) -> None:
    assert "that of the spec" in netcalc("run", "mlp", "--backward").out
    assert "the sum of output" in netcalc("run", "mlp", "--backward", "--loss", "sum").out
    assert "the sum of h_n" in netcalc("run", "lstm", "--set", "length=3", "--backward", "--loss", "h_n").out
    assert "E502" in netcalc("run", "mlp", "--backward", "--loss", "other").err


def test_rows_are_selected(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("run", "mlp", "--backward", "--sort", "norm", "--top", "1", "--format", "csv")
    titles, values = (line.split(",") for line in ran.out.splitlines())
    row = dict(zip(titles, values, strict=True))
    assert (row["path"], row["instances"]) == ("hidden.0.0", "1")
    assert row["least"] == row["greatest"] == row["norm"]
    assert "hidden.1.0" in netcalc("run", "mlp", "--backward", "--filter", "hidden.1.*", "--format", "markdown").out


def test_the_mode_is_that_of_the_operations(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc(*GPT, "--mode", "train").out != netcalc(*GPT).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loss", "sum"], "--loss is an option of a backward pass"),
        (["--unroll"], "--unroll is an option of a backward pass"),
        (["--backward", "--trace", "*"], "--backward and --trace do not go together"),
        (["--backward", "--profile"], "--backward and --profile do not go together"),
        (["--backward", "--wrt", "none"], "is called 'none'"),
    ],
)
def test_options_that_do_not_fit(arguments: list[str], message: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("run", "mlp", *arguments)
    assert ran.code != 0 and "E502" in ran.err and message in ran.err


def test_parameters_without_a_gradient_are_named(netcalc: Callable[..., CommandResult]) -> None:
    lines = "[{name: a, linear: 2}, {name: b, from: x, linear: 4}]"
    Path("two.yaml").write_text(f"netcalc: 1\ninputs: {{x: [2, 3]}}\nlayers: {lines}\noutputs: [a, b]\n")
    assert "does not depend on them: b.weight, b.bias" in netcalc("run", "two.yaml", "--backward", "--loss", "a").out
