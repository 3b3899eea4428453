"""Warnings: former names of vars."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import netcalc
from netcalc.cli import main
from netcalc.diagnostics import NetcalcError
from tests.spec.harness import problems, program, shapes

RENAMED = """netcalc: 1
vars: {d_model: {default: 8, min: 4, formerly: [hidden_size, width]}}
inputs: {x: [2, 8]}
layers: [{linear: "${d_model}"}]
"""


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    path = tmp_path / "renamed.yaml"
    path.write_text(RENAMED)
    return path


def test_a_former_name_sets_the_var_with_a_warning(renamed: Path) -> None:
    net = netcalc.load(renamed, set={"width": 5})
    assert net.shapes["linear"].outputs == ((2, 5),)
    (warning,) = net.warnings
    assert (warning.code, warning.message) == ("W102", "--set width: the var is now called 'd_model'")
    assert netcalc.load(renamed, set={"d_model": 5}).warnings == ()
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(renamed, set={"width": 5, "d_model": 6})
    assert [d.code for d in caught.value.diagnostics] == ["E501"]
    with pytest.raises(NetcalcError, match="at least 4"):
        netcalc.load(renamed, set={"width": 3})


def test_a_child_sets_a_var_by_a_former_name(renamed: Path) -> None:
    child = renamed.parent / "child.yaml"
    child.write_text("netcalc: 1\nextends: renamed\nvars: {hidden_size: 6}\n")
    net = netcalc.load(child)
    assert net.program.vars == {"d_model": 6}
    (warning,) = net.warnings
    assert warning.code == "W102"
    assert warning.span is not None
    assert warning.span.text[warning.span.column - 1 :].startswith("hidden_size")
    assert netcalc.load(child, set={"width": 7}).program.vars == {"d_model": 7}  # the limits are inherited too
    grandchild = renamed.parent / "grandchild.yaml"
    grandchild.write_text("netcalc: 1\nextends: child\nvars: {width: {default: 3}}\n")
    net = netcalc.load(grandchild, set={"hidden_size": 9})
    assert net.program.vars == {"d_model": 9}
    assert len(net.warnings) == 3
    child.write_text("netcalc: 1\nextends: renamed\nvars: {hidden_size: 6, d_model: 5}\n")
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(child)
    assert [d.code for d in caught.value.diagnostics] == ["E106"]


def test_an_expression_may_use_a_former_name(renamed: Path) -> None:
    child = renamed.parent / "child.yaml"
    child.write_text('netcalc: 1\nextends: renamed\nlayers: [{linear: "${width}"}, {linear: "${width + 1}"}]\n')
    net = netcalc.load(child)
    assert net.shapes["linear_1"].outputs == ((2, 9),)
    (warning,) = net.warnings
    assert "'width'" in warning.message
    assert warning.span is not None
    assert (warning.span.line, warning.span.text[warning.span.column - 1 : warning.span.end - 1]) == (3, "width")


def test_former_names_are_a_list() -> None:
    text = "vars: {a: {default: 1, formerly: %s}}\ninputs: {x: [2]}\nlayers: [relu]\n"
    assert shapes(program(text % "[b]")) == {"relu": "2"}
    assert [d.code for d in problems(text % "b")] == ["E104"]
    assert [d.code for d in problems(text % "[1]")] == ["E104"]


COMMANDS = ("shapes", "params", "flops", "summary", "explain", "run", "verify")


@pytest.mark.parametrize("command", [[name] for name in COMMANDS] + [["compare", "mlp"]])
def test_commands_write_warnings_to_standard_error_once(
    command: list[str], renamed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for setting in ("d_model=5", "width=5"):
        assert main([*command, str(renamed), "--set", setting, "--format", "json"]) == 0
        outputs.append(capsys.readouterr())
    plain, warned = outputs
    assert json.loads(warned.out).keys() == json.loads(plain.out).keys()
    assert plain.err == ""
    assert warned.err.count("warning[W102]") == 1


def test_a_warning_changes_neither_output_nor_exit_code(renamed: Path) -> None:
    command = [sys.executable, "-m", "netcalc", "params", str(renamed), "--format", "csv", "--set"]
    plain, warned = (
        subprocess.run([*command, s], capture_output=True, text=True, check=True) for s in ("d_model=5", "width=5")
    )
    assert plain.stdout == warned.stdout
    assert (plain.stderr, "W102" in warned.stderr) == ("", True)


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("- {name: a.width, linear: 4}\n- linear: ${2 * width}\n", 6),
        ("- {name: 'n${width}', linear: 4}\n", 5),
        ("- {name: r, linear: 8, repeat: width}\n", 5),
        ("- '${[act][0]}'\n", 5),
        ("- {'${[act][0]}': {}}\n", 5),
    ],
)
def test_the_warning_of_a_former_name_in_an_expression_has_its_place(lines: str, line: int) -> None:
    declared = (
        "vars: {units: {default: 4, formerly: [width]}, activation: {type: op, default: relu, formerly: [act]}}\n"
        "inputs: {x: [2, 8]}\n"
    )
    (span,) = [found.span for found in program(f"{declared}layers:\n{lines}").warnings if found.code == "W102"]
    assert span is not None
    assert span.line == line
    assert span.text[span.column - 1 : span.end - 1] in ("width", "act")


BLOCK = """
inputs: {x: [2, 8]}
blocks:
  layer:
    args: {units: {type: int, formerly: [width]}, rate: {default: 0.5, formerly: [{keep: 1 - keep}]}}
    layers: [{linear: "${units}"}, {dropout: "${rate}"}]
layers:
  - layer: {%s}
"""


def test_an_argument_of_a_block_may_be_given_by_a_former_name() -> None:
    found = program(BLOCK % "width: 3")
    assert shapes(found) == {"layer.linear": "2×3", "layer.dropout": "2×3"}
    (warning,) = found.warnings
    assert (warning.code, warning.message) == ("W102", "argument 'width' of 'layer' is now called 'units'")
    assert warning.span is not None
    assert warning.span.text[warning.span.column - 1 : warning.span.end - 1] == "width"
    assert [d.code for d in problems(BLOCK % "width: 3, units: 4")] == ["E103"]
    assert program(BLOCK % "units: 3").warnings == ()


def test_the_warning_about_an_argument_is_given_in_every_load() -> None:
    text = """netcalc: 1
vars: {n: 4}
inputs: {x: [2, 8]}
blocks:
  layer: {args: {units: {type: int, formerly: [width]}}, layers: [{linear: "${units}"}]}
  outer: {layers: [{layer: {width: 3}}]}
layers: [{linear: "${n}"}, outer, {name: r, repeat: 3, outer: {}}]
"""
    loaded = [netcalc.loads(text, set={"n": n}) for n in (4, 5, 6, 7, 6)]
    assert [[warning.code for warning in net.warnings] for net in loaded] == [["W102"]] * 5


@pytest.mark.parametrize("formerly", ["a", "[1]", "[{a: 1}]", "{a: b}"])
def test_malformed_former_names(formerly: str) -> None:
    text = "vars: {b: {default: 1, formerly: %s}}\ninputs: {x: [2]}\nlayers: [relu]\n"
    assert [d.code for d in problems(text % formerly)] == ["E104"]
    (found,) = problems(BLOCK.replace("[width]", formerly) % "units: 3")
    assert found.code == "E104"


def test_a_former_name_with_another_meaning_has_a_hint(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(
        "netcalc: 1\nvars: {units: {default: 8, formerly: [{ratio: ratio times 2}]}}\n"
        "inputs: {x: [2, 8]}\nlayers: [{linear: '${units}'}]\n"
    )
    hint = "'units' is in its place: ratio times 2"
    (setting,) = problems("extends: parent\n", folder=tmp_path, ratio=4)
    (own,) = problems("extends: parent\nvars: {ratio: 4}\n", folder=tmp_path)
    assert [(d.code, d.hint) for d in (setting, own)] == [("E501", hint), ("E101", hint)]
    (argument, _) = problems(BLOCK % "keep: 1")
    assert (argument.code, argument.hint) == ("E103", "'rate' is in its place: 1 - keep")


def test_a_former_name_may_be_a_var_of_a_child_that_gives_the_present_one(renamed: Path) -> None:
    child = renamed.parent / "child.yaml"
    child.write_text('netcalc: 1\nextends: renamed\nvars: {width: 2, d_model: "${2 * width}"}\n')
    net = netcalc.load(child, set={"width": 3})
    assert (net.program.vars["d_model"], net.warnings) == (6, ())


def test_former_names_of_shipped_specs() -> None:
    for name in ("albert-base", "electra-small"):
        net = netcalc.load(name, set={"embedding_size": 64})
        assert (net.program.vars["d_embed"], [w.code for w in net.warnings]) == (64, ["W102"])
    for name in ("deit-base", "swin_t", "clip-vit-base-patch32"):
        with pytest.raises(NetcalcError, match="mlp_ratio times") as caught:
            netcalc.load(name, set={"mlp_ratio": 3})
        assert [d.code for d in caught.value.diagnostics] == ["E501"]
