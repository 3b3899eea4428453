"""Outputs of models beside those of onnx's evaluator and onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc as package
from netcalc.options import ReferenceName
from tests.conftest import CommandResult
from tests.formats.onnx.drafts import DRAFTS, Draft
from tests.formats.onnx.encoding import field, graph, model, node, saved, tensor, value

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

GOLDEN = Path(__file__).with_name("reference.txt")


@pytest.mark.parametrize("library", ["onnx", "onnxruntime"])
@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft.__name__)
def test_outputs_agree(tmp_path: Path, draft: Callable[[], Draft], library: ReferenceName) -> None:
    report = package.load(saved(tmp_path, draft().encoded())).verify_reference(reference=library)
    assert report.ok, report
    assert all(output.absolute is not None for output in report.outputs)


def test_outputs_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that the library alone changes are seen."""
    from netcalc.formats.onnx import reference

    run = reference._session
    monkeypatch.setattr(reference, "_session", lambda *args: lambda feeds: [x + 0.001 for x in run(*args)(feeds)])
    report = package.load(saved(tmp_path, DRAFTS[0]().encoded())).verify_reference()
    assert not report.ok
    assert report.outputs[0].absolute == pytest.approx(0.001, rel=1e-3)


def test_page(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    netcalc: Callable[..., CommandResult],
    request: pytest.FixtureRequest,
) -> None:
    """The largest differences, which depend on the processor, are zero for sums of halves."""
    nodes = [node("MatMul", ["x", "w"], ["h"], "fc"), node("Mul", ["h", "zero"], ["y"], "scale")]
    tensors = [tensor("w", np.full((4, 5), 0.5, np.float32)), tensor("zero", np.zeros(5, np.float32))]
    body = graph(nodes, [value("x", [2, 4])], [value("y", [2, 5])], tensors) + field(13, value("h", [2, 5]))
    saved(tmp_path, model(body), "net.onnx")
    monkeypatch.chdir(tmp_path)
    result = netcalc("verify", "net.onnx", "--reference", "onnxruntime")
    assert result.code == 0
    import onnxruntime

    text = result.out.replace(onnxruntime.__version__, "VERSION")
    if request.config.getoption("--update"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
