"""Execution of every code block in the README and in docs/."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from netcalc.analysis.conventions import convention_named
from netcalc.analysis.conventions.table import convention_of
from netcalc.cli import main
from netcalc.diagnostics import NetcalcError
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from netcalc.spec.yaml_document import parse_yaml

ROOT = Path(__file__).parent.parent
#: Pages whose blocks need a library.
LIBRARIES = {"assistants.md": "mcp", "from-pytorch.md": "torch", "libraries.md": "transformers"}
CHINESE = [ROOT / "README.zh-CN.md", *sorted((ROOT / "docs/zh").glob("**/*.md"))]  # with the blocks of English pages
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("**/*.md") if page not in CHINESE)]
LINKED = [
    *CHINESE,
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in ROOT.glob("[bn]*/**/README.md") if "node_modules" not in page.parts),
]
_FENCE = re.compile(r"^```(\S+)?[ ]?(.*)\n((?:.*\n)*?)```$", re.MULTILINE)


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    """Return the mark that skips the blocks of a page whose library is not installed."""
    library = LIBRARIES.get(page.name)
    missing = library is not None and find_spec(library) is None
    return [pytest.mark.skip(reason=f"{library} is not installed")] if missing else []


def blocks(language: str) -> list[Any]:
    """Return (info, text, preceding files) of every block in a language; ``file=NAME`` in the info makes a file.

    A Python block with the info ``writes`` writes files itself; it is among them under the name ``python``.
    """
    found = []
    for page in PAGES:
        files: dict[str, str] = {}
        for number, match in enumerate(_FENCE.finditer(page.read_text())):
            info = match[2].strip()
            if match[1] == language:
                label = f"{page.relative_to(ROOT)}#{number}"
                found.append(pytest.param(info, match[3], dict(files), id=label, marks=_marks(page)))
            if match[1] == "python" and info == "writes":
                files["python"] = match[3]
            if info.startswith("file="):
                files[info.split()[0].removeprefix("file=")] = match[3]
    return found


@pytest.mark.parametrize(("info", "text", "files"), blocks("yaml"))
def test_yaml_blocks_elaborate(info: str, text: str, files: dict[str, str], tmp_path: Path) -> None:
    write(files, tmp_path)
    if info.endswith(" convention"):
        assert convention_of("ours", parse_yaml(text, "ours.yaml"), convention_named).about
        return
    if info.startswith("layers"):
        name, _, shape = info.split()[1].partition("=")
        lines = text.replace("\n", "\n  ")
        text = f"netcalc: 1\ninputs: {{{name}: {shape}}}\nlayers:\n  {lines}"
    with pytest.raises(NetcalcError) if info.endswith("fails") else nullcontext():
        elaborate(load_text(text, folder=tmp_path))


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name, marks=_marks(page)) for page in PAGES])
def test_python_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace: dict[str, Any] = {"__name__": "docs"}
    for match in _FENCE.finditer(page.read_text()):
        if match[2].strip() == "writes":
            monkeypatch.chdir(tmp_path)
        if match[1] == "python":
            exec(compile(match[3], str(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize(("info", "text", "files"), blocks("console"))
def test_console_blocks_print_what_they_show(
    info: str,
    text: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    writes = files or any(f" {word} " in text for word in ("-o", "--plot", "report"))
    monkeypatch.chdir(tmp_path if writes else ROOT)
    if "python" in files:
        exec(compile(files.pop("python"), "docs", "exec", dont_inherit=True), {"__name__": "docs"})
    write(files, Path())
    monkeypatch.setattr(sys, "path", list(sys.path))  # importing a module of the page adds the folder
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        words = shlex.split(command, comments=True)
        assert words[0] == "netcalc", command
        main(words[1:])
        captured = capsys.readouterr()
        output = captured.out + captured.err
        printed = [line.rstrip() for line in output.rstrip("\n").split("\n")]
        expected = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
        assert matches(printed, expected), output


@pytest.mark.parametrize("page", [*PAGES, *LINKED], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", _FENCE.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, *LINKED], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_headings_lead_to_one(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    links = [(link or page.name, place) for link, place in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text)]
    assert [f"{link}#{place}" for link, place in links if place not in anchors(page.parent / link)] == []


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return frozenset(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain)


def write(files: dict[str, str], folder: Path) -> None:
    """Write the files of a page; its Python block, which writes files itself, is none."""
    for name, content in files.items():
        if name != "python":
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")


def matches(printed: list[str], expected: list[str]) -> bool:
    """Return True if the lines are equal; a line ``…`` matches any number of lines."""
    if not expected or expected == [""]:
        return True
    if expected[0].strip() == "…":
        return any(matches(printed[i:], expected[1:]) for i in range(len(printed) + 1))
    return (
        bool(printed)
        and printed[0] == expected[0]
        and (
            printed[1:] == expected[1:] or matches(printed[1:], expected[1:])
            if len(expected) > 1
            else len(printed) == 1
        )
    )
