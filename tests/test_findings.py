"""Findings of ``check``: folders and patterns, places, annotations of GitHub Actions, and SARIF against its schema.

``fixtures/sarif/sarif-schema-2.1.0.json`` is OASIS's schema of SARIF 2.1.0 with errata 01, without descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import netcalc as package
from tests.conftest import CommandResult

SCHEMA = Path(__file__).parent / "fixtures" / "sarif" / "sarif-schema-2.1.0.json"
FILES = {
    "nets/good.yaml": "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [relu]\n",
    "nets/deep/bad.yml": (
        "netcalc: 1\nname: bad\nvars: {unused: 3}\n"
        "published:\n  - {figure: params, value: 70, where: '50% of a, b: c'}\n"
        "budget: {params: 71}\ninputs: {x: [1, 8]}\nlayers: [{linear: 8}]\n"
    ),
    "nets/bro ken.yaml": "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: {out: 0}}]\n",
    "nets/blocks.yaml": "netcalc: 1\nblocks: {b: {layers: [relu]}}\n",
    "nets/other.yaml": "a: 1\n",
    "nets/record.json": "{}",
    "nets/ours.yaml": "about: multiply-adds\nsource: us\nunit: MAC\nkinds: {mac: 1}\n",
    "wrong.yaml": "about: multiply-adds\nsource: us\nunit: MAC\nkinds: {nothing: 1}\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def test_a_folder_and_a_pattern_stand_for_their_specs() -> None:
    found = {row.spec for row in package.check("nets").rows}
    assert found == {"nets/good.yaml", "nets/deep/bad.yml", "nets/bro ken.yaml", "nets/ours.yaml"}
    assert {row.spec for row in package.check("nets/**/*.yml").rows} == {"nets/deep/bad.yml"}
    assert {row.spec for row in package.check(str(Path("nets/g*.yaml").absolute())).rows} == {
        str(Path("nets/good.yaml").absolute())
    }


@pytest.mark.parametrize("name", ["n*.yaml", "empty"])
def test_a_name_that_stands_for_nothing_is_an_error(name: str, netcalc: Callable[..., CommandResult]) -> None:
    Path("empty").mkdir()
    ran = netcalc("check", name)
    assert ran.code == 2 and "E004" in ran.err


def test_a_file_of_a_convention_is_checked(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("check", "nets/ours.yaml").code == 0
    ran = netcalc("check", "wrong.yaml")
    assert ran.code == 2 and "wrong.yaml:4:" in ran.err


def test_places_are_those_of_the_file() -> None:
    rows = {row.check: row for row in package.check("nets/deep/bad.yml").rows if not row.ok}
    lines = FILES["nets/deep/bad.yml"].splitlines()
    found = {}
    for check, row in rows.items():
        assert row.place is not None and row.place.file == "nets/deep/bad.yml"
        found[check] = lines[row.place.line - 1][row.place.column - 1 : row.place.end - 1]
    assert found == {
        "published params": "{figure: params, value: 70, where: '50% of a, b: c'}",
        "warning": "unused",
        "budget params": "71",
    }


def test_findings_as_annotations(netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]) -> None:
    ran = netcalc("check", "nets", "--format", "github")
    assert ran.code == 2
    golden("check/github.txt", ran.out)


def test_findings_as_sarif(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("check", "nets", str(Path("wrong.yaml").absolute()), "--format", "sarif")
    log = json.loads(ran.out)
    jsonschema.Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    results = [(r["ruleId"], r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for r in run["results"]]
    assert results[:4] == [
        ("E104", "nets/bro%20ken.yaml"),
        ("published", "nets/deep/bad.yml"),
        ("W101", "nets/deep/bad.yml"),
        ("budget", "nets/deep/bad.yml"),
    ]
    assert results[4][1] == "wrong.yaml" and all(rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"])
    assert netcalc("check", "nets", "-o", "out.sarif").code == 2
    assert len(json.loads(Path("out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]) == 4
    assert json.loads(netcalc("check", "nets/good.yaml", "-f", "sarif").out)["runs"][0]["results"] == []
    assert netcalc("summary", "nets/good.yaml", "-o", "out.sarif").code == 2
