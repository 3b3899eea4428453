"""Manual pages that `netcalc help -o FILE.1` writes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from netcalc.cli.commands import COMMANDS, command_module
from tests.conftest import CommandResult


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_a_manual_page_names_everything_and_is_valid(
    command: str, netcalc: Callable[..., CommandResult], tmp_path: Path
) -> None:
    file = tmp_path / "page.1"
    assert netcalc("help", *([command] if command else []), "-o", str(file)).code == 0
    text = file.read_text(encoding="utf-8")
    # an ASCII hyphen would be printed as another character
    assert not re.search(r"(?<!\\)-", text)
    if command:
        named = (name for item in command_module(command).command.parameters for name in item.declaration.names)
    else:
        named = (f"netcalc-{name}" for name in COMMANDS)
    assert [name for name in named if name.replace("-", r"\-") not in text] == []
    if shutil.which("groff"):
        run = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", "-K", "utf8", str(file)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stderr == ""
