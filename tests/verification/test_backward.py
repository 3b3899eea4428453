"""Verification of backward passes: the checks that are made, and faults that they find."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.numerics.vjps import VJPS
from netcalc.verification.verify import verify
from tests.numerics.programs import program

TEXT = "inputs: {x: [2, 6]}\nlayers: [{linear: 5}, relu, {linear: {out: 4, bias: false}}]\n"


def test_counts() -> None:
    """Gradients of three parameters and two activations; products, and saved tensors, but for the first input."""
    report = verify(program(TEXT), backward=True)
    whats = [check.what for check in report.checks if check.group == "backward"]
    assert whats.count("gradient of weight") == 2
    assert whats.count("gradient of bias") == 1
    assert sum(check.executed for check in report.checks if check.what == "backward mac") == 2 * (6 * 5 + 2 * 5 * 4)


def test_a_product_that_does_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    product = VJPS.get("relu")
    assert product is not None
    monkeypatch.setitem(VJPS._entries, "relu", lambda op, back, g: {0: product(op, back, g)[0] * np.float32(1)})
    failure, total = verify(program(TEXT), backward=True).failures
    assert (total.path, total.what) == ("", "backward FLOPs")
    assert (failure.path, failure.what, failure.predicted, failure.executed) == ("relu", "backward mul", 0, 10)
