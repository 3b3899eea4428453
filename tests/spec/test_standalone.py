"""The text of a network's spec, complete in itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc


@pytest.mark.parametrize("name", ["resnet34", "bert-base", "llama-2-7b", "t5-small", "mixtral-8x7b", "efficientnet_b0"])
def test_the_text_gives_the_same_network(name: str) -> None:
    net = netcalc.load(name)
    assert netcalc.as_dict(netcalc.loads(net.to_yaml()).summary()) == netcalc.as_dict(net.summary())


def test_settings_sizes_and_types_are_part_of_the_text() -> None:
    net = netcalc.load("resnet34", set={"classes": 10}, symbolic=["batch"], dtype="float64").specialize(batch=3)
    again = netcalc.loads(net.to_yaml())
    assert netcalc.as_dict(again.summary()) == netcalc.as_dict(net.summary())
    assert str(again.program.inputs[0].type) == str(net.program.inputs[0].type)


def test_imported_blocks_are_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "parts.yaml").write_text(
        "netcalc: 1\nblocks:\n  inner: {layers: [{linear: 3}]}\n  outer: {layers: [inner, relu]}\n"
    )
    (tmp_path / "net.yaml").write_text("netcalc: 1\nimport: [parts]\ninputs: {x: [2, 4]}\nlayers: [outer]\n")
    net = netcalc.load(tmp_path / "net.yaml")
    assert netcalc.loads(net.to_yaml()).summary().layers == net.summary().layers


def test_blocks_of_one_name_cannot_be_one_document(tmp_path: Path) -> None:
    for name, lines in (("a", "[{linear: 3}]"), ("b", "[relu]")):
        (tmp_path / f"{name}.yaml").write_text(
            f"netcalc: 1\nblocks:\n  inner: {{layers: {lines}}}\n  {name}: {{layers: [inner]}}\n"
        )
    (tmp_path / "net.yaml").write_text("netcalc: 1\nimport: [a, b]\ninputs: {x: [2, 4]}\nlayers: [a, b]\n")
    net = netcalc.load(tmp_path / "net.yaml")
    with pytest.raises(netcalc.NetcalcError, match="different blocks with the name 'inner'"):
        net.to_yaml()
