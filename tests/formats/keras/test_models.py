"""Keras models as specs: Keras' own counts, trees of names, and runs with the numbers of the file."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import parameters
from tests.conftest import CommandResult
from tests.formats.keras.examples import (
    archived,
    conv,
    dense,
    functional,
    given,
    image_net,
    layer,
    saved,
    sequential,
    stored,
    tensor,
)

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "applications.json").read_text(encoding="utf-8"))["models"]
CONFIGURATIONS = sorted((HERE / "configurations").glob("*.json.gz"))
RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def counted(net: netcalc.Network) -> tuple[int, int]:
    """Return the weights that are trained and those that are not, as Keras counts them."""
    trained = fixed = 0
    for one in parameters(net.program):
        if one.path.endswith("num_batches_tracked") or one.tied:  # which Keras does not have
            continue
        is_trained = not one.param.is_buffer and not one.frozen and one.param.trainable
        count = int(one.param.elements)
        trained += count if is_trained else 0
        fixed += 0 if is_trained else count
    return trained, fixed


def outputs(net: netcalc.Network) -> list[list[Any]]:
    """Return the shapes of the outputs."""
    return [list(value.shape) for value in net.outputs.values()]


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.name.partition(".")[0])
def test_applications_have_the_counts_and_shapes_of_keras(path: Path, tmp_path: Path) -> None:
    name = path.name.partition(".")[0]
    file = tmp_path / f"{name}.json"
    file.write_bytes(gzip.decompress(path.read_bytes()))
    net, recorded = netcalc.load(file), RECORDED[name]
    assert counted(net) == (recorded["trainable"], recorded["non_trainable"])
    assert outputs(net) == [[1, *recorded["output"]]]


def test_names_become_modules_and_equal_blocks_repeats(tmp_path: Path) -> None:
    file = tmp_path / "ResNet50.json"
    file.write_bytes(gzip.decompress((HERE / "configurations" / "ResNet50.json.gz").read_bytes()))
    text = netcalc.import_spec(file)
    assert '{name: "conv4.block${index}", repeat: {times: 5, start: 2}' in text
    assert len(text.splitlines()) < 80  # of a file with 177 layers


def test_images_have_channels_as_axis_1(tmp_path: Path) -> None:
    net = netcalc.load(saved(tmp_path, image_net()))
    assert [list(value.type.shape) for value in net.program.inputs] == [[1, 3, 6, 6]]
    assert counted(net) == (3 * 3 * 3 * 4 + 4 + 8 + 4 * 5 + 5, 8)
    assert any("channels are axis 1 of image" in note for note in net.summary().notes)


@pytest.mark.parametrize("form", ["name", "policy"])
def test_layers_of_mixed_precision_are_in_a_remark(tmp_path: Path, form: str) -> None:
    """Their weights are float32, which is what is counted; what Keras computes in is said, with the layers."""

    def policy(name: str) -> Any:
        return name if form == "name" else {"module": "keras", "class_name": "DTypePolicy", "config": {"name": name}}

    layers = dense("a", 4, dtype=policy("mixed_float16")), dense("b", 4, dtype=policy("mixed_float16"))
    net = netcalc.load(saved(tmp_path, sequential([4], *layers, dense("c", 2, dtype=policy("mixed_bfloat16")))))
    assert net.memory().weights == 4 * net.params
    notes = net.summary().notes
    assert "2 layers have the policy mixed_float16, which computes in float16 in Keras and in float32 here" in notes
    assert "1 layer has the policy mixed_bfloat16, which computes in bfloat16 in Keras and in float32 here" in notes
    full = netcalc.load(saved(tmp_path, sequential([4], dense("a", 4, dtype=policy("float32")))))
    assert not any("policy" in note for note in full.summary().notes)


def test_text_of_a_model(tmp_path: Path) -> None:
    assert netcalc.load(json.dumps(image_net())).params == netcalc.load(saved(tmp_path, image_net())).params


def test_sizes_that_the_file_leaves_open_are_dims(tmp_path: Path) -> None:
    net = functional(
        given("image", None, None, 3),
        conv("conv", 4, tensor("image")),
        inputs=["image"],
        outputs=["conv"],
    )
    loaded = netcalc.load(saved(tmp_path, net), set={"batch": 2, "height": 5, "width": 7})
    assert outputs(loaded) == [[2, 4, 5, 7]]
    assert any("height=224, width=224" in note for note in loaded.summary().notes)


def test_shared_layers_count_once(tmp_path: Path) -> None:
    shared = dense("shared", 4, tensor("x"))
    shared["inbound_nodes"].append({"args": [tensor("shared")], "kwargs": {}})
    net = functional(given("x", 4), shared, inputs=["x"], outputs=["shared"])
    net["config"]["output_layers"] = [["shared", 1, 0]]
    loaded = netcalc.load(saved(tmp_path, net))
    assert loaded.params == 20
    assert loaded.macs == 2 * 16


def test_nested_models_are_modules(tmp_path: Path) -> None:
    inner = sequential([4], dense("first", 4), dense("second", 4), name="inner")
    inner |= {"name": "inner", "inbound_nodes": [{"args": [tensor("x")], "kwargs": {"mask": None}}]}
    net = functional(given("x", 4), inner, dense("head", 2, tensor("inner")), inputs=["x"], outputs=["head"])
    loaded = netcalc.load(saved(tmp_path, net))
    paths = {one.path for one in parameters(loaded.program)}
    assert {"inner.first.weight", "inner.second.bias", "head.weight"} <= paths


def test_run_takes_the_numbers_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    arrays = {
        "layers/conv2d/vars/0": drawn(3, 3, 3, 4),
        "layers/conv2d/vars/1": drawn(4),
        "layers/batch_normalization/vars/0": drawn(4),
        "layers/batch_normalization/vars/1": drawn(4),
        "layers/batch_normalization/vars/2": drawn(4),
        "layers/batch_normalization/vars/3": np.abs(drawn(4)),
        "layers/dense/vars/0": drawn(4, 5),
        "layers/dense/vars/1": drawn(5),
    }
    net = netcalc.load(archived(tmp_path, image_net(), stored(arrays)))
    assert net.audit(weights=net.own_weights).ok
    image = drawn(1, 6, 6, 3)
    result = net.run({"image": image.transpose(0, 3, 1, 2)}, weights=net.own_weights).outputs["head"]
    assert np.allclose(result, _by_hand(image[0], list(arrays.values())), atol=1e-5)


def _by_hand(image: np.ndarray, arrays: list[np.ndarray]) -> Any:
    kernel, bias, gamma, beta, mean, variance, matrix, offset = arrays
    wide = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    windows = np.stack([[wide[y : y + 3, x : x + 3] for x in range(6)] for y in range(6)])
    x = np.maximum(np.einsum("yxabi,abio->yxo", windows, kernel) + bias, 0)
    x = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta + x
    logits = x.mean((0, 1)) @ matrix + offset
    return np.exp(logits) / np.exp(logits).sum()


def test_gates_of_a_gru_are_in_the_order_of_netcalc(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    gru = layer("GRU", "gru", units=2, activation="tanh", recurrent_activation="sigmoid", reset_after=True)
    kernel, bias = np.arange(3 * 6, dtype=np.float32).reshape(3, 6), np.arange(12, dtype=np.float32).reshape(2, 6)
    content = stored({"layers/gru/cell/vars/0": kernel, "layers/gru/cell/vars/2": bias})
    net = netcalc.load(archived(tmp_path, sequential([4, 3], gru), content))
    weights: Any = net.own_weights
    order = [2, 3, 0, 1, 4, 5]  # reset, update, candidate, and not update, reset, candidate
    assert np.array_equal(weights.load("gru.weight_ih_l0"), kernel.T[order])
    assert np.array_equal(weights.load("gru.bias_hh_l0"), bias[1][order])


def test_an_lstm_has_one_bias(tmp_path: Path) -> None:
    lstm = layer("LSTM", "lstm", units=5, activation="tanh", recurrent_activation="sigmoid", use_bias=True)
    assert netcalc.load(saved(tmp_path, sequential([7, 4], lstm))).params == 4 * 5 * (4 + 5 + 1)


def test_frozen_layers_are_not_trained(tmp_path: Path) -> None:
    frozen = dense("first", 4, trainable=False)
    assert counted(netcalc.load(saved(tmp_path, sequential([3], frozen, dense("second", 2))))) == (10, 16)


def test_counting_does_not_open_the_weights(tmp_path: Path) -> None:
    """The weights of this file are no HDF5, and h5py is not imported."""
    path = archived(tmp_path, image_net(), b"no HDF5")
    for verb in ("summary", "params", "memory"):
        code = f"import sys, netcalc.cli; print(netcalc.cli.main(['{verb}', r'{path}']), 'h5py' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.stdout.endswith("0 False\n"), (verb, done.stdout, done.stderr)


def test_import_writes_a_spec_that_loads_the_file(tmp_path: Path, netcalc: Any) -> None:
    path = archived(tmp_path, image_net(), b"")
    result: CommandResult = netcalc("import", str(path))
    assert result.code == 0
    spec = tmp_path / "net.yaml"
    spec.write_text(result.out, encoding="utf-8")
    assert netcalc("params", str(spec)).code == 0
