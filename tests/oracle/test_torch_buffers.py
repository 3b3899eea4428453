"""Values of buffers of PyTorch modules."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc

torch = pytest.importorskip("torch")

from netcalc.formats.torch.buffers import has_data, rebuilt_buffers, stored_buffer  # noqa: E402
from netcalc.tensor_type import TensorType  # noqa: E402


def stored(tensor: Any, dtype: str) -> Any:
    return stored_buffer(TensorType(tuple(tensor.shape), dtype), tensor, persistent=False)


def test_that_values_are_kept_where_they_are_short() -> None:
    assert stored(torch.tensor([0.1, 0.2]), "float32").value == [0.1, 0.2]
    assert stored(torch.tensor([0.5, 0.25], dtype=torch.bfloat16), "bfloat16").value == [0.5, 0.25]
    assert stored(torch.ones(3, 4, dtype=torch.bool), "bool").value is True
    assert stored(torch.arange(512)[None], "int64").computed is not None
    assert stored(torch.zeros(2, 3, dtype=torch.complex64), "complex64").value == 0
    assert stored(torch.tensor([0.5 + 1j, 2.0]), "complex64").value == [[0.5, 1.0], [2.0, 0.0]]
    assert stored(torch.randn(400, dtype=torch.complex64), "complex64").unknown


@pytest.mark.parametrize("tensor", [torch.empty(4, device="meta"), torch.randn(40, 40)])
def test_that_other_values_are_not_numbers(tensor: Any) -> None:
    found = stored(tensor, "float32")
    assert found.unknown
    assert found.value != found.value


def test_that_an_index_that_is_not_known_is_none() -> None:
    """A look-up with it fails."""
    found = stored(torch.empty(4, dtype=torch.int64, device="meta"), "int64")
    assert found.unknown
    assert found.value < -(2**62)


class Config:
    length = 6


class Table(torch.nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(10**6, 10**6, device="meta"))
        self.register_buffer("positions", torch.arange(config.length), persistent=False)
        self.register_buffer("bias", torch.zeros(config.length))


class Scaled(torch.nn.Module):
    """A module that is not made of a configuration alone."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.register_buffer("scale", torch.tensor(scale), persistent=False)


class Whole(torch.nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.table = Table(config)
        self.scaled = Scaled(config.length * 0.5)


def test_that_buffers_are_rebuilt_from_configurations() -> None:
    with torch.device("meta"):
        whole = Whole(Config())
    found = rebuilt_buffers(whole)
    assert {path: tensor.tolist() for path, tensor in found.items()} == {
        "table.positions": [0, 1, 2, 3, 4, 5],
        "table.bias": [0.0] * 6,
        "scaled.scale": 3.0,
    }
    assert not has_data(whole.table.positions)


def test_that_buffers_of_other_shapes_are_not_known() -> None:
    config = Config()
    with torch.device("meta"):
        whole = Whole(config)
    config.length = 7
    assert set(rebuilt_buffers(whole)) == {"scaled.scale"}


def test_that_modules_with_other_arguments_are_not_rebuilt() -> None:
    with torch.device("meta"):
        assert not rebuilt_buffers(Scaled(2.0))


def test_that_memory_of_parameters_is_not_taken() -> None:
    class Large(torch.nn.Module):
        def __init__(self, config: Config) -> None:
            super().__init__()
            self.config = config
            self.linear = torch.nn.Linear(10**6, 10**6)
            self.register_buffer("ones", torch.ones(3), persistent=False)

    with torch.device("meta"):
        large = Large(Config())
    assert rebuilt_buffers(large)["ones"].tolist() == [1.0, 1.0, 1.0]


class Registered(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("used", torch.randn(4), persistent=False)
        self.register_buffer("positions", torch.arange(512)[None], persistent=False)
        self.register_buffer("noise", torch.randn(40, 40), persistent=False)
        self.register_buffer("phases", torch.polar(torch.ones(6), torch.randn(6)), persistent=False)
        self.register_buffer("stored", torch.zeros(3))
        self.register_buffer("same", self.stored)
        self.register_buffer("again", self.positions, persistent=False)

    def forward(self, x: Any) -> Any:
        return self.linear(x + self.used + self.positions[:, :4] + torch.tensor(1.0))


def test_all_buffers_count_once_whether_used_or_persistent_or_not() -> None:
    module, x = Registered(), torch.ones(2, 4)
    net = netcalc.from_torch(module, x)
    size = sum(tensor.numel() * tensor.element_size() for tensor in module.buffers())
    assert net.analysis().total.buffer_bytes == size == 16 + 8 * 512 + 6_400 + 48 + 12
    assert "arange: {stop: 512}" in net.to_yaml()
    assert netcalc.loads(net.to_yaml()).analysis().total.buffer_bytes == size
    assert net.verify_against(module, x).ok
    repeated = torch.nn.Sequential(*(Registered() for _ in range(3)))
    found = netcalc.from_torch(repeated, x)
    assert found.analysis().total.buffer_bytes == 3 * size
    assert "repeat: 3" in found.to_yaml()


def test_known_scalars_along_an_axis() -> None:
    class Scalar(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.steps = torch.tensor(3)

        def forward(self, x: Any) -> Any:
            return x * self.steps.cumsum(-1) + self.steps.flip(0)

    net = netcalc.from_torch(Scalar(), torch.ones(2))
    assert net.verify_against(Scalar(), torch.ones(2)).ok
