"""How long a cold ``netcalc shapes resnet34`` takes, against a process that only imports the libraries it stands on.

    python benchmarks/startup.py [REPEATS]

Whole processes, one after the other in turn; bytecode is written first, as installing a package does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from measure import paired, report, summarised

ROOT = Path(__file__).parent.parent
IMPORTS = "import typer, rich, pydantic, ruamel.yaml"
# `import pydantic` and `import rich` bring in next to nothing until a name of theirs is used
USED = """
from pydantic import BaseModel, TypeAdapter
from rich.console import Console
from rich.table import Table
from ruamel.yaml import YAML
from typer import Typer
"""
COMMAND = "netcalc shapes resnet34"
TARGET = 2.0


def script() -> str:
    """What the installed ``netcalc`` script does."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["netcalc"].partition(":")
    return f"import sys; from {module} import {function}; sys.exit({function}())"


def process(arguments: list[str], environment: Mapping[str, str] = os.environ) -> None:
    """One cold process, its output thrown away."""
    own = {k: v for k, v in environment.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME")}
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=own, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    commands = {
        IMPORTS: ["-c", IMPORTS],
        "the same, by the names that are used": ["-c", USED],
        COMMAND: ["-c", script(), *COMMAND.split()[1:]],
    }
    times = paired({name: partial(process, arguments) for name, arguments in commands.items()}, repeats=repeats)
    report("startup", repeats, summarised(times, against=IMPORTS), target_ratio=TARGET)
