"""Arguments of modules as the command line writes them, and names of modules."""

from __future__ import annotations

import sys

import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.cli import main
from netcalc.formats.torch.examples import Example, read_example, read_examples


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("image=float32:1,3,224,224", Example("image", "float32", (1, 3, 224, 224))),
        ("float32:2,4", Example(None, "float32", (2, 4))),
        ("ids=int64:batch=1,length=16", Example("ids", "int64", (1, 16), {0: "batch", 1: "length"})),
        ("float32:batch=2,4", Example(None, "float32", (2, 4), {0: "batch"})),
        ("scale=float64:", Example("scale", "float64", ())),
        ("mask=bool:3", Example("mask", "bool", (3,))),
        ("use_cache=false", Example("use_cache", value=False)),
        ("mode=bilinear", Example("mode", value="bilinear")),
        ("size=[7, 7]", Example("size", value=[7, 7])),
        ("size=3", Example("size", value=3)),
        ("past=null", Example("past", value=None)),
        ("added.time_ids=float32:1,6", Example("added.time_ids", "float32", (1, 6))),
        ("rotary.0=float32:16,8", Example("rotary.0", "float32", (16, 8))),
    ],
)
def test_forms(text: str, example: Example) -> None:
    assert read_example(text) == example


@pytest.mark.parametrize(
    "text",
    [
        "image",
        "image=float3:1,2",
        "1,3,224,224",
        "float32:1,x",
        "x=float32:-1",
        "x=float32:1,,2",
        "a b=3",
        "x=float32:2=3",
        "x.=float32:2",
        ".x=float32:2",
        "0.x=float32:2",
    ],
)
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        read_example(text)
    assert [problem.code for problem in caught.value.diagnostics] == ["E502"]


def test_every_error_is_reported() -> None:
    with pytest.raises(NetcalcError) as caught:
        read_examples(["x", "y=1", "y=2", "z=float1:2"])
    assert len(caught.value.diagnostics) == 3


@pytest.mark.parametrize("model", ["torch:resnet18", "torch:", "torch:a.b:", "torch::f", "torch:a-b:f", "torch:a:f()"])
def test_names_that_name_no_factory(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", model]) == 2
    assert "names no factory" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["params", "run", "verify", "explain"])
@pytest.mark.parametrize("model", ["torch:package.module:factory", "net.pt2"])
def test_only_import_takes_modules(command: str, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, model]) == 2
    shown = capsys.readouterr().err
    assert "error[E502]" in shown
    assert f"netcalc import {model}" in shown


def test_load_refuses_modules() -> None:
    with pytest.raises(NetcalcError, match=r"netcalc\.from_torch"):
        netcalc.load("torch:package.module:factory")


def test_examples_are_for_modules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "config.json", "--example", "x=float32:1"]) == 2
    assert "are for modules of PyTorch" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["torch:package.module:factory", "net.pt2"])
def test_pytorch_may_be_missing(
    model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["import", model]) == 2
    assert 'pip install "torch>=2.9"' in capsys.readouterr().err
