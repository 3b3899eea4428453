"""Shared fixtures: a runner of the command line in this process, and golden files (``pytest --update`` writes them)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

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
    parser.addoption("--every", action="store_true", help="run every case of the tests marked as sampled")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sampled(one_of): run about one case of so many, or all with --every")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out most cases of the tests marked as sampled, except of those that the command line names."""
    if config.getoption("--every") or config.getoption("--update") or any("::" in name for name in config.args):
        return
    left = {
        item for item in items if (mark := item.get_closest_marker("sampled")) and not _is_sampled(item, *mark.args)
    }
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]


def _is_sampled(item: pytest.Item, one_of: int) -> bool:
    """Return True if a case is in the sample, which depends on its name only."""
    return crc32(item.nodeid.encode()) % one_of == 0


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
