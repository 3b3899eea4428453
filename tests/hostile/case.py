"""A hostile input, and the command run on it as a process of its own whose time and memory are measured."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

__all__ = ["Case", "Content", "Outcome", "problems", "run"]

#: Content of a file: text, bytes, or a function that makes the file.
Content: TypeAlias = str | bytes | Callable[[Path], object]

#: Seconds of processor time, of waiting for nothing but input, and of the clock on a busy machine.
SECONDS = 5
IDLE_SECONDS = 8
CLOCK_SECONDS = 120
MEBIBYTE = 1 << 20
MEMORY = 512 * MEBIBYTE
RUN_MEMORY = 2048 * MEBIBYTE
OUTPUT = 100_000

#: Program that runs and measures a command.
PROGRAM = Path(__file__).with_name("measured.py")

#: Characters that a terminal acts on: C0 without newline and tab, DEL, C1, and marks of direction.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SHOWN_CODE = re.compile(r'error\[(E\d+)\]|"code": "(E\d+)"')


class Case(NamedTuple):
    """A command line with its files and surroundings, and the code that it ends with.

    ``code`` is a code, or several separated by ``|``; ``""`` if the input is valid; ``"exit 2"`` if the diagnostic
    cannot be seen; ``"failed check"`` if a check reports the fault, with exit code 1.  ``around`` is a shell command
    that runs the command line as ``"$@"``.
    """

    name: str
    arguments: tuple[str, ...]
    code: str
    files: Mapping[str, Content] = {}
    around: str = 'exec "$@"'
    stdin: str | bytes = ""
    environment: Mapping[str, str] = {}
    unprivileged: bool = False  # needs a process whose permissions are checked

    @property
    def memory(self) -> int:
        """Largest accepted peak of the resident memory in bytes."""
        return RUN_MEMORY if "run" in self.arguments[:1] else MEMORY


class Outcome(NamedTuple):
    """Result of a process: its exit code (None if it was ended), output, costs, and the files that it left."""

    exit: int | None
    text: str
    size: int
    seconds: float
    clock: float
    peak: int
    left: tuple[str, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the errors in the output, without repetition."""
        return tuple(dict.fromkeys(a or b for a, b in SHOWN_CODE.findall(self.text)))


def run(case: Case) -> Outcome:
    """Run a case in a new folder."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        for file, content in case.files.items():
            _make(folder / file, content)
        before = _listing(folder)
        outcome = _measured(case, folder, Path(name))
        return outcome._replace(left=tuple(sorted(_listing(folder) - before)))


def problems(case: Case, outcome: Outcome) -> list[str]:
    """Return everything that is wrong with the outcome of a case, the most severe first."""
    found = []
    expected = {"": 0, "failed check": 1}.get(case.code, 2)
    if outcome.exit != expected:
        found.append(f"exit {outcome.exit}, not {expected}")
    if case.code not in ("", "exit 2", "failed check") and (outcome.codes or ("none",))[0] not in case.code.split("|"):
        found.append(f"codes {', '.join(outcome.codes) or 'none'}, not {case.code}")
    if "Traceback" in outcome.text or "bug in netcalc" in outcome.text:
        found.append("traceback")
    if match := CONTROL.search(outcome.text):
        found.append(f"control character {match[0]!r}")
    if outcome.size > OUTPUT:
        found.append(f"{outcome.size} characters of output")
    if outcome.left and expected:
        found.append(f"leaves {', '.join(outcome.left)}")
    if outcome.seconds > SECONDS:
        found.append(f"{outcome.seconds:.1f} s of processor time")
    if outcome.exit is None and outcome.seconds <= SECONDS and outcome.peak <= case.memory:
        found.append(f"no end after {outcome.clock:.1f} s")
    if outcome.peak > case.memory:
        found.append(f"{outcome.peak // MEBIBYTE} MiB")
    return found


#: Command that runs another without the right of root to pass over the permissions of files.
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def command() -> list[str]:
    """Return the installed command, or the module where none is installed beside the interpreter."""
    script = Path(sysconfig.get_path("scripts")) / "netcalc"
    return [str(script)] if script.is_file() else [sys.executable, "-m", "netcalc"]


@cache
def can_drop_privileges() -> bool:
    """Return True if a process can be started whose permissions are checked."""
    if os.geteuid() != 0:
        return True
    return bool(shutil.which(UNPRIVILEGED[0])) and subprocess.run([*UNPRIVILEGED, "true"], check=False).returncode == 0


def _make(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)


def _listing(folder: Path) -> set[str]:
    if not folder.is_dir():
        return set()
    with suppress(PermissionError):
        return {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return set()


def _measured(case: Case, folder: Path, scratch: Path) -> Outcome:
    line = ["sh", "-c", case.around, "sh", *command(), *case.arguments]
    if case.unprivileged and os.geteuid() == 0:
        line = [*UNPRIVILEGED, *line]
    given, report, output = scratch / "stdin", scratch / "report", scratch / "output"
    given.write_bytes(case.stdin.encode("utf-8", "surrogatepass") if isinstance(case.stdin, str) else case.stdin)
    limits = {
        "seconds": 2 * SECONDS,
        "idle": IDLE_SECONDS,
        "clock": CLOCK_SECONDS,
        "memory": case.memory,
        "output": 100 * OUTPUT,
    }
    with given.open("rb") as stdin:
        subprocess.run(
            [sys.executable, "-IS", PROGRAM, report, output, json.dumps(limits), *line],
            cwd=folder,
            stdin=stdin,
            env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **case.environment},
            check=True,
        )
    with output.open("rb") as stream:
        text = stream.read(2 * OUTPUT).decode("utf-8", "replace")
    return Outcome(text=text, size=output.stat().st_size, left=(), **json.loads(report.read_text()))
