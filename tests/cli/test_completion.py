"""Completion of command lines: words by their place, and in the shells that are installed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.cli.commands import COMMANDS, command_module
from netcalc.cli.completion import completions
from netcalc.cli.shells import SHELLS
from netcalc.diagnostics import CODES
from netcalc.ops import names as operation_names
from netcalc.spec.shipped import shipped
from tests.conftest import CommandResult

ROOT = Path(__file__).parent.parent.parent
RESNETS = {"resnet18", "resnet101", "resnet152", "resnet110-cifar", "resnet1202-cifar"}
BASIC_BLOCK = ("conv1", "bn1", "relu", "conv2", "bn2", "add", "relu_1")
SPEC = (
    'netcalc: 1\ndims: {batch: 1}\nvars: {rate: 0.5}\ninputs: {x: ["${batch}", 3]}\nlayers: [{name: head, linear: 4}]\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mynet.yaml").write_text(SPEC, encoding="utf-8")


def offered(*words: str) -> set[str]:
    """Return the words that may stand for the last one."""
    return {line.partition("\t")[0] for line in completions(words)}


def test_commands_and_models_begin_a_line() -> None:
    assert offered("") == {*COMMANDS, *shipped(), ":files"}
    assert offered("--debug", "sha") == {"shapes", ":files"}
    assert {"--version", "--show-completion"} <= offered("--")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["summary", "resnet1"], {*RESNETS, ":files"}),
        (["compare", "mlp", "resnet1"], {*RESNETS, ":files"}),
        (["specs", "resnet1"], RESNETS),
        (["summary", "mlp", ""], set()),
        (["summary", "mlp", "--dep"], {"--depth"}),
        (["summary", "mlp", "--depth", "1", "--dep"], set()),
        (["summary", "mlp", "--set", "batch=2", "--se"], {"--set"}),
        (["summary", "mlp", "--format", ""], {"table", "json", "csv", "markdown"}),
        (["summary", "mlp", "--format=c"], {"--format=csv"}),
        (["mlp", "--format=c"], {"--format=csv"}),
        (["summary", "mynet.yaml", "--set", ""], {"batch=", "rate="}),
        (["summary", "mynet.yaml", "--symbolic", ""], {"batch"}),
        (["summary", "--set", ""], set()),
        (["summary", "nothing.yaml", "--set", ""], set()),
        (["summary", "hf:org/name", "--set", ""], set()),
        (["compare", "mynet.yaml", "mlp", "--set", "2:hid"], {"2:hidden="}),
        (["flops", "mlp", "-c", ""], {*CONVENTIONS}),
        (["flops", "mlp", "--training", "ada"], {"adafactor", "adagrad", "adam", "adam8bit", "adamw", "adamw8bit"}),
        (["ops", "conv_transpose"], {f"conv_transpose{n}d" for n in (1, 2, 3)}),
        (["schema", "comp"], {"compare", "compute-optimal"}),
        (["help", "E40"], {code for code in CODES if code.startswith("E40")}),
        (["help", "ver"], {"verify"}),
        (["explain", "mynet.yaml", ""], {"head"}),
        (["explain", "resnet18", "layer1.0.c"], {"layer1.0.conv1", "layer1.0.conv2"}),
        (
            ["explain", "resnet18", "layer1.0"],
            {"layer1.0"} | {f"layer1.0.{x}" for x in BASIC_BLOCK},
        ),
        (["run", "mlp", "-w", ""], {":files"}),
        (["run", "mlp", "--input", "x=n"], {":files"}),
        (["summary", "mlp", "--output", ""], {":files"}),
        (["summary", "mlp", "--output=n"], {":files"}),
        (["import", ""], {":files"}),
        (["--show-completion", ""], {"bash", "zsh", "fish"}),
        (["nothing", ""], set()),
    ],
)
def test_words_by_their_place(words: list[str], expected: set[str]) -> None:
    assert offered(*words) == expected


def test_every_operation_is_offered() -> None:
    assert {*operation_names()} <= offered("ops", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_offered(name: str) -> None:
    declared = command_module(name).command.parameters
    long = {flag for entry in declared for flag in entry.declaration.names if flag.startswith("--")}
    assert offered(name, "--") == {*long, "--help"}


def ask(*words: str) -> tuple[list[str], set[str]]:
    """Return the answer of a new process, and the modules that it imported."""
    code = "import sys; from netcalc.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_NETCALC_COMPLETE": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, check=True, capture_output=True, text=True
    )
    return ran.stdout.splitlines(), set(ran.stderr.split())


@pytest.mark.parametrize(
    "words", [("su",), ("summary", "resnet1"), ("summary", "mlp", "--set", ""), ("ops", "conv"), ("help", "E")]
)
def test_an_answer_is_quick(words: tuple[str, ...]) -> None:
    lines, modules = ask(*words)
    assert lines and {"typer", "click", "rich", "numpy", "pydantic"}.isdisjoint(modules)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_of_the_shell(
    shell: str, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = netcalc("--show-completion", shell)
    assert shown.code == 0 and f"in {shell}." in shown.out.splitlines()[0] + shown.out.splitlines()[1]
    assert netcalc(f"--show-completion={shell}") == shown
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert netcalc("--show-completion") == shown
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=shown.out, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("line", ["--show-completion tcsh", "--install-completion=csh", "--show-completion bash zsh"])
def test_other_shells(line: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(*line.split())
    assert ran.code == 2 and "name one of bash, zsh, fish" in ran.err


def test_an_installation_is_made_once(
    tmp_path: Path, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    startup = {"bash": ".bashrc", "zsh": ".zshrc"}
    for file in startup.values():
        (tmp_path / file).write_text("alias ll='ls -l'")
    for shell in SHELLS:
        for _ in range(2):
            assert netcalc("--install-completion", shell).code == 0
        scripts = [path for path in tmp_path.rglob("*netcalc*") if "in " + shell in path.read_text(encoding="utf-8")]
        assert len(scripts) == 1
        if shell in startup:
            first, line = (tmp_path / startup[shell]).read_text(encoding="utf-8").splitlines()
            assert first == "alias ll='ls -l'" and ("netcalc" in line or "zfunc" in line)


# -- in the shells ----------------------------------------------------------------------------------

#: Lines, and what the shell makes of the last word, or offers for it.
TYPED = [
    ("netcalc summary resnet1", RESNETS),
    ("netcalc flops mlp --convention fv", {"fvcore", "fvcore-no-grad"}),
    ("netcalc flops mlp --convention=fv", {"fvcore", "fvcore-no-grad"}),
    ("netcalc summary mynet.yaml --set ba", {"batch="}),
    ("netcalc compare mynet.yaml mlp --set 2:hid", {"hidden="}),
    ("netcalc help E70", {"E701"}),
    ("netcalc summary myn", {"mynet.yaml"}),
    ("netcalc run mlp --input x=myn", {"mynet.yaml"}),
    ("netcalc summary mlp --output=myn", {"mynet.yaml"}),
]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a command ``netcalc`` first on the path; return the folder with it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    file = folder / "netcalc"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m netcalc "$@"\n')
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def script(shell: str) -> Path:
    return ROOT / "netcalc" / "data" / "completion" / f"netcalc.{shell}"


def run_shell(shell: str, *arguments: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    ran = subprocess.run([shell, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    return ran.stdout.splitlines()


def last_part(word: str) -> str:
    """Return a word without what is before its last = or :, where something follows."""
    return re.sub(r"^.*[=:](?=.)", "", word)


@pytest.mark.parametrize(("line", "expected"), TYPED)
def test_in_bash(line: str, expected: set[str], command: Path) -> None:
    asked = "COMP_LINE=$1 COMP_POINT=${#1}; _netcalc_completion netcalc; printf '%s\\n' \"${COMPREPLY[@]}\""
    found = run_shell("bash", "--norc", "-c", f"source '{script('bash')}'; {asked}", "bash", line)
    assert {*found} == expected


@pytest.mark.parametrize(("line", "expected"), TYPED)
def test_in_fish(line: str, expected: set[str], command: Path) -> None:
    found = run_shell("fish", "--no-config", "-c", f"source '{script('fish')}'; complete -C '{line}'")
    assert {last_part(text.partition("\t")[0]) for text in found} == expected


#: Start of zsh: ^X shows the line at the cursor, and the terminal is ready when all is read.
ZSH = """PS1=; stty cols 200; autoload -Uz compinit; compinit -u -D; source '{script}'
show() {{ zle -M "E""ND $BUFFER" }}; zle -N show; bindkey '^X' show; print RE''ADY
"""


@pytest.fixture
def zsh(command: Path) -> Iterator[Callable[[str], str]]:
    """Return a function that types a line and a tab into zsh, and returns what the terminal shows then."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    import pty
    import select

    child, terminal = pty.fork()
    if child == 0:
        os.execvp("zsh", ["zsh", "-f", "-i"])

    def read(until: str) -> str:
        text, end = "", time.monotonic() + 30
        while until not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 65536).decode(errors="replace")
        return text

    def typed(line: str) -> str:
        os.write(terminal, f"{line}\t\x18".encode())
        return read("END")

    os.write(terminal, ZSH.format(script=script("zsh")).encode())
    read("READY")
    yield typed
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)


@pytest.mark.parametrize(("line", "expected"), TYPED)
def test_in_zsh(line: str, expected: set[str], zsh: Callable[[str], str]) -> None:
    shown = zsh(line)
    assert [word for word in expected if word not in shown] == []
