"""Mamba."""

from __future__ import annotations

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from tests.zoo.harness import built, check_case


def test_a_forward_pass_equals_transformers() -> None:
    settings = {"batch": 2, "length": 11, "vocab": 80, "d_model": 32, "layers": 2, "state": 8, "rank": 4}
    check_case("mamba_l2_d32", "mamba-130m", settings)


def test_work_is_linear_in_the_length() -> None:
    """The convolution is computed for three further positions, which are cut off."""
    short, long = (
        Analysis(built("mamba-130m", length=length), CONVENTIONS["torch"]).by_operation for length in (512, 1024)
    )
    for op in ("linear", "selective_scan"):
        assert long[op][1].flops == 2 * short[op][1].flops
