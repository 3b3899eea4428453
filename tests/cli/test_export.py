"""Command ``export``: files, options that contradict each other, and failures that leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

Run = Callable[..., CommandResult]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_page(netcalc: Run, golden: Callable[[str, str], None]) -> None:
    golden("export/drawn.txt", netcalc("export", "mlp", "-o", "mlp.onnx", "--draw").out)
    golden("export/external.txt", netcalc("export", "mlp", "-o", "mlp.onnx", "--draw", "--external").out)
    golden("export/graph.txt", netcalc("export", "mlp", "-o", "mlp.onnx", "--symbolic", "batch").out)


def test_record(netcalc: Run) -> None:
    record = validated(netcalc("export", "mlp", "-o", "mlp.onnx", "--draw", "--format", "json"), "export")
    assert record["bytes"] == Path("mlp.onnx").stat().st_size
    assert record["params"] == package.load("mlp").params
    assert (record["data"], record["weights"]) == (None, "drawn")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("mlp", "export writes a file"),
        ("mlp -o mlp.pdf", ".pdf files are not written here"),
        ("mlp -o mlp.onnx --opset 12", "--opset 12: the operators of versions 18 to 24 are written"),
        ("mlp -o mlp.onnx --draw --weights w.npz", "--draw and --weights contradict each other"),
        ("mlp -o mlp.onnx --init zeros", "--init is for drawn weights"),
        ("mlp -o nowhere/mlp.onnx", "there is no folder 'nowhere'"),
    ],
)
def test_refused(netcalc: Run, words: str, message: str) -> None:
    np.savez("w.npz", weight=np.zeros(3))
    ran = netcalc("export", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert [path.name for path in Path().iterdir()] == ["w.npz"]


def test_no_training_mode() -> None:
    with pytest.raises(package.NetcalcError, match="as it is in inference"):
        package.load("mlp", mode="train").export("mlp.onnx")


def test_operations_without_a_rule_are_named_together() -> None:
    text = "netcalc: 1\ninputs: {x: [4, 3, 3]}\nlayers:\n- {repeat: 7, name: a, sequence: [inv]}\n- svdvals\n"
    with pytest.raises(package.NetcalcError) as caught:
        package.loads(text).export("file.onnx")
    messages = [problem.message for problem in caught.value.diagnostics]
    assert {problem.code for problem in caught.value.diagnostics} == {"E010"}
    assert any("svdvals: ONNX has no operator of it (svdvals)" in message for message in messages)
    assert any("inv: ONNX has no operator of it (a.0.0, a.1.0, a.2.0, a.3.0, a.4.0 and 2 more)" in m for m in messages)
    assert not Path("file.onnx").exists()


def test_symbolic_parameters_are_refused() -> None:
    with pytest.raises(package.NetcalcError, match="symbolic shape"):
        package.load("mlp", symbolic=["classes"]).export("mlp.onnx")


def test_a_failure_leaves_the_old_files() -> None:
    package.load("mlp").export("mlp.onnx", draw=True, external=True)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert len(before) == 2
    with pytest.raises(package.NetcalcError):
        package.load("mlp").export("mlp.onnx", weights={"hidden.0.0.weight": np.zeros((512, 784), np.float32)})
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
