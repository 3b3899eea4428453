"""The evaluator in NumPy that comes with onnx."""

from __future__ import annotations

from models import Case
from onnx.reference import ReferenceEvaluator

from engines import Runner


def load(case: Case, threads: int) -> Runner:
    session = ReferenceEvaluator(str(case.onnx))
    return lambda inputs: dict(zip(session.output_names, session.run(None, inputs), strict=True))
