"""Models that onnxruntime's tools quantize: parameters, MACs and bytes, and outputs beside onnxruntime's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from tests.formats.onnx.encoding import graph, model, node, saved, tensor, value

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
#: Largest difference of outputs, as a part of the largest: no step of 8 bits, which is 1/255, falls to another side.
TOLERANCE = 1e-5


def in_full(folder: Path) -> Path:
    """Return the file of two convolutions with a sum between them, a pooling and two linear layers."""

    def drawn(*shape: int) -> Any:
        return (RNG.standard_normal(shape) / 4).astype(np.float32)

    nodes = [
        node("Conv", ["x", "conv1.weight", "conv1.bias"], ["a"], "/conv1/Conv", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"], "/relu/Relu"),
        node("Conv", ["b", "conv2.weight", "conv2.bias"], ["c"], "/conv2/Conv", pads=[1, 1, 1, 1], group=2),
        node("Add", ["b", "c"], ["d"], "/Add"),
        node("GlobalAveragePool", ["d"], ["e"], "/pool/GlobalAveragePool"),
        node("Flatten", ["e"], ["f"], "/Flatten"),
        node("Gemm", ["f", "fc1.weight", "fc1.bias"], ["g"], "/fc1/Gemm", transB=1),
        node("MatMul", ["g", "fc2.weight"], ["y"], "/fc2/MatMul"),
    ]
    arrays = {
        "conv1.weight": drawn(8, 3, 3, 3),
        "conv1.bias": drawn(8),
        "conv2.weight": drawn(8, 4, 3, 3),
        "conv2.bias": drawn(8),
        "fc1.weight": drawn(6, 8),
        "fc1.bias": drawn(6),
        "fc2.weight": drawn(6, 5),
    }
    tensors = [tensor(name, array) for name, array in arrays.items()]
    return Path(saved(folder, model(graph(nodes, [value("x", [2, 3, 8, 8])], [value("y", [2, 5])], tensors))))


def static(source: Path, target: Path, **options: Any) -> None:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            self.left = [{"x": X}]

        def get_next(self) -> Any:
            return self.left.pop() if self.left else None

    form = getattr(QuantFormat, options.pop("form"))
    quantize_static(str(source), str(target), Reader(), form, weight_type=QuantType.QInt8, **options)


def dynamic(source: Path, target: Path, **options: Any) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # kernels for signed weights saturate on some processors
    quantize_dynamic(str(source), str(target), weight_type=QuantType.QUInt8, **options)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    ("quantize", "options"),
    [(static, {"form": "QDQ"}), (static, {"form": "QOperator"}), (dynamic, {})],
    ids=["QDQ", "QOperator", "dynamic"],
)
def test_figures_are_of_the_model_in_full_and_bytes_of_the_file(
    tmp_path: Path, quantize: Callable[..., None], options: dict[str, Any], per_channel: bool
) -> None:
    logging.disable(logging.WARNING)
    source, target = in_full(tmp_path), tmp_path / "quantized.onnx"
    quantize(source, target, per_channel=per_channel, reduce_range=True, **options)
    logging.disable(logging.NOTSET)
    wanted, net = netcalc.load(source), netcalc.load(target)
    assert (net.params, net.macs) == (wanted.params, wanted.macs)
    assert net.memory().buffers == 0
    held = net.cost().weight_bytes
    assert held == net.memory().weights
    # scales and zero points of activations and shapes, which are no weights, are few
    assert 0 <= sum(onnx.numpy_helper.to_array(each).nbytes for each in _initializers(target)) - held < 400
    report = net.verify_reference(reference="onnxruntime")
    assert all(output.relative is not None and output.relative <= TOLERANCE for output in report.outputs), report


def _initializers(path: Path) -> Any:
    return onnx.load(path).graph.initializer
