"""Continuous integration: commands, versions and permissions."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.test_docs import LIBRARIES

ROOT = Path(__file__).parent.parent
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_readme_and_ci_run_the_same_tests() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = [line for line in readme.splitlines() if line.startswith("python3 -m venv") and "pytest" in line]
    assert command in CI.splitlines()
    on_windows = command.replace("python3", "python").replace("/bin/", "/Scripts/")
    hosted = YAML(typ="safe").load(ROOT / ".github" / "workflows" / "ci.yml")
    assert {step["run"] for step in steps(hosted) if "run" in step} == {".ci/run", ".ci/run tests", on_windows}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_and_may_only_read(path: Path) -> None:
    workflow = YAML(typ="safe").load(path)
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", "a/b@" + "0" * 40))
        assert step.get("with", {}).get("persist-credentials", False) is False


def test_hints_install_the_libraries_that_the_extras_name() -> None:
    """The name netcalc belongs to another project on the package index."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "netcalc-nn"
    extras = ("hub", "gguf", "torch", "plot", "transformers", "diffusers", "parquet", "ray", "keras", "code")
    needed = {project["optional-dependencies"][extra][0] for extra in extras}
    # a picture needs two libraries, as does Dask; the pages for editors and assistants name the extras that they need
    needed |= {"netcalc-nn[graph]", "netcalc-nn[dask]", "netcalc-nn[lsp]", "netcalc-nn[mcp]"}
    files = [
        *(ROOT / "netcalc").rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
    ]
    texts = [path.read_text(encoding="utf-8") for path in files]
    assert {name for text in texts for name in re.findall(r'pip install "([^"]*)"', text)} == needed
    # in the command prompt of Windows, an apostrophe quotes nothing, and `>` writes a file
    assert not [text for text in texts if re.search(r"pip install '[^']*>", text)]


def test_oracles_are_pinned() -> None:
    constraints = (ROOT / "tests" / "oracle" / "constraints.txt").read_text(encoding="utf-8")
    pinned = dict(line.split("==") for line in constraints.splitlines() if not line.startswith("#"))
    assert {"torch", "fvcore"} <= set(pinned)
    assert "'.[oracle]' -c tests/oracle/constraints.txt" in CI


def test_pages_that_need_an_oracle_are_run_with_the_oracles() -> None:
    (command,) = [line for line in CI.splitlines() if "tests/test_docs.py" in line]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    first = {re.split(r"[>=\[]", requirement)[0] for requirement in extras["test"]}
    needed = [page for page, library in LIBRARIES.items() if library not in first]
    assert shlex.split(command)[-2:] == ["-k", " or ".join(["not test_docs.py", *needed])]
