"""The hook of pre-commit, the installation of the action, and uvx and pipx, from a repository made for the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_action import ROOT, SPEC, STEPS

pytest.importorskip("pre_commit")  # with the other oracles, and not with the tests that need nothing

#: Environment of an installation that runs a few commands: pure Python, whose modules are not all compiled.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
    "NETCALC_PURE": "1",
    "PIP_NO_COMPILE": "no",  # turned on by a word for off, as pip's documentation says
}
GIT = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository of netcalc with the files of this tree."""
    copy = tmp_path_factory.mktemp("netcalc")
    for name in ("netcalc", "specs", "docs"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, copy)
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
    subprocess.run([*GIT, "add", "--all"], cwd=copy, check=True)
    subprocess.run([*GIT, "commit", "-q", "-m", "netcalc"], cwd=copy, check=True)
    return copy


@pytest.fixture(scope="module")
def wheel(hooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of that repository."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(hooks)]
    subprocess.run(command, env=ENVIRONMENT, check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_hook_runs_in_another_repository(hooks: Path, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / "specs").mkdir(parents=True)
    environment = {**ENVIRONMENT, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=hooks, check=True, capture_output=True, text=True)
    (repository / ".pre-commit-config.yaml").write_text(
        f"repos: [{{repo: {hooks}, rev: {revision.stdout.strip()}, hooks: [{{id: netcalc-check}}]}}]\n",
        encoding="utf-8",
    )
    (repository / "other.yaml").write_text("a: 1\n", encoding="utf-8")  # no spec
    for text, code in ((SPEC, 0), (SPEC + "budget: {params: 71}\n", 1)):
        (repository / "specs" / "net.yaml").write_text(text, encoding="utf-8")
        subprocess.run([*GIT, "add", "."], cwd=repository, check=True)
        command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
        ran = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout + ran.stderr
        assert ("budget params" in ran.stdout) == bool(code)


def test_the_action_installs_its_own_version(hooks: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "python")], check=True)
    binaries = tmp_path / "python" / "bin"
    environment = {
        **ENVIRONMENT,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "NETCALC": "",
        "ACTION": str(hooks),
    }
    line = STEPS["Install netcalc"]["run"]
    subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=tmp_path, env=environment, check=True)
    (tmp_path / "net.yaml").write_text(SPEC, encoding="utf-8")
    command = [str(binaries / "python"), "-m", "netcalc", "check", "."]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("runner", "command"), [("uvx", ["uvx", "--from"]), ("pipx", ["pipx", "run", "--spec"])], ids=["uvx", "pipx"]
)
def test_the_wheel_runs_without_installation(runner: str, command: list[str], wheel: Path, tmp_path: Path) -> None:
    program = shutil.which(runner, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip(f"{runner} is not installed")
    environment = {**ENVIRONMENT, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    arguments = [program, *command[1:], str(wheel), "netcalc", "summary", "resnet34"]
    ran = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "21,797,672 (21.8 M) parameters" in ran.stdout
