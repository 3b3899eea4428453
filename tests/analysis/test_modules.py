"""Sums by module: a module that is called several times is one row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc
from netcalc.analysis.modules import every_row
from netcalc.analysis.rows import Row
from tests.conftest import CommandResult

CALLS = str(Path(__file__).parent.parent / "fixtures" / "calls.yaml")
#: Multiply-adds and parameters of a linear layer of 10 to 10 features, for one row.
LINEAR, PARAMS = 100, 110

HEAD = """
netcalc: 1
name: again
inputs: {x: [1, 10]}
blocks:
  pair:
    layers: [{name: fc, linear: 10}, {name: act, relu: {}}]
layers:
"""


def figures(net: netcalc.Network) -> dict[str, tuple[int, int, int]]:
    """Return calls, parameters and multiply-adds by the paths of modules."""
    modules = net.summary().modules
    return {path: (layer.calls, int(layer.params), int(layer.macs)) for path, layer in modules.items()}


def of_lines(*lines: str) -> dict[str, tuple[int, int, int]]:
    return figures(netcalc.loads(HEAD + "".join(f"  - {line}\n" for line in lines)))


def test_calls_are_summed_with_their_parameters_once() -> None:
    found = figures(netcalc.load(CALLS))
    assert found["fc"] == (2 + 2, PARAMS, 2 * LINEAR + 2 * 4 * LINEAR)  # twice at the top, and in each of two blocks
    assert found["act"] == (2, 0, 0)
    assert found["encoder"] == (2, PARAMS, (1 + 4 + 4) * LINEAR)
    assert found["encoder.fc"] == (3, PARAMS, (1 + 4 + 4) * LINEAR)
    assert found["encoder.act"] == (2, 0, 0)
    assert found["shared"] == found["shared.fc"] == (3, PARAMS, 3 * 4 * LINEAR)
    assert found["part"] == found["part.fc"] == (2, PARAMS, 2 * 4 * LINEAR)
    assert found["part.0"] == (2, 0, 0)
    assert found["stack.0.own"] == found["stack.1.own"] == (2, PARAMS, 2 * 4 * LINEAR)
    assert found["stack"] == (1, 2 * PARAMS, 4 * 4 * LINEAR)
    assert not {"fc_1", "act_1", "encoder_1", "part_1", "stack.0.own_1", "stack.0.first"} & found.keys()


def test_tied_weights_alone_are_no_call() -> None:
    assert figures(netcalc.load(CALLS))["other"] == (1, 0, 4 * LINEAR)


def test_the_whole_is_the_total() -> None:
    net = netcalc.load(CALLS)
    tops = [figure for path, figure in figures(net).items() if path and "." not in path]
    whole = figures(net)[""]
    assert whole == (1, net.params, net.macs)
    assert (sum(params for _, params, _ in tops), sum(macs for *_, macs in tops)) == whole[1:]


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("unroll", [False, True])
def test_layers_at_a_depth_add_up(depth: int, unroll: bool) -> None:
    net = netcalc.load(CALLS)
    layers = net.summary(depth=depth, unroll=unroll).layers
    assert sum(layer.macs * layer.repeat for layer in layers) == net.macs
    assert sum(layer.params * layer.repeat for layer in layers) == net.params
    assert len({layer.path for layer in layers}) == len(layers)


def test_operations_stay_one_by_one() -> None:
    paths = [layer.path for layer in netcalc.load(CALLS).layers]
    assert {"fc_1", "act_1", "encoder_1.fc", "part_1.fc"} <= {*paths}


def test_iterations_that_share_their_weights_are_calls() -> None:
    found = of_lines("{name: sequence, sequence: [{name: u, repeat: 3, share: true, pair: {}}]}")
    assert found["sequence.u"] == found["sequence.u.fc"] == (3, PARAMS, 3 * LINEAR)


def test_one_of_several_instances_is_called_again() -> None:
    found = of_lines("{name: u, repeat: 3, pair: {}}", "{name: again, tie: u.1, module: u.1, pair: {}}")
    assert [found[f"u.{number}"][0] for number in range(3)] == [1, 2, 1]
    found = of_lines("{name: u_, repeat: 3, pair: {}}", "{name: again, tie: u_1.fc, module: u_1.fc, linear: 10}")
    assert [found[f"u_{number}.fc"][0] for number in range(3)] == [1, 2, 1]


def test_rows_of_equal_instances_stay_where_none_is_called_again() -> None:
    net = netcalc.load(CALLS)
    titles = {row.title: row for row in every_row(net.analysis().modules())}
    row: Row = titles["stack.0–1"]
    assert (row.repeat, row.calls, titles["stack.0–1.own"].calls) == (2, 1, 2)


def test_names_without_a_line_of_their_own() -> None:
    lines = [f"{{name: a{n}, module: act, relu: {{}}}}" for n in range(3)]
    found = of_lines(*lines, "{linear: 10}")
    assert found["act"][0] == 3
    assert not {"a0", "a1", "a2"} & found.keys()


def test_a_line_that_is_a_call_of_itself() -> None:
    assert of_lines("{name: fc, module: fc, linear: 10}")["fc"] == (1, PARAMS, LINEAR)


def test_lines_of_an_inlined_block_are_called_where_it_stands() -> None:
    text = HEAD.replace("linear: 10}", "linear: 10}, {name: again, module: fc, tie: fc, linear: 10}", 1)
    net = netcalc.loads(text + "  - {name: s, sequence: [{inline: true, pair: {}}]}\n")
    assert figures(net)["s.fc"][0] == 2


@pytest.mark.parametrize("value", ["[a]", "''", "true", "/", "a..b", "'a b'", "{a: b}"])
def test_what_is_no_path_of_a_module(value: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=r"module: should be the path of a module") as failed:
        of_lines(f"{{name: fc, module: {value}, linear: 10}}")
    assert failed.value.diagnostics[0].code == "E104"


def test_the_record_says_how_often_a_module_is_called() -> None:
    layers = netcalc.as_dict(netcalc.load(CALLS).summary(depth=1))["layers"]
    assert {layer["path"]: layer["calls"] for layer in layers if "calls" in layer} == {
        "fc": 4,
        "act": 2,
        "encoder": 2,
        "shared": 3,
        "part": 2,
    }


def test_rows_are_sorted_by_calls(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("flops", CALLS, "--depth", "1", "--sort", "calls", "--top", "1", "--columns", "calls", "-f", "csv")
    assert ran.out == "path,calls\nfc,4\n"
