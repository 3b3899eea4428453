"""The action of GitHub: its lines, as a runner executes them, without the installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
SPEC = "netcalc: 1\nname: net\ninputs: {x: [1, 8]}\nlayers: [{linear: 8}]\n"


def run(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does: inputs stand in its environment alone."""
    step = STEPS[name]
    values = {key: entry["default"] for key, entry in ACTION["inputs"].items()} | inputs
    variables = {key: _expanded(text, values) for key, text in step["env"].items()}
    assert "${{" not in step["run"]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=folder, env=environment, capture_output=True, text=True
    )


def _expanded(text: str, values: dict[str, str]) -> str:
    name = text.removeprefix("${{ inputs.").removesuffix(" }}")
    return values.get(name, text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "net.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def test_findings_fail_the_step_and_mark_their_lines(folder: Path) -> None:
    passed = run("Check specs", folder)
    assert (passed.returncode, passed.stdout) == (0, ""), passed.stderr
    (folder / "nets" / "net.yaml").write_text(SPEC + "budget: {params: 71}\n", encoding="utf-8")
    failed = run("Check specs", folder, specs="nets/**/*.yaml nets/net.yaml")
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[0].startswith("::error file=nets/net.yaml,line=5,col=18,")
    assert run("Check specs", folder, specs="$(touch made)").returncode == 2
    assert not (folder / "made").exists()


def test_a_record_guards_a_change(folder: Path) -> None:
    command = [sys.executable, "-m", "netcalc", "summary", "nets/net.yaml", "-o", "main.json"]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    (folder / "nets" / "net.yaml").write_text(SPEC.replace("linear: 8", "linear: 9"), encoding="utf-8")
    step = "Compare with the record"
    grown = run(step, folder, specs="nets/net.yaml", against="main.json")
    assert grown.returncode == 1 and "EXCEEDED" in grown.stdout
    assert run(step, folder, specs="nets/net.yaml", against="main.json", allow="20%").returncode == 0
