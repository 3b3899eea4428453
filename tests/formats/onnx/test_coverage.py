"""The page of node tests that pass, written from the record of ``tests/oracle/onnx``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
RECORD = ROOT / "tests" / "oracle" / "onnx" / "node_cases.json"
PEERS = RECORD.with_name("peers.json")
PAGE = ROOT / "docs" / "onnx-coverage.md"

_INTRODUCTION = """\
# Operators of ONNX

onnx {onnx} has {cases:,} tests of nodes: an operator, or its definition by others, with inputs and results.
netcalc [imports](importing.md#onnx) each as a spec, runs it and compares the results within the test's own tolerance.
Inputs whose values determine shapes by the definition of their operator (`shape`, `axes`, `repeats`, `pads`, `k`, …)
are constants, as in exported models, and all others are inputs of the spec. A test of netcalc fails when a case starts
or ceases to pass, and `pytest --update` writes this page.

Results in float16 and bfloat16 may also differ by two units in the last place: those of the tests are rounded after
each step, and their tolerance of 0.001 is less than one unit of bfloat16. On the cases of attention in bfloat16,
netcalc is nearer to the exact result than what the tests have.
"""


def test_page_follows_from_the_records(request: pytest.FixtureRequest) -> None:
    text = _page(*(json.loads(path.read_text(encoding="utf-8")) for path in (RECORD, PEERS)))
    if request.config.getoption("--update"):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8")


def _page(record: dict[str, Any], peers: dict[str, Any]) -> str:
    failing, operators, scope = record["failing"], record["operators"], record["in scope"]
    undefined = next(name for name in failing if name not in record["buckets"])
    passed = scope - len(failing[undefined])
    beyond = sum(record["buckets"][name] - len(failing.get(name, {})) for name in record["buckets"])
    rows = [("netcalc", "", passed, beyond)]
    for name, peer in peers.items():
        rows.append((name, f" {peer['version']}", peer["passed"]["core"], peer["passed"]["others"]))
    lines = [
        _INTRODUCTION.format(**record),
        f"**{passed:,} of the {scope:,} cases in scope pass.** onnx's evaluator and onnxruntime (on the CPU) run the"
        " same cases:",
        "",
        f"| | of {scope:,} in scope | of {record['cases'] - scope:,} others |",
        "| --- | ---: | ---: |",
        *(f"| {name}{version} | {count:,} | {others:,} |" for name, version, count, others in rows),
        "",
        f"The {scope - passed} cases in scope that do not pass are {undefined}: NumPy's generator has drawn the"
        " results. netcalc draws",
        "others, and a test holds them against the mask that the layer returns.",
        "",
        "## Out of scope",
        "",
        "| cases | number | pass | such as |",
        "| --- | ---: | ---: | --- |",
    ]
    for bucket, count in record["buckets"].items():
        names = failing.get(bucket, {})
        example = ""
        if names:
            name, reason = next(iter(names.items()))
            short = reason.replace("|", "\\|").replace("<", "&lt;")
            example = f"`{name}`: {short}"
        lines.append(f"| {bucket} | {count} | {count - len(names)} | {example} |")
    lines += ["", "## Operators", "", "| operator | pass | cases |", "| --- | ---: | ---: |"]
    lines += [f"| `{name}` | {passed} | {total} |" for name, (passed, total) in operators.items()]
    return "\n".join(lines) + "\n"
