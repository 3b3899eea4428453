"""Sizes of inputs, parameters and activations against torchinfo.

torchinfo counts parameters without buffers, and the outputs of modules with parameters, twice for their gradients.
"""

from __future__ import annotations

from math import prod
from sys import getsizeof

import pytest

import netcalc

torch = pytest.importorskip("torch")
torchinfo = pytest.importorskip("torchinfo")
torchvision = pytest.importorskip("torchvision")


@pytest.mark.parametrize("name", ["resnet18", "alexnet", "vgg16", "mobilenet_v2", "squeezenet1_1"])
def test_sizes_of_convolutional_networks(name: str) -> None:
    statistics = torchinfo.summary(torchvision.models.get_model(name), (2, 3, 224, 224), verbose=0, device="cpu")
    summary = netcalc.load(name, set={"batch": 2}).summary()
    assert summary.sizes.inputs == statistics.total_input - getsizeof(torch.UntypedStorage())  # of the object
    assert summary.sizes.parameters == statistics.total_param_bytes
    weighted = (layer for layer in summary.layers if layer.params != 0 or layer.params_tied != 0)
    outputs = sum(4 * prod(layer.output_shapes[0]) * layer.repeat for layer in weighted)
    assert 2 * outputs == statistics.total_output_bytes
    assert outputs < summary.sizes.activations
