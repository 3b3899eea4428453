"""Comparison of outputs and counts with those of a module."""

from __future__ import annotations

from collections.abc import Callable

import jsonschema
import numpy as np
import pytest

import netcalc
from netcalc.render.presentations import View, lines
from netcalc.render.text import Terminal
from netcalc.verification.agreement import Agreement, OutputAgreement, difference, flops_agreement
from netcalc.weights.report import Mismatch, WeightsReport
from tests.generators.record_schema import record_schema

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("found", "expected", "far"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        ([0.0, 0.5], [0.0, 0.0], 0.5),
        ([NAN, 2.0], [NAN, 2.0], 0),
        ([NAN, 2.0], [1.0, 2.0], INF),
        ([1.0, 2.0], [NAN, 2.0], INF),
        ([INF, 2.0], [INF, 2.0], 0),
        ([-INF, 2.0], [INF, 2.0], INF),
        ([1.0], [1.0, 2.0], INF),
        ([1, 2], [1, 2], 0),
        ([1, 2], [1, 3], INF),
        ([1, 2], [1.0, 2.0], INF),
        ([], [], 0),
    ],
)
def test_difference(found: list[float], expected: list[float], far: float) -> None:
    assert difference(np.array(found), np.array(expected)) == far


def test_counts_are_compared_by_kind() -> None:
    ours = {"conv2d": 100, "linear": 20, "relu": 0, "conv_transpose2d": 5}
    theirs = {"aten.convolution": 105, "aten.addmm": 12, "aten.bmm": 7}
    convolutions, products = flops_agreement(ours, theirs)
    assert (convolutions.ok, convolutions.netcalc, convolutions.torch) == (True, 105, 105)
    assert (products.ok, products.operations, products.operators) == (False, ("linear",), ("aten.addmm", "aten.bmm"))


def test_a_difference_is_shown_and_recorded() -> None:
    weights = WeightsReport("net", "the given arrays", 1, 2, (Mismatch("missing", "fc.bias", "is not in the file"),))
    outputs = (OutputAgreement("logits", "fast", INF, 1e-5), OutputAgreement("logits", "reference", 1e-7, 1e-5))
    report = Agreement("net", outputs, flops_agreement({"linear": 2}, {"aten.mm": 3}), weights)
    assert not report.ok
    record = netcalc.as_dict(report)
    jsonschema.validate(record, record_schema("verify-module"))
    assert record["outputs"][0]["difference"] is None
    assert "3 of these differ" in str(report)
    assert "fc.bias" in str(report)


def test_pages_at_80_columns(golden: Callable[[str, str], None]) -> None:
    counted = flops_agreement(
        {"conv2d": 1_234_567_890, "linear": 20_000, "scaled_dot_product_attention": 5_000},
        {"aten.convolution": 1_234_567_890, "aten.addmm": 20_000, "aten.bmm": 5_000},
    )
    outputs = tuple(OutputAgreement("logits", plan, 3.2e-7, 1e-5) for plan in ("reference", "fast"))
    good = Agreement("classifier", outputs, counted, WeightsReport("classifier", "the given arrays", 28, 28, ()))
    missing = (Mismatch("missing", "fc.bias", "is not in the file"),)
    bad = Agreement("classifier", (), counted[:1], WeightsReport("classifier", "the given arrays", 27, 28, missing))
    pages = ["\n".join(lines(report, View(), Terminal(width=80))) for report in (good, bad)]
    golden("runs/agreement.txt", "\n\n".join(pages) + "\n")
