"""The extension of VS Code: what it packs, when it starts a server, and that the server's command answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "editors" / "vscode"
SPEC = "# a comment\nnetcalc: 1\ndims: {batch: 1}\ninputs: {x: [batch, 8]}\nlayers:\n  - linear: 4\n"
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
        "settings": {},
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


def test_the_command_is_a_language_server_that_takes_the_settings(packed: Path) -> None:
    pytest.importorskip("pygls")
    chosen = {"symbolic": ["batch"], "hints": ["shapes", "macs"], "settings": {"batch": 2}, "dtype": "float16"}
    (started,) = _activated(packed, SPEC, **chosen)["started"]
    options, text = started["options"]["initializationOptions"], {"uri": "file:///net.yaml"}
    assert options == {"convention": "netcalc", **chosen}
    options["symbolic"] = []
    lines = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}, "initializationOptions": options}},
        {"method": "initialized", "params": {}},
        {
            "method": "textDocument/didOpen",
            "params": {"textDocument": {**text, "languageId": "yaml", "version": 1, "text": SPEC}},
        },
        {"id": 2, "method": "textDocument/inlayHint", "params": {"textDocument": text, "range": lines}},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    command = [sys.executable, "-m", "netcalc", *started["run"]["args"]]
    done = subprocess.run(command, input=sent, capture_output=True, timeout=60, check=False, env=_environment())
    assert done.returncode == 0, done.stderr
    answers = [json.loads(body) for body in re.findall(rb"\r\n\r\n(\{.*?\})(?=Content-Length|$)", done.stdout)]
    (hints,) = [answer["result"] for answer in answers if answer.get("id") == 2]
    assert [hint["label"].strip() for hint in hints] == ["→ 2×4 · 64 MACs"]
    assert not [answer for answer in answers if answer.get("method") == "window/showMessage"]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
