"""Every shipped spec as a file in ONNX: checked by the library, executed by onnxruntime, and imported again.

At the reduced sizes of the tests weights are drawn and outputs compared; ``--published`` writes the graphs of all specs
at published sizes, which are checked alone.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import netcalc
from netcalc.numerics.inputs import run_inputs
from netcalc.spec.shipped import shipped
from tests.exhaustive import in_turn
from tests.zoo.harness import SMALL

#: Packages that the check needs.
NEEDED = ("onnx", "onnxruntime")
#: One spec of this many is in the sample.
SAMPLED = 25
#: Deviation of outputs, relative to the largest element.
TOLERANCE = 1e-5
_PUBLISHED = " (published)"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "prefix of the names of the specs", 300)
    parser.add_argument("--published", action="store_true", help="graphs at published sizes instead")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return what is found of every spec, and what fails."""
    names = [f"{name}{_PUBLISHED}" for name in shipped()] if options.published else [*SMALL]
    chosen = [name for name in sorted(names) if name.startswith(options.only)]
    return in_turn.results_of(chosen, compared, options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Return what is found of some specs at reduced sizes, without the deviation, which differs by machine."""
    names = [name for name, found in sorted(result["cases"].items()) if found.startswith("ok") and name in SMALL]
    return {name: in_turn.result(name, compared).partition("; ")[0] for name in names[::SAMPLED]}


def compared(name: str) -> str:
    """Return ``ok`` with the nodes of the graph and the deviation of outputs, or what differs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        if name.endswith(_PUBLISHED):
            exported = netcalc.load(name.removesuffix(_PUBLISHED)).export(path)
            _check(path)
            return f"ok: {exported.nodes} nodes"
        network = netcalc.load(name, set=SMALL[name], dtype="float32")
        exported = network.export(path, draw=True)
        _check(path)
        inputs = run_inputs(network.program, seed=0)
        deviation = _deviation(network, path, inputs)
        found = f"{exported.nodes} nodes; {deviation:.0e}"
        return f"ok: {found}" if deviation <= TOLERANCE else f"outputs differ: {found}"


def _check(path: Path) -> None:
    """Check a file by the library, with the types of all values inferred anew."""
    import onnx

    onnx.checker.check_model(str(path), full_check=True)


def _deviation(network: netcalc.Network, path: Path, inputs: list[Any]) -> float:
    """Return the largest deviation of an output in onnxruntime from netcalc's, over its largest element."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    named = dict(zip([spec.name for spec in network.program.inputs], inputs, strict=True))
    taken = {value.name for value in session.get_inputs()}
    found = session.run(None, {name: np.asarray(value) for name, value in named.items() if name in taken})
    expected = network.run(named, plan="reference").outputs
    names = [value.name for value in session.get_outputs()]
    return max((_apart(array, expected[name]) for name, array in zip(names, found, strict=True)), default=0.0)


def _apart(actual: Any, expected: Any) -> float:
    assert actual.shape == expected.shape, f"shape {actual.shape}, not {expected.shape}"
    assert actual.dtype == expected.dtype, f"type {actual.dtype}, not {expected.dtype}"
    if not expected.size or np.array_equal(actual, expected, equal_nan=True):
        return 0.0
    first, second = (np.asarray(array, np.float64) for array in (actual, expected))
    finite = np.isfinite(second)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True):
        return float("inf")
    scale = float(np.abs(second[finite]).max()) or 1.0
    return float(np.abs(first[finite] - second[finite]).max()) / scale
