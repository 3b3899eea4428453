"""Checks of specs: published figures, requirements, errors, exit codes and formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc as package
from netcalc.spec.shipped import shipped
from tests.conftest import CommandResult
from tests.records.test_records import validated

#: A linear layer of 64 + 8 parameters, 64 MACs and, without biases, 128 FLOPs.
SPEC = """
netcalc: 1
name: paper
vars: {{heads: 2, d_model: 8}}
require: [{{that: d_model % heads == 0, message: heads must divide d_model}}]
published: {published}
inputs: {{x: [1, 8]}}
layers: [{{linear: "${{d_model}}"}}]
"""
AGREES = "{figure: params, value: 72, where: Table 1}"
ROUND = "{figure: macs, value: 60, where: Table 1}"
EXPLAINED = "{figure: macs, value: 1.2 k, where: Table 2, note: A misprint.}"
UNEXPLAINED = "{figure: macs, value: 1.2 k, where: Table 2}"
OUTDATED = "{figure: flops, value: 128, where: Table 2, note: An addition is counted.}"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that writes a spec with published figures to the current folder and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(*published: str, name: str = "paper.yaml") -> str:
        Path(name).write_text(SPEC.format(published=f"[{', '.join(published)}]"))
        return name

    return write


def test_shipped_specs_pass() -> None:
    report = package.check(*shipped())
    assert [row for row in report.rows if not row.ok] == []
    assert report.ok and report.diagnostics == ()
    assert [row.spec for row in report.rows if row.check == "shapes"] == [*shipped()]


@pytest.mark.parametrize("published", [(), (AGREES,), (AGREES, EXPLAINED)])
def test_a_spec_passes(
    published: tuple[str, ...], spec: Callable[..., str], netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc("check", spec(*published))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"all {2 + len(published)} checks passed of 1 spec\n")


@pytest.mark.parametrize(
    ("published", "detail"),
    [
        (UNEXPLAINED, "Table 2"),
        (ROUND.replace("60", "'70'"), "Table 1"),
        (ROUND, "Table 1"),
        (OUTDATED, "Table 2: An addition is counted. (the figure agrees: the note is out of date)"),
    ],
)
def test_a_figure_fails(
    published: str, detail: str, spec: Callable[..., str], netcalc: Callable[..., CommandResult]
) -> None:
    name = spec(AGREES, published)
    ran = netcalc("check", name)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("1 of 4 checks failed of 1 spec\n")
    (row,) = [row for row in package.check(name).rows if not row.ok]
    assert row.counted == (128 if "flops" in published else 64) and row.detail == detail


def test_digits_of_a_whole_number_are_significant_but_for_its_zeros(spec: Callable[..., str]) -> None:
    assert package.check(spec(ROUND.replace("60", "'60'"))).ok  # 64 rounds to 6 tens
    assert not package.check(spec(ROUND.replace("60", "'66'"))).ok
    assert not package.check(spec(ROUND)).ok  # an integer is exact


def test_a_spec_that_cannot_be_loaded(spec: Callable[..., str], netcalc: Callable[..., CommandResult]) -> None:
    broken = spec(name="broken.yaml")
    Path(broken).write_text(Path(broken).read_text().replace("heads: 2", "heads: 3"))
    ran = netcalc("check", spec(UNEXPLAINED), broken, "missing", "--format", "csv")
    assert ran.code == 2
    assert "error[E108]" in ran.err and "broken.yaml:" in ran.err
    assert "error[E005]: there is no file and no shipped spec 'missing'" in ran.err
    assert "2 errors" in ran.err
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    failed = [(row["spec"], row["check"], row["expected"]) for row in rows if row["result"] == "FAILED"]
    assert failed == [
        ("paper.yaml", "published macs", "1.2 k"),
        ("broken.yaml", "error", "E108"),
        ("missing", "error", "E005"),
    ]


def test_the_record_is_that_of_the_api(spec: Callable[..., str], netcalc: Callable[..., CommandResult]) -> None:
    specs = ["resnet34", spec(AGREES, UNEXPLAINED), "missing"]
    ran = netcalc("check", *specs, "--format", "json")
    assert ran.code == 2 and "E005" in ran.err
    report = package.check(*specs)
    assert validated(CommandResult(0, ran.out, ""), "check") == package.as_dict(report)
    assert [problem.code for problem in report.diagnostics] == ["E005"]
    assert f"{report}\n" == netcalc("check", *specs).out


def test_rows_of_a_spec(spec: Callable[..., str]) -> None:
    rows = package.check(spec(AGREES)).rows
    assert tuple(row[:-1] for row in rows) == (
        ("paper.yaml", "shapes", "", 72, True, "parameters"),
        ("paper.yaml", "requirement", "d_model % heads == 0", None, True, "heads must divide d_model"),
        ("paper.yaml", "published params", "72", 72, True, "Table 1"),
    )


def test_work_is_counted_without_biases_and_norms() -> None:
    (flops,) = [row.counted for row in package.check("clip-vit-base-patch32").rows if row.check == "published flops"]
    assert flops == package.load("clip-vit-base-patch32").cost("torch").flops


def test_selected_rows_leave_the_verdict(spec: Callable[..., str], netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("check", spec(AGREES, UNEXPLAINED), "--filter", "requirement")
    assert ran.code == 1 and ran.out.startswith("1 of 4 checks failed of 1 spec\n")
    assert "d_model % heads == 0" in ran.out and "1.2 k" not in ran.out


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_pages(
    format_: str,
    spec: Callable[..., str],
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
) -> None:
    ran = netcalc("check", "resnet34", spec(AGREES, EXPLAINED, UNEXPLAINED, OUTDATED), "--format", format_)
    assert (ran.code, ran.err) == (1, "")
    assert format_ != "table" or all(len(line) <= 80 for line in ran.out.splitlines())
    golden(f"check/pages.{'txt' if format_ == 'table' else 'md'}", ran.out)
