"""Every case of the tests marked as ``sampled``, of which a change runs a part."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

NEEDED = ("onnx", "timm", "torch", "torchvision", "transformers")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", nargs="+", default=["tests"], metavar="PATH", help="files or folders of tests")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the tests; return how many cases of each pass or are skipped, and the names of those that fail."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        chosen = ["-m", "sampled", "--every", "-n", str(options.jobs), f"--junitxml={report}", *options.only]
        subprocess.run([sys.executable, "-m", "pytest", *chosen], check=False)
        return _results(ElementTree.parse(report).getroot())


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Return nothing: the tests themselves run a sample."""
    return {}


def _results(report: ElementTree.Element) -> tuple[dict[str, Any], list[str]]:
    results: dict[str, Counter[str]] = {}
    failures = []
    for case in report.iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        outcome = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        results.setdefault(name.partition("[")[0], Counter())[outcome] += 1
        if outcome in ("failure", "error"):
            failures.append(name)
    return {test: dict(sorted(outcomes.items())) for test, outcomes in sorted(results.items())}, failures
