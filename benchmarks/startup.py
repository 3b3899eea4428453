"""Time of a cold ``netcalc shapes resnet34`` or ``netcalc specs``, compared with its imports or with another version.

    python benchmarks/startup.py [REPEATS]
    python benchmarks/startup.py [REPEATS] --baseline CHECKOUT

Whole processes run in turn, from bytecode that a first round writes.  With ``--baseline`` several commands run from
that source tree and from this one; the ratios of their times are printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median

from baseline import environment_of, ratio, show_ratios
from measure import paired, report, summarised

ROOT = Path(__file__).parent.parent
IMPORTS = "import typer, rich, pydantic, ruamel.yaml"
# `import pydantic` and `import rich` import little until one of their names is used
USED = """
from pydantic import BaseModel, TypeAdapter
from rich.console import Console
from rich.table import Table
from ruamel.yaml import YAML
from typer import Typer
"""
#: Commands with the greatest ratio to the imports that is aimed at.
TARGETS = {"netcalc shapes resnet34": 2.0, "netcalc specs": 2.5}
#: Commands compared with those of another source tree.
COMPARED = (
    "shapes resnet34",
    "params bert-base",
    "flops gpt2",
    "summary resnet34 --format json",
    "explain mlp",
    "ops",
    "specs",
    "run mlp --threads 1",
)


def script() -> str:
    """Return the code of the installed ``netcalc`` script."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["netcalc"].partition(":")
    return f"import sys; from {module} import {function}; sys.exit({function}())"


def process(arguments: list[str], environment: Mapping[str, str] = os.environ, folder: Path = ROOT) -> None:
    """Run a cold process in a folder and discard its output."""
    own = {k: v for k, v in environment.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME")}
    subprocess.run([sys.executable, *arguments], cwd=folder, env=own, stdout=subprocess.DEVNULL, check=True)


def compare(baseline: Path, repeats: int) -> None:
    """Compare cold commands of two source trees, and print the ratios of their times."""
    trees = {"baseline": baseline, "current": ROOT}
    ratios = []
    print(f"{'':40}{'baseline':>13}{'current':>13}{'ratio':>8}")
    for command in COMPARED:
        tasks = {
            name: partial(process, ["-c", script(), *command.split()], environment_of(tree), tree)
            for name, tree in trees.items()
        }
        times = paired(tasks, repeats=repeats)
        ratios.append(ratio(times["baseline"], times["current"]))
        cells = "".join(f"{median(times[name]) * 1e3:>10.1f} ms" for name in trees)
        print(f"netcalc {command:32}{cells}{ratios[-1]:>8.3f}", flush=True)
    show_ratios({"all": ratios})


def main() -> None:
    """Run the benchmark, or the comparison with another source tree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repeats", nargs="?", type=int)
    parser.add_argument("--baseline", type=Path, metavar="CHECKOUT", help="compare with netcalc of another source tree")
    args = parser.parse_args()
    if args.baseline is not None:
        return compare(args.baseline, args.repeats or 15)
    repeats = args.repeats or 40
    commands = {
        IMPORTS: ["-c", IMPORTS],
        "the same, by the names that are used": ["-c", USED],
        **{command: ["-c", script(), *command.split()[1:]] for command in TARGETS},
    }
    times = paired({name: partial(process, arguments) for name, arguments in commands.items()}, repeats=repeats)
    report("startup", repeats, summarised(times, against=IMPORTS), target_ratios=TARGETS)
    return None


if __name__ == "__main__":
    main()
