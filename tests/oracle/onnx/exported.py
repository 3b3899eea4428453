"""Networks as files in ONNX, checked by the library and executed by onnxruntime beside netcalc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.numerics.inputs import run_inputs

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

#: Deviation of outputs, relative to the largest element.
TOLERANCE = 1e-5


def of_operation(
    name: str,
    attributes: Mapping[str, Any],
    inputs: Mapping[str, Any],
    others: int = 0,
    symbolic: Sequence[str] = (),
    **dims: int,
) -> netcalc.Network:
    """Return a network of one operation with inputs by their ports, and all its results, ``others`` after the first."""
    more = [f"y{index}" for index in range(1, others + 1)]
    layer = {
        "name": "y",
        "from": {port: port for port in inputs},
        name: dict(attributes),
        **({"as": more} if more else {}),
    }
    document = {"netcalc": 1, "inputs": dict(inputs), "layers": [layer], "outputs": ["y", *more]}
    return netcalc.load_data({**document, **({"dims": dims} if dims else {})}, symbolic=symbolic)


def assert_same(
    network: netcalc.Network, path: Path, *, opset: int = 21, seed: int = 0, written: netcalc.Network | None = None
) -> None:
    """Write a network with drawn weights; check the file, and compare outputs in onnxruntime with netcalc's.

    ``written`` is the network that is written instead, with symbols for some sizes.
    """
    (written or network).export(path, draw=True, opset=opset)
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    inputs = run_inputs(network.program, seed=seed)
    named = dict(zip([spec.name for spec in network.program.inputs], inputs, strict=True))
    taken = {value.name for value in session.get_inputs()}
    found = session.run(None, {name: value for name, value in named.items() if name in taken})
    expected = network.run(named, plan="reference").outputs
    for value, array in zip(session.get_outputs(), found, strict=True):
        assert_close(array, np.asarray(expected[value.name]))


def assert_close(actual: Any, expected: Any) -> None:
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    scale = float(np.abs(np.asarray(expected, np.float64)).max(initial=0.0)) or 1.0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE * scale)
