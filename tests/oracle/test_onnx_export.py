"""Files in ONNX: checked by the library of ONNX, and outputs of onnxruntime against netcalc's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import ops
from netcalc.formats.export.job import Job
from netcalc.formats.export.onnx.model import write
from netcalc.formats.export.onnx.rule import RULES
from netcalc.numerics.inputs import run_inputs
from netcalc.request import Request
from netcalc.spec.library import load_document
from tests.nodes import example_node, program_of
from tests.zoo.harness import SMALL

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

#: All but bitcast, whose example sees the bits of floating-point numbers, which no operator does before opset 26.
WRITTEN = [name for name in ops.names() if RULES.get(name) is not None and name != "bitcast"]
OPTIONS = {"draw": True, "init": "default", "seed": 0, "cast": False, "opset": None, "external": False}


def session_of(path: Path) -> Any:
    """Return a session of onnxruntime, of a file that the library of ONNX has checked."""
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def require_equal(session: Any, arrays: dict[str, Any], expected: dict[str, Any]) -> None:
    """Assert that onnxruntime gives the expected outputs, within 1e-5 of the largest element of each."""
    taken = {value.name for value in session.get_inputs()}
    found = session.run(None, {name: np.asarray(array) for name, array in arrays.items() if name in taken})
    for value, actual in zip(session.get_outputs(), found, strict=True):
        wanted = expected[value.name]
        assert (actual.shape, actual.dtype) == (wanted.shape, wanted.dtype)
        scale = np.abs(np.nan_to_num(wanted.astype(float))).max(initial=0) or 1
        np.testing.assert_allclose(actual.astype(float), wanted, rtol=0, atol=1e-5 * scale, err_msg=value.name)


@pytest.mark.parametrize("name", WRITTEN)
def test_examples_of_operations(name: str, tmp_path: Path) -> None:
    declared = ops.find(name)
    assert declared is not None
    program = program_of(example_node(declared))
    path = tmp_path / "example.onnx"
    write(Job(Request(load_document("mlp")), program, str(path), OPTIONS))
    from netcalc.engine.run import forward

    arrays = dict(zip(program.input_types, run_inputs(program, seed=3), strict=True))
    require_equal(session_of(path), arrays, dict(forward(program, arrays, seed=0, plan="reference").outputs))


@pytest.mark.parametrize("opset", [18, 20, 23, 24])
@pytest.mark.parametrize("name", ["llama-3-8b", "convnext_base", "detr-resnet-50"])
def test_versions_of_the_operators(name: str, opset: int, tmp_path: Path) -> None:
    network = netcalc.load(name, set=SMALL[name], dtype="float32")
    network.export(tmp_path / "model.onnx", draw=True, opset=opset, external=True)
    arrays = dict(zip(network.inputs, run_inputs(network.program, seed=3), strict=True))
    require_equal(session_of(tmp_path / "model.onnx"), arrays, dict(network.run(arrays).outputs))


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("resnet18", {"batch": 3}),
        ("gpt2", {"batch": 2, "length": 7}),
        ("llama-3-8b", {"batch": 2, "length": 6}),
        ("bert-base", {"batch": 3, "length": 5}),
        ("vit_b_16", {"batch": 2}),
        ("t5-small", {"batch": 2, "source": 5, "target": 4}),
    ],
)
def test_one_file_for_all_sizes(name: str, sizes: dict[str, int], tmp_path: Path) -> None:
    # the length is a symbol whose default is the published one, for which the table of positions has to suffice
    small = {key: value for key, value in SMALL[name].items() if key not in {*sizes, "max_length"}}
    network = netcalc.load(name, set=small, dtype="float32", symbolic=[*sizes])
    network.export(tmp_path / "model.onnx", draw=True)
    own = netcalc.load(name, set={**small, **sizes}, dtype="float32")
    arrays = dict(zip(own.inputs, run_inputs(own.program, seed=3), strict=True))
    require_equal(session_of(tmp_path / "model.onnx"), arrays, dict(own.run(arrays).outputs))
