"""Parameters that entries under ``checkpoint`` match: none, or those of an inherited entry too."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.analysis.walk import parameters
from tests.spec.harness import problems, program

SPEC = """
inputs: {x: [2, 8]}
vars: {extra: false, layers: 12}
blocks:
  b:
    args: {bias: true}
    checkpoint: {%s: other}
    layers: [{name: fc, linear: {out: 8, bias: "${bias}"}}]
layers:
  - {name: h, repeat: "${layers}", b: {bias: false}}
  - {name: last, b: {}}
  - {when: extra, name: head, linear: 3}
  - {name: end, batch_norm: {}}
checkpoint: {%s: other}
"""


@pytest.mark.parametrize(
    "path",
    [
        "h.11.fc.weight",
        "last.fc.bias",
        '"h.{i}.fc.weight"',
        '"h.7.*"',
        '"*.weight"',
        "end.running_mean",
        "head.weight",  # there is such a line, with a condition
    ],
)
def test_entries_that_match(path: str) -> None:
    program(SPEC % ("fc.bias", path))  # the bias of the block is there in one of its calls


@pytest.mark.parametrize(
    ("inside", "outside", "marked", "hint"),
    [
        ("fc.wieght", "end.weight", "fc.wieght", "did you mean 'fc.weight'?"),
        ("fc.bias", "end.wieght", "end.wieght", "did you mean 'end.weight'?"),
        ("fc.bias", "h.12.fc.weight", "h.12.fc.weight", "did you mean 'h.0.fc.weight'?"),
        ("fc.bias", "h.0.fc.bias", "h.0.fc.bias", None),
    ],
)
def test_an_entry_that_matches_no_parameter_is_an_error(
    inside: str, outside: str, marked: str, hint: str | None
) -> None:
    (found,) = problems(SPEC % (inside, outside))
    assert found.code == "E109"
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith(marked)
    assert hint is None or found.hint == hint


def test_a_pattern_that_matches_no_parameter_is_an_error() -> None:
    text = "inputs: {x: [2, 8]}\nlayers: [{name: h, repeat: 1000000, linear: 8}]\ncheckpoint: {'%s': '%s'}\n"
    for matching in ("h.{i}.weight", "h.999999.*", "*.bias"):
        program(text % (matching, "x"))
    for other in ("h.{i}.wieght", "h.1000000.*", "k.*"):
        assert [d.code for d in problems(text % (other, "x"))] == ["E109"]


def test_other_settings_and_inherited_entries_are_not_checked(tmp_path: Path) -> None:
    text = SPEC % ("fc.bias", "h.11.fc.weight")
    program(text, layers=2)
    (tmp_path / "parent.yaml").write_text("netcalc: 1\n" + text)
    program("extends: parent\nvars: {layers: 2}\n", folder=tmp_path)
    (found,) = problems("extends: parent\ncheckpoint: {h.11.fc.wieght: a}\n", folder=tmp_path)
    assert found.code == "E109"


def test_patterns_of_a_child_precede_inherited_ones(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(
        "netcalc: 1\nname: parent\ninputs: {x: [2, 8]}\nlayers: [{name: a, linear: 8}, {name: b, linear: 8}]\n"
        "checkpoint: {'*.weight': '*.kernel', '*.bias': '*.shift'}\n"
    )
    child = program("extends: parent\ncheckpoint: {'b.*': 'head.*'}\n", folder=tmp_path)
    names = {p.path: p.entries[0].alternatives[0].sources[0] for p in parameters(child)}
    assert names == {"a.weight": "a.kernel", "a.bias": "a.shift", "b.weight": "head.weight", "b.bias": "head.bias"}
