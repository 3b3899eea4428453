"""Confinement of a process: what it may still do, asked for in a process of its own, since it cannot be undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc import NetcalcError, confinement

SPEC = "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: 4}]\n"
OUTSIDE = "is outside the folder whose files may be read"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes links and forks")

#: Answers to attempts, by name: the value, or the name of the exception and its message.
SCRIPT = """
import json, os, socket, subprocess, sys
from pathlib import Path
import netcalc
from netcalc.confinement import require_network, require_processes
from netcalc.files import exists
from netcalc.formats.confined import confine_models

outside, folder = Path(sys.argv[1]), Path(sys.argv[2])
os.chdir(folder)
confine_models(folder, network=False)

def attempt(action):
    try:
        return str(action())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def params(model):
    return lambda: netcalc.load(model).params

attempts = {
    "inside": params("net.yaml"),
    "shipped": params("mlp"),
    "extends inside": params("tall.yaml"),
    "parent": params("../net.yaml"),
    "no file": params("../nothing.yaml"),
    "no configuration": params("../nothing.json"),
    "extends": params("up.yaml"),
    "extends no file": params("up-to-nothing.yaml"),
    "link": params("link.yaml"),
    "exists": lambda: exists(outside / "net.yaml"),
    "exists inside": lambda: exists(folder / "net.yaml"),
    "network": lambda: require_network("hf:org/name"),
    "processes": lambda: require_processes("timm:name"),
    "convention": lambda: netcalc.load("mlp").summary("../convention.yaml"),
    "device": lambda: netcalc.load("mlp").fit(device="../device.yaml"),
    "checkpoint": lambda: netcalc.read_checkpoint("../x.safetensors"),
    # the audit hook, which asks nobody
    "open": lambda: open(outside / "net.yaml").read(),
    "open link": lambda: open("link.yaml").read(),
    "os.open": lambda: os.open(outside / "net.yaml", os.O_RDONLY),
    "list": lambda: os.listdir(outside),
    "scan": lambda: next(os.scandir(outside)),
    "data of a library": lambda: open(Path(sys.prefix, "data.json")).read(),
    "module": lambda: __import__("colorsys").__name__,
    "write": lambda: open("written", "w"),
    "append": lambda: os.open("net.yaml", os.O_WRONLY),
    "remove": lambda: os.remove("net.yaml"),
    "rename": lambda: os.rename("net.yaml", "other.yaml"),
    "process": lambda: subprocess.run(["true"]),
    "fork": lambda: os.fork(),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9), 1),
    "null": lambda: open(os.devnull, "w").write(""),
}
print(json.dumps({name: attempt(action) for name, action in attempts.items()}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    outside = tmp_path_factory.mktemp("outside")
    folder = outside / "folder"
    folder.mkdir()
    (outside / "net.yaml").write_text(SPEC)
    (folder / "net.yaml").write_text(SPEC)
    (folder / "tall.yaml").write_text("netcalc: 1\nextends: net\n")
    (folder / "up.yaml").write_text("netcalc: 1\nextends: ../net\n")
    (folder / "up-to-nothing.yaml").write_text("netcalc: 1\nextends: ../nothing\n")
    (folder / "link.yaml").symlink_to(outside / "net.yaml")
    root = Path(netcalc.__file__).parents[1]
    words = [sys.executable, "-c", SCRIPT, str(outside), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(root)})
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        "inside": "36",
        "extends inside": "36",
        "shipped": "535818",
        "exists inside": "True",
        "module": "colorsys",
        "null": "0",
    }.items(),
)
def test_what_is_permitted_works(answers: dict[str, str], name: str, expected: str) -> None:
    assert answers[name] == expected


@pytest.mark.parametrize(
    "name",
    [
        *("parent", "no file", "no configuration", "extends", "extends no file", "link", "exists"),
        *("convention", "device", "checkpoint"),
    ],
)
def test_a_path_elsewhere_is_an_error_whether_there_is_a_file_or_not(answers: dict[str, str], name: str) -> None:
    assert answers[name].startswith("NetcalcError: ") and OUTSIDE in answers[name]
    assert "E004" in answers[name]


def test_the_network_and_processes_are_refused(answers: dict[str, str]) -> None:
    assert "E008: hf:org/name would be downloaded, which is not permitted here" in answers["network"]
    assert "E009: a library would build timm:name, which is not permitted here" in answers["processes"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("open", "open link", "os.open", "list", "scan", "data of a library"), "it is outside the folder"),
        (("write", "append", "remove", "rename"), "nothing may be written here"),
        (("process", "fork"), "no process may be started here"),
        (("connect",), "no connection is permitted here"),
    ],
)
def test_the_hook_refuses_what_nobody_asked_for(answers: dict[str, str], names: tuple[str, ...], message: str) -> None:
    for name in names:
        assert answers[name].startswith("PermissionError: ") and message in answers[name], (name, answers[name])


def test_bounds_without_a_process_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in this process, where no hook is installed."""
    hooks: list[Callable[[str, tuple[Any, ...]], None]] = []
    monkeypatch.setattr(sys, "addaudithook", hooks.append)
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.setattr(confinement, "_bounds", None)
    confinement.require_readable("/etc/passwd")
    confinement.require_network("hf:org/name")
    confinement.require_processes("timm:name")
    folder, cache = tmp_path / "folder", tmp_path / "cache"
    confinement.confine(folder, caches=[str(cache)], network=True)
    (audit,) = hooks
    confinement.require_network("hf:org/name")
    for path in (folder, folder / "net.yaml", cache / "config.json"):
        confinement.require_readable(path)
    with pytest.raises(NetcalcError, match=OUTSIDE):
        confinement.require_readable(tmp_path / "net.yaml")
    for event, arguments in {
        "open": (str(folder / "net.yaml"), "r", os.O_RDONLY),
        "os.listdir": (str(folder),),
        "os.rename": (str(cache / "a"), str(cache / "b"), -1, -1),
        "socket.connect": (None, ("127.0.0.1", 80)),
        "import": ("os",),
    }.items():
        audit(event, arguments)
    audit("open", (3, "r", os.O_RDONLY))
    audit("open", (str(cache / "a"), "w", os.O_WRONLY | os.O_CREAT))
    for event, arguments in {
        "open": (str(folder / "net.yaml"), "w", os.O_WRONLY),
        "os.scandir": (str(tmp_path),),
        "os.rename": (str(cache / "a"), str(folder / "b"), -1, -1),
        "subprocess.Popen": ("true", ["true"], None, None),
    }.items():
        with pytest.raises(PermissionError):
            audit(event, arguments)
