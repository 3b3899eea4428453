"""Modules imported in another element type: the specs, bytes and outputs of modules that were converted before."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.cli import main

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

SIZES = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}


@dataclass
class Batch:
    """Tensors of several types."""

    image: Any
    weights: list[Any]
    labels: Any


class Mixed(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Layers with tied weights, buffers of several types, and an unregistered tensor, which stays as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 6)
        self.conv = nn.Conv2d(3, 6, 3)
        self.norm = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 7)
        self.head.weight = self.embed.weight
        self.register_buffer("offset", torch.linspace(0, 1, 6))
        self.register_buffer("places", torch.arange(6), persistent=False)
        self.scale = torch.full((6,), 0.3)

    def forward(self, batch: Batch) -> Any:
        x = self.norm(self.conv(batch.image)).mean((2, 3)) * batch.weights[0] + self.embed(batch.labels)
        x = x[:, self.places] + self.offset
        return self.head(x), x.float() * self.scale


def batch(dtype: Any = torch.float32) -> Batch:
    return Batch(torch.zeros(2, 3, 6, 6, dtype=dtype), [torch.zeros(2, 6, dtype=dtype)], torch.tensor([1, 2]))


def test_specs_are_those_of_converted_modules() -> None:
    module = Mixed()
    before = {name: (id(tensor), tensor.dtype) for name, tensor in module.state_dict(keep_vars=True).items()}
    for name, size in SIZES.items():
        dtype = getattr(torch, name)
        net = netcalc.from_torch(module, batch(), dtype=name)
        assert net.to_yaml() == netcalc.from_torch(deepcopy(module).to(dtype), batch(dtype)).to_yaml()
        assert net.to_yaml() == netcalc.from_torch(module, batch(), dtype=dtype).to_yaml()
        assert net.cost().weight_bytes == size * sum(parameter.numel() for parameter in module.parameters())
        assert {spec.name: spec.type.dtype for spec in net.program.inputs} == {
            "batch_image": name,
            "batch_weights_0": name,
            "batch_labels": "int64",
        }
    assert before == {name: (id(tensor), tensor.dtype) for name, tensor in module.state_dict(keep_vars=True).items()}
    assert module.head.weight is module.embed.weight


@pytest.mark.parametrize("convert", ["half", "bfloat16", "double"])
def test_modules_that_are_converted_before(convert: str) -> None:
    module = getattr(Mixed(), convert)()
    dtype = module.offset.dtype
    net = netcalc.from_torch(module, batch(dtype))
    assert net.to_yaml() == netcalc.from_torch(Mixed(), batch(), dtype=dtype).to_yaml()
    assert net.verify_against(module, batch(dtype)).ok


@pytest.mark.parametrize("name", SIZES)
def test_outputs_agree(name: str) -> None:
    module = Mixed()
    net = netcalc.from_torch(module, batch(), dtype=name, training=True)
    report = net.verify_against(module, batch(), dtype=name)
    assert report.ok, report
    assert [str(array.dtype) for array in net.run(seed=1).outputs.values()] == [name, "float32"]
    assert all(tensor.dtype == torch.float32 for tensor in module.parameters())


def test_the_module_is_compared_in_the_type_that_is_given() -> None:
    net = netcalc.from_torch(Mixed(), batch(), dtype="float64")
    with pytest.raises(NetcalcError, match="the module cannot be run"):
        net.verify_against(Mixed(), batch())


def test_modules_on_the_meta_device() -> None:
    with torch.device("meta"):
        module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(64, 3))
        image = torch.zeros(2, 3, 6, 6)
    net = netcalc.from_torch(module, image, dtype="bfloat16")
    assert net.to_yaml() == netcalc.from_torch(deepcopy(module).bfloat16(), image.bfloat16()).to_yaml()
    assert netcalc.summary(module, input_size=(2, 3, 6, 6), dtype="bfloat16").totals.weight_bytes == 2 * net.params


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        ("int8", "a network cannot have the element type 'int8'"),
        (torch.int64, "a network cannot have the element type 'int64'"),
        (3, "the argument 'dtype' should be a string, not 3"),
    ],
)
def test_other_types_are_refused(dtype: Any, message: str) -> None:
    with pytest.raises(NetcalcError, match=message):
        netcalc.from_torch(Mixed(), batch(), dtype=dtype)


def test_an_exported_program_has_its_types() -> None:
    program = torch.export.export(nn.Linear(4, 2), (torch.zeros(1, 4),), strict=False)
    with pytest.raises(NetcalcError, match="an exported program has its element types already"):
        netcalc.from_torch(program, dtype="float16")


def test_import_in_a_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "models_in_types.py").write_text("from torch import nn\nnet = nn.Linear(4, 2)\n")
    monkeypatch.chdir(tmp_path)
    source = ["import", "torch:models_in_types:net", "-e", "input=float32:1,4"]
    assert main([*source, "--dtype", "bfloat16", "--verify", "-o", "net.yaml"]) == 0
    assert "outputs, FLOPs and parameters agree" in capsys.readouterr().out
    assert netcalc.load("net.yaml").cost().weight_bytes == 2 * (4 * 2 + 2)


class Ramp(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A layer of numbers that a spec has as lines, whose results are joined with others of one type."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2, 4)

    def forward(self, x: Any) -> Any:
        return self.head(x.new_tensor([1.0, 2.0])).scatter(-1, torch.tensor([1]), 0.5) + x


@pytest.mark.parametrize("name", SIZES)
def test_computed_numbers_have_the_type_of_the_module(name: str) -> None:
    module, x = Ramp().to(getattr(torch, name)), torch.zeros(4, dtype=getattr(torch, name))
    net = netcalc.from_torch(module, x)
    assert net.verify_against(module, x).ok
    assert netcalc.loads(net.to_yaml()).cost().weight_bytes == net.cost().weight_bytes
