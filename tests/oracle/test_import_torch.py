"""``netcalc import`` of PyTorch modules and of exported programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.cli import main
from netcalc.formats.torch.capture import without_parameters
from tests.generators.record_schema import record_schema

torch = pytest.importorskip("torch")

MODELS = """
import torch
from torch import nn

ran = []

def mlp(width=8, classes=3):
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, classes))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.devices = {self.fc.weight.device.type, self.fc.bias.device.type}
        assert self.devices == {"meta"}, self.devices

    def forward(self, x, flag=True, *rest):
        return self.fc(x).relu() if flag else self.fc(x)

calls = []

class Counting(Net):
    def forward(self, x):
        calls.append(x.shape)
        return super().forward(x) + len(calls)

class Zoo:
    net = Net()

def broken():
    raise ValueError("no good")

number = 3
def no_module():
    return 3
"""

SHARED = """
import torch
from torch import nn

class Sharing(nn.Module):
    # layers of which some share a weight, a parameter made before, a whole layer, or a buffer

    def __init__(self, layers=4, weights=(), given=(), modules=(), buffers=(), parametrized=()):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(layers))
        for layer in self.layers:
            layer.register_buffer("offset", torch.ones(4))
        parameter = nn.Parameter(torch.ones(4, 4))
        for number in given:
            self.layers[number].weight = parameter
        for one, other in buffers:
            self.layers[one].offset = self.layers[other].offset
        for one, other in weights:
            self.layers[one].weight = self.layers[other].weight
        for one, other in modules:
            self.layers[one] = self.layers[other]
        for number in parametrized:
            nn.utils.parametrizations.weight_norm(self.layers[number])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + layer.offset
        return x
"""

Import = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Import:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mymodels", raising=False)
    (tmp_path / "mymodels.py").write_text(MODELS + SHARED)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["import", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_function_with_arguments(run_import: Import) -> None:
    code, out, err = run_import("torch:mymodels:mlp", "-e", "input=float32:batch=2,4", "--set", "width=16")
    assert code == 0
    net = netcalc.loads(out)
    assert (net.name, net.params, dict(net.program.dims)) == ("mlp", 4 * 16 + 16 + 16 * 3 + 3, {"batch": 2})
    assert "code of this module is run" in err


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("factory", ["Net", "Zoo.net"])
def test_a_class_and_an_instance(factory: str, flag: bool, run_import: Import) -> None:
    code, out, _ = run_import(f"torch:mymodels:{factory}", "-e", "float32:2,4", "-e", f"flag={str(flag).lower()}")
    assert code == 0
    assert [layer.op for layer in netcalc.loads(out).summary().layers] == (["linear", "relu"] if flag else ["linear"])


PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=3)


@settings(max_examples=15, deadline=None)
@given(
    weights=PAIRS,
    given_=st.sets(st.integers(0, 3)),
    modules=PAIRS,
    buffers=PAIRS,
    parametrized=st.sets(st.integers(0, 3), max_size=1),
)
def test_what_parts_share_is_shared_without_data(
    weights: Any, given_: Any, modules: Any, buffers: Any, parametrized: Any
) -> None:
    namespace: dict[str, Any] = {}
    exec(SHARED, namespace)
    sharing = {"weights": weights, "given": given_, "modules": modules, "buffers": buffers}
    if not any(sharing.values()):  # PyTorch refuses to parametrize a parameter that several modules share
        sharing["parametrized"] = parametrized
    real = namespace["Sharing"](**sharing)
    with without_parameters():
        made = namespace["Sharing"](**sharing)
    assert {parameter.device.type for parameter in made.parameters()} == {"meta"}
    expected, imported = (netcalc.from_torch(module, torch.zeros(2, 4)) for module in (real, made))
    assert imported.params == sum(parameter.numel() for parameter in real.parameters())
    assert imported.to_yaml() == expected.to_yaml()


def test_a_tied_head_is_imported_as_one_table(run_import: Import) -> None:
    code, out, _ = run_import("torch:mymodels:Sharing", "-e", "float32:2,4", "--set", "weights=[[0, 3], [1, 3]]")
    assert code == 0
    assert netcalc.loads(out).params == 2 * 16


def test_the_spec_goes_to_a_file(run_import: Import) -> None:
    code, out, _ = run_import("torch:mymodels:Net", "-e", "x=float32:2,4", "-o", "net.yaml")
    assert (code, out) == (0, "")
    assert netcalc.load("net.yaml").params == 10


def test_a_file_of_an_exported_program(run_import: Import, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    torch.export.save(torch.export.export(module, (torch.ones(2, 4),)), tmp_path / "saved.pt2")
    code, out, err = run_import("saved.pt2")
    assert (code, err) == (0, "")
    net = netcalc.loads(out)
    assert (net.name, net.params) == ("saved", 15)
    code, _, err = run_import("saved.pt2", "-e", "x=float32:2,4")
    assert (code, "has its arguments already" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["torch:mymodels:mlp2"], "error[E009]: 'mlp2' is not in mymodels"),
        (["torch:missing:mlp"], "error[E009]: the Python module missing cannot be imported: ModuleNotFoundError"),
        (["torch:mymodels:broken"], "error[E009]: broken in mymodels makes no module: ValueError: no good"),
        (["torch:mymodels:number"], "error[E009]: number in mymodels is no module of PyTorch"),
        (["torch:mymodels:no_module"], "error[E009]: no_module in mymodels returns no torch.nn.Module, but int"),
        (["torch:mymodels:Net"], "error[E502]: forward cannot be called: missing a required argument: 'x'"),
        (["torch:mymodels:Net", "-e", "y=float32:2"], "error[E502]: forward has no argument 'y'"),
        (["torch:mymodels:Zoo.net", "--set", "a=3"], "error[E502]: Zoo.net is a module already"),
        (["missing.pt2"], "error[E009]: there is no file missing.pt2"),
        (["mymodels.pt2"], "error[E009]: mymodels.pt2 cannot be read"),
    ],
)
def test_refusals(arguments: list[str], message: str, run_import: Import, tmp_path: Path) -> None:
    (tmp_path / "mymodels.pt2").write_text("not a program")
    code, out, err = run_import(*arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_verification(run_import: Import) -> None:
    arguments = ("torch:mymodels:Net", "-e", "x=float32:batch=2,4", "--verify")
    code, out, err = run_import(*arguments)
    assert (code, netcalc.loads(out).params) == (0, 10)
    assert "outputs, FLOPs and parameters agree" in err
    code, out, _ = run_import(*arguments, "-o", "net.yaml", "--format", "json")
    record = json.loads(out)
    assert (code, record["ok"], record["flops"][0]["torch"]) == (0, True, 32)
    jsonschema.validate(record, record_schema("verify-module"))


def test_a_module_that_its_spec_differs_from(run_import: Import) -> None:
    code, out, _ = run_import("torch:mymodels:Counting", "-e", "x=float32:2,4", "--verify", "-o", "net.yaml")
    assert code == 1
    assert "2 of these differ" in out


def test_a_format_is_for_a_report(run_import: Import) -> None:
    code, out, err = run_import("torch:mymodels:Net", "-e", "x=float32:2,4", "--format", "json")
    assert (code, "a spec is YAML, without --format" in out + err) == (2, True)
