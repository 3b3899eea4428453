"""Command lines without a command, and words and options that other tools have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from netcalc.cli.commands import COMMANDS
from netcalc.cli.words import MEANT
from netcalc.spec.shipped import shipped
from netcalc.version import __version__
from tests.conftest import CommandResult

SPEC = (
    'netcalc: 1\ndims: {batch: 1}\nvars: {tied: true, rate: 0.5}\ninputs: {x: ["${batch}", 3]}\nlayers: [{linear: 4}]\n'
)


@pytest.mark.parametrize(
    "line",
    ["resnet18", "ResNet-18 --depth 1", "--debug bert-base-uncased", "net.yaml --set batch=2 -f json", "./net", "net"],
)
def test_a_model_alone_is_summarized(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Callable[..., CommandResult]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("net", "net.yaml"):
        Path(name).write_text(SPEC)
    words = line.split()
    first = 1 if words[0] == "--debug" else 0
    assert netcalc(*words) == netcalc(*words[:first], "summary", *words[first:])
    assert netcalc(*words).code == 0


def test_a_command_is_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Callable[..., CommandResult]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shapes").write_text(SPEC)
    assert "missing argument" in netcalc("shapes").err
    assert netcalc("./shapes").code == 0


@pytest.mark.parametrize("line", ["hf:", "no/such.yaml", "missing.json", "- --depth 0"])
def test_a_model_that_is_missing_is_reported_as_by_summary(line: str, netcalc: Callable[..., CommandResult]) -> None:
    alone = netcalc(*line.split())
    assert alone.code == 2 and alone == netcalc("summary", *line.split())


@pytest.mark.parametrize("word", ["version", "-V", "--version"])
def test_the_version(word: str, netcalc: Callable[..., CommandResult]) -> None:
    assert netcalc(word) == CommandResult(0, f"netcalc {__version__}\n", "")


@pytest.mark.parametrize("word", MEANT)
def test_words_of_other_tools(word: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(word, "resnet18")
    assert MEANT[word] in COMMANDS and word not in COMMANDS
    assert ran.code == 2 and f"did you mean {MEANT[word]!r}?" in ran.err


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("flops resnet18 --backward --wrt image", "--input-gradients"),
        ("summary resnet18 --json", "--format json"),
        ("params resnet18 --half", "--dtype float16"),
        ("memory gpt2 --torch_dtype bfloat16", "--dtype"),
        ("flops resnet18 --optimizer adamw", "--training"),
        ("-v", "--version"),
    ],
)
def test_options_of_other_tools(line: str, option: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(*line.split())
    assert ran.code == 2 and f"did you mean {option!r}?" in ran.err


def test_an_option_that_the_command_lacks_is_not_suggested(netcalc: Callable[..., CommandResult]) -> None:
    assert "--input-gradients" not in netcalc("params", "resnet18", "--wrt", "image").err


@pytest.mark.parametrize("word", ["torch-info", "instal", "convertt"])
def test_a_word_before_a_model_is_no_misspelt_model(word: str, netcalc: Callable[..., CommandResult]) -> None:
    told = netcalc(word, "resnet18").err
    assert not any(f"did you mean {name!r}" in told for name in shipped())


def test_a_misspelt_model(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("mobilnet_v2", "--depth", "1")
    assert ran.code == 2 and "no such command 'mobilnet_v2'" in ran.err and "did you mean 'mobilenet_v2'?" in ran.err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("summary resnet34 --batch 8", "--set batch=8"),
        ("resnet34 --batch=8", "--set batch=8"),
        ("flops --height 64 resnet34", "--set height=64"),
        ("params bert-base --d-model 512", "--set d_model=512"),
        ("params bert-base --batch-size 2", "--set batch=2"),
        ("compare mlp bert-base --heads 2", "--set heads=2"),
        ("summary net.yaml --rate 0.25", "--set rate=0.25"),
        ("summary --tied resnet18 net.yaml", "--set tied=…"),
        ("summary net.yaml --tied --top 1", "--set tied=…"),
        ("summary --length 5", "--set length=5"),
        ("--batch 8 resnet34", "--set batch=8"),
    ],
)
def test_a_dim_or_var_is_set_by_an_option(
    line: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Callable[..., CommandResult]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.yaml").write_text(SPEC)
    ran = netcalc(*line.split())
    assert ran.code == 2 and "no such option" in ran.err and f"{hint};" in ran.err


@pytest.mark.parametrize(
    "line", ["ops --batch 3", "summary mlp --heads 2", "summary mlp --dept 1", "summary nothing --x 3"]
)
def test_other_options_are_not_set(line: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc(*line.split())
    assert ran.code == 2 and "--set" not in ran.err
