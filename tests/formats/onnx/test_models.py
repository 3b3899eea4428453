"""ONNX models as specs: figures, names, sizes that stay symbolic, and runs with the numbers of the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.formats.onnx.weights import opened_weights
from tests.formats.onnx.encoding import attribute, function, graph, message, model, node, saved, tensor, value, varint

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def residual_net(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """Two equal residual blocks and a head, with names as PyTorch's exporter writes them."""
    arrays = {
        "fc.weight": drawn(5, 8),
        "fc.bias": drawn(5),
        "onnx::Conv_1": drawn(8, 3, 3, 3),
        "onnx::Conv_2": drawn(8),
    }
    nodes = [node("Conv", ["input.1", "onnx::Conv_1", "onnx::Conv_2"], ["c"], "/conv1/Conv", pads=[1, 1, 1, 1])]
    x = "c"
    for block in range(2):
        arrays[f"onnx::Conv_{block}3"], arrays[f"onnx::Conv_{block}4"] = drawn(8, 8, 3, 3), drawn(8)
        path = f"/layer1/layer1.{block}"
        weights = [f"onnx::Conv_{block}3", f"onnx::Conv_{block}4"]
        nodes += [
            node("Conv", [x, *weights], [f"y{block}"], f"{path}/conv1/Conv", pads=[1, 1, 1, 1]),
            node("Relu", [f"y{block}"], [f"z{block}"], f"{path}/relu/Relu"),
            node("Add", [f"z{block}", x], [f"s{block}"], f"{path}/Add"),
        ]
        x = f"s{block}"
    nodes += [
        node("GlobalAveragePool", [x], ["p"], "/avgpool/GlobalAveragePool"),
        node("Flatten", ["p"], ["f"], "/Flatten", axis=1),
        node("Gemm", ["f", "fc.weight", "fc.bias"], ["out"], "/fc/Gemm", transB=1),
    ]
    tensors = [tensor(name, array) for name, array in arrays.items()]
    body = graph(nodes, [value("input.1", ["batch", 3, 8, 8])], [value("out", ["batch", 5])], tensors)
    return saved(folder, model(body, producer="pytorch")), arrays


def test_names_of_nodes_give_modules_and_paths(tmp_path: Path) -> None:
    path, arrays = residual_net(tmp_path)
    net = netcalc.load(path)
    assert net.params == sum(array.size for array in arrays.values())
    text = netcalc.import_spec(path)
    assert "{name: layer1, repeat: 2, block: {}}" in text
    assert "{name: fc, linear: 5}" in text
    headers = opened_weights(path).headers
    assert set(headers) == {
        *("conv1.weight", "conv1.bias", "layer1.0.conv1.weight", "layer1.0.conv1.bias"),
        *("layer1.1.conv1.weight", "layer1.1.conv1.bias", "fc.weight", "fc.bias"),
    }
    assert net.audit(weights=net.own_weights).ok


def test_run_takes_the_numbers_of_the_file(tmp_path: Path) -> None:
    path, arrays = residual_net(tmp_path)
    net = netcalc.load(path)
    weights = opened_weights(path)
    assert np.array_equal(weights.load("layer1.1.conv1.weight"), arrays["onnx::Conv_13"])
    image = drawn(1, 3, 8, 8)
    result = net.run({"input_1": image}, weights=weights).outputs["out"]
    assert np.allclose(result, _residual_by_hand(image[0], arrays), atol=1e-4)


def _residual_by_hand(image: np.ndarray, arrays: dict[str, np.ndarray]) -> Any:
    def conv(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Any:
        wide = np.pad(x, ((0, 0), (1, 1), (1, 1)))
        windows = np.stack([wide[:, i : i + 8, j : j + 8] for i in range(3) for j in range(3)], 1)
        return np.einsum("okt,ktyx->oyx", weight.reshape(*weight.shape[:2], 9), windows) + bias[:, None, None]

    x = conv(image, arrays["onnx::Conv_1"], arrays["onnx::Conv_2"])
    for block in range(2):
        x = x + np.maximum(conv(x, arrays[f"onnx::Conv_{block}3"], arrays[f"onnx::Conv_{block}4"]), 0)
    return (x.mean((1, 2)) @ arrays["fc.weight"].T + arrays["fc.bias"])[None]


def test_transposed_matrices_are_linear_layers(tmp_path: Path) -> None:
    """A numbered matrix (in, out) with a sum after it is a layer whose weight is (out, in), as PyTorch stores it."""
    matrix, bias = drawn(6, 4), drawn(4)
    nodes = [
        node("MatMul", ["x", "onnx::MatMul_7"], ["m"], "/query/MatMul"),
        node("Add", ["query.bias", "m"], ["y"], "/query/Add"),
    ]
    tensors = [tensor("onnx::MatMul_7", matrix), tensor("query.bias", bias)]
    path = saved(tmp_path, model(graph(nodes, [value("x", [2, 6])], [value("y", [2, 4])], tensors), producer="pytorch"))
    assert "{name: query, linear: 4}" in netcalc.import_spec(path)
    weights = opened_weights(path)
    assert np.array_equal(weights.load("query.weight"), matrix.T)
    x = drawn(2, 6)
    assert np.allclose(netcalc.load(path).run({"x": x}, weights=weights).outputs["y"], x @ matrix + bias, atol=1e-5)


def test_chains_of_shapes_are_folded(tmp_path: Path) -> None:
    """The shape of a tensor, parts of it and arithmetic with them stay symbolic sizes."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Constant", [], ["one"], value=np.array([1])),
        node("Gather", ["s", "one"], ["length"], axis=0),
        node("Constant", [], ["rest"], value=np.array([2, -1])),
        node("Concat", ["length", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    path = saved(tmp_path, model(graph(nodes, [value("x", ["batch", "length", 6])], [value("y", [])])))
    net = netcalc.load(path, set={"batch": 3, "length": 5})
    assert "dims: {batch: 1, length: 16}" in netcalc.import_spec(path)
    assert any("batch=1, length=16" in note for note in net.summary().notes)  # which are not sizes of the file
    x = drawn(3, 5, 6)
    assert np.array_equal(net.run({"x": x}).outputs["y"], x.reshape(5, 2, 9))


def test_functions_are_inlined(tmp_path: Path) -> None:
    scaled = [
        message({2: "a", 4: "Constant", 5: message({1: "value_float", 21: "alpha", 20: 1}), 1: []}),
        node("Mul", ["v", "a"], ["w"]),
    ]
    body = graph(
        [node("Scale", ["x"], ["h"], domain="own", alpha=3.0), node("Scale", ["h"], ["y"], domain="own", alpha=0.5)],
        [value("x", [4])],
        [value("y", [4])],
    )
    path = saved(tmp_path, model(body, functions=[function("Scale", ["v"], ["w"], scaled)]))
    x = drawn(4)
    assert np.allclose(netcalc.load(path).run({"x": x}).outputs["y"], 1.5 * x)


def test_constant_conditions_choose_a_branch(tmp_path: Path) -> None:
    branches = {
        name: graph([node(op, ["x"], [op])], [], [value(op, [4])])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    choice = message({1: ["c"], 2: ["y"], 4: "If", 5: [attribute(name, body) for name, body in branches.items()]})
    nodes = [node("Constant", [], ["c"], value=np.array(True)), choice]
    path = saved(tmp_path, model(graph(nodes, [value("x", [4])], [value("y", [4])])))
    x = drawn(4)
    assert np.array_equal(netcalc.load(path).run({"x": x}).outputs["y"], -x)


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 17, 21])
def test_versions_of_operators(tmp_path: Path, opset: int) -> None:
    """Axes, limits and ends are attributes in early versions, and inputs in later ones."""
    nodes, constants = [], {}

    def operand(name: str, array: object) -> str:
        constants[name] = tensor(name, np.asarray(array))
        return name

    if opset < 10:
        nodes.append(node("Slice", ["x"], ["a"], starts=[1], ends=[3], axes=[1]))
    else:
        inputs = ["x", operand("starts", [1]), operand("ends", [3]), operand("axes", [1])]
        nodes.append(node("Slice", inputs, ["a"]))
    if opset < 11:
        nodes.append(node("Clip", ["a"], ["b"], min=-0.5, max=0.5))
    else:
        limits = [operand("low", np.float32(-0.5)), operand("high", np.float32(0.5))]
        nodes.append(node("Clip", ["a", *limits], ["b"]))
    if opset < 13:
        nodes += [node("Unsqueeze", ["b"], ["c"], axes=[0]), node("ReduceSum", ["c"], ["y"], axes=[2], keepdims=0)]
    else:
        nodes.append(node("Unsqueeze", ["b", operand("first", [0])], ["c"]))
        nodes.append(node("ReduceSum", ["c", operand("last", [2])], ["y"], keepdims=0))
    body = graph(nodes, [value("x", [3, 4])], [value("y", [1, 3])], list(constants.values()))
    path = saved(tmp_path, model(body, opset))
    x = drawn(3, 4)
    wanted = np.clip(x[:, 1:3], -0.5, 0.5).sum(1)[None]
    assert np.allclose(netcalc.load(path).run({"x": x}).outputs["y"], wanted, atol=1e-6)


def test_external_data_are_read_for_a_run_only(tmp_path: Path) -> None:
    matrix = drawn(4, 4)
    outside = {"location": "weights.bin", "offset": "8", "length": str(matrix.nbytes)}
    body = graph(
        [node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 4])], [value("y", [2, 4])], [tensor("w", matrix, outside)]
    )
    path = saved(tmp_path, model(body))
    net = netcalc.load(path)
    assert net.params == 16
    (tmp_path / "weights.bin").write_bytes(b"\0" * 8 + matrix.tobytes())
    x = drawn(2, 4)
    assert np.allclose(net.run({"x": x}, weights=net.own_weights).outputs["y"], x @ matrix, atol=1e-5)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of the process is read from /proc")
def test_counting_reads_no_data_and_imports_no_numpy(tmp_path: Path) -> None:
    """A file of 400 MB, most of which is a hole on the disk, is counted with little memory."""
    tensors = message({1: [10_000, 10_000], 2: 1, 8: "w"})
    size = 400_000_000
    body = graph([node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 10_000])], [value("y", [2, 10_000])])
    raw_head = bytes([9 << 3 | 2]) + varint(size)
    tensor_head = bytes([5 << 3 | 2]) + varint(len(tensors) + len(raw_head) + size)
    graph_size = len(body) + len(tensor_head) + len(tensors) + len(raw_head) + size
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.write(message({1: 9, 8: message({1: "", 2: 20})}) + bytes([7 << 3 | 2]) + varint(graph_size))
        file.write(body + tensor_head + tensors + raw_head)
        file.truncate(file.tell() + size)
    small = saved(tmp_path, model(graph([node("Neg", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])))
    code = (
        "import sys, netcalc\n"
        "print(netcalc.load(sys.argv[1]).params, 'numpy' in sys.modules)\n"
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )
    peaks = []
    for file_path, counted in ((path, "100000000 False"), (small, "0 False")):
        command = [sys.executable, "-c", code, str(file_path)]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        assert result.stdout.splitlines()[0] == counted
        peaks.append(int(result.stdout.splitlines()[1]))
    assert peaks[0] - peaks[1] < 20_000  # KiB


def test_learned_vectors_that_an_exporter_reshaped_are_parameters(tmp_path: Path) -> None:
    """PyTorch folds the shape of a learned token, whose numbers are in no order; frequencies are computed."""
    token, frequencies = drawn(1, 1, 8), (10 ** -np.arange(8, dtype=np.float32)).reshape(1, 1, 8)
    nodes = [node("Concat", ["expand", "x"], ["cat"], axis=1), node("Mul", ["cat", "unsqueeze_3"], ["y"])]
    tensors = [tensor("expand", token), tensor("unsqueeze_3", frequencies)]
    body = graph(nodes, [value("x", [1, 4, 8])], [value("y", [1, 5, 8])], tensors)
    net = netcalc.load(saved(tmp_path, model(body, producer="pytorch")))
    assert net.params == token.size
    x = drawn(1, 4, 8)
    result = net.run({"x": x}, weights=net.own_weights).outputs["y"]
    assert np.allclose(result, np.concatenate([token, x], 1) * frequencies, atol=1e-6)


def test_factors_of_modules_are_their_parameters(tmp_path: Path) -> None:
    """PyTorch multiplies the factor of ``addcmul`` by 1 and loses its name; equal modules are a repeat all the same."""
    nodes, tensors = [], []
    for block in range(3):
        nodes += [
            node(
                "Mul", ["x" if block == 0 else f"b{block - 1}", f"tmp_{block}"], [f"a{block}"], f"/blocks.{block}/Mul"
            ),
            node("Add", [f"a{block}", f"blocks.{block}.beta"], [f"b{block}"], f"/blocks.{block}/Add"),
        ]
        tensors += [tensor(f"tmp_{block}", drawn(1, 8)), tensor(f"blocks.{block}.beta", drawn(1, 8))]
    body = graph(nodes, [value("x", [4, 8])], [value("b2", [4, 8])], tensors)
    net = netcalc.load(saved(tmp_path, model(body, producer="pytorch")))
    assert net.params == 48
    assert "repeat: 3" in net.to_yaml()


@pytest.mark.parametrize(("copied", "params"), [(True, 8 * 8 + 8), (False, 2 * 8 * 8 + 8)])
def test_copies_of_a_weight_for_every_call_are_one(copied: bool, params: int, tmp_path: Path) -> None:
    """PyTorch writes a transposed weight once for each call of its module; other numbers are of another weight."""
    weight, bias, x = drawn(8, 8), drawn(8), drawn(2, 8)
    other = weight if copied else drawn(8, 8) + 1
    path = _called_twice(weight, other, bias, tmp_path)
    net = netcalc.load(path)
    assert net.params == params
    assert ("share: true" in net.to_yaml()) == copied
    result = net.run({"x": x}, weights=net.own_weights).outputs
    wanted = np.maximum(np.maximum(x @ weight + bias, 0) @ other + bias, 0)
    assert np.allclose(next(iter(result.values())), wanted, atol=1e-5)


def test_weights_of_one_number_are_no_copies(tmp_path: Path) -> None:
    """Weights that are all zero at first are equal by chance."""
    zeros = np.zeros((8, 8), np.float32)
    assert netcalc.load(_called_twice(zeros, zeros, drawn(8), tmp_path)).params == 2 * 8 * 8 + 8


def _called_twice(first: np.ndarray, second: np.ndarray, bias: np.ndarray, folder: Path) -> Path:
    """Write a module of a linear layer and a ReLU that is called twice."""
    nodes, name = [], "x"
    for call in (1, 2):
        nodes += [
            node("MatMul", [name, f"val_{call}"], [f"a{call}"], "/block/fc/MatMul"),
            node("Add", [f"a{call}", "block.fc.bias"], [f"b{call}"], "/block/fc/Add"),
            node("Relu", [f"b{call}"], [f"c{call}"], "/block/act/Relu"),
        ]
        name = f"c{call}"
    tensors = [tensor("block.fc.bias", bias), tensor("val_1", first), tensor("val_2", second)]
    body = graph(nodes, [value("x", [2, 8])], [value("c2", [2, 8])], tensors)
    return saved(folder, model(body, producer="pytorch"))


@pytest.mark.parametrize("rows", [8, 1024])
def test_quantized_weights_are_parameters_in_the_bytes_of_the_file(rows: int, tmp_path: Path) -> None:
    """A matrix of 8-bit integers is a weight however small it is, and its bytes are those of the file."""
    rng = np.random.default_rng(0)
    weight, scale = rng.integers(-128, 128, (rows, 8)).astype(np.int8), np.abs(drawn(8))
    point, x = np.arange(8).astype(np.int8), drawn(2, rows)
    nodes = [
        node("DequantizeLinear", ["weight", "scale", "point"], ["w"], axis=1),
        node("MatMul", ["x", "w"], ["y"]),
    ]
    tensors = [tensor("weight", weight), tensor("scale", scale), tensor("point", point)]
    net = netcalc.load(saved(tmp_path, model(graph(nodes, [value("x", [2, rows])], [value("y", [2, 8])], tensors))))
    assert (net.params, net.memory().buffers) == (weight.size, 0)
    stored = weight.nbytes + scale.nbytes + point.nbytes
    assert net.cost().weight_bytes == net.memory().weights == stored
    result = net.run({"x": x}, weights=net.own_weights).outputs["y"]
    wanted = x.astype(np.float64) @ ((weight.astype(int) - point.astype(int)) * scale.astype(np.float64))
    assert np.abs(result - wanted).max() <= 1e-5 * np.abs(wanted).max()
