"""Run a check, and write its record with ``--record``; or rerun the samples that the records hold.

``python -m tests.exhaustive``                    list the checks
``python -m tests.exhaustive NAME [options]``     run a check
``python -m tests.exhaustive --sample [NAME …]``  rerun samples; fails if a result differs from its record
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tests.exhaustive.record import RECORDS, read, write

#: The checks, by the names of their modules.
CHECKS = (
    "hostile",
    "mutants",
    "faults",
    "operations",
    "imports",
    "backward",
    "modules",
    "libraries",
    "diffusers",
    "keras",
    "transformers",
    "configurations",
    "pages",
    "published",
    "initializers",
    "signal",
    "closed-forms",
    "solve",
    "language",
    "onnx-exports",
    "onnx-mutants",
    "keras-mutants",
    "export-onnx",
    "export-torch",
    "cases",
)


def main(arguments: list[str]) -> int:
    """Run what the arguments ask for; return 1 if something failed or differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.exhaustive", description=__doc__)
    if arguments[:1] == ["--sample"]:
        names = arguments[1:] or [name for name in CHECKS if (RECORDS / f"{name}.json").is_file()]
        return _sample(*names) if len(names) == 1 else _samples(names)
    commands = parser.add_subparsers(dest="name")
    for name in CHECKS:
        check = _module(name)
        command = commands.add_parser(name, help=str(check.__doc__).splitlines()[0], description=check.__doc__)
        command.add_argument("--record", action="store_true", help="write the record, to be committed")
        check.add_options(command)
    options = parser.parse_args(arguments)
    if options.name is None:
        parser.print_help()
        return 0
    return _run(options)


def _module(name: str) -> Any:
    return import_module(f"tests.exhaustive.{name.replace('-', '_')}")


def _run(options: argparse.Namespace) -> int:
    check = _module(options.name)
    elsewhere = getattr(options, "torch", None)  # an environment that the check makes
    if elsewhere is None and (missing := _missing(check)):
        print(f"{options.name}: cannot run, {missing}")
        return 1
    result, failures = check.run(options)
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{options.name}: {len(failures)} failures")
    if options.record and elsewhere is not None:
        write(options, result, failures, {}, name=f"{options.name}-{elsewhere}")
    elif options.record:
        write(options, result, failures, check.sample(result), vars(check).get("NEEDED", ()))
    return min(len(failures), 1)


def _samples(names: Sequence[str]) -> int:
    """Rerun samples, each in a process of its own and as many at once as there are cores."""

    def rerun(name: str) -> int:
        command = [sys.executable, "-m", "tests.exhaustive", "--sample", name]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(ran.stdout, end="", flush=True)
        return int(ran.returncode != 0)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return max(pool.map(rerun, names), default=0)


def _sample(name: str) -> int:
    record = read(name)
    recorded: dict[str, Any] = record["sample"]
    check = _module(name)
    if missing := _missing(check):
        print(f"{name}: not run, {missing}")
        return 0
    found = check.sample(record["result"])
    different = sorted(case for case in {*recorded, *found} if recorded.get(case) != found.get(case))
    for case in different:
        print(f"DIFFERS {name} {case}: {found.get(case)}, recorded {recorded.get(case)}")
    print(f"{name}: {len(found)} results, {len(different)} differ from the record")
    return min(len(different), 1)


def _missing(check: Any) -> str:
    """Return which packages a check needs that are not installed; nothing if it can run."""
    needed = vars(check).get("NEEDED", ())
    return ", ".join(f"{name} is not installed" for name in needed if find_spec(name) is None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
