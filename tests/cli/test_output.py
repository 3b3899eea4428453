"""``--output`` of every command: the suffix chooses what is written, and nothing is computed for a file that is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from netcalc.cli.commands import COMMANDS, command_module
from tests.conftest import CommandResult

REPORTS = {".txt": "table", ".md": "markdown", ".csv": "csv", ".json": "json", ".html": None}
#: A call of every command with ``--output``, and the suffixes of the files that it writes.
CALLS: dict[str, tuple[str, set[str]]] = {
    "shapes": ("mlp", {*REPORTS}),
    "params": ("mlp", {*REPORTS, ".svg", ".png"}),
    "flops": ("mlp", {*REPORTS, ".svg", ".png"}),
    "summary": ("mlp", {*REPORTS, ".svg", ".png"}),
    "run": ("mlp", {*REPORTS, ".npz", ".safetensors", ".npy"}),
    "verify": ("mlp", {*REPORTS}),
    "signal": ("mlp --seeds 1", {*REPORTS, ".svg", ".png"}),
    "train": ("mlp --steps 1", {*REPORTS, ".npz", ".safetensors", ".svg", ".png"}),
    "memory": ("mlp", {*REPORTS, ".svg", ".png"}),
    "budget": ("mlp --max-params 1M", {*REPORTS}),
    "report": ("mlp", {".html", ".json"}),
    "reconcile": ("mlp --to fvcore", {*REPORTS}),
    "graph": ("mlp", {*REPORTS, ".svg", ".png", ".dot", ".gv", ".mmd"}),
    "fit": ("mlp", {*REPORTS}),
    "scaling": ("mlp --over batch=1,2", {*REPORTS, ".svg", ".png"}),
    "solve": ("gpt2 --for layers --law besiroglu --compute 1e20", {*REPORTS, ".svg", ".png"}),
    "sweep": ("mlp --over batch=1,2", {*REPORTS, ".svg", ".png", ".parquet", ".jsonl"}),
    "time": ("mlp --device l4", {*REPORTS, ".svg", ".png"}),
    "compare": ("mlp lstm", {*REPORTS, ".svg", ".png"}),
    "check": ("mlp", {*REPORTS, ".sarif"}),
    "reproduce": ("resnet34", {*REPORTS}),
    "explain": ("mlp output", {*REPORTS}),
    "import": ("", {*REPORTS}),
    "export": ("mlp", {".onnx", ".py"}),
    "specs": ("mlp", {*REPORTS}),
    "ops": ("linear", {*REPORTS}),
    "schema": ("check", {".json"}),
    "help": ("E401", {".txt", ".md", ".json"}),
}
#: Other calls of commands whose files depend on what is asked for.
OTHERS = {
    "specs mlp --yaml": {".yaml", ".yml"},
    "specs": {*REPORTS},
    "ops": {*REPORTS},
    "import config.json": {".yaml", ".yml"},
    "help shapes": {".1", ".txt"},
    "run mlp --backward": {*REPORTS, ".npz", ".safetensors", ".npy"},
    "run mlp --quantize int8": {*REPORTS, ".npz", ".safetensors", ".npy"},
    "params WEIGHTS.npz": {*REPORTS},
}
LINES = {**{f"{name} {rest}".strip(): written for name, (rest, written) in CALLS.items()}, **OTHERS}
SUFFIXES = {suffix for written in LINES.values() for suffix in written} | {".pdf", ".onnx", ".v2"}
#: Commands whose files need a suffix: those that hold tensors, and a page for browsers.
WITH_SUFFIX = ("run", "train", "report", "export")


@pytest.fixture(autouse=True)
def folder(netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS")  # a file has no width
    np.savez("WEIGHTS.npz", weight=np.zeros((2, 3), np.float32))
    bert = {"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 1}
    Path("config.json").write_text(json.dumps(bert), encoding="utf-8")


def test_every_command_with_the_option_has_a_call() -> None:
    with_output = {
        name
        for name in COMMANDS
        if any(parameter.name == "output" for parameter in command_module(name).command.parameters)
    }
    assert with_output == set(CALLS)


def without_times(text: str) -> str:
    """Return a report without the numbers that are measured: those of lines that speak of time."""
    return "\n".join(line for line in text.splitlines() if "s of " not in line and "seconds" not in line)


@pytest.mark.parametrize("line", LINES)
def test_the_suffix_chooses_the_format(line: str, netcalc: Callable[..., CommandResult]) -> None:
    words = line.split()
    for suffix in sorted(LINES[line] & REPORTS.keys()):
        file = Path(f"report{suffix}")
        ran = netcalc(*words, "-o", str(file))
        # the rows of a sweep are a file, beside which the page is printed
        is_beside_page = (words[0], suffix) == ("sweep", ".csv")
        assert (ran.code, bool(ran.out)) == (0, is_beside_page), (suffix, ran.err)
        text = file.read_text(encoding="utf-8")
        if suffix == ".html":
            require_document(text)
        elif words[0] not in ("schema", "train"):
            format_ = ["--format", str(REPORTS[suffix])] if REPORTS[suffix] != "table" else []
            shown = netcalc(*words, *format_).out
            assert without_times(text) == without_times(shown), suffix
        if suffix == ".json":
            assert json.loads(text)


def require_document(text: str) -> None:
    """Check that a text is a document of HTML, with all elements closed."""
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta", "br"):
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    reader = Reader()
    reader.feed(text)
    reader.close()
    assert text.startswith("<!DOCTYPE html>") and '<meta charset="utf-8">' in text and not opened
    assert "<td" in text or "<p>" in text


@pytest.mark.parametrize("line", LINES)
def test_other_suffixes_are_refused_at_once(
    line: str, netcalc: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the command would do, it begins with a model or a page, and neither is read."""
    words = line.split()
    monkeypatch.setattr("netcalc.loading.load_model", None)
    monkeypatch.setattr("netcalc.loading.read_checkpoint", None)
    refused = SUFFIXES - LINES[line]
    for suffix in sorted([*refused, *(suffix.upper() for suffix in refused)]):
        file = Path(f"report{suffix}")
        ran = netcalc(*words, "--output", str(file))
        assert (ran.code, ran.out) == (2, ""), suffix
        assert f"error[E502]: --output {file}: {suffix.lower()} files are not written here" in ran.err
        listed = ran.err.partition("the suffix chooses what is written: ")[2].split()
        assert {word.strip(",") for word in listed} == LINES[line]
        assert not file.exists()


@pytest.mark.parametrize("line", LINES)
def test_without_a_suffix_the_format_counts(line: str, netcalc: Callable[..., CommandResult]) -> None:
    words = line.split()
    ran = netcalc(*words, "-o", "report")
    if words[0] in WITH_SUFFIX:
        assert ran.code == 2 and "--output report: the name has no suffix" in ran.err
        return
    assert (ran.code, ran.out) == (0, "")
    assert without_times(Path("report").read_text(encoding="utf-8")) == without_times(netcalc(*words).out)
    if ".json" in LINES[line] and words[0] != "schema":
        assert netcalc(*words, "-o", "report", "--format", "json").code == 0
        assert json.loads(Path("report").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("summary mlp --format json", "x.csv"),
        ("summary mlp --format table", "x.json"),
        ("summary mlp -f csv", "x.html"),
        ("run mlp --format json", "x.txt"),
        ("memory mlp --format table", "x.svg"),
        ("explain mlp --format text", "x.md"),
    ],
)
def test_a_format_that_contradicts_the_suffix(words: str, file: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(*words.split(), "-o", file)
    assert ran.code == 2 and not Path(file).exists()
    assert f"and --output {file} contradict each other" in ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "file"),
    [("summary mlp --format json", "x.JSON"), ("explain mlp --format text", "x.txt"), ("ops relu -f table", "x.txt")],
)
def test_a_format_that_repeats_the_suffix(words: str, file: str, netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc(*words.split(), "-o", file).code == 0 and Path(file).exists()


def test_the_format_is_that_of_the_report_beside_tensors(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("run", "mlp", "-o", "x.npz", "--format", "json")
    assert json.loads(ran.out)["schema"].startswith("netcalc/run/")
    assert [*np.load("x.npz")] == ["output"]


@pytest.mark.parametrize("file", ["no/x.json", "no/x.npz", "no/x"])
def test_the_folder_must_exist(file: str, netcalc: Callable[..., CommandResult]) -> None:
    command = "run" if file.endswith("npz") else "summary"
    ran = netcalc(command, "mlp", "-o", file)
    assert ran.code == 2 and f"--output {file}: there is no folder 'no'" in ran.err
