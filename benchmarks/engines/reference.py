"""onnx's ReferenceEvaluator, in NumPy."""

from __future__ import annotations

from models import Case
from onnx.reference import ReferenceEvaluator

from engines import Runner


def load(case: Case, threads: int) -> Runner:
    """Return the evaluator of the exported torch module."""
    session = ReferenceEvaluator(str(case.onnx))
    return lambda inputs: dict(zip(session.output_names, session.run(None, inputs), strict=True))
