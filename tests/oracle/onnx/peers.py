"""The node tests of onnx, run by onnx's ReferenceEvaluator and by onnxruntime.

``python -m tests.oracle.onnx.peers`` writes the record; the tests repeat a sample of it.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle.onnx.node_cases import bucket, collected, failure

RECORD = Path(__file__).with_name("peers.json")


def reference_evaluator(model: Any) -> Any:
    """Return a function that runs a model by onnx's ReferenceEvaluator."""
    from onnx.reference import ReferenceEvaluator

    session = ReferenceEvaluator(model)
    return lambda values: session.run(None, values)


def onnxruntime(model: Any) -> Any:
    """Return a function that runs a model by onnxruntime; numbers of bfloat16 are exchanged as theirs alone."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(values: dict[str, Any]) -> list[Any]:
        given = {name: _value(ort, value) for name, value in values.items()}
        return [value.numpy() if value.is_tensor() else value for value in session.run_with_ort_values(None, given)]

    return run


def _value(ort: Any, value: Any) -> Any:
    from onnx import helper

    if value.dtype.kind == "V" or value.dtype.name == "bfloat16":
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(value.view(np.uint16), kind)
    return ort.OrtValue.ortvalue_from_numpy(value)


PEERS = {"onnx ReferenceEvaluator": reference_evaluator, "onnxruntime": onnxruntime}


def fails(case: Any, runner: Any) -> bool:
    """Return True if a peer refuses a case, or has other results."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return failure(case, runner) is not None
        except Exception:  # of the peer
            return True


def results(cases: list[Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each peer with the names of the cases that it fails."""
    for name, runner in PEERS.items():
        yield name, [case.name for case in cases if fails(case, runner)]


def main() -> None:
    """Write the record."""
    import onnx
    import onnxruntime as ort

    cases = collected()
    core = {case.name for case in cases if bucket(case.model) is None}
    versions = {"onnx ReferenceEvaluator": onnx.__version__, "onnxruntime": ort.__version__}
    peers = {}
    for name, failing in results(cases):
        passed = Counter("core" if case.name in core else "others" for case in cases if case.name not in {*failing})
        peers[name] = {"version": versions[name], "passed": dict(passed), "failing": failing}
    RECORD.write_text(json.dumps(peers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
