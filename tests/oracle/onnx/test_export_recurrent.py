"""Recurrent layers and cells with drawn attributes and inputs, written in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracle.onnx.exported import assert_same, of_operation

STATES = {"rnn": ("h",), "gru": ("h",), "lstm": ("h", "c")}


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("seed", range(12))
def test_layers(name: str, seed: int, tmp_path: Path) -> None:
    """Every fourth network has no batch; normalized and projected layers are a Scan."""
    rng = np.random.default_rng(seed)
    hidden, layers, two, first = (int(rng.integers(2, 5)), 1 + seed % 3, bool(rng.integers(2)), bool(rng.integers(2)))
    options: dict[str, Any] = {"hidden": hidden, "layers": layers, "bidirectional": two, "batch_first": first}
    options["bias"] = seed % 5 > 0
    if name == "rnn":
        options["nonlinearity"] = ["tanh", "relu"][seed % 2]
    elif seed >= 6:
        options["layer_norm"] = seed % 2 == 0
    if name == "lstm" and seed % 3 == 1:
        options["proj_size"] = hidden - 1
    steps, features, batch = int(rng.integers(1, 6)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    batched = seed % 4 > 0
    shape = [batch, steps] if first else [steps, batch]
    inputs: dict[str, Any] = {"input": [*(shape if batched else [steps]), features]}
    if seed % 2:
        rows = [layers * (1 + two), *([batch] if batched else [])]
        sizes = {"h": options.get("proj_size", hidden), "c": hidden}
        inputs |= {f"{state}_0": [*rows, sizes[state]] for state in STATES[name]}
    if batched and rng.integers(2):
        inputs["lengths"] = {"shape": [batch], "dtype": "int64", "range": [1, steps + 1]}
    assert_same(of_operation(name, options, inputs, len(STATES[name])), tmp_path / "layers.onnx", seed=seed)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize(("given", "norm", "batch"), [(True, False, [3]), (False, True, [2]), (True, True, [])])
def test_cells(name: str, given: bool, norm: bool, batch: list[int], tmp_path: Path) -> None:
    options = {"hidden": 4, "bias": given, **({} if name == "rnn" else {"layer_norm": norm})}
    inputs: dict[str, Any] = {"input": [*batch, 5]}
    if given:
        inputs |= {f"{state}_0": [*batch, 4] for state in STATES[name]}
    network = of_operation(f"{name}_cell", options, inputs, len(STATES[name]) - 1)
    assert_same(network, tmp_path / "cell.onnx")


@pytest.mark.parametrize("norm", [False, True])
def test_lengths_of_sequences_stay_symbolic(norm: bool, tmp_path: Path) -> None:
    options = {"hidden": 3, "batch_first": True, "bidirectional": True, "layer_norm": norm}
    inputs = {"input": ["batch", "length", 2]}
    network, written = (
        of_operation("lstm", options, inputs, 2, symbolic, batch=2, length=4) for symbolic in ((), ("batch", "length"))
    )
    assert_same(network, tmp_path / "layers.onnx", written=written)
