"""Time of cold commands, compared with the imports of libraries or with another version, and of an audit.

    python benchmarks/startup.py [REPEATS]
    python benchmarks/startup.py [REPEATS] --baseline CHECKOUT

Whole processes run in turn, from bytecode that a first round writes.  The audit of a checkpoint's header runs in this
process, in turn with the parsing of its JSON.  With ``--baseline`` several commands run from
that source tree and from this one; the ratios of their times are printed.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from baseline import environment_of, ratio, show_ratios
from headers import header_tasks, write_config
from measure import paired, report, summarized

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
#: Configuration of a model of 405 B parameters, by which a command line names its folder.
FOLDER = "FOLDER"
#: Commands with the greatest ratio to the imports that is aimed at, if one is.
COMMANDS = {
    "shapes resnet34": 1.6,
    **dict.fromkeys((f"{name} resnet34" for name in ("params", "flops", "summary", "explain", "memory")), 2.0),
    **dict.fromkeys(("compare resnet34 resnet50", f"summary {FOLDER}"), 2.0),
    **dict.fromkeys((f"{name} llama-3.1-405b" for name in ("summary", "memory", "compare deepseek-v3")), 2.0),
    "schema": 2.0,
    "specs": 2.5,
    "specs resnet34": 2.5,
    "verify resnet34": None,
}
#: The parsing of the header of a checkpoint, and its audit.
PARSING, AUDIT = "json.loads of a header of 100,000 tensors", "the audit of this header"
TARGETS = {f"netcalc {command}": ratio for command, ratio in COMMANDS.items() if ratio is not None} | {AUDIT: 5.0}
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
    repeats = args.repeats or 25
    with TemporaryDirectory() as folder:
        found = measured(repeats, Path(folder))
    report("startup", repeats, found, target_ratios=TARGETS)
    return None


def measured(repeats: int, folder: Path) -> dict[str, Any]:
    """Return the times of all tasks, each group with its own base; files are written into a folder."""
    large = str(write_config(folder / "large"))
    lines = {
        IMPORTS: ["-c", IMPORTS],
        "the same, by the names that are used": ["-c", USED],
        **{
            f"netcalc {command}": ["-c", script(), *(large if word == FOLDER else word for word in command.split())]
            for command in COMMANDS
        },
    }
    times = paired({name: partial(process, arguments) for name, arguments in lines.items()}, repeats=repeats)
    found = summarized(times, against=IMPORTS)
    parse, audit = header_tasks(folder / "experts")
    gc.set_threshold(1_000_000, 50, 50)  # as a command does
    return found | summarized(paired({PARSING: parse, AUDIT: audit}, repeats=repeats), against=PARSING)


if __name__ == "__main__":
    main()
