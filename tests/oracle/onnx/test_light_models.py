"""The light models of onnx's backend tests, whose weights are constants: the outputs that onnx has recorded."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import netcalc

onnx = pytest.importorskip("onnx")

FOLDER = Path(str(onnx.__file__)).parent / "backend" / "test" / "data" / "light"
#: All models, those first that take a second or less.
MODELS = (
    *("zfnet512", "shufflenet", "squeezenet"),
    *("bvlc_alexnet", "inception_v1", "resnet50", "inception_v2", "densenet121", "vgg19"),
)


@pytest.mark.parametrize("name", MODELS if os.environ.get("NETCALC_DRAWS") else MODELS[:3])
def test_outputs_are_those_recorded(name: str) -> None:
    net = netcalc.load(FOLDER / f"light_{name}.onnx")
    (given,) = net.program.inputs
    shape = tuple(int(size) for size in given.type.shape)  # type: ignore[arg-type]
    image = (np.arange(np.prod(shape)) / np.prod(shape)).reshape(shape).astype(np.float32)  # as onnx's runner does
    (result,) = net.run({given.name: image}, weights=".").outputs.values()
    wanted = onnx.numpy_helper.to_array(onnx.load_tensor(FOLDER / f"light_{name}_output_0.pb"))
    assert np.abs(result - wanted).max() <= 1e-3 * np.abs(wanted).max()  # tolerance of onnx's own test
