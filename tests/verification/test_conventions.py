"""Counting conventions held against counts of executed kernels: faults of rules, of weights and of totals."""

from __future__ import annotations

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.conventions.convention import Convention, Pass, Rule
from netcalc.expressions import parse
from netcalc.verification import conventions
from netcalc.verification.figure_references.conventions import COUNTED
from netcalc.verification.report import Gap, VerifyReport
from netcalc.verification.verify import verify
from tests.exhaustive.mutation import forget
from tests.numerics.programs import program

NET = """
inputs: {x: [2, 4, 8, 8]}
layers: [{conv2d: {out: 6, kernel: 3, groups: 2}}, {batch_norm: {}}, relu, {conv_transpose2d: {out: 3, kernel: 2}}]
"""


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    forget()


def compared(text: str = NET) -> VerifyReport:
    return verify(program(text), values=True, backward=True)


def replace(monkeypatch: pytest.MonkeyPatch, convention: Convention) -> None:
    """Verify with another convention of a name."""
    monkeypatch.setattr(conventions, "CONVENTIONS", {**CONVENTIONS, convention.name: convention})


def wrong(report: VerifyReport) -> set[tuple[str, str]]:
    return {(check.path, check.what) for check in report.failures}


def test_every_convention_is_compared() -> None:
    report = compared()
    assert report.ok
    found = {check.what for check in report.checks if check.path == "conv2d" and check.group == "conventions"}
    assert {f"counted by {name}: FLOPs" for name in COUNTED} < found
    assert "counted by torch, backward: MACs" in found and "counted by fvcore, backward: MACs" not in found
    assert not verify(program(NET), backward=True).counts["conventions"]


def test_groups_count_more_in_the_gradient_of_the_weight() -> None:
    """``conv_backward_flop`` of torch leaves the groups out."""
    (check,) = [c for c in compared().checks if c.path == "conv2d" and c.what == "counted by torch, backward: MACs"]
    assert check.executed == 2 * 6 * 6 * 6 * 2 * 9 * 2  # the gradient of the weight alone, for two groups


def test_a_wrong_rule_is_found_in_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {**CONVENTIONS["fvcore"].rules, "batch_norm": (Rule(None, {}, {"norm": parse("7")}),)}
    replace(monkeypatch, CONVENTIONS["fvcore"]._replace(forward=Pass({"mac": 1}, rules)))
    assert wrong(compared()) == {("batch_norm", "counted by fvcore: FLOPs"), ("", "counted by fvcore: FLOPs")}


def test_a_wrong_weight_of_multiply_adds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_weight = CONVENTIONS["torchvision"]._replace(per_mac=2)
    replace(monkeypatch, wrong_weight)
    assert {path for path, _ in wrong(compared())} == {"conv2d", "conv_transpose2d", ""}


def test_an_operation_that_is_left_out_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = CONVENTIONS["torch"]
    replace(monkeypatch, torch._replace(forward=Pass(CONVENTIONS["netcalc"].forward.kinds, torch.rules)))
    assert ("", "counted by torch: left out") in wrong(compared())


def test_complex_numbers_are_a_gap() -> None:
    report = verify(program("inputs: {x: [2, 8]}\nlayers: [rfft, abs]\n"), values=True)
    assert report.ok
    assert Gap("work of rfft by conventions", "complex numbers") in report.gaps
