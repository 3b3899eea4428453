"""Pages of error codes: one for each, whose example gives the code, and the command that prints them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from netcalc.cli.commands import COMMANDS
from netcalc.diagnostics import CODES
from netcalc.reference.codes import code_reference, codes_dir
from tests.conftest import CommandResult


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {path.stem for path in codes_dir().iterdir()} == CODES.keys()


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_meaning_causes_an_example_and_its_remedy(code: str) -> None:
    page = code_reference(code)
    assert page.title == CODES[code]
    assert page.about.endswith(".")
    assert page.causes and all(page.causes)
    # tests/test_docs.py runs the commands and the Python of the example, and compares what they print
    kind = "warning" if code.startswith("W") else "error"
    shown = f"{kind}[{code}]" in page.example or f'.code == "{code}"' in page.example
    assert shown or code == "E603"  # its message has the free memory
    assert page.fix


@pytest.mark.parametrize("code", CODES)
def test_the_command_prints_the_page(code: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("help", code.lower())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{code}: {CODES[code]}\n\n")
    page = (codes_dir() / f"{code}.md").read_text(encoding="utf-8")
    plain = re.sub(r"^(```|#).*$", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", page), flags=re.MULTILINE)
    assert [word for word in plain.split() if word not in ran.out] == []


@pytest.mark.parametrize("code", ["E401", "W101"])
def test_pages_at_80_columns(
    code: str,
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    golden(f"help/{code}.txt", netcalc("help", code).out)


def test_markdown_is_the_page(netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc("help", "E002", "--format", "markdown").out == (codes_dir() / "E002.md").read_text(encoding="utf-8")


def test_without_a_topic_commands_and_codes_are_listed(netcalc: Callable[..., CommandResult]) -> None:
    out = netcalc("help").out
    assert all(name in out for name in [*COMMANDS, *CODES])


def test_a_command_is_a_topic(netcalc: Callable[..., CommandResult]) -> None:
    assert "--symbolic" in netcalc("help", "shapes").out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["E4011"], "did you mean 'E401'?"),
        (["shape"], "did you mean 'shapes'?"),
        (["nothing-like-it"], "`netcalc help` lists commands and codes"),
        (["conv2d"], "`netcalc ops conv2d` prints the page of conv2d"),
        (["E401", "--format", "csv"], "--format json"),
    ],
)
def test_unknown_topics_and_formats(arguments: list[str], hint: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("help", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"hint: {hint}" in ran.err


def test_the_package_contains_the_pages() -> None:
    configuration = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert '"docs/errors" = "netcalc/errors"' in configuration


def test_the_record_has_all_parts(netcalc: Callable[..., CommandResult]) -> None:
    record = json.loads(netcalc("help", "E401", "--format", "json").out)
    assert (record["code"], record["title"]) == ("E401", CODES["E401"])
    assert "netcalc shapes spec.yaml" in record["example"]
