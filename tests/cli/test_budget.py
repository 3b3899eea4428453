"""Command ``budget``: limits of options, of a spec and of an earlier record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

SPEC = """netcalc: 1
name: small
inputs: {x: [1, 3, 8, 8]}
layers:
  - {name: stem, conv2d: {out: 4, kernel: 3, padding: 1, bias: false}}
  - relu
  - flatten
  - {name: head, linear: 10}
"""
#: Counted by hand: 3·3·3·4 and 4·64·10 + 10 parameters; 108·64 and 2560 multiply-adds; activations of the first layer
#: before and behind the rectifier, 4·64 elements of 4 bytes each.
PARAMS, MACS, ACTIVATIONS = 108 + 2570, 6912 + 2560, 2 * 4 * 64 * 4


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> str:
        Path("small.yaml").write_text(text, encoding="utf-8")
        return "small.yaml"

    return write


def test_limits_are_reached_exactly(spec: Callable[[str], str], netcalc: Callable[..., CommandResult]) -> None:
    name = spec(SPEC)
    for option, count in (
        ("params", PARAMS),
        ("macs", MACS),
        ("weights", 4 * PARAMS),
        ("activations", ACTIVATIONS),
        ("memory", 4 * PARAMS + ACTIVATIONS),
    ):
        codes = [netcalc("budget", name, f"--max-{option}", str(limit)).code for limit in (count, count - 1)]
        assert codes == [0, 1], option


def test_the_section_of_a_spec_is_replaced_by_options(
    spec: Callable[[str], str], netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    name = spec(SPEC + "budget: {params: 2k, macs: 0.01M, memory: 1MiB, activations: 1KiB}\n")
    ran = netcalc("budget", name)
    assert (ran.code, ran.err) == (1, "") and all(len(line) <= 80 for line in ran.out.splitlines())
    golden("budget/section.txt", ran.out)
    record = validated(netcalc("budget", name, "--max-params", "3k", "--format", "json"), "budget", 1)
    assert [(row["figure"], row["ok"], row["source"]) for row in record["rows"]] == [
        ("params", True, "--max-params"),
        ("macs", True, "budget of the spec"),
        ("activations", False, "budget of the spec"),
        ("memory", True, "budget of the spec"),
    ]
    assert record == package.as_dict(package.load(name).budget(max_params="3k"))
    Path("child.yaml").write_text("netcalc: 1\nextends: ./small.yaml\n", encoding="utf-8")
    assert "there is no budget" in netcalc("budget", "child.yaml").err  # a child's sizes are others
    rows = json.loads(netcalc("check", name, "--format", "json").out)["rows"]
    assert [(row["check"], row["ok"]) for row in rows if row["check"].startswith("budget")] == [
        ("budget params", False),
        ("budget macs", True),
        ("budget activations", False),
        ("budget memory", True),
    ]


def test_a_record_guards_a_change(
    spec: Callable[[str], str], netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    name = spec(SPEC)
    assert netcalc("summary", name, "-o", "main.json").code == 0
    assert netcalc("budget", name, "--against", "main.json").code == 0
    spec(SPEC.replace("linear: 10", "linear: 11"))
    ran = netcalc("budget", name, "--against", "main.json", "--allow", "1%")
    assert ran.code == 1
    golden("budget/against.txt", ran.out)
    assert netcalc("budget", name, "--against", "main.json", "--allow", "10%").code == 0
    spec(SPEC.replace("linear: 10", "linear: 9"))
    assert netcalc("budget", name, "--against", "main.json").code == 0  # less of everything


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no budget"),
        (["--max-params", "many"], "--max-params many: should be a number, such as 25M"),
        (["--max-memory", "5 apples"], "--max-memory 5 apples: should be a number, such as 100MiB"),
        (["--allow", "1%"], "--allow says how much may be more"),
        (["--against", "main.json", "--allow", "1"], "--allow 1: should be a percentage"),
        (["--against", "none.json"], "none.json cannot be read"),
        (["--against", "other.json"], "--against other.json: should be a record of summary"),
        (["--against", "partial.json"], "--against partial.json: should be a record of summary"),
        (["--against", "broken.json"], "broken.json:1:"),
        (["--against", "main.json", "--convention", "torch"], "its work is counted as netcalc does, not torch"),
        (["--max-params", "1", "--convention", "nobody"], "nobody"),
    ],
)
def test_errors(
    words: list[str], message: str, spec: Callable[[str], str], netcalc: Callable[..., CommandResult]
) -> None:
    name = spec(SPEC)
    assert netcalc("summary", name, "-o", "main.json").code == 0
    Path("other.json").write_text("[1]", encoding="utf-8")
    partial = {"schema": "netcalc/summary/1", "totals": {"params": 1}}
    Path("partial.json").write_text(json.dumps(partial), encoding="utf-8")
    Path("broken.json").write_text("{", encoding="utf-8")
    ran = netcalc("budget", name, *words)
    assert ran.code == 2 and message in ran.err and "Traceback" not in ran.err


def test_a_malformed_section_is_named(spec: Callable[[str], str], netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("budget", spec(SPEC + "budget: {params: much}\n"))
    assert ran.code == 2 and "E104" in ran.err and "small.yaml:9" in ran.err and "such as 25M" in ran.err
