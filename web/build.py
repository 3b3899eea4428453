"""Builds the page that counts in the browser: ``python web/build.py [FOLDER]``, by default into ``web/dist``.

Needs Node, npm and pip.  The lock file and ``wheels.txt`` fix versions and hashes, so that equal sources give equal
files.  The exit status is 3 where these packages cannot be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
#: Parts of the project that its wheel is made of.
_PARTS = ("netcalc", "specs", "docs/errors", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
_PLATFORM = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--implementation", "cp")


def build(out: Path) -> None:
    """Write all files of the page into a folder, in place of what it has."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        try:
            _download(wheels)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"packages of the page cannot be had: {error}", file=sys.stderr)
            sys.exit(3)
        _own_wheel(Path(folder) / "source", wheels)
        _run("node", str(HERE / "build.mjs"), str(wheels), str(out))


def _download(wheels: Path) -> None:
    """Install the packages of npm, and write the wheels of others to a folder."""
    _run("npm", "ci", "--prefix", str(HERE), "--ignore-scripts", "--silent", "--no-audit", "--no-fund")
    tags = ("--abi", "cp314", "--abi", "none", "--only-binary", ":all:", "--no-deps", "--require-hashes")
    _pip("download", "-r", str(HERE / "wheels.txt"), *_PLATFORM, *tags, "-d", str(wheels))


def _own_wheel(source: Path, wheels: Path) -> None:
    """Build netcalc's wheel from a copy, since a build removes the compiled kernels of its folder."""
    for part in _PARTS:
        place = source / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place, ignore=shutil.ignore_patterns("__pycache__", "node_modules", "*.so"))
        else:
            shutil.copy(ROOT / part, place)
    _pip("wheel", "--no-deps", "-w", str(wheels), str(source), NETCALC_PURE="1")


def _pip(*arguments: str, **variables: str) -> None:
    command = (sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, "--quiet")
    _run(*command, **variables)


def _run(*command: str, **variables: str) -> None:
    subprocess.run(command, check=True, env=os.environ | variables)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "dist").resolve())
