"""Scans of state-space models and linear attention with drawn attributes and inputs, written in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.oracle.onnx.exported import assert_same, of_operation

BATCH, LENGTH, CHANNELS, STATE = 2, 7, 6, 4
DELTA = {"range": [0.001, 0.5]}


@pytest.mark.parametrize("kind", ["selective", "groups", "fixed", "mixed"])
@pytest.mark.parametrize("softplus", [False, True])
def test_selective_scan(kind: str, softplus: bool, tmp_path: Path) -> None:
    """Every optional input is there if softplus is."""
    selective, groups = [BATCH, LENGTH, STATE], [BATCH, LENGTH, 2, STATE]
    fixed = [CHANNELS, STATE]
    b, c = {"selective": [selective] * 2, "groups": [groups] * 2, "fixed": [fixed] * 2, "mixed": [groups, fixed]}[kind]
    u = [BATCH, CHANNELS, LENGTH]
    inputs: dict[str, Any] = {"u": u, "delta": {"shape": u, **DELTA}}
    inputs |= {"A": {"shape": fixed, "range": [-8, -1]}, "B": b, "C": c}
    if softplus:
        inputs |= {"D": [CHANNELS], "z": u, "delta_bias": [CHANNELS], "initial_state": [BATCH, CHANNELS, STATE]}
    assert_same(of_operation("selective_scan", {"delta_softplus": softplus}, inputs, 1), tmp_path / "scan.onnx")


@pytest.mark.parametrize(("chunk", "groups", "full"), [(4, 1, True), (3, 2, False), (16, 4, True)])
def test_ssd_scan(chunk: int, groups: int, full: bool, tmp_path: Path) -> None:
    heads, size = 4, 3
    projection = [BATCH, LENGTH, groups, STATE]
    inputs: dict[str, Any] = {"u": [BATCH, LENGTH, heads, size], "delta": {"shape": [BATCH, LENGTH, heads], **DELTA}}
    inputs |= {"a": {"shape": [heads], "range": [-8, -1]}, "B": projection, "C": projection}
    options: dict[str, Any] = {"chunk": chunk}
    if full:
        inputs |= {"D": [heads], "delta_bias": [heads], "initial_state": [BATCH, heads, size, STATE]}
        options |= {"delta_softplus": True, "delta_min": 0.1, "delta_max": 0.9}
    assert_same(of_operation("ssd_scan", options, inputs, 1), tmp_path / "scan.onnx")


@pytest.mark.parametrize(("chunk", "key_heads", "full"), [(4, 2, True), (3, 4, False), (16, 1, True)])
def test_gated_delta_rule(chunk: int, key_heads: int, full: bool, tmp_path: Path) -> None:
    heads, keyed, valued = 4, 3, 5
    key = [BATCH, LENGTH, key_heads, keyed]
    inputs: dict[str, Any] = {"query": key, "key": key, "value": [BATCH, LENGTH, heads, valued]}
    inputs |= {"decay": {"shape": [BATCH, LENGTH, heads], "range": [-1, 0]}}
    inputs |= {"beta": {"shape": [BATCH, LENGTH, heads], "range": [0, 1]}}
    if full:
        inputs |= {"initial_state": [BATCH, heads, keyed, valued]}
    options = {"chunk": chunk, "normalize": True}
    assert_same(of_operation("gated_delta_rule", options, inputs, 1), tmp_path / "rule.onnx")


def test_gated_delta_rule_of_equal_keys(tmp_path: Path) -> None:
    """Powers of the triangular system grow as binomials here, so that an inverse by a series of powers is lost."""
    places = 64
    layers: list[dict[str, Any]] = [
        {"name": "keys", "from": "key", "expand": [1, places, 1, 8]},
        {
            "name": "y",
            "from": {"query": "query", "key": "keys", "value": "value", "decay": "decay", "beta": "beta"},
            "gated_delta_rule": {"normalize": True},
        },
    ]
    inputs: dict[str, Any] = {"query": [1, places, 1, 8], "key": [1, 1, 1, 8], "value": [1, places, 1, 4]}
    inputs |= {"decay": {"shape": [1, places, 1], "range": [-0.001, 0]}}
    inputs |= {"beta": {"shape": [1, places, 1], "range": [0.9, 1]}}
    assert_same(netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": layers}), tmp_path / "rule.onnx")


@pytest.mark.parametrize("earlier", [False, True])
def test_wkv(earlier: bool, tmp_path: Path) -> None:
    x = [BATCH, LENGTH, CHANNELS]
    inputs: dict[str, Any] = {"key": x, "value": x, "decay": {"shape": [CHANNELS], "range": [-4, -0.1]}}
    inputs |= {"bonus": [CHANNELS]}
    if earlier:
        sums = [BATCH, CHANNELS]
        inputs |= {"numerator": sums, "denominator": {"shape": sums, "range": [0.1, 2]}, "exponent": sums}
    network = of_operation("wkv", {"return_state": earlier}, inputs, 3 * earlier)
    assert_same(network, tmp_path / "wkv.onnx")


def symbolic_scans() -> dict[str, dict[str, Any]]:
    """Return the inputs of each scan at sizes that are named."""
    u, b = ["batch", CHANNELS, "length"], ["batch", "length", 2, STATE]
    x, heads = ["batch", "length", CHANNELS], ["batch", "length", 4]
    key = [*heads[:2], 2, 3]
    fading = {"shape": [CHANNELS], "range": [-4, -0.1]}
    return {
        "selective_scan": {"u": u, "delta": {"shape": u, **DELTA}, "A": [CHANNELS, STATE], "B": b, "C": b},
        "wkv": {"key": x, "value": x, "decay": fading, "bonus": [CHANNELS]},
        "ssd_scan": {"u": [*heads, 3], "delta": {"shape": heads, **DELTA}, "a": [4], "B": b, "C": b},
        "gated_delta_rule": {"query": key, "key": key, "value": [*heads, 5], "decay": heads, "beta": heads},
    }


@pytest.mark.parametrize("name", symbolic_scans())
def test_batch_and_length_stay_symbolic(name: str, tmp_path: Path) -> None:
    inputs, others = symbolic_scans()[name], int(name != "wkv")
    options = {"normalize": True} if name == "gated_delta_rule" else {}
    network, written = (
        of_operation(name, options, inputs, others, symbolic, batch=2, length=5)
        for symbolic in ((), ("batch", "length"))
    )
    assert_same(network, tmp_path / "scan.onnx", written=written)
