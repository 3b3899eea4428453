"""Command lines that are read without typer give the values that typer reads from them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.cli.app import app
from netcalc.cli.commands import COMMANDS, command_module
from netcalc.cli.plain_arguments import plain_arguments
from tests.conftest import CommandResult

WORDS = [
    *("resnet34", "mlp", "-", "", "x=-1", "a b", "=", "--", "-1", "--help", "-h", "-s", "-sx=1", "-s=x", "--set", "-c"),
    *("--set=x=1", "--set=", "--unroll", "--unroll=1", "--no-unroll", "--depth", "--depth=2", "--depth=0", "0", "1"),
    *(
        "٣",
        "1_0",
        " 1",
        "1e3",
        "1.5",
        ".5",
        "inf",
        "--lr",
        "--lr=0.1",
        "--clip=1e-2",
        "--format",
        "json",
        "--format=csv",
    ),
    *("JSON", "-f", "-fjson", "--wide", "--wid", "--top", "3", "--backward", "--layout=hwc", "--seed=7", "--all", "-a"),
    *("--max-spec-size=100", "--mode", "train", "--yaml", "--force", "--steps=4", "--sort=macs", "--filter", "layer*"),
]


def read_plainly(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values that are read without typer."""
    return plain_arguments(command_module(name).command.parameters, words)


def read_by_typer(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the values that typer reads; nothing of a list is None."""
    import typer

    command = typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined]
    values = parsed(command, words)
    return {key: value or None if isinstance(value, (list, tuple)) else value for key, value in values}


def parsed(command: Any, words: Sequence[str]) -> Any:
    """Yield the parameters of a command with their values, as the command gets them."""
    got: dict[str, Any] = {}
    callback = command.callback
    command.callback = got.update
    try:
        command.main(list(words), standalone_mode=False)
    finally:
        command.callback = callback
    return got.items()


@given(st.sampled_from([*COMMANDS]), st.lists(st.sampled_from(WORDS), max_size=6))
def test_values_are_those_of_typer(name: str, words: list[str]) -> None:
    plain = read_plainly(name, words)
    if plain is not None:
        assert plain == read_by_typer(name, words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("shapes mlp", {"model": "mlp"}),
        ("shapes --set batch=2 mlp -s hidden=[3] --top=2", {"set": ["batch=2", "hidden=[3]"], "top": 2}),
        ("summary mlp --format json --wide", {"format": "json", "wide": True}),
        ("compare mlp lenet5 -a", {"models": ["mlp", "lenet5"], "all": True}),
        ("explain mlp 0", {"model": "mlp", "path": "0"}),
        ("train mlp --gamma 0.5 --clip=1e-2", {"gamma": 0.5, "clip": 0.01}),
        ("schema", {"name": "spec"}),
    ],
)
def test_plain_lines_are_read(line: str, expected: dict[str, Any]) -> None:
    name, *words = line.split()
    values = read_plainly(name, words)
    assert values is not None
    assert values == read_by_typer(name, words)
    assert {key: values[key] for key in expected} == expected


@pytest.mark.parametrize(
    "line",
    [
        *("shapes", "shapes mlp lenet5", "shapes mlp --top 0", "shapes mlp --top many", "shapes mlp --format yaml"),
        *("shapes mlp --help", "shapes mlp --set", "shapes -- mlp", "shapes mlp --top 1 --top 2", "shapes mlp -sx=1"),
        *("compare", "shapes mlp --unroll=1", "train mlp --clip inf", "shapes mlp --top ١", "shapes mlp --set -x"),
    ],
)
def test_all_else_is_left_to_typer(line: str) -> None:
    name, *words = line.split()
    assert read_plainly(name, words) is None


@pytest.mark.parametrize("command", ["shapes mlp", "specs", "schema", "compare mlp lenet5", "verify mlp"])
def test_plain_commands_do_not_import_typer(command: str) -> None:
    import subprocess

    code = f"import sys; from netcalc.cli import main; main({command.split()}); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"typer", "click", "rich"}.isdisjoint(ran.stderr.split())


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("-c torch --convention fvcore", ["-c torch and --convention fvcore"]),
        ("-ctorch --convention=torch", ["-c torch and --convention torch"]),
        ("--depth 1 --top 3 --depth 2 --top=-1", ["--depth 1 and --depth 2", "--top 3 and --top -1"]),
    ],
)
@pytest.mark.parametrize("before", ["", "--debug "])
def test_an_option_of_one_value_is_given_once(
    words: str, reported: list[str], before: str, netcalc: Callable[..., CommandResult]
) -> None:
    result = netcalc(*f"{before}flops resnet18 {words}".split())
    assert result.code == 2 and result.out == ""
    messages = [line.partition("]: ")[2] for line in result.err.splitlines() if line.startswith("error")]
    assert messages == [f"{text}: give one of them" for text in reported]
    assert ("`netcalc compare MODEL` takes several conventions" in result.err) == ("torch" in words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("flops mlp --set batch=2 --set batch=2", "error[E501]: --set: 'batch' is given twice"),
        ("compare mlp vgg16 --set batch=2 --set classes=3 -s batch=4", "error[E501]: --set: 'batch' is given twice"),
        ("run mlp --input x=a.npy --input x=b.npy", "error[E502]: --input: 'x' is given twice"),
        ("train mlp --hyper lr=1 --hyper lr=2", "error[E502]: --hyper: 'lr' is given twice"),
    ],
)
def test_a_name_of_an_option_is_given_once(words: str, message: str, netcalc: Callable[..., CommandResult]) -> None:
    result = netcalc(*words.split())
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [message]


def test_flags_and_lists_may_be_repeated(netcalc: Callable[..., CommandResult]) -> None:
    words = "--unroll --unroll --set batch=2 --set features=9 --filter output --filter hidden.*"
    assert netcalc("shapes", "mlp", *words.split()).code == 0
