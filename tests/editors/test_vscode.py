"""The extension of VS Code: what it packs, when it starts a server, and that the server's command answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from netcalc.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "editors" / "vscode"
SPEC = "# a comment\nnetcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: 4}]\n"
OTHER = "services: {netcalc: {image: x}}\n  netcalc: 1\n"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCES / "node_modules").is_dir(),
    reason="needs node, and `npm ci --prefix editors/vscode --ignore-scripts`",
)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, packed and unpacked again."""
    folder = tmp_path_factory.mktemp("vscode")
    subprocess.run(["npm", "run", "--silent", "compile"], cwd=SOURCES, check=True)
    vsce = ["node_modules/.bin/vsce", "package", "--allow-missing-repository", "--out", str(folder / "netcalc.vsix")]
    subprocess.run(vsce, cwd=SOURCES, check=True, capture_output=True)
    with zipfile.ZipFile(folder / "netcalc.vsix") as archive:
        archive.extractall(folder)
    return folder / "extension"


def _activated(packed: Path, *texts: str, language: str = "yaml", **settings: Any) -> dict[str, Any]:
    script = Path(__file__).with_name("extension.cjs")
    words = ["node", str(script), str(packed), json.dumps(settings), language, *texts]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_package_has_what_it_needs_and_no_more(packed: Path) -> None:
    locked = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    needed = {name.removeprefix("node_modules/") for name, entry in locked.items() if name and not entry.get("dev")}
    carried = {path.name for path in (packed / "node_modules").iterdir() if not path.name.startswith(".")}
    assert carried == needed
    for name in carried:
        assert any(path.name.lower().startswith("license") for path in (packed / "node_modules" / name).iterdir()), name
    assert {path.name for path in packed.iterdir()} == {
        "LICENSE.txt",
        "package.json",
        "readme.md",
        "out",
        "node_modules",
    }
    assert (packed / "LICENSE.txt").read_text(encoding="utf-8") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert sum(path.stat().st_size for path in packed.rglob("*") if path.is_file()) < 4_000_000


def test_the_version_and_the_license_are_those_of_netcalc(packed: Path) -> None:
    from netcalc.version import __version__

    manifest = json.loads((packed / "package.json").read_text(encoding="utf-8"))
    assert (manifest["version"], manifest["license"]) == (__version__, "MIT")


def test_a_spec_starts_the_server_once(packed: Path) -> None:
    result = _activated(packed, OTHER, SPEC, SPEC + "# more\n", symbolic=["batch"], hints=["macs"], convention="torch")
    assert result["library"] == "function" and not result["errors"]
    (started,) = result["started"]
    assert started["run"] == {"command": "netcalc", "args": ["lsp"], "options": {"cwd": "/work space"}}
    assert started["options"]["initializationOptions"] == {
        "convention": "torch",
        "symbolic": ["batch"],
        "hints": ["macs"],
    }
    assert started["options"]["documentSelector"] == [{"language": "yaml"}]


@pytest.mark.parametrize("text", [OTHER, "", "netcalc\n", "x: netcalc\n", "- netcalc: 1\n"])
def test_other_files_start_nothing(packed: Path, text: str) -> None:
    assert _activated(packed, text)["started"] == []


def test_a_spec_in_another_language_starts_nothing(packed: Path) -> None:
    assert _activated(packed, SPEC, language="markdown")["started"] == []


@pytest.mark.parametrize("text", [SPEC, "netcalc: 1", '{"netcalc": 1, "layers": []}', "name: x\n'netcalc' : 1\n"])
def test_specs_are_recognized_by_their_key(packed: Path, text: str) -> None:
    assert len(_activated(packed, text)["started"]) == 1


def test_a_command_that_is_missing_is_one_message(packed: Path) -> None:
    result = _activated(packed, SPEC, path="bin/missing")
    (error,) = result["errors"]
    assert error.startswith("netcalc: `/work space/bin/missing lsp` cannot be started.")


@pytest.mark.skipif("lsp" not in COMMANDS, reason="this netcalc has no language server")
def test_the_command_is_a_language_server(packed: Path) -> None:
    pytest.importorskip("pygls")
    run = _activated(packed, SPEC)["started"][0]["run"]
    options = _activated(packed, SPEC)["started"][0]["options"]["initializationOptions"]
    assert run["command"] == "netcalc"
    hello = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    command = [sys.executable, "-m", "netcalc", *run["args"]]
    done = subprocess.run(command, input=sent, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert b'"inlayHintProvider"' in done.stdout and b'"hoverProvider"' in done.stdout
