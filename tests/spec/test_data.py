"""Specs given as Python data: the same networks as from YAML, and errors placed by their path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.records.errors import errors_record
from netcalc.render.diagnostics import render_diagnostic
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import load_data
from netcalc.spec.shipped import shipped
from tests.generators.record_schema import record_schema
from tests.spec.harness import params, shapes

MLP: dict[str, Any] = {"netcalc": 1, "inputs": {"x": [2, 8]}, "layers": [{"name": "fc", "linear": 4}, "relu"]}


def errors(data: Any, **options: Any) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an invalid spec."""
    with pytest.raises(NetcalcError) as caught:
        elaborate(load_data(data, **options))
    return caught.value.diagnostics


@pytest.mark.parametrize("name", ["mlp", "resnet34", "transformer", "t5-small", "mobilenet_v2"])
def test_data_gives_the_same_network_as_the_file(name: str) -> None:
    path = shipped()[name]
    data = YAML(typ="safe", pure=True).load(path)
    from_data = elaborate(load_data(data, folder=path.parent))
    from_file = elaborate(load_document(name))
    assert shapes(from_data) == shapes(from_file)
    assert params(from_data) == params(from_file)


def test_tuples_are_lists_and_the_data_is_not_changed() -> None:
    data = {"netcalc": 1, "inputs": {"x": (2, 8)}, "vars": {"units": 4}, "layers": ({"linear": "${units}"},)}
    assert shapes(elaborate(load_data(data), {"units": 5})) == {"linear": "2×5"}
    assert data["layers"] == ({"linear": "${units}"},)


@pytest.mark.parametrize(
    ("changes", "code", "place"),
    [
        ({"layers": ["relu", {"conv2d": {"out": 0, "kernel": 3}}]}, "E104", "layers[1].conv2d.out"),
        ({"layers": [{"linear": {"uot": 4, "out": 4}}]}, "E103", "layers[0].linear.uot"),
        ({"layers": [{"linear": "${uints}"}]}, "E202", "layers[0].linear"),
        ({"layers": [{"from": "y", "relu": {}}]}, "E301", "layers[0].from"),
        ({"inputs": {"x": [2, -8]}}, "E104", "inputs.x[1]"),
        ({"vars": {"a": "${b}", "b": "${a}"}}, "E204", "vars.a"),
        ({"layer": []}, "E101", "layer"),
        ({"layers": [{"linear": object()}]}, "E104", "layers[0].linear"),
        ({"vars": {"sizes": {1: 2}}}, "E104", "vars.sizes"),
        ({"vars": {"digits": 10**1000}}, "E003", "vars.digits"),
    ],
)
def test_an_error_has_the_path_in_the_data(changes: dict[str, Any], code: str, place: str) -> None:
    (error,) = errors(MLP | changes)
    assert (error.code, str(error.span)) == (code, f"<data>: {place}")
    record = errors_record([error])
    assert record["errors"][0]["at"] == {"file": "<data>", "path": place}
    jsonschema.validate(record, record_schema("errors"))


def test_the_text_of_an_error_names_the_path() -> None:
    (error,) = errors(
        MLP | {"layers": ["relu", {"from": "rleu", "relu": {}}, {"name": "relu_2", "relu": {}}]}, label="a"
    )
    assert render_diagnostic(error).splitlines()[:2] == ["error[E301]: unknown value 'rleu'", "--> a: layers[1].from"]


def test_data_that_is_not_a_mapping() -> None:
    (error,) = errors([1])
    assert (error.code, str(error.span)) == ("E104", "<data>")


def test_nesting_and_size_are_bounded() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert [e.code for e in errors(MLP | {"vars": {"deep": deep}})] == ["E003"]
    assert [e.code for e in errors(MLP | {"vars": {"long": [0] * 200_000}})] == ["E003"]


def test_data_may_extend_a_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("netcalc: 1\ninputs: {x: [2, 8]}\nvars: {n: 3}\nlayers: [{linear: '${n}'}]\n")
    child = {"netcalc": 1, "extends": "base", "vars": {"n": 7}}
    assert shapes(elaborate(load_data(child, folder=tmp_path))) == {"linear": "2×7"}
    (error,) = errors(child | {"vars": {"m": 7}}, folder=tmp_path)
    assert (error.code, str(error.span)) == ("E101", "<data>: vars.m")
