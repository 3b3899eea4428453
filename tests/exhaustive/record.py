"""Records of checks: versions, commit, options, results, and the results of a sample that is rerun on every change."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from netcalc.version import __version__

__all__ = ["RECORDS", "read", "write"]

RECORDS = Path(__file__).parent / "records"
PACKAGES = ("numpy", "pydantic", "ruamel.yaml", "safetensors", "typer")


def read(name: str) -> dict[str, Any]:
    """Return the record of a check."""
    found: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def write(
    options: argparse.Namespace,
    result: dict[str, Any],
    failures: list[str],
    sample: dict[str, Any],
    needed: Sequence[str] = (),
    name: str | None = None,
) -> None:
    """Write the record of a check.

    Args:
        options: the options of the check.
        result, failures: what it returned.
        sample: results that are compared with those of later runs.
        needed: packages that it needs besides those of netcalc.
        name: name of the record, by default the name of the check.
    """
    given = {name: value for name, value in vars(options).items() if name not in ("name", "record", "jobs")}
    record = {
        "check": options.name,
        "options": given,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {"netcalc": __version__} | {name: version(name) for name in (*PACKAGES, *needed)},
        "result": result,
        "failures": failures[:100],
        "sample": sample,
    }
    text = json.dumps(record, indent=1, ensure_ascii=True)
    RECORDS.mkdir(exist_ok=True)
    (RECORDS / f"{name or options.name}.json").write_text(text + "\n", encoding="utf-8")


def _commit() -> str:
    """Return the commit of the working tree, with ``+`` if there are changes other than records."""
    root = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.strip()

    changed = git(
        "status", "--porcelain", "--", ":/netcalc", ":/specs", ":/tests", ":(exclude,top)tests/exhaustive/records"
    )
    return git("rev-parse", "HEAD") + ("+" if changed else "")
