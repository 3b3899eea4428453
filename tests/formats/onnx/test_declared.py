"""Types that a file declares for values and outputs, in the audit of ``netcalc verify``; outputs of other libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.onnx.encoding import field, graph, model, node, saved, tensor, value


def declaring(folder: Path, hidden: bytes, output: bytes) -> Path:
    """A linear layer and an activation, with declared types of the value between them, and of the output."""
    nodes = [node("MatMul", ["x", "w"], ["hidden"], "fc"), node("Relu", ["hidden"], ["y"], "relu")]
    weight = tensor("w", np.ones((4, 5), np.float32))
    body = graph(nodes, [value("x", ["batch", 4])], [output], [weight]) + field(13, hidden)
    return saved(folder, model(body))


def test_types_that_fit(tmp_path: Path) -> None:
    audit = netcalc.load(declaring(tmp_path, value("hidden", ["n", 5]), value("y", ["batch", 5]))).audit()
    assert audit.ok
    assert audit.values == 2


@pytest.mark.parametrize(
    ("hidden", "output", "reasons"),
    [
        (value("hidden", ["n", 6]), value("y", ["n", 5]), ["'hidden' is declared as float32 n×6, and is float32"]),
        (value("hidden", [5]), value("y", ["n", 5]), ["'hidden' is declared as float32 5, and is float32"]),
        (
            *(value("hidden", ["n", 5], "float16"), value("y", [3, 4])),
            ["'hidden' is declared as float16", "'y' is declared as float32 3×4, and is float32 batch×5"],
        ),
    ],
)
def test_types_that_differ(tmp_path: Path, hidden: bytes, output: bytes, reasons: list[str]) -> None:
    audit = netcalc.load(declaring(tmp_path, hidden, output)).audit()
    assert [mismatch.kind for mismatch in audit.mismatches] == ["value"] * len(reasons)
    for mismatch, reason in zip(audit.mismatches, reasons, strict=True):
        assert reason in mismatch.message


def test_command_fails_where_types_differ(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    path = declaring(tmp_path, value("hidden", ["n", 6]), value("y", ["n", 5]))
    result = netcalc("verify", str(path))
    assert result.code == 1
    assert "1 do not fit" in result.out


def test_reference_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = declaring(tmp_path, value("hidden", ["n", 5]), value("y", ["n", 5]))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(NetcalcError, match="needs the library onnxruntime") as caught:
        netcalc.load(path).verify_reference()
    assert caught.value.diagnostics[0].code == "E009"
    assert "pip install onnxruntime" in str(caught.value.diagnostics[0].hint)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("alexnet", "--reference", "onnx"), "onnx cannot execute 'alexnet'"),
        (("net.onnx", "--reference", "onnx", "--values"), "--values cannot be used with --reference"),
        (("net.onnx", "--reference", "tensorrt"), "tensorrt"),
    ],
)
def test_reference_is_refused(
    tmp_path: Path, netcalc: Callable[..., CommandResult], words: tuple[str, ...], text: str
) -> None:
    path = declaring(tmp_path, value("hidden", ["n", 5]), value("y", ["n", 5]))
    result = netcalc("verify", *(str(path) if word == "net.onnx" else word for word in words))
    assert result.code == 2
    assert text in result.err
