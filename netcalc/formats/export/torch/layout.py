"""Layout of Python code, by ruff."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from netcalc.diagnostics import Diagnostic, NetcalcError


def require_formatter() -> None:
    """Raise NetcalcError (E502) if ruff is not installed."""
    if find_spec("ruff") is None:
        message = "code of PyTorch is laid out by ruff, which is not installed"
        raise NetcalcError(Diagnostic("E502", message, hint='pip install "ruff>=0.9"'))


def formatted(code: str) -> str:
    """Return a module as ``ruff format`` lays it out, whatever the settings of the folder.

    Raises:
        NetcalcError: E502 if ruff is not installed.
    """
    require_formatter()
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--quiet", "--stdin-filename", "model.py", "-"]
    return subprocess.run(command, input=code, capture_output=True, check=True, encoding="utf-8").stdout
