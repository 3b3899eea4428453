"""Characters that a terminal obeys, or does not show, in every text that a user can write, through every command."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unicodedata import category

import numpy as np
import pytest

from netcalc.cli import main
from tests.conftest import CommandResult

#: An escape sequence, C0, DEL, C1, bidirectional marks, zero-width characters, separators, private and unassigned ones.
HIDDEN = (
    "\x1b[31m\x07\x08\x7f\x9b31m\x85\u202e\u2066\u061c\u200b\u200d\ufeff\u2028\u2029\u00ad\ue000\u0378"
    "\U000e0041\u034f\ufe0f\u3164"
)
FORMATS = ["table", "json", "csv", "markdown"]


def quoted_text(text: str) -> str:
    """Return a text as YAML writes it in double quotes."""
    return '"' + "".join(f"\\U{ord(c):08x}" for c in text) + '"'


def spec_text(text: str) -> str:
    """Return a spec with the text wherever a text is accepted."""
    quoted = quoted_text(f"t{text}|<img>")
    return f"""\
netcalc: 1
name: {quoted}
about: {quoted}
source: {quoted}
family: {quoted}
aliases: [{quoted}]
dims: {{batch: {{default: 1, about: {quoted}}}}}
vars: {{note: {quoted}, width: 8}}
require:
  - {{that: "${{width > 1}}", message: {quoted}}}
inputs: {{x: {{shape: [batch, 8], about: {quoted}}}}}
blocks:
  part:
    about: {quoted}
    args: {{text: {quoted}}}
    layers:
      - {{name: a, linear: "${{width}}", when: "${{text != note}}"}}
      - {{name: b, linear: "${{width}}"}}
layers:
  - {{name: part, part: {{text: {quoted}}}}}
  - {{name: last, repeat: 2, part: {{text: other}}}}
published:
  - {{figure: params, value: 72, where: {quoted}, note: {quoted}}}
"""


def hidden(text: str) -> set[str]:
    """Return the characters of a text that must not leave."""
    return {c for c in text if c != "\n" and (category(c)[0] == "C" or category(c) in ("Zl", "Zp") or c in HIDDEN[-3:])}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    folder = tmp_path / f"folder{HIDDEN}"
    folder.mkdir()
    file = folder / f"spec{HIDDEN}.yaml"
    file.write_text(spec_text(HIDDEN), encoding="utf-8")
    return file


def commands(spec: Path) -> Iterator[list[str]]:
    """Every command that takes a text, in every format; the last ones are errors."""
    weights, array = str(spec.with_suffix(".npz")), str(spec.with_suffix(".npy"))
    for command in ("shapes", "params", "flops", "summary", "explain", "run", "verify", "specs", "compare"):
        given = [command, str(spec)] + ([str(spec)] if command == "compare" else [])
        for form in FORMATS:
            yield [*given, "--format", form]
    yield ["specs", str(spec), "--yaml"]
    for form in FORMATS:
        yield ["summary", str(spec), "--format", form, "--set", f"note={HIDDEN[6:]}"]
        yield ["run", str(spec), "--input", f"x={array}", "--format", form]
        yield ["verify", str(spec), "--weights", weights, "--format", form]
        yield ["run", str(spec), "--weights", weights, "--format", form]
    for form in ("table", "json"):
        yield ["explain", str(spec), f"part.{HIDDEN}", "--format", form]
        yield ["summary", str(spec), "--format", form, "--set", f"width={HIDDEN}"]
        yield ["summary", str(spec), "--format", form, "--set", f"{HIDDEN}=1"]
        yield ["summary", str(spec), "--format", form, "--symbolic", HIDDEN]
        yield ["summary", str(spec), "--format", form, "--sort", HIDDEN]
        yield ["summary", str(spec), "--format", form, "--filter", HIDDEN]
        yield ["summary", str(spec), "--format", form, "--convention", HIDDEN]
        yield ["summary", str(spec), "--format", form, "--output", f"{spec.parent}{HIDDEN}/no"]
        yield ["summary", str(spec), "--format", form, "--dtype", HIDDEN]
        yield ["summary", str(spec), "--format", form, f"--{HIDDEN}"]
        yield ["summary", f"{spec}{HIDDEN}.yaml", "--format", form]
        yield ["run", str(spec), "--init", f"{HIDDEN}=zeros", "--format", form]
        yield ["run", str(spec), "--init", HIDDEN, "--format", form]
        yield ["run", str(spec), "--trace", HIDDEN, "--format", form]
        yield ["run", str(spec), "--input", f"{HIDDEN}={array}", "--format", form]
        yield ["run", str(spec), "--output", f"{spec}.npz", "--format", form]
        yield ["compare", str(spec), "mlp", "--set", f"{HIDDEN}:batch=1", "--format", form]
        yield ["ops", HIDDEN, "--format", form]
        yield ["ops", "--search", HIDDEN, "--format", form]
        yield ["specs", HIDDEN, "--format", form]
        yield ["specs", "--family", HIDDEN, "--format", form]
    yield ["schema", HIDDEN]
    yield ["init", str(spec)]
    yield ["init", str(spec.with_name(f"{HIDDEN}.yaml"))]
    yield [HIDDEN]
    yield [f"--{HIDDEN}"]


def test_no_hidden_character_leaves(spec: Path, netcalc: Callable[..., CommandResult]) -> None:
    np.save(spec.with_suffix(".npy"), np.zeros((1, 8), np.float32))
    np.savez(spec.with_suffix(".npz"), **{f"part.{HIDDEN}": np.zeros(3, np.float32)})
    codes = set()
    for arguments in commands(spec):
        ran = netcalc(*arguments)
        codes.add(ran.code)
        assert ran.code in (0, 1, 2), (arguments, ran.err)
        assert not hidden(ran.out + ran.err), arguments
        if "json" in arguments and ran.out:
            json.loads(ran.out)
    assert codes == {0, 1, 2}


@pytest.mark.parametrize("place", ["key", "name", "op", "attribute", "expression", "value", "extends", "type"])
def test_no_hidden_character_leaves_in_errors(
    place: str, tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    quoted = quoted_text(HIDDEN)
    lines = {
        "key": f"layers: [relu]\n{quoted}: 1",
        "name": f"layers: [{{name: {quoted}, relu: {{}}}}]",
        "op": f"layers: [{{{quoted}: 1}}]",
        "attribute": f"layers: [{{linear: {{{quoted}: 1}}}}]",
        "expression": f'layers: [{{linear: "${{{HIDDEN[9:]}}}"}}]',
        "value": f"layers: [{{linear: {quoted}}}]",
        "extends": f"extends: {quoted}",
        "type": f"layers: [{{from: {quoted}, relu: {{}}}}]",
    }
    file = tmp_path / "spec.yaml"
    file.write_text(f"netcalc: 1\ninputs: {{x: [1, 8]}}\n{lines[place]}\n# {HIDDEN[9:]}\n", encoding="utf-8")
    for form in ("table", "json"):
        ran = netcalc("summary", str(file), "--format", form)
        assert ran.code == 2
        assert not hidden(ran.out + ran.err)


def test_only_styles_of_netcalc_leave_in_color(
    spec: Path,
    netcalc: Callable[..., CommandResult],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (["summary", str(spec)], ["compare", str(spec), "mlp"], ["specs", str(spec)], ["shapes", HIDDEN]):
        plain = netcalc(*arguments)
        with monkeypatch.context() as patch:
            patch.delenv("NO_COLOR")
            patch.setenv("FORCE_COLOR", "1")
            main(arguments)
        captured = capsys.readouterr()
        assert "\x1b[1" in captured.out + captured.err
        assert re.sub(r"\x1b\[[0-9;]*m", "", captured.out + captured.err) == plain.out + plain.err


def test_json_keeps_the_text(spec: Path, netcalc: Callable[..., CommandResult]) -> None:
    found = json.loads(netcalc("specs", str(spec), "--format", "json").out)
    assert HIDDEN in found["about"]
    assert json.loads(netcalc("summary", str(spec), "--format", "json").out)["spec"].startswith("t\x1b[31m")


def test_text_is_no_markup_in_markdown_and_no_formula_in_csv(
    tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text(
        "netcalc: 1\nname: '=cmd()'\nabout: '<script> [a](http://b) | \\|'\ninputs: {x: [1, 8]}\n"
        "vars: {a: '@SUM(1)', b: '-1', c: '+1', d: '=1+1', e: -3}\nlayers: [relu]\n"
    )
    markdown = netcalc("specs", str(file), "--format", "markdown").out
    assert "<script>" not in markdown
    assert "](http" not in markdown
    rows = list(csv.DictReader(io.StringIO(netcalc("specs", str(file), "--format", "csv").out)))
    assert [row["default"] for row in rows if row["kind"] == "var"] == ["'@SUM(1)", "-1", "+1", "'=1+1", "-3"]
    heads = next(csv.reader(io.StringIO(netcalc("compare", str(file), "mlp", "--format", "csv").out)))
    assert "'=cmd() op" in heads


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode")
def test_file_names_that_are_not_unicode(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    file = os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.yaml")
    Path(file).write_text("netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [linear: 2]\n")
    for form in FORMATS:
        ran = netcalc("run", file, "--output", f"{file}.npz", "--format", form)
        assert ran.code == 0, ran.err
        assert netcalc("verify", file, "--weights", f"{file}.npz", "--format", form).code == 1
        assert netcalc("summary", f"{file}no", "--format", form).code == 2
        assert netcalc("summary", file, "--output", file.removesuffix(".yaml"), "--format", form).code == 0
