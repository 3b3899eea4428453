"""Networks in ONNX, as netcalc reads the files again: parameters, work, outputs, names and shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import ops
from netcalc.formats.export.onnx.rule import RULES
from netcalc.formats.export.onnx.unwritten import REASONS, reason
from netcalc.formats.onnx.file import open_onnx
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from tests.generators.export_coverage import coverage_page
from tests.zoo.harness import SMALL

PAGE = Path(__file__).parents[3] / "docs" / "onnx-export-coverage.md"
#: Specs that are written and read again: convolutions, attention, experts, scans, recurrent layers, detection.
SPECS = ("resnet18", "gpt2", "llama-3-8b", "mixtral-8x7b", "t5-small", "swin_t", "lstm", "bert-base")


def _reduced(name: str) -> netcalc.Network:
    return netcalc.load(name, set=SMALL[name], dtype="float32")


@pytest.mark.parametrize("weights", [True, False], ids=["drawn", "graph"])
@pytest.mark.parametrize("name", SPECS)
def test_an_imported_file_counts_as_the_spec(name: str, weights: bool, tmp_path: Path) -> None:
    network = _reduced(name)
    network.export(tmp_path / "model.onnx", draw=weights)
    again = netcalc.load(tmp_path / "model.onnx")
    assert (again.params, again.macs) == (network.params, network.macs)


@pytest.mark.parametrize("external", [True, False], ids=["external", "inline"])
@pytest.mark.parametrize("name", ["resnet18", "gpt2", "lstm"])
def test_an_imported_file_gives_the_outputs_of_the_spec(name: str, external: bool, tmp_path: Path) -> None:
    network = _reduced(name)
    network.export(tmp_path / "model.onnx", draw=True, external=external)
    given = dict(zip(network.inputs, run_inputs(network.program, seed=1), strict=True))
    again = netcalc.load(tmp_path / "model.onnx")
    actual = again.run(dict(zip(again.inputs, given.values(), strict=True)), weights=".", plan="reference").outputs
    for expected, found in zip(network.run(given, plan="reference").outputs.values(), actual.values(), strict=True):
        assert np.abs(expected - found).max() <= 1e-5 * np.abs(expected).max()


def test_symbolic_sizes_stay_names(tmp_path: Path) -> None:
    network = netcalc.load(
        "gpt2", set={"layers": 1, "d_model": 8, "heads": 2, "vocab": 11}, symbolic=["batch", "length"]
    )
    network.export(tmp_path / "model.onnx")
    graph = open_onnx(tmp_path / "model.onnx").model.graph
    assert graph is not None
    assert graph.inputs[0].shape == ("batch", "length")
    assert graph.outputs[0].shape == ("batch", "length", 11)
    again = netcalc.load(tmp_path / "model.onnx", symbolic=["batch", "length"])
    assert str(again.macs) == str(network.macs)


def test_every_value_has_a_shape_and_every_name_is_unique(tmp_path: Path) -> None:
    _reduced("mixtral-8x7b").export(tmp_path / "model.onnx", draw=True)
    graph = open_onnx(tmp_path / "model.onnx").model.graph
    assert graph is not None
    made = [name for node in graph.nodes for name in node.outputs]
    known = {info.name for info in (*graph.values, *graph.outputs) if info.shape is not None}
    assert len({*made}) == len(made) and {*made} == known
    names = [node.name for node in graph.nodes]
    assert len({*names}) == len(names)
    assert "/model/layers/layers.0/self_attn/q_proj/MatMul" in names


def test_metadata_name_the_spec(tmp_path: Path) -> None:
    _reduced("resnet18").export(tmp_path / "model.onnx")
    model = open_onnx(tmp_path / "model.onnx").model
    assert model.producer == "netcalc"
    assert model.metadata["netcalc.spec"] == "resnet18"


@pytest.mark.parametrize("opset", [18, 20, 22, 23, 24])
def test_the_version_of_the_operators_is_written(opset: int, tmp_path: Path) -> None:
    network = _reduced("llama-3-8b")
    network.export(tmp_path / "model.onnx", opset=opset)
    assert open_onnx(tmp_path / "model.onnx").model.opsets == {"": opset}


def test_stored_weights_are_written(tmp_path: Path) -> None:
    network = netcalc.load("mlp")
    arrays: dict[str, Any] = {
        f"{path}.weight": np.full(shape, 0.25, np.float32)
        for path, shape in (("hidden.0.0", (512, 784)), ("hidden.1.0", (256, 512)), ("output", (10, 256)))
    }
    arrays |= {name.replace("weight", "bias"): np.zeros(len(array), np.float32) for name, array in arrays.items()}
    exported = network.export(tmp_path / "mlp.onnx", weights=arrays)
    assert exported.weights == "stored"
    data = (tmp_path / "mlp.onnx").read_bytes()
    assert data.count(np.full(1000, 0.25, "<f4").tobytes()) > 0


_TEXT = """[`netcalc export`](export.md) writes an operation as the operator of ONNX with the same definition, or as
several. {written} of {operations} operations have a rule: all that shipped
specs use. A network with others is one error that names them all and their layers (E010), and so is an
attribute that the operator does not take, such as bags of an `embedding_bag` that begin at offsets.
`pytest --update tests/formats/export` writes this page."""


def _page() -> str:
    missing = {name for name in ops.names() if RULES.get(name) is None}
    return coverage_page("Operations in ONNX", _TEXT, missing, reason)


def test_complex_numbers_are_an_error(tmp_path: Path) -> None:
    inputs = {"x": {"shape": [3], "dtype": "complex64"}}
    network = netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [{"name": "twice", "mul": 2.0}]})
    with pytest.raises(netcalc.NetcalcError, match=r"mul: the operators of ONNX take no complex numbers \(twice\)"):
        network.export(tmp_path / "model.onnx")


def test_every_operation_without_a_rule_has_a_reason() -> None:
    unwritten = {name for name in ops.names() if RULES.get(name) is None}
    assert all(reason(name) != "has no rule" for name in unwritten)
    named = unwritten | {ops.family(name) for name in unwritten}
    assert named.issuperset(REASONS)


def test_operations_without_a_rule_are_one_error(tmp_path: Path) -> None:
    layers = [{"name": "noise", "normal": {"shape": [3, 3]}}, {"name": "a", "from": "x", "inv": {}}, {"svdvals": {}}]
    network = netcalc.load_data({"netcalc": 1, "inputs": {"x": [3, 3]}, "layers": layers, "outputs": ["_", "noise"]})
    with pytest.raises(netcalc.NetcalcError) as refused:
        network.export(tmp_path / "model.onnx")
    found = [(one.code, one.message.partition("as ONNX: ")[2]) for one in refused.value.diagnostics]
    assert found == [
        ("E010", "normal: its numbers are drawn, and the generators of ONNX draw others (noise)"),
        ("E010", "inv: ONNX has no operator of it (a)"),
        ("E010", "svdvals: ONNX has no operator of it (svdvals)"),
    ]
    assert not list(tmp_path.iterdir())


def test_the_page_lists_operations_without_a_rule(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == _page()


@pytest.mark.parametrize("external", [True, False], ids=["external", "inline"])
def test_a_write_that_fails_leaves_the_files_as_they_were(
    external: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = netcalc.load("mlp")
    network.export(tmp_path / "mlp.onnx", draw=True, external=external)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 1 + external
    fetch, count = Parameters.fetch, 0

    def failing(self: Parameters, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count == 4:
            raise OSError(28, "No space left on device")
        return fetch(self, *arguments)

    monkeypatch.setattr(Parameters, "fetch", failing)
    with pytest.raises((OSError, netcalc.NetcalcError)):
        network.export(tmp_path / "mlp.onnx", draw=True, external=external, seed=1)
    assert count == 4
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
