"""Shifts, bits as other types, extremes so far, and determinants, written in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.oracle.onnx.exported import assert_close, assert_same, of_operation

onnxruntime = pytest.importorskip("onnxruntime")

_SHIFTS = (-70, -1, 0, 1, 7, 8, 31, 32, 63, 64, 100)


def assert_gives(network: netcalc.Network, path: Path, given: dict[str, Any]) -> None:
    """Compare the outputs of onnxruntime for given inputs with netcalc's."""
    network.export(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = network.run(given, plan="reference").outputs
    for value, array in zip(session.get_outputs(), session.run(None, given), strict=True):
        assert_close(array, np.asarray(expected[value.name]))


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_shifts_by_any_number(name: str, dtype: str, tmp_path: Path) -> None:
    """Numbers at the ends of the type, by numbers of places that are negative, or more than the type has."""
    limits = np.iinfo(dtype)
    numbers = np.array([limits.min, limits.min // 3, 0, 1, 5, limits.max // 7, limits.max], dtype)
    shifts = np.array([shift for shift in _SHIFTS if limits.min <= shift <= limits.max], dtype)
    inputs = {"x": {"shape": [7, 1], "dtype": dtype}, "n": {"shape": [len(shifts)], "dtype": dtype}}
    layer = {"name": "y", "from": ["x", "n"], name: {}}
    network = netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [layer]})
    assert_gives(network, tmp_path / "shift.onnx", {"x": numbers[:, None], "n": shifts})


def test_shifts_by_a_constant(tmp_path: Path) -> None:
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        layer = {"name": "y", name: 3}
        inputs = {"x": {"shape": [4, 5], "dtype": "int64", "range": [-300, 300]}}
        assert_same(netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [layer]}), tmp_path / "shift.onnx")


def test_bits_of_whole_numbers_as_another_type(tmp_path: Path) -> None:
    network = of_operation("bitcast", {"dtype": "uint32"}, {"input": {"shape": [4], "dtype": "int32"}})
    numbers = np.array([-(2**31), -1, 0, 2**31 - 1], "int32")
    assert_gives(network, tmp_path / "bits.onnx", {"input": numbers})


def test_bits_of_floating_point_numbers_are_named(tmp_path: Path) -> None:
    network = of_operation("bitcast", {"dtype": "int32"}, {"input": [4]})
    with pytest.raises(NetcalcError, match="no operator sees the bits of float32 as int32") as refused:
        network.export(tmp_path / "bits.onnx")
    assert [one.code for one in refused.value.diagnostics] == ["E010"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "bool"])
def test_extremes_so_far(name: str, dtype: str, tmp_path: Path) -> None:
    """Elements occur several times, so that the last of their places counts."""
    whole = {} if dtype in ("float32", "float16", "bool") else {"range": [-3, 3]}
    network = of_operation(name, {"axis": -2}, {"input": {"shape": [2, 9, 3], "dtype": dtype, **whole}}, others=1)
    assert_same(network, tmp_path / "extremes.onnx")


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_extremes_so_far_keep_nan_and_infinities(name: str, tmp_path: Path) -> None:
    network = of_operation(name, {"axis": 0}, {"input": [6]}, others=1)
    for row in ([np.inf, 1, -np.inf, np.nan, 2, np.nan], [-np.inf, -np.inf, 1, 1, 0, 3]):
        network.export(tmp_path / "extremes.onnx")
        session = onnxruntime.InferenceSession(str(tmp_path / "extremes.onnx"), providers=["CPUExecutionProvider"])
        x = np.array(row, "float32")
        expected = network.run({"input": x}, plan="reference").outputs
        for value, array in zip(session.get_outputs(), session.run(None, {"input": x}), strict=True):
            np.testing.assert_array_equal(array, expected[value.name])


def test_extremes_along_a_symbolic_axis(tmp_path: Path) -> None:
    inputs = {"input": ["length", 3]}
    network = of_operation("cummax", {"axis": 0}, inputs, 1, (), length=7)
    written = of_operation("cummax", {"axis": 0}, inputs, 1, ("length",), length=7)
    assert_same(network, tmp_path / "extremes.onnx", written=written)


def test_determinants(tmp_path: Path) -> None:
    for opset in (18, 22):
        assert_same(of_operation("det", {}, {"input": [3, 4, 4]}), tmp_path / "det.onnx", opset=opset)
