"""Commands of the page that names, for each thing other tools show, the command that shows it here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from netcalc.cli import main
from tests.png import require_png

ROOT = Path(__file__).parent.parent.parent
COMMANDS = sorted(set(re.findall(r"`netcalc ([^`]*)`", (ROOT / "docs/other-tools.md").read_text(encoding="utf-8"))))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if ".png" in command:
        require_png()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "netcalc").symlink_to(ROOT / "netcalc")
    assert main(shlex.split(command)) == 0, capsys.readouterr().err
    assert capsys.readouterr().out or list(tmp_path.glob("*.*"))
