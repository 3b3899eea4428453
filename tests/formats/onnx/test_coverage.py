"""The page of node tests that pass, written from the record of ``tests/oracle/onnx``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
RECORD = ROOT / "tests" / "oracle" / "onnx" / "node_cases.json"
PAGE = ROOT / "docs" / "onnx-coverage.md"


def test_page_follows_from_the_record(request: pytest.FixtureRequest) -> None:
    text = _page(json.loads(RECORD.read_text(encoding="utf-8")))
    if request.config.getoption("--update"):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8")


def _page(record: dict[str, Any]) -> str:
    failing, operators = record["failing"], record["operators"]
    count = sum(map(len, failing.values()))
    known = {name: numbers for name, numbers in operators.items() if numbers[0]}
    lines = [
        "# Operators of ONNX",
        "",
        f"onnx {record['onnx']} has {record['cases']:,} tests of nodes: an operator, or its definition by others, with"
        " inputs and results.",
        "netcalc [imports](importing.md#onnx) each as a spec, runs it and compares the results within the test's own"
        " tolerance, or two units in",
        "the last place of 16-bit numbers: the tests' results are rounded after each step, and their tolerance of 0.001 is"
        " less than one unit",
        "of bfloat16. Inputs whose values determine shapes by the definition of their operator (`shape`, `axes`, `repeats`,"
        " `pads`, `k`, …) are",
        "constants, as in exported models. A test of netcalc fails when a case starts or ceases to pass, and"
        " `pytest --update` writes this page.",
        "",
        f"**{record['cases'] - count:,} of {record['cases']:,} pass**, of {len(known)} operators.",
        "",
        "## Cases that do not pass",
        "",
        "| cases | number | such as |",
        "| --- | ---: | --- |",
    ]
    for bucket, names in failing.items():
        name, reason = next(iter(names.items()))
        short = reason.replace("|", "\\|").replace("<", "&lt;")
        lines.append(f"| {bucket} | {len(names)} | `{name}`: {short} |")
    lines += ["", "## Operators", "", "| operator | pass | cases |", "| --- | ---: | ---: |"]
    lines += [f"| `{name}` | {passed} | {total} |" for name, (passed, total) in operators.items()]
    return "\n".join(lines) + "\n"
