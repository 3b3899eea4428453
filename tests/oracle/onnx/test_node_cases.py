"""The node tests of onnx: those that pass are recorded, and one that starts or ceases to pass fails this test."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

from tests.oracle.onnx.node_cases import Case, node_cases  # noqa: E402

RECORD = Path(__file__).with_name("node_cases.json")
#: Version of onnx whose cases are recorded.
VERSION = "1.23.2"


def test_cases_pass_that_are_recorded(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if onnx.__version__ != VERSION:
        pytest.skip(f"cases are recorded of onnx {VERSION}")
    cases = [*node_cases(tmp_path)]
    if request.config.getoption("--update"):
        RECORD.write_text(_record(cases), encoding="utf-8")
    failing = {name for names in json.loads(RECORD.read_text(encoding="utf-8"))["failing"].values() for name in names}
    assert {case.name: case.reason for case in cases if case.reason is not None and case.name not in failing} == {}
    assert sorted(case.name for case in cases if case.reason is None and case.name in failing) == []


def _record(cases: list[Case]) -> str:
    failing: dict[str, dict[str, str]] = {}
    for case in cases:
        if case.reason is not None:
            failing.setdefault(case.bucket, {})[case.name] = case.reason
    total = Counter(case.operator for case in cases)
    passed = Counter(case.operator for case in cases if case.reason is None)
    data = {
        "onnx": VERSION,
        "cases": len(cases),
        "operators": {name: [passed[name], total[name]] for name in sorted(total)},
        "failing": dict(sorted(failing.items(), key=lambda item: -len(item[1]))),
    }
    return json.dumps(data, indent=1) + "\n"
