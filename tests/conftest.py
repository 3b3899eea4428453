"""Shared fixtures: a runner of the command line in this process, and golden files (``pytest --update`` writes them)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from netcalc.cli import main

# No deadlines, which fail on a busy machine; continuous integration draws the same examples every time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files and generated pages")


@dataclass(frozen=True)
class CommandResult:
    """Result of a command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def netcalc(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., CommandResult]:
    """Return a function that runs a command line at 80 columns, without colors."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: str) -> CommandResult:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with a file under tests/golden/."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"no {path}: run pytest --update, and review the diff"
        assert text == path.read_text(encoding="utf-8")

    return check
