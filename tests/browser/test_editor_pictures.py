"""Neovim with the language server, set up as the documentation says; ``pytest --update`` writes its pictures."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pty", reason="terminals are those of POSIX")
pytest.importorskip("pygls")
from tests.browser.terminal import XTERM, Session, screen
from tests.browser.test_counting_page_pictures import NETWORK

DOCS = Path(__file__).parent.parent.parent / "docs"
NEOVIM = shutil.which("nvim", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
#: What a picture takes besides: numbers of lines, colours, and no line of status.
LOOKS = """
vim.o.termguicolors, vim.o.number, vim.o.ruler, vim.o.laststatus = true, true, false, 0
vim.o.swapfile, vim.o.shadafile, vim.o.showcmd, vim.o.shortmess, vim.o.background = false, "NONE", false, "aFI", "%s"
"""
THEMES = {
    "light": {"background": "#e0e2ea", "foreground": "#14161b", "cursor": "#14161b"},
    "dark": {"background": "#14161b", "foreground": "#e0e2ea", "cursor": "#e0e2ea"},
}


@pytest.fixture
def folder(pytestconfig: pytest.Config, tmp_path: Path) -> Path:
    """The folder that pictures are written to."""
    if not (XTERM / "lib/xterm.js").is_file():
        pytest.skip("needs xterm.js in tests/web")
    if NEOVIM is None:
        pytest.skip("there is no Neovim")
    version = subprocess.run([NEOVIM, "--version"], capture_output=True, text=True, check=True).stdout
    if [int(part) for part in re.findall(r"\d+", version)[:2]] < [0, 11]:
        pytest.skip("needs Neovim 0.11")
    return DOCS / "editors" if pytestconfig.getoption("--update") else tmp_path / "editors"


def opened(text: str, cursor: tuple[int, int], background: str, folder: Path, rows: int) -> Session:
    """Open a spec in Neovim, with the settings of the page and the cursor at a place."""
    (folder / "work").mkdir(parents=True)
    (folder / "work/small.yaml").write_text(text)
    (folder / "nvim").mkdir()
    (settings,) = re.findall(r"```lua\n(.*?)```", (DOCS / "editors.md").read_text(), re.DOTALL)
    (folder / "nvim/init.lua").write_text(settings + LOOKS % background)
    bins = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    places = {f"XDG_{name}_HOME": str(folder) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
    command = [NEOVIM or "", f"+call cursor{cursor}", "small.yaml"]
    return Session(command, folder / "work", {**places, "PATH": bins, "LANG": "C.UTF-8"}, (rows, 92))


def test_shapes_stand_behind_lines_and_a_working_above_them(chromium: Any, folder: Path, tmp_path: Path) -> None:
    session = opened(NETWORK, (11, 20), "light", tmp_path, 34)
    session.wait_for("81,930")
    session.type("K")
    session.wait_for("bias: 10")
    text = screen(chromium, session, folder / "hover.png", THEMES["light"])
    session.close()
    assert "→ 1×32×32×32 · 896" in text and "weight: 10·8,192 = 81,920" in text


def test_problems_are_underlined_with_a_hint(chromium: Any, folder: Path, tmp_path: Path) -> None:
    session = opened(NETWORK.replace("{kernel: 2}", "{kernal: 2}"), (9, 33), "dark", tmp_path, 14)
    session.wait_for("did you mean 'kernel'?")
    text = screen(chromium, session, folder / "problem.png", THEMES["dark"])
    session.close()
    assert "E103: unknown max_pool2d attribute 'kernal'" in text
    # lines before the problem keep their figures, those that depend on it have none
    assert "- relu → 1×32×32×32" in text and "- flatten →" not in text


def test_the_page_has_these_pictures() -> None:
    page = (DOCS / "editors.md").read_text()
    taken = sorted((DOCS / "editors").glob("*.png"))
    assert taken and all(f"editors/{path.name}" in page for path in taken)
