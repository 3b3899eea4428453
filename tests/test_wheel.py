"""A wheel that is built and installed: its command, and the manual pages where `man` looks for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from netcalc.cli.commands import COMMANDS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an environment with the wheel of this tree."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"
    for name in ("netcalc", "specs", "docs"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "node_modules"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    environment = {**os.environ, "NETCALC_PURE": "1"}
    environment.pop("PYTHONPATH", None)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    built = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(tree)]
    subprocess.run([*pip, *built], env=environment, check=True)
    (wheel,) = folder.glob("*.whl")
    python = folder / "python"
    venv.create(python, with_pip=False)
    own = [*pip, "--python", str(python), "install", "--no-deps", str(wheel)]
    subprocess.run(own, env=environment, check=True)
    return python


def test_the_manual_pages_are_installed(installed: Path) -> None:
    pages = {page.name: page for page in (installed / "share/man/man1").iterdir()}
    assert pages.keys() == {"netcalc.1", *(f"netcalc-{command}.1" for command in COMMANDS)}
    assert "netcalc\\-report" in pages["netcalc.1"].read_text(encoding="utf-8")
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    for page in pages.values():
        read = subprocess.run(
            [groff, "-man", "-ww", "-Kutf8", "-Tutf8", "-z", str(page)], capture_output=True, text=True
        )
        assert (read.returncode, read.stderr) == (0, ""), page.name
    command = [shutil.which("man") or "man", "-M", str(installed / "share/man"), "netcalc-report"]
    if shutil.which("man") is not None:
        shown = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MANPAGER": "cat"})
        assert "--device" in shown.stdout.replace("\u2010", "-"), shown.stderr


def test_the_page_of_a_report_is_in_the_wheel(installed: Path) -> None:
    package = next(installed.rglob("site-packages/netcalc"))
    assert (package / "report/built/page.js").is_file() and not (package / "report/web").exists()
