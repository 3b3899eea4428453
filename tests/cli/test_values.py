"""Inputs in numbers on the command line, and small tensors in numbers on pages and in records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc as package
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult

Run = Callable[..., CommandResult]
EXAMPLE = "x=[10, 2, -5, 25]"
SPEC = """
netcalc: 1
dims: {rows: {default: 2, max: 5}, n: 3}
inputs: {x: [rows, "${n}"], ids: {shape: [rows], dtype: int64, range: [0, 4]}}
layers:
  - {name: table, from: ids, embedding: {num_embeddings: 4, embedding_dim: 3}}
  - {name: sum, from: [x, table], add: {}}
"""


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("spec.yaml").write_text(SPEC, encoding="utf-8")


def test_the_example_of_layer_norm(netcalc: Run, golden: Callable[[str, str], None]) -> None:
    """Outputs by hand: (x - 8) / √124.5; gradients as torch 2.13's autograd gives them in float64."""
    ran = netcalc("run", "tutorial-layer-norm", "--input", EXAMPLE, "--backward", "--loss", "output=[1, 0, 0, 0]")
    assert ran.code == 0
    golden("runs/layer-norm-gradients.txt", ran.out)
    words = ("run", "tutorial-layer-norm", "-i", EXAMPLE, "--backward", "--loss", "output=[1,0,0,0]", "-f", "json")
    record = json.loads(netcalc(*words).out)
    assert record["inputs"]["x"]["values"] == [10, 2, -5, 25]
    assert np.allclose(record["outputs"]["output"]["values"], [0.179244, -0.537733, -1.165088, 1.523576], atol=2e-6)
    gradients = {name: row["values"] for name, row in record["gradients"].items()}
    expected = [0.0664969, -0.0202461, -0.0177261, -0.0285248]
    assert np.allclose(gradients["x"], expected, atol=2e-6)
    assert gradients["norm.bias"] == [1, 0, 0, 0]
    assert np.allclose(gradients["norm.weight"], [0.179244, 0, 0, 0], atol=2e-6)


@pytest.mark.parametrize("suffix", ["csv", "txt", "npy", "npz", "safetensors"])
def test_files_set_the_dims(suffix: str, netcalc: Run) -> None:
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    file = f"x.{suffix}"
    match suffix:
        case "csv":
            Path(file).write_text("# a table\n0,1, 2\r\n3;4;5\n6 7\t8 # the third\n\n9,1e1,11\n")
        case "txt":
            np.savetxt(file, array)
        case "npy":
            np.save(file, array)
        case _:
            from netcalc.weights.writing import write_tensors

            write_tensors(file, {"x": array})
    ran = netcalc("run", "spec.yaml", "--input", f"x={file}", "-i", "ids=[0, 1, 2, 3]", "--init", "zeros", "-f", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["outputs"]["output"]["values"] == array.tolist()


def test_rows_and_columns_are_vectors() -> None:
    network = package.load("tutorial-layer-norm")
    expected = network.run({"x": [10.0, 2.0, -5.0, 25.0]}).outputs["output"]
    for text in ("10 2 -5 25", "10\n2\n-5\n25\n"):
        Path("x.txt").write_text(text)
        assert network.run({"x": Path("x.txt")}).outputs["output"].tolist() == expected.tolist()
    assert network.run({"x": [1, 2, 3]}).outputs["output"].shape == (3,)
    with pytest.raises(NetcalcError, match="is 3, and the spec has 4"):  # an array sets no sizes
        network.run({"x": np.ones(3, np.float32)})


REFUSED = {
    "ragged": (["x=[[1, 2, 3], [4, 5]]"], "item 1 is a list of 2 numbers, and item 0 is a list of 3 numbers"),
    "word": (["x=[[1, 2, three]]"], "'three' is no number"),
    "spaces": (["x=[[1 2 3]]"], "separate numbers by commas"),
    "null": (["x=[[1, null, 3]]"], "null is no number"),
    "bracket": (["x=[[1, 2, 3]"], "write numbers in brackets"),
    "rank": (["x=[1, 2, 3]"], "write 1 more pair of brackets"),
    "set": (["x=[[1, 2]]", "--set", "n=3"], "the input 'x' is 1×2, and the spec has 1×3"),
    "two": (["x=[[1, 2, 3]]", "-i", "ids=[1, 2]"], "the input 'ids' is 2, and the spec has 1"),
    "limit": (["x=[[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3],[1,2,3]]"], "sets rows=6"),
    "empty": (["x=[]"], "the input 'x' is 0, and the spec has 2×3"),
    "range": (["ids=[1, 4]"], "'ids' holds 1 to 4, and its range is [0, 4)"),
    "fraction": (["ids=[1, 0.5]"], "holds float64, and the spec has int64"),
    "name": (["y=[1]"], "the spec has no input 'y'"),
    "rows": (["x=ragged.csv"], "this row has 2 numbers, and the first has 3"),
    "header": (["x=header.csv"], "'a' is no number"),
    "nothing": (["x=empty.csv"], "has no numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_one_error_at_the_argument(case: str, netcalc: Run) -> None:
    words, message = REFUSED[case]
    for name, text in (("ragged", "1,2,3\n4,5\n"), ("header", "a,b,c\n1,2,3\n"), ("empty", "# nothing\n")):
        Path(f"{name}.csv").write_text(text)
    ran = netcalc("run", "spec.yaml", "--input", *words)
    assert (ran.code, ran.out, ran.err.count("error[")) == (2, "", 1)
    assert "E602" in ran.err and message in ran.err
    place = words[0].partition("=")[2] if words[0].endswith(".csv") else "--input "
    assert case in ("name", "nothing") or f"--> {place}" in ran.err


def test_the_size_of_a_loss_gradient_is_the_output_s(netcalc: Run) -> None:
    ran = netcalc("run", "tutorial-layer-norm", "--backward", "--loss", "output=[1, 2]")
    assert ran.code == 2 and "the gradient of output has shape (2,), and output has (4,)" in ran.err
    ran = netcalc("run", "tutorial-layer-norm", "--backward", "--loss", "output=[1, two]")
    assert ran.code == 2 and "'two' is no number" in ran.err


def test_other_verbs_take_numbers(netcalc: Run) -> None:
    for verb in ("verify", "signal"):
        ran = netcalc(verb, "tutorial-layer-norm", "--input", "x=[1, 2, 3, 4, 5]")
        assert ran.code == 0, ran.err
    verified = json.loads(netcalc("verify", "tutorial-layer-norm", "-i", "x=[1, 2, 3, 4, 5]", "-f", "json").out)
    assert "5 float32" in [check["predicted"] for check in verified["checks"]]


def test_traced_tensors_are_printed(netcalc: Run) -> None:
    ran = netcalc(
        "run", "tutorial-chain", "--set", "width=2", "--set", "batch=1", "-i", "x=[[0, 0]]", "--trace", "*act"
    )
    assert "layers.0.act =\n" in ran.out and "layers.9.act =\n" in ran.out
    many = netcalc("run", "tutorial-chain", "--set", "width=2", "--set", "batch=1", "--trace", "*")
    assert "31 traced tensors of at most 64 elements are not printed in numbers" in many.out
