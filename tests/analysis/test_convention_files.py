"""Counting conventions as data: files of users, their errors, and parts that add up."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.diagnostics import NetcalcError
from netcalc.ir import OpNode
from netcalc.models import ValidationError

OURS = """
about: divisions and transcendental functions at their price
source: our accelerator
unit: FLOP
kinds: {mac: 2, div: 8, transcendental: 10}
let: {pixels: output.elements}
forward:
  - {of: max_pool2d, others: {windows: pixels}}
  - {of: conv2d, when: op.out == 64 and input.channels == 3, macs: 2 * macs, others: {set-up: 5}}
  - {of: global_avg_pool2d, macs: 0}
"""
#: What is written in place of what, the code of the error and the number of its line.
WRONG = [
    ("unit: FLOP", "unit: GOP", "E104", 4),
    ("source: our accelerator\n", "", "E105", 0),
    ("source:", "sauce:", "E101", 3),
    ("div: 8", "divs: 8", "E102", 5),
    ("mac: 2", "mac: 1", "E104", 5),
    ("div: 8", "div: -1", "E104", 5),
    ("of: max_pool2d", "of: max_pool4d", "E102", 8),
    ("op.out", "op.width", "E103", 9),
    ("windows: pixels", "windows: pixel", "E202", 8),
    ("2 * macs", "2 **", "E201", 9),
    ("others: {windows: pixels}", "more: 1", "E101", 8),
]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    file = tmp_path / "ours.yaml"
    file.write_text(OURS, encoding="utf-8")
    return file


def test_a_file_of_a_user_counts_as_it_says(ours: Path) -> None:
    analysis = netcalc.load("resnet18").analysis(str(ours))
    by_operation = {name: cost for name, (_, cost) in analysis.by_operation.items()}
    assert by_operation["max_pool2d"].flops == 64 * 56 * 56
    first = 64 * 112 * 112 * 3 * 7 * 7
    assert by_operation["conv2d"].macs == 1_813_561_344 + first
    assert by_operation["conv2d"].flops == 2 * (1_813_561_344 + first) + 5
    assert by_operation["relu"].flops == 0
    assert {"max_pool2d", "conv2d"}.isdisjoint(analysis.uncounted) and "global_avg_pool2d" in analysis.uncounted


@pytest.mark.parametrize(("written", "instead", "code", "line"), WRONG, ids=[row[1].split(":")[0] for row in WRONG])
def test_an_error_has_its_code_and_line(ours: Path, written: str, instead: str, code: str, line: int) -> None:
    assert OURS.count(written) == 1
    ours.write_text(OURS.replace(written, instead), encoding="utf-8")
    with pytest.raises(NetcalcError) as caught:
        netcalc.load("mlp").analysis(str(ours))
    found = caught.value.diagnostics[0]
    assert found.code == code
    assert found.span is not None and found.span.file == str(ours)
    assert line in (0, found.span.line)


def test_an_unknown_convention_lists_the_known_ones() -> None:
    with pytest.raises(NetcalcError, match="E701") as caught:
        netcalc.load("mlp").analysis("paperclip")
    assert all(name in (caught.value.diagnostics[0].hint or "") for name in CONVENTIONS)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NetcalcError, match="E605"):
        netcalc.load("mlp").analysis(str(tmp_path / "none.yaml"))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("convention", [name for name in CONVENTIONS if not CONVENTIONS[name].by_network])
def test_parts_of_operations_add_up_to_the_total(convention: str, backward: bool) -> None:
    if backward and CONVENTIONS[convention].backward is None:
        return
    analysis = netcalc.load("mobilenet_v3_large").analysis(convention, backward=backward)
    macs = flops = of_backward = 0
    for row in analysis.leaves():
        assert isinstance(row.node, OpNode)
        parts = analysis.parts(row.node)
        macs += row.repeat * sum(part.macs for part in parts)
        flops += row.repeat * sum(part.flops for part in parts)
        of_backward += row.repeat * sum(part.flops for part in analysis.backward_parts(row.node))
    total = analysis.total
    assert (macs, flops, of_backward) == (total.macs, total.flops, total.flops_backward)


def test_shipped_files_are_valid_without_trust() -> None:
    from netcalc.analysis import conventions
    from netcalc.analysis.conventions.table import convention_of
    from netcalc.spec.yaml_document import parse_yaml

    for name, convention in CONVENTIONS.items():
        text = (conventions._FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        try:
            assert convention_of(name, parse_yaml(text, name), CONVENTIONS.__getitem__).about == convention.about
        except ValidationError as error:
            raise AssertionError(name) from error
