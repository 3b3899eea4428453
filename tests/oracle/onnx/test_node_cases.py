"""The node tests of onnx: those that pass are recorded, and one that starts or ceases to pass fails this test."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from tests.oracle.onnx import peers  # noqa: E402
from tests.oracle.onnx.node_cases import Case, arrays, bucket, collected, node_cases, run_by_netcalc  # noqa: E402

RECORD = Path(__file__).with_name("node_cases.json")
#: Version of onnx whose cases are recorded.
VERSION = "1.23.2"
#: Cases in scope whose results are drawn by NumPy's generator, which the format does not define.
DRAWN = {f"test_training_dropout{ending}" for ending in ("", "_default", "_mask", "_default_mask")}
#: Every so many cases are repeated by the peers.
EVERY = 75

pytestmark = pytest.mark.skipif(onnx.__version__ != VERSION, reason=f"cases are recorded of onnx {VERSION}")


def test_cases_pass_that_are_recorded(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    cases = [*node_cases(tmp_path)]
    if request.config.getoption("--update"):
        RECORD.write_text(_record(cases), encoding="utf-8")
    failing = {name for names in json.loads(RECORD.read_text(encoding="utf-8"))["failing"].values() for name in names}
    assert {case.name: case.reason for case in cases if case.reason is not None and case.name not in failing} == {}
    assert sorted(case.name for case in cases if case.reason is None and case.name in failing) == []
    assert {case.name for case in cases if case.reason is not None and case.bucket is None} == DRAWN


def test_dropout_in_training_is_by_the_mask_that_it_returns(tmp_path: Path) -> None:
    for case in collected():
        if case.name in ("test_training_dropout_mask", "test_training_dropout_default_mask"):
            given, _ = arrays(case)
            result, kept = run_by_netcalc(case.model, given, tmp_path)
            ratio = float(given["r"]) if "r" in given else 0.5
            assert np.allclose(result, given["x"] * kept / (1 - ratio), rtol=1e-6)
            assert abs(kept.mean() - (1 - ratio)) < 5 * (ratio * (1 - ratio) / kept.size) ** 0.5


def test_attention_in_bfloat16_is_nearer_to_the_exact_result(tmp_path: Path) -> None:
    """The results that onnx has are rounded after each step; they are compared with those of float64."""
    from onnx.reference import ReferenceEvaluator

    count = 0
    for case in collected():
        if case.model.graph.node[0].op_type != "Attention" or not case.name.endswith("bf16"):
            continue
        count += 1
        given, (recorded, *_) = arrays(case)
        wide = {n: x.astype(np.float64) if x.dtype.name == "bfloat16" else x for n, x in given.items()}
        exact = ReferenceEvaluator(case.model.graph.node[0]).run(None, wide)[0]
        result = run_by_netcalc(case.model, given, tmp_path)[0].astype(np.float64)
        unit = np.exp2(np.floor(np.log2(np.maximum(abs(exact), 1e-30))) - 7)
        assert (abs(result - exact) <= 0.51 * unit).all()
        assert abs(recorded.astype(np.float64) - exact).max() > abs(result - exact).max()
    assert count == 5


def test_peers_pass_the_cases_that_are_recorded() -> None:
    runtime = pytest.importorskip("onnxruntime")
    record = json.loads(peers.RECORD.read_text(encoding="utf-8"))
    if runtime.__version__ != record["onnxruntime"]["version"]:
        pytest.skip("results are recorded of another version of onnxruntime")
    sample = collected()[::EVERY]
    names = {case.name for case in sample}
    for name, failing in peers.results(sample):
        assert {*failing} == {*record[name]["failing"]} & names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_add", None),
        ("test_reversesequence_time", None),
        ("test_cast_FLOAT_to_FLOAT8E4M3FN", "element types of 8 bits and fewer, other than integers"),
        ("test_string_concat", "texts"),
        ("test_identity_opt", "sequences and optional values"),
        ("test_range_float_type_positive_delta_expanded", "control flow"),
    ],
)
def test_buckets_follow_from_the_model(name: str, expected: str | None) -> None:
    assert [bucket(case.model) for case in collected() if case.name == name] == [expected]


def _record(cases: list[Case]) -> str:
    failing: dict[str, dict[str, str]] = {}
    for case in cases:
        if case.reason is not None:
            name = case.bucket or "dropout in training, whose numbers the format does not define"
            failing.setdefault(name, {})[case.name] = case.reason
    total = Counter(case.operator for case in cases)
    passed = Counter(case.operator for case in cases if case.reason is None)
    data: dict[str, Any] = {
        "onnx": VERSION,
        "cases": len(cases),
        "in scope": sum(case.bucket is None for case in cases),
        "buckets": dict(Counter(case.bucket for case in cases if case.bucket is not None).most_common()),
        "operators": {name: [passed[name], total[name]] for name in sorted(total)},
        "failing": dict(sorted(failing.items(), key=lambda item: -len(item[1]))),
    }
    return json.dumps(data, indent=1) + "\n"
