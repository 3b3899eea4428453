"""Loops and scans whose number of iterations the file fixes, against the same iterations in NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.formats.onnx.encoding import graph, model, node, saved, tensor, value

RNG = np.random.default_rng(0)
MATRIX = (RNG.standard_normal((4, 4)) / 2).astype(np.float32)


def loop_body(condition: list[bytes]) -> bytes:
    """A body that multiplies what it carries by a matrix of the graph around it, and gives the product times i."""
    nodes = [
        node("MatMul", ["v", "w"], ["m"], "step/MatMul"),
        node("Tanh", ["m"], ["next"]),
        node("Cast", ["i"], ["factor"], to=1),
        node("Mul", ["next", "factor"], ["shown"]),
    ]
    inputs = [value("i", [], "int64"), value("before", [], "bool"), value("v", [2, 4])]
    outputs = [value("after", [], "bool"), value("next", [2, 4]), value("shown", [2, 4])]
    return graph([*nodes, *condition], inputs, outputs)


def loop_model(folder: Path, condition: list[bytes], *, trips: int | None) -> Path:
    limits = [tensor("trips", np.array(trips if trips is not None else 0)), tensor("w", MATRIX)]
    loop = node("Loop", ["" if trips is None else "trips", "", "x"], ["y", "every"], "loop", body=loop_body(condition))
    body = graph([loop], [value("x", [2, 4])], [value("y", [2, 4]), value("every", ["n", 2, 4])], limits)
    return saved(folder, model(body))


def iterated(x: np.ndarray, times: int) -> tuple[np.ndarray, list[np.ndarray]]:
    every = []
    for i in range(times):
        x = np.tanh(x @ MATRIX)
        every.append(x * i)
    return x, every


CARRIED_ON = [node("Identity", ["before"], ["after"])]


@pytest.mark.parametrize("times", [1, 5])
def test_loops_of_a_constant_number_of_iterations(tmp_path: Path, times: int) -> None:
    net = netcalc.load(loop_model(tmp_path, CARRIED_ON, trips=times))
    assert net.params == 16  # one matrix, of all iterations
    assert net.macs == times * 2 * 4 * 4
    x = RNG.standard_normal((2, 4)).astype(np.float32)
    last, every = iterated(x, times)
    results = net.run({"x": x}, weights=net.own_weights).outputs
    assert np.allclose(results["y"], last, atol=1e-5)
    assert np.allclose(results["every"], np.stack(every), atol=1e-5)


def test_loops_of_no_iterations(tmp_path: Path) -> None:
    net = netcalc.load(loop_model(tmp_path, CARRIED_ON, trips=0))
    x = RNG.standard_normal((2, 4)).astype(np.float32)
    assert np.array_equal(net.run({"x": x}).outputs["y"], x)


def test_loops_that_a_counter_ends(tmp_path: Path) -> None:
    """A condition that is computed of the number of the iteration alone is known."""
    condition = [node("Constant", [], ["end"], value=np.array(3)), node("Less", ["i", "end"], ["after"])]
    net = netcalc.load(loop_model(tmp_path, condition, trips=None))
    x = RNG.standard_normal((2, 4)).astype(np.float32)
    last, every = iterated(x, 4)
    results = net.run({"x": x}, weights=net.own_weights).outputs
    assert np.allclose(results["y"], last, atol=1e-5)
    assert results["every"].shape == (len(every), 2, 4)


@pytest.mark.parametrize("turned", [0, 1])
def test_scans(tmp_path: Path, turned: int) -> None:
    nodes = [
        node("MatMul", ["h", "w"], ["m"]),
        node("Add", ["m", "step"], ["s"]),
        node("Tanh", ["s"], ["next"]),
        node("Neg", ["next"], ["shown"]),
    ]
    inputs, outputs = [value("h", [2, 4]), value("step", [2, 4])], [value("next", [2, 4]), value("shown", [2, 4])]
    scan = node(
        *("Scan", ["first", "x"], ["last", "every"], "scan"),
        body=graph(nodes, inputs, outputs, [tensor("w", MATRIX)]),
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[turned],
        scan_output_axes=[2],
        scan_output_directions=[turned],
    )
    results = [value("last", [2, 4]), value("every", [2, 4, 5])]
    path = saved(tmp_path, model(graph([scan], [value("first", [2, 4]), value("x", [2, 5, 4])], results)))
    net = netcalc.load(path)
    assert net.params == 16
    h, x = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 4), (2, 5, 4)))
    found = net.run({"first": h, "x": x}, weights=net.own_weights).outputs
    every = []
    for place in range(5)[:: -1 if turned else 1]:
        h = np.tanh(h @ MATRIX + x[:, place])
        every.append(-h)
    assert np.allclose(found["last"], h, atol=1e-5)
    assert np.allclose(found["every"], np.stack(every[:: -1 if turned else 1], axis=2), atol=1e-5)


def test_other_control_flow_is_one_error_with_all_nodes(tmp_path: Path) -> None:
    """A condition that is computed of data, a number of iterations that is an input, and one that never ends."""
    of_data = [node("ReduceMax", ["next"], ["largest"], keepdims=0), node("Less", ["largest", "one"], ["after"])]
    empty = graph([], [], [value("x", [2, 4])])
    nodes = [
        node("Loop", ["trips", "", "x"], ["a", "b"], "by data", body=loop_body(of_data)),
        node("Loop", ["n", "", "x"], ["c", "d"], "by input", body=loop_body(CARRIED_ON)),
        node("If", ["choice"], ["e"], "branches", then_branch=empty, else_branch=empty),
        node("Loop", ["", "", "x"], ["f", "g"], "endless", body=loop_body(CARRIED_ON)),
        node("Fancy", ["x"], ["h"], "custom", domain="com.example"),
    ]
    tensors = [tensor("w", MATRIX), tensor("trips", np.array(3)), tensor("one", np.float32(1))]
    inputs = [value("x", [2, 4]), value("n", [], "int64"), value("choice", [], "bool")]
    path = saved(tmp_path, model(graph(nodes, inputs, [value("a", [2, 4])], tensors)))
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(path)
    text = str(caught.value)
    assert "operator Loop: control flow by a condition that depends on data (Loop 'by data')" in text
    assert "operator Loop: control flow by a number of iterations that depends on data (Loop 'by input')" in text
    assert "operator If: control flow by a condition that depends on data (If 'branches')" in text
    assert "Loop 'endless': more than 4,096 iterations" in text
    assert "operator com.example.Fancy is not known (com.example.Fancy 'custom')" in text
