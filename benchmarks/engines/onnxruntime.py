"""onnxruntime on the CPU, with its default graph optimizations."""

from __future__ import annotations

from models import Case
from onnxruntime import InferenceSession, SessionOptions

from engines import Runner


def load(case: Case, threads: int) -> Runner:
    """Return a session on the exported torch module.

    Raises:
        RuntimeError: if it could not be exported.
    """
    if case.not_exported.is_file():
        raise RuntimeError(f"not exported: {case.not_exported.read_text()}")
    options = SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = InferenceSession(case.onnx, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))
